"""What the window says of its jobs where it is not seen: title, notification, tray, mini window."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget

from mcp_progress_monitor.engine.call import SeriesEnd
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.gui.jobs.mini_window import MiniWindow
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.notifications import controller, desktop
from mcp_progress_monitor.gui.notifications.controller import NotificationsController
from mcp_progress_monitor.gui.notifications.events import NoticeAction
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.user_settings import (
    GeneralSettings,
    NotificationSettings,
    UserSettings,
)
from mcp_progress_monitor.gui.window_commands import MINI, QUIT
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobSnapshot, JobState
from tests.job_stand_ins import FakeJobs, job


class Parts:
    """A window with fake jobs, and what its controller tells."""

    def __init__(self, qapp: QApplication, folder: Path, *jobs: JobSnapshot) -> None:
        self.owner = QObject(qapp)
        engine = Engine()
        self.models = Models(engine.timeline, self.owner)
        self.source = FakeJobs(*jobs)
        self.models.jobs.set_source(self.source)
        self.appearance = Appearance(QWidget().palette(), resource("icons"), self.owner)
        status = StatusBar(None, self.models.servers, engine.timeline, self.appearance)
        self.preferences = Preferences(folder)
        self.window = MainWindow(self.models, status, self.appearance, self.preferences)
        self.window.middle.show_first(are_any=True)
        self.settings = UserSettings(self.preferences, self.owner)
        self.opened: list[int] = []
        self.acted: list[tuple[NoticeAction, int]] = []
        self.shown: list[Any] = []
        self.made = NotificationsController(
            self.window,
            self.window.do[QUIT],
            self.models,
            self.appearance,
            self.preferences,
            self.settings,
            self.opened.append,
            lambda action, job: self.acted.append((action, job)),
        )
        self.window.add_to_view_menu([self.made.mini_action, self.made.on_action])
        desktop: Any = self.made.desktop
        desktop.show = lambda notice, **_: self.shown.append(notice)

    def change(self, *jobs: JobSnapshot) -> None:
        """Let the feed say what became of `jobs`."""
        added = tuple(each.id for each in jobs if each.id not in self.source.held)
        self.source.put(*jobs)
        moved = frozenset(each.id for each in jobs) - set(added)
        self.models.feed.jobs_changed.emit(ChangeSet(added, (), frozenset(moved), moved))


@pytest.fixture
def parts(qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    monkeypatch.setattr(controller, "GATHERED_MS", 20)
    monkeypatch.setattr(desktop, "LOOK_MS", 20)
    made = Parts(qapp, tmp_path, job(id=1), job(id=2))
    yield made
    made.made.close()
    made.window.deleteLater()
    made.owner.deleteLater()


def done(number: int, state: JobState = JobState.DONE) -> JobSnapshot:
    return job(id=number, state=state, name=f"job{number}")


def test_the_title_counts_and_can_be_reported_not_to(parts: Parts) -> None:
    assert parts.window.windowTitle() == "2 running — MCP Progress Monitor"
    parts.change(job(id=2, state=JobState.NEEDS_YOU), job(id=3, state=JobState.STALLED))
    title = "1 running, 1 needs you, 1 stalled — MCP Progress Monitor"
    assert parts.window.windowTitle() == title
    parts.settings.replace(GeneralSettings(shows_counts=False))
    assert parts.window.windowTitle() == "MCP Progress Monitor"
    parts.settings.replace(NotificationSettings())
    parts.change(done(1), done(2), done(3))
    assert parts.window.windowTitle() == "MCP Progress Monitor"


def test_what_happens_within_a_moment_is_one_notification(parts: Parts, qtbot: Any) -> None:
    parts.change(done(1))
    parts.change(done(2, JobState.FAILED))
    qtbot.waitUntil(lambda: bool(parts.shown))
    (notice,) = parts.shown
    assert notice.title == "Jobs: 1 failed, 1 done"
    assert notice.job == 2


def test_nothing_is_reported_while_the_user_is_at_the_window(parts: Parts, qtbot: Any) -> None:
    parts.window.show()
    parts.window.activateWindow()
    qtbot.waitUntil(parts.made.is_in_front)
    parts.change(done(1))
    parts.window.hide()
    qtbot.waitUntil(lambda: not parts.made.is_in_front())
    parts.change(done(2))
    qtbot.waitUntil(lambda: bool(parts.shown))
    assert [notice.title for notice in parts.shown] == ["job2 is done"]


def test_what_is_over_by_the_time_of_telling_is_not_reported(parts: Parts, qtbot: Any) -> None:
    parts.change(job(id=1, state=JobState.STALLED), job(id=2, state=JobState.STALLED))
    parts.change(job(id=1))
    qtbot.waitUntil(lambda: bool(parts.shown))
    assert [notice.job for notice in parts.shown] == [2]


def test_a_button_shows_the_job_and_carries_its_command_out(parts: Parts) -> None:
    parts.made.desktop.acted.emit(NoticeAction.RESUME, 1)
    parts.made.desktop.acted.emit(NoticeAction.RESUME, 99)
    assert parts.opened == [1]
    assert parts.acted == [(NoticeAction.RESUME, 1)]


def test_calls_in_a_row_are_one_notification_at_their_end(parts: Parts, qtbot: Any) -> None:
    parts.made.leave_out(1)
    parts.change(done(1, JobState.FAILED), done(2))
    qtbot.waitUntil(lambda: bool(parts.shown))
    assert [notice.title for notice in parts.shown] == ["job2 is done"]
    end = SeriesEnd((1, 2), 2, 30.0)
    parts.made.report_series(end, [done(1), done(2, JobState.FAILED)])
    assert parts.shown[-1].title == "job2: 2 of 2, 1 failed"
    assert parts.shown[-1].job == 2
    parts.made.report_series(end._replace(duration_s=3.0), [done(1)])
    parts.settings.replace(NotificationSettings(on_done=False))
    parts.made.report_series(end, [done(1)])
    assert len(parts.shown) == 2


def test_a_job_is_reported_once_when_it_gets_slower_than_usual(parts: Parts, qtbot: Any) -> None:
    parts.settings.replace(NotificationSettings(on_slow=True))
    running = job(id=1, elapsed_s=51.9, slow_after_s=52.0)
    parts.change(running)
    parts.source.put(running._replace(elapsed_s=52.1))
    qtbot.waitUntil(lambda: bool(parts.shown))
    assert parts.shown[0].title == "export_orders is slower than usual"
    assert not parts.made._slow_due.isActive()  # noqa: SLF001
    assert parts.made._events.slow([running._replace(elapsed_s=60.0)]) == []  # noqa: SLF001
    parts.settings.replace(NotificationSettings())
    parts.change(job(id=2, elapsed_s=1.0, slow_after_s=52.0))
    assert not parts.made._slow_due.isActive()  # noqa: SLF001


def test_switched_off_it_says_nothing_and_the_menu_shows_that(parts: Parts, qtbot: Any) -> None:
    parts.made.on_action.trigger()
    assert not parts.settings.notifications.is_on
    parts.change(done(1))
    assert timers(parts) == []
    parts.settings.replace(NotificationSettings())
    assert parts.made.on_action.isChecked()


def test_a_click_brings_the_window_up_and_opens_a_job_that_exists(parts: Parts) -> None:
    parts.window.showMinimized()
    parts.made.desktop.clicked.emit(2)
    assert parts.opened == [2]
    assert not parts.window.isMinimized()
    parts.made.desktop.clicked.emit(99)
    assert parts.opened == [2]


def test_no_key_of_its_commands_means_something_else(parts: Parts) -> None:
    for late in parts.window.late.steps():
        late()
    assert MINI in parts.window.shortcuts.commands()
    assert parts.window.shortcuts.clashes() == {}


def test_without_a_tray_there_is_no_icon_and_nothing_else_is_missed(parts: Parts) -> None:
    assert not QSystemTrayIcon.isSystemTrayAvailable()
    assert parts.made.tray.icon is None
    parts.change(done(1))


@pytest.mark.qt_log_ignore("No such signal QPlatformNativeInterface", extend=True)
def test_the_tray_says_how_it_stands_and_lists_what_runs(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    parts.settings.replace(NotificationSettings(least_s=11))
    icon = parts.made.tray.icon
    assert icon is not None
    assert icon.toolTip() == "2 running"
    plain = icon.icon().pixmap(64).toImage()
    parts.change(job(id=2, state=JobState.NEEDS_YOU, name="a & b"))
    assert icon.toolTip() == "1 running, 1 needs you"
    assert icon.icon().pixmap(64).toImage() != plain
    menu: QMenu = icon.contextMenu()
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions()]
    assert "export_orders, 63.2 %, running" in texts
    assert "a && b, 63.2 %, needs you" in texts
    menu.actions()[texts.index("a && b, 63.2 %, needs you")].trigger()
    assert parts.opened == [2]
    parts.settings.replace(GeneralSettings(shows_tray=False))
    assert parts.made.tray.icon is None


@pytest.mark.qt_log_ignore("No such signal QPlatformNativeInterface", extend=True)
def test_a_tray_that_comes_later_is_noticed_and_one_that_goes_hides_nothing(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    parts.window.show()
    changed = QSignalSpy(parts.made.tray.icon_changed)
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    qtbot.waitUntil(lambda: changed.count() == 1)
    icon = parts.made.tray.icon
    assert icon is not None
    assert icon.toolTip() == "2 running"
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: False)
    qtbot.wait(60)  # three looks, were there any
    assert parts.made.tray.icon is icon
    assert parts.window.isVisible()


def test_progress_in_the_task_bar_is_that_of_what_runs(parts: Parts, qtbot: Any) -> None:
    shown: list[Any] = []
    button: Any = parts.made.button
    button.show = lambda *values: shown.append(values)
    parts.change(job(id=1, fraction=0.25), job(id=2, fraction=0.75), job(id=3, fraction=None))
    parts.made.show_share()
    parts.change(done(1), done(2), job(id=3, fraction=None, state=JobState.NEEDS_YOU))
    parts.made.show_share()
    assert shown == [(0, 0.5), (1, None)]
    parts.settings.replace(GeneralSettings(shows_task_bar=False))
    assert shown[-1] == (0, None)


def mini(parts: Parts) -> MiniWindow:
    made = parts.made.mini
    assert made is not None
    return made


def test_the_mini_window_has_what_runs_and_opens_it(parts: Parts, qtbot: Any) -> None:
    parts.made.mini_action.trigger()
    view = mini(parts).view
    assert mini(parts).windowFlags() & Qt.WindowType.WindowStaysOnTopHint
    assert view.model().rowCount() == 2
    parts.change(done(1), job(id=3))
    assert view.model().rowCount() == 1 + (parts.models.jobs.settled_state(3) is not None)
    view.activated.emit(view.model().index(0, 0))
    assert parts.opened == [2]
    mini(parts).activateWindow()
    qtbot.waitUntil(mini(parts).isActiveWindow)
    assert not parts.made.is_in_front()
    QTest.keyClick(mini(parts), Qt.Key.Key_Escape)
    assert not parts.made.mini_action.isChecked()
    assert not any(timer.isActive() for timer in mini(parts).findChildren(QTimer))


def test_the_mini_window_is_there_again_at_the_next_start(
    qapp: QApplication, tmp_path: Path
) -> None:
    for is_again in (False, True):
        parts = Parts(qapp, tmp_path)
        if is_again:
            assert mini(parts).isVisible()
            assert mini(parts).view.model().rowCount() == 0
        else:
            parts.made.mini_action.trigger()
        parts.made.close()
        assert parts.preferences.save()
        parts.window.deleteLater()
        parts.owner.deleteLater()


def test_an_idle_program_has_no_timer_running(parts: Parts) -> None:
    parts.made.show_share()
    assert timers(parts) == []


def timers(parts: Parts) -> list[QTimer]:
    """Those that run, but for what shows the progress of what has just changed."""
    found = (*parts.made.findChildren(QTimer), *mini_timers(parts))
    return [
        timer for timer in found if timer.isActive() and timer.interval() != controller.SHARE_MS
    ]


def mini_timers(parts: Parts) -> list[QTimer]:
    return [] if parts.made.mini is None else parts.made.mini.findChildren(QTimer)


def test_the_computer_is_kept_awake_while_jobs_run(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[bool] = []
    monkeypatch.setattr(
        parts.made.awake, "set_wanted", lambda *, is_wanted: wanted.append(is_wanted)
    )
    parts.change(job(id=2, state=JobState.STALLED), done(1))
    parts.settings.replace(GeneralSettings(keeps_awake=False))
    parts.settings.replace(GeneralSettings())
    parts.change(job(id=2, state=JobState.NEEDS_YOU))
    assert wanted == [True, False, True, False]

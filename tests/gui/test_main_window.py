"""The window as a whole: its keys, its tool bar, where the focus is."""

import base64
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QItemSelectionModel, QObject, QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QLabel,
    QMenu,
    QTabBar,
    QTabWidget,
    QTreeWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.common.filter_field import FilterField
from mcp_progress_monitor.gui.common.layout import controls_in
from mcp_progress_monitor.gui.console.pane import StderrPane
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import AUTOMATIC, OPEN, RESUME
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.panes import GO_TO, usable
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.server_log.pane import ServerLogPane
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.tool_bar import SavedServer
from mcp_progress_monitor.gui.user_settings import LimitSettings
from mcp_progress_monitor.gui.window_commands import CLOSE_PANE, FIND, MANUAL, MENU, PALETTE
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.tracker.snapshot import ChangeSet
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import asked, heard
from tests.gui.windows import window_on
from tests.job_stand_ins import FakeJobs, course, detail, job, resumable

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def parts(qapp: QApplication) -> Iterator[QObject]:
    made = QObject(qapp)
    yield made
    made.deleteLater()


@pytest.fixture
def models(parts: QObject) -> Models:
    engine = Engine()
    made = Models(engine.timeline, parts)
    made.follow(engine)
    made.jobs.set_source(FakeJobs(job(id=1), resumable(2), resumable(3)))
    return made


@pytest.fixture
def window(qtbot: QtBot, models: Models, parts: QObject, tmp_path: Path) -> MainWindow:
    appearance = Appearance(QWidget().palette(), resource("icons"), parts)
    status = StatusBar(None, models.servers, models.traffic.timeline, appearance)
    made = MainWindow(models, status, appearance, Preferences(tmp_path))
    made.middle.show_first(are_any=True)
    expose(qtbot, made)
    made.activateWindow()
    return made


def keys_of(window: MainWindow, *contexts: Qt.ShortcutContext) -> list[str]:
    """Every key of an action or a shortcut that has one of `contexts`."""
    actions = [a for a in window.findChildren(QAction) if a.shortcutContext() in contexts]
    shortcuts = [s for s in window.findChildren(QShortcut) if s.context() in contexts]
    keys = [key.toString() for action in actions for key in action.shortcuts()]
    return [*keys, *(shortcut.key().toString() for shortcut in shortcuts)]


def test_a_key_of_the_whole_window_means_one_thing_everywhere(window: MainWindow) -> None:
    everywhere = Counter(keys_of(window, Qt.ShortcutContext.WindowShortcut))
    anywhere = Counter(keys_of(window, *Qt.ShortcutContext))
    assert {"Ctrl+.", "Ctrl+R", "Ctrl+Shift+R", "Ctrl+N"} <= set(everywhere)
    assert {key: anywhere[key] for key in everywhere if anywhere[key] > 1} == {}


def test_the_status_bar_sums_up_what_is_selected(window: MainWindow) -> None:
    def said() -> list[str]:
        return [label.text() for label in window.statusBar().findChildren(QLabel)]

    window.job_list.table.selectAll()
    assert "3 jobs selected · 1,896 ticks · 2 min 36 s" in said()
    window.job_list.select(1)
    assert not any("selected" in text for text in said())


def test_panes_with_a_tab_have_no_title_and_those_alone_do(window: MainWindow) -> None:
    def titled() -> set[str]:
        window._fit_titles()  # noqa: SLF001 - by a timer, else
        below = ("traffic", "job", "timeline", "findings", "stderr", "server_log")
        return {name for name in below if window.docks[name].titleBarWidget() is None}

    assert titled() == set()
    window.docks["job"].setFloating(True)
    assert titled() == {"job"}
    window.docks["job"].setFloating(False)
    for name in ("job", "timeline", "findings", "stderr", "server_log"):
        window.docks[name].hide()
    assert "traffic" in titled()


def _tab(window: MainWindow, title: str) -> tuple[QTabBar, QPoint]:
    """The bar with a tab of that title, and the middle of the tab."""
    for bar in window.findChildren(QTabBar):
        for place in range(bar.count() if bar.parent() is window else 0):
            if bar.tabText(place) == title:
                return bar, bar.tabRect(place).center()
    raise LookupError(title)


def test_the_middle_button_closes_a_pane_by_its_tab(window: MainWindow) -> None:
    for name in ("findings", "stderr"):
        window.open_dock(name)
    bar, place = _tab(window, "Findings")
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=place)
    assert window.docks["findings"].isVisible()
    QTest.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=place)
    assert not window.docks["findings"].isVisible()
    assert window.docks["stderr"].isVisible()


def test_a_tabs_context_menu_closes_its_pane_and_opens_others(window: MainWindow) -> None:
    window.open_dock("findings")
    bar, place = _tab(window, "Findings")
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, bar.mapToGlobal(place))
    QApplication.sendEvent(bar, asked)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    close, _gap, *panes = menu.actions()
    assert [pane.text() for pane in panes][:3] == ["Jobs and servers", "Traffic", "Job"]
    close.trigger()
    assert not window.docks["findings"].isVisible()
    menu.close()


def test_a_key_closes_the_pane_with_the_focus_and_no_other(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_dock("stderr")
    window.pane_focus.go_to("stderr")
    window.do[CLOSE_PANE].trigger()
    assert not window.docks["stderr"].isVisible()
    qtbot.waitUntil(lambda: QApplication.focusWidget() in controls_in(window.job_list))
    window.do[CLOSE_PANE].trigger()  # the jobs cannot be closed
    assert window.docks["traffic"].isVisible()
    assert window.job_list.isVisible()


def test_the_panes_below_keep_their_share_of_a_window_that_is_maximised(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.resize(1280, 700)
    below = window.docks["traffic"]
    qtbot.waitUntil(lambda: window.height() == 700)
    before = below.height() / window.height()
    window.resize(2560, 1400)
    qtbot.waitUntil(lambda: abs(below.height() / window.height() - before) < 0.04)
    window.resize(1280, 700)
    qtbot.waitUntil(lambda: abs(below.height() / window.height() - before) < 0.04)
    height = below.height()
    window.resize(1280, 720)  # as by dragging its edge: the jobs take it
    qtbot.waitUntil(lambda: window.height() == 720)
    assert abs(below.height() - height) <= 1


def test_tab_passes_by_panes_that_are_behind_others(window: MainWindow) -> None:
    for make in window.late.steps():
        make()
    window.open_dock("traffic")
    window.traffic_pane.make_details().show()
    window.job_list.setFocus()
    for backwards in (False, True):
        first = window.focusWidget()
        way = [first]
        while len(way) < 99 and (window.focusWidget() is not first or len(way) == 1):
            key = Qt.Key.Key_Backtab if backwards else Qt.Key.Key_Tab
            QTest.keyClick(window.focusWidget(), key)
            way.append(window.focusWidget())
        in_log = {type(each).__name__ for each in way if window.traffic_pane.isAncestorOf(each)}
        assert {"FilterField", "RecentFilters", "TrafficView"} <= in_log
        assert any(window.traffic_pane.details.isAncestorOf(each) for each in way)
        behind = [window.docks[name] for name in ("job", "timeline", "findings", "stderr")]
        assert not any(dock.isAncestorOf(each) for dock in behind for each in way)
        assert way[-1] is first


@pytest.mark.parametrize(
    "front", ["traffic", "job", "timeline", "findings", "stderr", "server_log"]
)
def test_tab_goes_through_all_of_the_pane_in_front_and_back_the_same_way(
    window: MainWindow, qtbot: QtBot, front: str
) -> None:
    for make in window.late.steps():
        make()
    if front == "traffic":
        details = window.traffic_pane.make_details()
        details.show()
        for pages in details.findChildren(QTabWidget):
            pages.show()  # hidden until a message is chosen
    window.open_dock(front)
    if front == "job":
        source = FakeJobs(job(id=1))
        source.details[1] = detail(job(id=1), **course(20))
        window.job_pane.set_source(source)
        window.job_pane.show_job(1)
    window.job_list.setFocus()
    there, back = _round(window, Qt.Key.Key_Tab), _round(window, Qt.Key.Key_Backtab)
    assert there[:-1] == back[-2::-1]
    assert there[-1] is back[-1] is window.job_list.table
    expected = [each for each in usable(window.docks[front]) if not _is_passed_by(each)]
    assert [each for each in there if each in expected] == expected
    assert expected


def _round(window: MainWindow, key: Qt.Key) -> list[QWidget]:
    """What has the focus in turn while a key is pressed, until it is where it was."""
    first, way = window.focusWidget(), list[QWidget]()
    while len(way) < 99 and (not way or way[-1] is not first):
        QTest.keyClick(window.focusWidget(), key)
        way.append(window.focusWidget())
    return way


def _is_passed_by(control: QWidget) -> bool:
    """Whether a page that is not in front hides it."""
    return control.visibleRegion().isEmpty() and not isinstance(control, QAbstractScrollArea)


def test_the_menu_of_the_current_row_opens_by_key(window: MainWindow, qtbot: QtBot) -> None:
    table = window.job_list.table
    table.setFocus()
    table.selectionModel().clearSelection()
    table.selectionModel().setCurrentIndex(
        table.model().index(1, 0), QItemSelectionModel.SelectionFlag.NoUpdate
    )
    window.do[MENU].trigger()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert window.job_list.commands[OPEN] in menu.actions()
    row = table.visualRect(table.currentIndex())
    assert row.contains(table.viewport().mapFromGlobal(menu.pos()))
    assert [index.row() for index in table.selectionModel().selectedRows()] == [1]
    menu.close()


def test_a_key_acts_on_the_current_row_where_none_is_selected(window: MainWindow) -> None:
    table = window.job_list.table
    table.setFocus()
    table.selectionModel().clearSelection()
    opened = heard(window.job_list.commands[OPEN].triggered)
    QTest.keyClick(table, Qt.Key.Key_Tab, CONTROL)
    assert not window.job_list.selected()
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert len(window.job_list.selected()) == 1
    assert len(opened) == 1


def test_garbage_in_what_was_kept_leaves_the_window_as_it_is_at_first(
    qtbot: QtBot, tmp_path: Path
) -> None:
    kept = Preferences(tmp_path)
    kept.keep_bytes("window/geometry", QByteArray(b"\x01\xd9\xd0\xcb\x00\x03\x00\x00\xff\xff"))
    kept.keep_bytes("window/docks", QByteArray(b"garbage\xff\x00"))
    kept.keep_json("jobs/automatic", {"limit": 10**20})
    kept.keep_json("keys", {"window.call": [[1], {}], "call.send": "y"})
    for name in ("log/look", "stderr/look", "findings/look"):
        kept.keep_json(name, {"columns": "zzz", "widths": [1, "a"], "server": 5, "filter": []})
    first, window = window_on(qtbot, tmp_path / "other"), window_on(qtbot, tmp_path)
    assert window.size() == first.size()
    assert window.settings.of(LimitSettings) == LimitSettings()
    for make in window.late.steps():
        make()


def test_panes_that_a_version_before_saved_are_where_they_were(
    qtbot: QtBot, tmp_path: Path
) -> None:
    saved = Preferences(tmp_path)
    saved.keep_bytes("window/docks", QByteArray(zlib.decompress(base64.b64decode(_SAVED_DOCKS))))
    saved.keep_json("keys", {"go.log": ["Alt+0"], "go.messages": ["Alt+9"]})
    saved.keep_json("log/look", {"recent": ["token == 7"]})
    window = window_on(qtbot, tmp_path)
    hidden = {name for name, dock in window.docks.items() if dock.isHidden()}
    assert hidden == {"traffic", "questions"}
    assert window.late.server_log.is_seen
    assert window.traffic_pane.state()["recent"] == ["token == 7"]
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_0, Qt.KeyboardModifier.AltModifier)
    assert window.docks["traffic"].isAncestorOf(window.focusWidget())
    assert [key.toString() for key in window.pane_focus.going[GO_TO[6]].shortcuts()] == ["Alt+9"]


_SAVED_DOCKS = (
    "eNqFkD0OwjAMhV+gCCaEGBgQAxMbAxIjl+GnoPJX0cAtOAwrCxNnYOlNIKg8p6kUKiQcxbWdLy+uAWSgvbkryO3G8GEkUy+6"
    "NhaIMccGQ2hEzELF8lgoIgNkmUhUgWDCvG/kVBm6uyulgjxZqMlRXURbnuiW0cq+nFkpdZWgTK0ZzZRHpQXV9agjG9whpGaE"
    "fd6o4/OgzC8tt7B+Bf2T73wN4CgDQILkr7b0obmmVA6/tNW54Hsef8DJ3pB/iNmP9maCUT5mO88L88BtUW0YF1Tct0mNmGuL"
    "GV8vdUr7ANbgeMs="
)
"""A window state with Traffic closed and Server log in front, written when they were "log" and
"messages" also in the code."""


def test_the_focus_stays_where_a_pane_has_nothing_for_it(window: MainWindow) -> None:
    window.job_list.setFocus()
    window.pane_focus.go_to("job")
    assert window.focusWidget() is window.job_list.table


def test_the_focus_goes_along_when_its_pane_makes_room_for_another(window: MainWindow) -> None:
    window.open_dock("stderr")
    window.stderr_pane.text.setFocus()
    window.open_dock("traffic")
    assert window.traffic_pane.isAncestorOf(window.focusWidget())
    window.server_log_pane.show()
    window.open_dock("server_log")
    assert window.server_log_pane.isAncestorOf(window.focusWidget())
    window.job_list.setFocus()
    window.open_dock("traffic")
    assert window.job_list.isAncestorOf(window.focusWidget())


def test_tab_reaches_panes_that_were_made_late_before_the_tool_bar(window: MainWindow) -> None:
    for make in window.late.steps():
        make()
    # By the keyboard: wrappers of all widgets in Qt's focus chain crash Python's collector.
    for name in ("stderr", "server_log"):  # that of a job has nothing to stop at without one
        dock = window.docks[name]
        window.open_dock(name)
        pane = dock.findChild(StderrPane if name == "stderr" else ServerLogPane)
        assert pane is not None
        usable = [each for each in controls_in(pane) if each.isVisible() and each.isEnabled()]
        usable[0].setFocus()
        steps = 0
        while dock.isAncestorOf(window.focusWidget()) and steps < 99:
            QTest.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
            steps += 1
        assert window.tool_bar.isAncestorOf(window.focusWidget())


@pytest.mark.parametrize("front", ["traffic", "job", "timeline", "findings", "stderr"])
def test_after_the_last_answer_the_pane_that_was_in_front_is_there_again(
    window: MainWindow, qtbot: QtBot, front: str
) -> None:
    window.open_dock(front)
    window.job_list.setFocus()
    qtbot.wait(20)
    window.show_questions(1, is_new=True)
    qtbot.waitUntil(lambda: not window.question_panel.visibleRegion().isEmpty())
    window.open_dock("questions")
    window.show_questions(2, is_new=True)
    window.show_questions(0, is_new=False)
    # Qt keeps the panes that lie behind another one shown, beyond the window's left edge.
    qtbot.waitUntil(lambda: window.docks[front].geometry().right() > 0, timeout=10_000)
    assert window.docks["questions"].isHidden()


def test_after_the_last_answer_the_pane_that_was_chosen_meanwhile_stays(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.open_dock("job")
    window.show_questions(1, is_new=True)
    qtbot.waitUntil(lambda: not window.question_panel.visibleRegion().isEmpty())
    window.open_dock("stderr")
    qtbot.waitUntil(lambda: not window.stderr_pane.visibleRegion().isEmpty())
    window.show_questions(0, is_new=False)
    qtbot.wait(20)
    assert not window.stderr_pane.visibleRegion().isEmpty()


def letters_of(window: MainWindow) -> list[str]:
    """The underlined letters of menus, tabs and buttons that can be in sight together."""
    tabs = window.job_pane.tabs
    texts = [menu.text() for menu in window.menuBar().actions()]
    texts += [tabs.tabText(place) for place in range(tabs.count())]
    texts += [button.text() for button in window.job_pane.attempts.findChildren(QAbstractButton)]
    return [word[word.index("&") + 1].casefold() for word in texts if "&" in word]


def test_underlined_letters_mean_one_thing(window: MainWindow) -> None:
    window.job_pane.attempts.show_token.setChecked(False)
    hidden = letters_of(window)
    window.job_pane.attempts.show_token.setChecked(True)
    for letters in (hidden, letters_of(window)):
        assert len(letters) >= 12
        assert len(letters) == len(set(letters))


def test_the_key_to_look_for_something_means_the_pane_with_the_focus(window: MainWindow) -> None:
    window.job_list.table.setFocus()
    QTest.keyClick(window.job_list.table, Qt.Key.Key_F, CONTROL)
    assert window.filter_edit.hasFocus()
    window.open_dock("traffic")
    window.traffic_pane.view.setFocus()
    QTest.keyClick(window.traffic_pane.view, Qt.Key.Key_F, CONTROL)
    assert window.traffic_pane.bar.isAncestorOf(window.focusWidget())


def test_the_list_of_jobs_has_the_focus_at_first(window: MainWindow) -> None:
    assert window.focusWidget() is window.job_list.table


def test_fields_keep_their_keys_and_leave_the_rest_to_the_window(window: MainWindow) -> None:
    manual, palette = (heard(window.do[MANUAL].triggered), heard(window.do[PALETTE].triggered))
    window.traffic_pane.bar.focus_search()
    field = window.focusWidget()
    assert isinstance(field, FilterField)
    helped = heard(field.help_requested)
    QTest.keyClick(field, Qt.Key.Key_F1)
    assert (len(helped), len(manual)) == (1, 0)
    window.filter_edit.setFocus()
    window.filter_edit.setText("some words")
    window.filter_edit.setCursorPosition(0)
    QTest.keyClick(window.filter_edit, Qt.Key.Key_F1)
    QTest.keyClick(window.filter_edit, Qt.Key.Key_K, CONTROL)
    assert (len(manual), len(palette)) == (1, 1)
    assert window.filter_edit.text() == "some words"


def test_the_first_choice_has_the_focus_of_an_empty_window(
    qtbot: QtBot, models: Models, parts: QObject, tmp_path: Path
) -> None:
    appearance = Appearance(QWidget().palette(), resource("icons"), parts)
    status = StatusBar(None, models.servers, models.traffic.timeline, appearance)
    made = MainWindow(models, status, appearance, Preferences(tmp_path))
    made.middle.show_first(are_any=False)
    expose(qtbot, made)
    made.activateWindow()
    assert made.focusWidget() is made.welcome.demo
    made.middle.show_first(are_any=True)
    assert made.focusWidget() is made.job_list.table


def test_the_columns_of_the_version_before_are_kept(
    qtbot: QtBot, models: Models, parts: QObject, tmp_path: Path
) -> None:
    earlier = QTreeWidget()
    qtbot.addWidget(earlier)
    earlier.setColumnCount(Column.ENDED)
    earlier.hideColumn(Column.SERVER)
    earlier.header().moveSection(Column.RATE, 1)
    preferences = Preferences(tmp_path)
    preferences.keep_bytes("jobs/columns-19", earlier.header().saveState())
    appearance = Appearance(QWidget().palette(), resource("icons"), parts)
    status = StatusBar(None, models.servers, models.traffic.timeline, appearance)
    made = MainWindow(models, status, appearance, preferences)
    qtbot.addWidget(made)
    header = made.job_list.table.header()
    hidden = {column for column in Column if header.isSectionHidden(column)}
    assert hidden == {Column.SERVER, Column.ENDED}
    assert header.visualIndex(Column.RATE) == 1


@pytest.mark.parametrize("pane", ["traffic", "jobs"])
def test_resuming_has_its_key_in_the_whole_window(
    qtbot: QtBot, window: MainWindow, pane: str
) -> None:
    window.job_list.table.selectAll()
    view = window.traffic_pane.view if pane == "traffic" else window.job_list.table
    view.setFocus()
    said = asked(window.job_list, RESUME)
    QTest.keyClick(view, Qt.Key.Key_R, CONTROL)
    assert said == [(2, 3)]


def test_the_tool_bar_resumes_and_its_menu_chooses_to_resume_automatically(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.job_list.select(2)
    resumed, automatic = asked(window.job_list, RESUME), asked(window.job_list, AUTOMATIC)
    window.tool_bar.resume_button.click()
    choices = window.tool_bar.resume_button.menu().actions()
    assert [choice.text().replace("&", "") for choice in choices] == [
        "Resume",
        "Resume automatically",
    ]
    choices[1].trigger()
    assert (resumed, automatic) == ([(2,)], [((2,), True)])


def test_the_tool_bar_offers_what_can_work(window: MainWindow, models: Models) -> None:
    assert not window.tool_bar.resume_button.isEnabled()
    window.job_list.select(1)  # it runs: a click on Resume would do nothing
    assert window.job_list.commands[AUTOMATIC].isEnabled()
    assert not window.tool_bar.resume_button.isEnabled()
    window.job_list.select(2)
    assert window.tool_bar.resume_button.isEnabled()
    models.jobs.apply(ChangeSet(removed=(1, 2, 3)))
    assert not window.tool_bar.resume_button.isEnabled()


def test_servers_that_come_and_go_leave_nothing_in_the_menu(
    qtbot: QtBot, window: MainWindow
) -> None:
    menu = window.tool_bar.connect_button.menu()
    for number in range(20):
        window.tool_bar.set_servers([SavedServer("one", is_up=number % 2 == 0), SavedServer("two")])
    offered = [action.text() for action in menu.actions()]
    assert offered[-2:] == ["one", "two"]

    def is_all_gone() -> bool:
        # The separator, both servers, and the action of the menu itself.
        return len(menu.findChildren(QAction)) <= 4

    qtbot.waitUntil(is_all_gone)
    assert [action.text() for action in menu.actions()] == offered


def test_it_fits_a_small_screen(window: MainWindow) -> None:
    assert window.minimumSizeHint().width() <= 900
    assert window.minimumSizeHint().height() <= 600


def test_jobs_are_grouped_by_server_from_the_menu(
    window: MainWindow, models: Models, parts: QObject
) -> None:
    servers = {1: "b", 2: "a", 3: "b"}
    models.jobs.set_source(FakeJobs(*(resumable(n, server=name) for n, name in servers.items())))
    by_server, by_start = (
        next(a for a in window.findChildren(QAction) if a.isCheckable() and a.text() == arguments)
        for arguments in ("Server", "&Start")
    )
    assert by_start.isChecked()
    by_server.trigger()
    assert [models.jobs.job_at(row) for row in range(3)] == [2, 1, 3]
    assert by_server.isChecked()
    window.job_list.table.header().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
    assert by_start.isChecked()
    assert [models.jobs.job_at(row) for row in range(3)] == [1, 2, 3]


def test_looking_for_jobs_has_no_button_besides_its_field(window: MainWindow) -> None:
    assert window.do[FIND] not in window.tool_bar.actions()
    assert window.do[FIND] not in window.menuBar().actions()


def test_a_long_error_does_not_make_a_small_window_grow(window: MainWindow, qtbot: QtBot) -> None:
    window.resize(900, 600)
    text = "What happened " * 30
    window.notices.show_error(ErrorDetails(text, "where", text, "a line of stderr\n" * 500))
    qtbot.waitUntil(lambda: window.notices.height() > 2 * window.fontMetrics().height())
    assert window.minimumSizeHint().height() <= 600
    assert (window.width(), window.height()) == (900, 600)

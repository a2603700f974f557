"""Connects notifications, tray icon, task bar, title and mini window to the jobs."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui.common.commands import CommandAction
from mcp_progress_monitor.gui.jobs.filter_model import JobGroup
from mcp_progress_monitor.gui.notifications.desktop import (
    BusHere,
    DesktopNotifier,
    StayAwake,
    TaskBarButton,
    TrayIcon,
)
from mcp_progress_monitor.gui.notifications.events import (
    EventKind,
    JobEvent,
    JobEvents,
    is_wanted,
    notice_of,
    notice_of_series,
)
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.gui.user_settings import GeneralSettings, NotificationSettings
from mcp_progress_monitor.gui.window_commands import MINI, NOTIFICATIONS
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.engine.call import SeriesEnd
    from mcp_progress_monitor.gui.jobs.mini_window import MiniWindow
    from mcp_progress_monitor.gui.models import Models
    from mcp_progress_monitor.gui.notifications.events import NoticeAction
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.user_settings import UserSettings
    from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobSnapshot

GATHERED_MS: Final = 1_000  # events of one second are one notification
_APART_MS: Final = 5_000
"""Least time between two notifications: events meanwhile are gathered into the next one."""
SHARE_MS: Final = 4_000
"""Interval of progress updates: each costs a snapshot of every running job."""
_AVERAGED: Final = 20  # running jobs that count for the progress in the task bar, the oldest first
_SLOW_MARGIN_S: Final = 0.1
_LONGEST_MS: Final = 86_400_000
_TITLE: Final = "MCP Progress Monitor"
_OF_SERIES: Final = frozenset({EventKind.DONE, EventKind.FAILED})


class NotificationsController(QObject):
    """Shows the state of the jobs outside the window; idle while nothing changes."""

    def __init__(
        self,
        window: QWidget,
        quit_action: QAction,
        models: Models,
        appearance: Appearance,
        preferences: Preferences,
        settings: UserSettings,
        open_job: Callable[[JobId], object],
        carry_out: Callable[[NoticeAction, JobId], object],
    ) -> None:
        """`open_job` shows a job in the window and in its list; called only for existing jobs.

        So is `carry_out`, for the buttons of notifications.
        """
        super().__init__(window)
        self._window = window
        self._models = models
        self._appearance = appearance
        self._preferences = preferences
        self._settings = settings
        self._open_job = open_job
        self._carry_out = carry_out
        self._in_series: set[JobId] = set()
        """Jobs whose end is notified with that of their series."""
        self.mini: MiniWindow | None = None  # created on first use
        self._running: dict[JobId, None] = {}
        self._pending: list[JobEvent] = []
        self._events = JobEvents(time.time())
        self.mini_action: Final = CommandAction(MINI, self)
        self.mini_action.toggled.connect(self._on_mini_toggled)
        self.on_action: Final = CommandAction(NOTIFICATIONS, self)
        self.on_action.toggled.connect(self._on_switched)
        bus = BusHere(self)
        self.button: Final = TaskBarButton(bus)
        self.awake: Final = StayAwake(bus, self)
        self.desktop: Final = DesktopNotifier(window, bus)
        self.desktop.clicked.connect(self.open_job)
        self.desktop.acted.connect(self._on_acted)
        last = [self.mini_action, self.on_action, quit_action]
        self.tray: Final = TrayIcon(window, appearance, self._running_jobs, last)
        self.tray.shown.connect(self.come_to_front)
        self.tray.job_opened.connect(self.open_job)
        self.tray.icon_changed.connect(self._on_icon_changed)
        self._due = QTimer(self, singleShot=True, interval=GATHERED_MS)
        self._due.timeout.connect(self._on_due)
        self._slow_at: dict[JobId, float] = {}
        """When running jobs will be slower than usual, in monotonic seconds."""
        self._slow_due = QTimer(self, singleShot=True)
        self._slow_due.timeout.connect(self._on_slow_due)
        self._share_due = QTimer(self, singleShot=True, interval=SHARE_MS)
        self._share_due.timeout.connect(self.show_share)
        models.feed.jobs_changed.connect(self._on_jobs_changed)
        models.jobs.states_read.connect(self._on_states_read)
        models.groups.dataChanged.connect(self._show_counts)
        settings.changed.connect(self._apply)
        self._application = QGuiApplication.instance()
        if isinstance(self._application, QGuiApplication):
            self._application.focusWindowChanged.connect(self._on_focus_changed)
        self._begin()

    def close(self) -> None:
        if isinstance(self._application, QGuiApplication):
            self._application.focusWindowChanged.disconnect(self._on_focus_changed)
        for timer in (self._due, self._slow_due, self._share_due):
            timer.stop()
        self._preferences.keep_json("mini/open", {"is_open": self.mini_action.isChecked()})
        if self.mini is not None:
            self.mini.hide()
        self.tray.set_wanted(is_wanted=False)
        self.button.show(0, None)
        self.awake.set_wanted(is_wanted=False)
        self.desktop.withdraw()

    def is_in_front(self) -> bool:
        """True if one of our windows is active; the mini window shows too little to count."""
        active = QApplication.activeWindow()
        return active is not None and active is not self.mini

    @Slot()
    def come_to_front(self) -> None:
        window = self._window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()

    @Slot(object)
    def open_job(self, job: JobId) -> None:
        self.come_to_front()
        if self._models.jobs.row_of(job) is not None:
            self._open_job(job)

    @Slot(object)
    def leave_out(self, job: JobId) -> None:
        """Report the end of `job` only with that of its series."""
        self._in_series.add(job)

    @Slot(object, object)
    def report_series(self, series: SeriesEnd, jobs: Sequence[JobSnapshot]) -> None:
        """Report the end of calls that were made in a row as one."""
        if not jobs or self.is_in_front():
            return
        failed = [job for job in jobs if job.state is not JobState.DONE]
        kind = EventKind.FAILED if failed else EventKind.DONE
        settings = self._settings.notifications
        event = JobEvent(kind, (failed or jobs)[0])
        if is_wanted(event, settings, _time_of_day(), series.duration_s):
            notice = notice_of_series(series, jobs)
            self.desktop.show(notice, has_sound=settings.has_sound)

    def _begin(self) -> None:
        jobs = self._models.jobs
        there = [jobs.job_at(row) for row in range(jobs.rowCount())]
        found = [jobs.snapshot(job) for job in there if job is not None]
        self._events.prime(found)
        self._refresh_running(found)
        self._apply()
        if self._preferences.json_of("mini/open").get("is_open"):
            self.mini_action.setChecked(True)

    @Slot()
    def _apply(self) -> None:
        settings = self._settings.notifications
        self.tray.set_wanted(is_wanted=self._settings.of(GeneralSettings).shows_tray)
        self.on_action.setChecked(settings.is_on)
        self._show_counts()
        self.show_share()

    @Slot(object)
    def _on_jobs_changed(self, changes: ChangeSet) -> None:
        if changes.removed:
            self._events.forget(changes.removed)
            self._in_series.difference_update(changes.removed)
            for job in changes.removed:
                self._running.pop(job, None)
                self._slow_at.pop(job, None)
        if self._running and not self._share_due.isActive():
            self._share_due.start()

    @Slot(object)
    def _on_states_read(self, jobs: Sequence[JobId]) -> None:
        found = [self._models.jobs.snapshot(job) for job in jobs]
        self._refresh_running(found)
        self._gather(self._events.changed(found))
        self._expect_slow(found)
        if not self._share_due.isActive():
            self._share_due.start()

    def _refresh_running(self, jobs: Sequence[JobSnapshot | None]) -> None:
        for job in jobs:
            if job is None or job.parent is not None:
                continue
            if job.state.is_over:
                self._running.pop(job.id, None)
            else:
                self._running[job.id] = None

    def _expect_slow(self, jobs: Sequence[JobSnapshot | None]) -> None:
        """Wait until the first of the running jobs takes longer than usual, if that is wanted."""
        settings, now = self._settings.notifications, time.monotonic()
        if not (settings.is_on and settings.on_slow):
            self._slow_at.clear()
            return
        for job in filter(None, jobs):
            self._slow_at.pop(job.id, None)
            if job.slow_after_s is not None and job.state is JobState.RUNNING and not job.is_slow:
                self._slow_at[job.id] = now + job.slow_after_s - job.elapsed_s + _SLOW_MARGIN_S
        if self._slow_at:
            wait_s = max(min(self._slow_at.values()) - now, 0.0)
            self._slow_due.start(min(round(wait_s * 1000), _LONGEST_MS))

    @Slot()
    def _on_slow_due(self) -> None:
        now = time.monotonic()
        due = [job for job, at in self._slow_at.items() if at <= now]
        for job in due:
            del self._slow_at[job]
        source = self._models.jobs.source
        found = [] if source is None else [source.snapshot(job) for job in due]
        self._gather(self._events.slow(found))
        self._expect_slow(())

    def _running_jobs(self) -> list[JobSnapshot]:
        """The oldest running jobs, at most as many as the progress is made of."""
        first = list(self._running)[:_AVERAGED]
        return [job for job in map(self._models.jobs.snapshot, first) if job is not None]

    def _gather(self, events: Sequence[JobEvent]) -> None:
        if self.is_in_front():
            return
        settings, now = self._settings.notifications, _time_of_day()
        self._pending += [event for event in events if is_wanted(event, settings, now)]
        if self._pending and not self._due.isActive():
            self._due.start()

    @Slot()
    def _on_due(self) -> None:
        self._due.setInterval(GATHERED_MS)
        pending, self._pending = self._pending, []
        newest = {event.job.id: event for event in pending}
        jobs = self._models.jobs
        true = [
            event
            for event in newest.values()
            if event.kind not in _OF_SERIES or event.job.id not in self._in_series
            if (found := jobs.snapshot(event.job.id)) is None or found.state is event.job.state
        ]
        if true and not self.is_in_front():
            self.desktop.show(notice_of(true), has_sound=self._settings.notifications.has_sound)
            self._due.setInterval(_APART_MS)
            self._due.start()

    @Slot()
    def _show_counts(self) -> None:
        groups, settings = self._models.groups, self._settings.of(GeneralSettings)
        text = counted(groups.count)
        title = f"{text} — {_TITLE}" if text and settings.shows_counts else _TITLE
        self._window.setWindowTitle(title)
        needs_you = groups.count(JobGroup.NEEDS_YOU)
        urgent = needs_you or groups.count(JobGroup.STALLED)
        tone = Tone.WARNING if urgent else Tone.ACCENT if text else None
        self.tray.show_state(text, tone)
        is_running = groups.count(JobGroup.RUNNING) + groups.count(JobGroup.STALLED) > 0
        self.awake.set_wanted(is_wanted=is_running and settings.keeps_awake)

    @Slot()
    def show_share(self) -> None:
        is_wanted = self._settings.of(GeneralSettings).shows_task_bar
        count = self._models.groups.count(JobGroup.NEEDS_YOU) if is_wanted else 0
        shares = [job.fraction for job in self._running_jobs() if job.fraction is not None]
        share = sum(shares) / len(shares) if shares and is_wanted else None
        self.button.show(count, share)

    @Slot(bool)
    def _on_switched(self, is_on: bool) -> None:
        self._settings.set(NotificationSettings.is_on, is_on)

    @Slot(bool)
    def _on_mini_toggled(self, is_wanted: bool) -> None:
        if is_wanted and self.mini is None:
            from mcp_progress_monitor.gui.jobs.mini_window import MiniWindow  # late: rarely used

            made = MiniWindow(self._models.jobs, self._appearance, self._preferences, self._window)
            made.job_opened.connect(self.open_job)
            made.closed.connect(self._on_mini_closed)
            self.mini = made
        if self.mini is not None:
            self.mini.setVisible(is_wanted)

    @Slot()
    def _on_mini_closed(self) -> None:
        self.mini_action.setChecked(False)

    @Slot(object, object)
    def _on_acted(self, action: NoticeAction, job: JobId) -> None:
        """Carry out the button of a notification; the window shows how it goes on."""
        self.open_job(job)
        if self._models.jobs.row_of(job) is not None:
            self._carry_out(action, job)

    @Slot()
    def _on_icon_changed(self) -> None:
        self.desktop.set_tray(self.tray.icon)

    @Slot()
    def _on_focus_changed(self) -> None:
        if self.is_in_front():
            self._pending.clear()
            self.desktop.withdraw()


def _time_of_day() -> datetime.time:
    local = time.localtime()
    return datetime.time(local.tm_hour, local.tm_min)


def counted(count: Callable[[JobGroup], int]) -> str:
    """`"3 running, 1 needs you"`; empty when no job runs."""
    running, needs_you = count(JobGroup.RUNNING), count(JobGroup.NEEDS_YOU)
    stalled = count(JobGroup.STALLED)
    parts = (
        f"{number(running)} running" if running else "",
        f"{number(needs_you)} {'needs' if needs_you == 1 else 'need'} you" if needs_you else "",
        f"{number(stalled)} stalled" if stalled else "",
    )
    return ", ".join(filter(None, parts))

"""Builds each object of the window once, joins them, and ends them in order."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import anyio
from PySide6.QtCore import QEvent, QObject, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication

from app import __version__, paths
from app.monitor import Monitor
from app.problem import Problem
from app.shell.aio import Tasks, run_on_qt
from app.shell.control import Control, token_words
from app.shell.dialogs import Dialogs
from app.shell.failures import Failures
from app.shell.garbage import Garbage
from app.shell.job_dialogs import JobDialogs
from app.shell.main_window import MainWindow
from app.shell.models import Models
from app.shell.preferences import Preferences
from app.shell.resuming import Resuming
from app.shell.status_bar import StatusBar
from app.store.resumes import ResumeStore
from app.widgets.appearance import Appearance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.shell.options import WindowOptions
    from app.tracker.snapshot import JobId


def run_window(options: WindowOptions) -> int:
    """Open the window and run until it is closed; returns the exit code."""
    application = QApplication(sys.argv[:1])
    return run_on_qt(application, Program(application, options).run)


class Program(QObject):
    """The program with a window: exists once, from the start of the event loop to its end."""

    monitor: Monitor
    window: MainWindow
    control: Control

    def __init__(self, application: QApplication, options: WindowOptions) -> None:
        super().__init__()
        self.ready = anyio.Event()
        """Set when the window is up and `monitor`, `window` and `control` are there."""
        self._application = application
        self._options = options
        self._over = anyio.Event()
        self._quits_when_painted = False
        self._exit_code = 0
        self._store_problem: Problem | None = None

    async def run(self) -> int:
        """Show the window, serve until `quit`, and end every server before returning."""
        self._name_application()
        failures = Failures(self._options.data_dir / "monitor.log", self._tell)
        failures.install()
        store = ResumeStore(self._options.data_dir.absolute())
        async with Monitor(store=store) as monitor, Tasks(self._tell, failures.note) as tasks:
            self.monitor = monitor
            self._build(tasks)
            self._listen_to_signals()
            self.window.show()
            self._begin()
            self.ready.set()
            await self._over.wait()
            self._put_away()
        return self._exit_code

    @Slot()
    def quit(self) -> None:
        """End the program: the window goes at once, servers get their time to end."""
        self._over.set()

    def quit_when_painted(self) -> None:
        """End the program as soon as the window was painted once; for the start-up benchmark."""
        self._quits_when_painted = True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice the first paint."""
        if event.type() is QEvent.Type.Paint:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self.quit)
        return super().eventFilter(watched, event)

    def _name_application(self) -> None:
        self._application.setApplicationName(paths.APPLICATION)
        self._application.setApplicationDisplayName("MCP Progress Monitor")
        self._application.setApplicationVersion(__version__)
        self._application.setDesktopFileName(paths.APPLICATION)
        self._application.setWindowIcon(QIcon(str(paths.resource("icons/app.svg"))))

    def _build(self, tasks: Tasks) -> None:
        self._preferences = Preferences(self._options.data_dir)
        appearance = Appearance(QGuiApplication.palette(), paths.resource("icons"), self)
        self._models = Models(self.monitor, self)
        self._status = StatusBar(self.monitor, self._models.log)
        self.window = MainWindow(self._models, self._status, appearance, self._preferences)
        self.control = Control(self.monitor, tasks, self._tell, self)
        self.dialogs = Dialogs(
            self.window, self.monitor, self.control, self._preferences, appearance
        )
        self._resuming = Resuming(self.monitor, tasks, self._tell, self)
        self._job_dialogs = JobDialogs(self.window, self.monitor, self._resuming, self._preferences)
        self._garbage = Garbage(self)
        self._join_feed()
        self._join_panes()
        self._join_actions()
        self.window.restore_limit()
        if self._quits_when_painted:
            self.window.installEventFilter(self)

    def _join_feed(self) -> None:
        feed, window = self._models.feed, self.window
        feed.servers_changed.connect(self._on_servers_changed)
        feed.servers_changed.connect(self.dialogs.refresh_servers)
        feed.jobs_changed.connect(window.job_pane.apply)
        feed.jobs_changed.connect(self._on_jobs_changed)
        feed.frames_added.connect(window.stderr_pane.add_frames)
        feed.frames_added.connect(self._status.add_frames)
        feed.frames_added.connect(self._garbage.add_frames)

    def _join_panes(self) -> None:
        window, control = self.window, self.control
        window.job_list.cancel_requested.connect(control.cancel)
        window.job_list.edit_requested.connect(self.dialogs.edit_and_send)
        window.job_list.follow_requested.connect(self._on_follow_requested)
        window.job_list.remove_requested.connect(control.remove)
        window.job_list.copy_requested.connect(control.copy)
        window.job_list.job_opened.connect(self._on_job_opened)
        window.job_list.selection_changed.connect(self._on_selection_changed)
        window.job_pane.cancel_requested.connect(control.cancel)
        window.job_pane.search_requested.connect(self._on_search_requested)
        window.job_pane.frame_followed.connect(self._on_frame_followed)
        for pane in (window.job_list, window.job_pane):
            pane.resume_requested.connect(self._resuming.resume)
            pane.automatic_requested.connect(self._resuming.set_automatic)
            pane.reissue_requested.connect(self._job_dialogs.ask_to_reissue)
        window.job_pane.automatic_limit_changed.connect(self._resuming.set_limit)
        window.job_list.forget_requested.connect(self._job_dialogs.ask_to_forget)
        window.log_pane.job_opened.connect(self._on_job_opened)
        window.job_filters.group_selected.connect(self._models.shown_jobs.set_group)
        window.filter_edit.textChanged.connect(self._models.shown_jobs.set_text)
        window.servers.connect_requested.connect(control.connect_server)
        window.servers.disconnect_requested.connect(control.disconnect_server)
        window.servers.server_remove_requested.connect(control.remove_server)
        window.servers.server_add_requested.connect(self.dialogs.ask_for_command)
        window.servers.server_opened.connect(self.dialogs.new_call_on)
        window.welcome.demo_requested.connect(control.start_demo)
        window.welcome.server_add_requested.connect(self.dialogs.ask_for_command)
        window.welcome.config_open_requested.connect(self.dialogs.ask_for_config)
        window.close_requested.connect(self.quit)

    def _join_actions(self) -> None:
        do, control = self.window.actions_, self.control
        do.command.triggered.connect(self.dialogs.ask_for_command)
        do.config.triggered.connect(self.dialogs.ask_for_config)
        do.demo.triggered.connect(control.start_demo)
        do.call.triggered.connect(self.dialogs.new_call)
        do.clear.triggered.connect(control.remove_finished)
        do.find.triggered.connect(self.window.focus_filter)
        do.quit.triggered.connect(self.quit)
        do.about.triggered.connect(self.dialogs.about)

    def _begin(self) -> None:
        """Do what the command line asked for."""
        self._on_servers_changed()
        self._on_beat()
        options = self._options
        if options.config is not None:
            self.dialogs.ask_for_consent(str(options.config), options.definitions)
        elif options.is_demo:
            self.control.start_demo()
        else:
            self.control.add_servers(options.definitions)
        if options.screenshot is not None:
            QTimer.singleShot(round(options.after_s * 1000), self._on_screenshot_due)

    def _listen_to_signals(self) -> None:
        loop_signals = (signal.SIGINT, signal.SIGTERM)
        for number in loop_signals:
            signal.signal(number, self._on_signal)
        # Qt's loop runs no Python while nothing happens: a signal is seen at the next beat.
        self._beat = QTimer(self)
        self._beat.setInterval(250)
        self._beat.timeout.connect(self._on_beat)
        self._beat.start()

    def _put_away(self) -> None:
        self.window.remember()
        self.dialogs.close()
        self._preferences.save()
        self._models.detach()
        self.window.hide()
        self._garbage.restore()

    def _tell(self, problem: Problem) -> None:
        self.window.notices.show_problem(problem)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self.quit()

    @Slot()
    def _on_beat(self) -> None:
        """Give Python the moment in which it runs signal handlers; look after the store."""
        problem = self.monitor.store_problem
        if problem != self._store_problem and problem is not None:
            self._tell(problem)
        self._store_problem = problem

    @Slot()
    def _on_screenshot_due(self) -> None:
        target = self._options.screenshot
        if not self.window.grab().save(str(target), "PNG"):
            print(f"The screenshot could not be saved: {target}", file=sys.stderr)  # noqa: T201
            self._exit_code = 8
        self.quit()

    @Slot()
    def _on_servers_changed(self) -> None:
        self._on_jobs_changed()
        self._status.refresh()

    @Slot()
    def _on_jobs_changed(self) -> None:
        self.window.show_jobs(are_any=bool(self.monitor.servers() or self.monitor.jobs()))

    @Slot(object)
    def _on_selection_changed(self, selected: Sequence[JobId]) -> None:
        if selected and self.window.job_pane.job != selected[0]:
            self.window.job_pane.show_job(selected[0])

    @Slot(object)
    def _on_job_opened(self, job: int) -> None:
        self.window.job_list.select(job)
        self.window.job_pane.show_job(job)
        self.window.open_dock("job")

    @Slot(object)
    def _on_frame_followed(self, number: int) -> None:
        self.window.open_dock("log")
        self.window.log_pane.follow_frame(number)

    @Slot(object)
    def _on_search_requested(self, words: str) -> None:
        self.window.open_dock("log")
        self.window.log_pane.search_for(words)

    @Slot(object)
    def _on_follow_requested(self, job: JobId) -> None:
        """Show the messages with the job's token; without one, its request."""
        found = self.monitor.snapshot(job)
        if found is None:
            return
        if found.token is not None:
            self._on_search_requested(token_words(found.token))
        elif found.request > 0:
            self._on_frame_followed(found.request)
        else:
            what = self.tr("The messages of this job belong to an earlier run of the program")
            self._tell(Problem(what, found.server))

"""Builds each object of the window once, joins them, and ends them in order."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app import paths, text
from app.monitor import Monitor
from app.recording.beginning import recorder_for
from app.sessions.clock import Clock
from app.sessions.server_settings import FILE_NAME
from app.shell.aio import Tasks, run_on_qt
from app.shell.control import Control
from app.shell.dialogs import Dialogs
from app.shell.exporting import Exporting
from app.shell.failures import Failures
from app.shell.garbage import Garbage
from app.shell.job_dialogs import JobDialogs
from app.shell.lifetime import Lifetime
from app.shell.main_window import MainWindow
from app.shell.models import Models
from app.shell.navigation import Navigation
from app.shell.preferences import Preferences
from app.shell.questioning import Questioning
from app.shell.recordings import Recordings
from app.shell.resuming import Resuming
from app.shell.status_bar import StatusBar
from app.shell.tasking import Tasking
from app.store.resumes import ResumeStore
from app.widgets.appearance import Appearance

if TYPE_CHECKING:
    import anyio

    from app.problem import Problem
    from app.shell.options import WindowOptions


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
        self._life = Lifetime(application, self)
        self._options = options
        self._disk_problems: tuple[Problem | None, Problem | None] = (None, None)

    @property
    def ready(self) -> anyio.Event:
        """Set when the window is up and `monitor`, `window` and `control` are there."""
        return self._life.ready

    async def run(self) -> int:
        """Show the window, serve until `quit`, and end every server before returning."""
        failures = Failures(self._options.data_dir / "monitor.log", self._tell)
        failures.install()
        folder, clock = self._options.data_dir.absolute(), Clock()
        recorder, problem = recorder_for(folder, self._options.record, clock)
        store = ResumeStore(folder)
        settings = folder / FILE_NAME
        monitoring = Monitor(clock, store, recorder=recorder, settings=settings)
        async with monitoring as monitor, Tasks(self._tell, failures.note) as tasks:
            self.monitor = monitor
            self._build(tasks)
            for each in (problem, monitor.settings_problem):
                if each is not None:
                    self._tell(each)
            self._life.show(self.window)
            self._begin()
            await self._life.last()
            self._put_away()
        return self._life.exit_code

    @Slot()
    def quit(self) -> None:
        """End the program: the window goes at once, servers get their time to end."""
        self._life.quit()

    def _build(self, tasks: Tasks) -> None:
        self._preferences = Preferences(self._options.data_dir)
        appearance = Appearance(QGuiApplication.palette(), paths.resource("icons"), self)
        self._models = Models(self.monitor, self)
        self._status = StatusBar(self.monitor, self._models.log, appearance)
        self.window = MainWindow(self._models, self._status, appearance, self._preferences)
        self.control = Control(self.monitor, tasks, self._tell, self)
        self.dialogs = Dialogs(
            self.window, self.monitor, self.control, self._preferences, appearance
        )
        self.questioning = Questioning(
            self.window, self.monitor, self._models, appearance, self._tell
        )
        self._resuming = Resuming(self.monitor, tasks, self._tell, self)
        self._job_dialogs = JobDialogs(self.window, self.monitor, self._resuming, self._preferences)
        self._garbage = Garbage(self)
        self._navigation = Navigation(
            self.window, self.monitor, self._models.shown_jobs, self._tell
        )
        self.tasking = Tasking(
            self.window, self.monitor, tasks, appearance, self._tell, self._navigation.open_job
        )
        today = text.date_and_clock(time.time())[:10]
        title = self.tr("Session of {date}").format(date=today)
        self.exporting = Exporting(self.window, self.monitor, tasks, self._tell, title)
        self.recordings = Recordings(self.window, tasks, self._tell, self._options.data_dir)
        self._life.beat.connect(self._on_beat)
        self._join_feed()
        self._join_panes()
        self._join_actions()
        self.window.restore_limit()

    def _join_feed(self) -> None:
        feed, window = self._models.feed, self.window
        feed.servers_changed.connect(self._on_servers_changed)
        feed.servers_changed.connect(self.dialogs.refresh_servers)
        feed.jobs_changed.connect(self._on_jobs_changed)
        feed.stderr_added.connect(window.stderr_pane.add_frames)
        feed.frames_added.connect(self._status.count_frames)
        feed.frames_added.connect(self._garbage.count_frames)
        self._models.notes.problem_found.connect(self._on_problem_found)

    def _join_panes(self) -> None:
        window, control = self.window, self.control
        window.job_list.cancel_requested.connect(control.cancel)
        window.job_list.edit_requested.connect(self.dialogs.edit_and_send)
        window.job_list.remove_requested.connect(control.remove)
        window.job_pane.cancel_requested.connect(control.cancel)
        window.job_pane.extension_requested.connect(control.extend)
        window.job_pane.limits_requested.connect(control.set_limits)
        for pane in (window.job_list, window.job_pane):
            pane.resume_requested.connect(self._resuming.resume)
            pane.pick_up_requested.connect(self._resuming.pick_up)
            pane.automatic_requested.connect(self._resuming.set_automatic)
            pane.reissue_requested.connect(self._job_dialogs.ask_to_reissue)
        window.job_pane.automatic_limit_changed.connect(self._resuming.set_limit)
        window.job_list.forget_requested.connect(self._job_dialogs.ask_to_forget)
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
        do.quit.triggered.connect(self.quit)

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
            self._life.take_picture(options.screenshot, options.after_s)

    def _put_away(self) -> None:
        self.monitor.leave_tasks()
        self.window.remember()
        self.window.remember_limit()
        self.dialogs.close()
        self._preferences.save()
        self._models.detach()
        self.window.hide()
        self._garbage.restore()

    def _tell(self, problem: Problem) -> None:
        self.window.notices.show_problem(problem)

    @Slot(object)
    def _on_problem_found(self, problem: Problem) -> None:
        self._tell(problem)

    @Slot()
    def _on_beat(self) -> None:
        """Tell once, and again when it is another one, what is not kept on disk any more."""
        self._models.keep_notes_beside(self.monitor.recorder.path)
        found = (self.monitor.store_problem, self.monitor.recorder.problem)
        for problem, known in zip(found, self._disk_problems, strict=True):
            if problem is not None and problem != known:
                self._tell(problem)
        self._disk_problems = found

    @Slot()
    def _on_servers_changed(self) -> None:
        self._on_jobs_changed()
        self._status.refresh()

    @Slot()
    def _on_jobs_changed(self) -> None:
        self.window.show_jobs(are_any=bool(self.monitor.servers() or self.monitor.jobs()))

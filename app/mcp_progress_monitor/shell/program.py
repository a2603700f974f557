"""What is behind the window: builds each object once, joins them, and ends them in order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor import text
from mcp_progress_monitor.sessions.keyring_system import SystemKeyring
from mcp_progress_monitor.sessions.settings_file import FILE_NAME
from mcp_progress_monitor.shell.aio import Tasks
from mcp_progress_monitor.shell.application import FIRST, Opening
from mcp_progress_monitor.shell.catalogue_dialogs import CatalogueDialogs
from mcp_progress_monitor.shell.cataloguing import Cataloguing
from mcp_progress_monitor.shell.control import Control
from mcp_progress_monitor.shell.dialogs import Dialogs
from mcp_progress_monitor.shell.doctoring import Doctoring
from mcp_progress_monitor.shell.end_guard import EndGuard
from mcp_progress_monitor.shell.exporting import Exporting
from mcp_progress_monitor.shell.garbage import Garbage
from mcp_progress_monitor.shell.gate import GatedMonitor
from mcp_progress_monitor.shell.importing import Importing, files_here
from mcp_progress_monitor.shell.job_dialogs import JobDialogs
from mcp_progress_monitor.shell.late_modules import loading
from mcp_progress_monitor.shell.navigation import Navigation
from mcp_progress_monitor.shell.questioning import Questioning
from mcp_progress_monitor.shell.recordings import Recordings
from mcp_progress_monitor.shell.resuming import Resuming
from mcp_progress_monitor.shell.signing_in import SigningIn
from mcp_progress_monitor.shell.stderr_saving import StderrSaving
from mcp_progress_monitor.shell.tasking import Tasking
from mcp_progress_monitor.shell.tool_bar import SavedServer
from mcp_progress_monitor.store.resumes import ResumeStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import anyio
    from PySide6.QtWidgets import QApplication

    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.shell.main_window import MainWindow
    from mcp_progress_monitor.shell.options import WindowOptions
    from mcp_progress_monitor.widgets.appearance import Appearance
    from mcp_progress_monitor.widgets.job_list import JobList
    from mcp_progress_monitor.widgets.job_pane import JobPane


class Program(QObject):
    """The program with a window: exists once, from the first painting to the end of the loop."""

    monitor: GatedMonitor
    control: Control

    def __init__(
        self, application: QApplication, options: WindowOptions, opening: Opening | None = None
    ) -> None:
        """`opening` is the window, if that is shown by now."""
        super().__init__()
        self._opening = Opening(application, options) if opening is None else opening
        self._opening.setParent(self)
        self._life = self._opening.life
        self._options = options
        self._keyring = SystemKeyring()
        self._disk_problems: tuple[Problem | None, Problem | None] = (None, None)

    @property
    def ready(self) -> anyio.Event:
        """Set when the window is up and `monitor`, `window` and `control` are there."""
        return self._life.ready

    @property
    def window(self) -> MainWindow:
        """The window; there once it is shown."""
        return self._opening.window

    async def run(self) -> int:
        """Show the window, serve until `quit`, and end every server before returning."""
        opening = self._opening
        await opening.painted()
        folder = self._options.data_dir.absolute()
        monitoring = GatedMonitor(
            opening.clock,
            ResumeStore(folder),
            recorder=opening.recorder,
            settings=folder / FILE_NAME,
            mends=True,
            keyring=self._keyring,
            folder=folder,
        )
        self.monitor = monitoring
        tasks = Tasks(opening.tell, opening.failures.note)
        self._build(tasks)
        if monitoring.settings_problem is not None:
            self._tell(monitoring.settings_problem)
        async with monitoring, tasks:
            if not self._life.is_over:  # the window may be closed before all was opened
                self._begin()
            await self._life.last()
            self._put_away()
        return self._life.exit_code

    @Slot()
    def quit(self) -> None:
        """End the program: the window goes at once, servers get their time to end."""
        self._life.quit()

    def _build(self, tasks: Tasks) -> None:
        opening = self._opening
        self._tasks = tasks
        self._afterwards = opening.afterwards
        self._preferences = opening.preferences
        self._models = opening.models
        self._status = opening.status
        appearance = opening.appearance
        self._models.follow(self.monitor, self.monitor.recorder.flush)
        self.control = Control(self.monitor, tasks, self._tell, self)
        self.end_guard = EndGuard(self.window, self.monitor)
        self._build_catalogue(tasks, appearance)
        self.dialogs = Dialogs(
            self.window,
            self.monitor,
            self.control,
            self.cataloguing,
            self._preferences,
            appearance,
        )
        self.questioning = Questioning(
            self.window, self.monitor, self._models, appearance, self._tell
        )
        self.signing_in = SigningIn(
            self.window, self._models, appearance, self.end_guard, self.questioning
        )
        self.doctoring = Doctoring(self.window, self.monitor, self._models.feed, appearance)
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
        self._saving = StderrSaving(self.window, tasks)
        self.recordings = Recordings(self.window, tasks, self._tell, self._options.data_dir)
        self._join_feed()
        self._join_panes()
        self._join_actions()

    def _build_catalogue(self, tasks: Tasks, appearance: Appearance) -> None:
        folder = self._options.data_dir.absolute()
        self.cataloguing = Cataloguing(
            self.monitor, self.control, tasks, self._tell, folder, self._keyring, self
        )
        self.monitor.gate = self.cataloguing.refusal
        self.catalogue_dialogs = CatalogueDialogs(
            self.window, self.monitor, self.cataloguing, tasks, appearance
        )
        self.importing = Importing(self.window, self.cataloguing, tasks, appearance)
        self.cataloguing.entries_changed.connect(self._on_entries_changed)
        self._join_catalogue()

    def _join_catalogue(self) -> None:
        window, saving, asking = self.window, self.cataloguing, self.catalogue_dialogs
        do, servers, welcome = window.actions_, window.servers, window.welcome
        servers.connect_requested.connect(saving.connect_server)
        self._join_end_guard()
        self.control.turns_changed.connect(self._models.servers.set_turns)
        servers.keep_requested.connect(saving.keep)
        servers.clone_requested.connect(saving.clone)
        servers.connect_at_start_requested.connect(saving.set_connects_at_start)
        servers.move_requested.connect(saving.move)
        servers.edit_requested.connect(asking.edit)
        servers.server_remove_requested.connect(asking.ask_to_remove)
        servers.export_requested.connect(self.importing.ask_to_export)
        do.export_servers.triggered.connect(self.importing.ask_to_export)
        window.tool_bar.connect_requested.connect(saving.connect_server)
        for pane in (servers, welcome):
            pane.server_add_requested.connect(asking.ask_for_command)
            pane.url_add_requested.connect(asking.ask_for_url)
            pane.import_requested.connect(self.importing.ask_to_import)
        do.command.triggered.connect(asking.ask_for_command)
        do.url.triggered.connect(asking.ask_for_url)
        do.imports.triggered.connect(self.importing.ask_to_import)

    def _join_end_guard(self) -> None:
        """Let everything that ends running jobs ask first."""
        guard, servers, saving = self.end_guard, self.window.servers, self.cataloguing
        servers.restart_requested.connect(guard.restart_server)
        saving.restart_wanted.connect(guard.restart_server)
        servers.disconnect_requested.connect(guard.disconnect_server)
        servers.disable_requested.connect(guard.set_disabled)
        servers.sign_out_requested.connect(guard.sign_out)
        guard.restart_agreed.connect(saving.restart_server)
        guard.disconnect_agreed.connect(self.control.disconnect_server)
        guard.disable_agreed.connect(saving.set_disabled)
        guard.sign_out_agreed.connect(saving.sign_out)
        guard.quit_agreed.connect(self.quit)
        for wish in (self.window.close_requested, self.window.actions_.quit.triggered):
            wish.disconnect(self._opening.quit)
            wish.connect(guard.quit)

    def _join_feed(self) -> None:
        feed = self._models.feed
        feed.servers_changed.connect(self._on_servers_changed)
        feed.servers_changed.connect(self.dialogs.refresh_servers)
        feed.jobs_changed.connect(self._on_jobs_changed)
        feed.stderr_added.connect(self._on_stderr_added)
        feed.frames_added.connect(self._status.count_frames)
        feed.frames_added.connect(self._garbage.count_frames)
        self._models.notes.problem_found.connect(self._on_problem_found)

    def _join_panes(self) -> None:
        window, control = self.window, self.control
        window.job_list.cancel_requested.connect(control.cancel)
        window.job_list.reconnect_requested.connect(control.reconnect_streams)
        window.job_list.edit_requested.connect(self.dialogs.edit_and_send)
        window.job_list.remove_requested.connect(control.remove)
        self._join_jobs(window.job_list)
        window.late.job.when_made(self._join_job_pane)
        window.job_list.forget_requested.connect(self._job_dialogs.ask_to_forget)
        window.servers.server_opened.connect(self.dialogs.new_call_on)
        window.welcome.demo_requested.connect(control.start_demo)

    def _join_jobs(self, pane: JobList | JobPane) -> None:
        pane.resume_requested.connect(self._resuming.resume)
        pane.pick_up_requested.connect(self._resuming.pick_up)
        pane.automatic_requested.connect(self._resuming.set_automatic)
        pane.reissue_requested.connect(self._job_dialogs.ask_to_reissue)

    def _join_job_pane(self) -> None:
        pane, control = self.window.job_pane, self.control
        pane.cancel_requested.connect(control.cancel)
        pane.extension_requested.connect(control.extend)
        pane.limits_requested.connect(control.set_limits)
        self._join_jobs(pane)
        pane.automatic_limit_changed.connect(self._resuming.set_limit)
        self.window.restore_limit()

    def _join_actions(self) -> None:
        do, control = self.window.actions_, self.control
        do.demo.triggered.connect(control.start_demo)
        do.call.triggered.connect(self.dialogs.new_call)
        do.clear.triggered.connect(control.remove_finished)

    def _begin(self) -> None:
        """Do what the command line asked for."""
        self._on_servers_changed()
        self._on_beat()
        self._life.beat.connect(self._on_beat)
        self._life.beat.connect(self.cataloguing.look)
        options = self._options
        self.cataloguing.begin()
        if options.config is not None:
            self.cataloguing.offer(str(options.config), options.definitions)
        elif options.is_demo:
            self.control.start_demo()
        else:
            self.cataloguing.add_for_now(options.definitions)
            self.cataloguing.connect_servers(options.saved)
        self._afterwards.take((self._look_for_files, *self._late_steps()))
        if options.screenshot is not None:
            self._life.take_picture(options.screenshot, options.after_s)

    def _late_steps(self) -> Sequence[Callable[[], object]]:
        """What is not seen in a new window, and is soon wanted all the same."""
        window = self.window
        return (
            window.log_pane.make_details,
            *window.late.steps(),
            *loading(),
            self._garbage.settle,
        )

    def _look_for_files(self) -> None:
        if self.window.welcome.isVisible():
            self._tasks.start("look for configurations", self._name_files)

    async def _name_files(self) -> None:
        """Name the programs from which servers can be imported; nothing of theirs is read."""
        found = await files_here()
        self.window.welcome.show_found([each.client.title for each in found])

    def _put_away(self) -> None:
        self._afterwards.stop()
        self._preferences.keep_json(FIRST, {"has_jobs": self.window.welcome.isHidden()})
        self.monitor.leave_tasks()
        self.window.remember()
        self.window.remember_limit()
        self.dialogs.close()
        self._preferences.save()
        self._models.detach()
        self.window.hide()
        self._garbage.restore()

    def _tell(self, problem: Problem) -> None:
        self._opening.tell(problem)

    @Slot(object)
    def _on_stderr_added(self, frames: Sequence[Frame]) -> None:
        self.window.stderr_pane.add_frames(frames)  # which is made for it

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

    @Slot(object)
    def _on_entries_changed(self, entries: Mapping[str, CatalogueEntry]) -> None:
        self._models.servers.set_catalogue(entries)
        self._on_servers_changed()

    @Slot()
    def _on_servers_changed(self) -> None:
        self._on_jobs_changed()
        self.window.tool_bar.set_servers(self._offered())
        self._status.refresh()

    @Slot()
    def _on_jobs_changed(self) -> None:
        has_servers = bool(self.monitor.server_names() or self.cataloguing.saved.entries)
        self.window.show_jobs(are_any=has_servers or bool(self.monitor.jobs()))
        self._status.count_dropped_jobs(self.monitor.dropped_jobs)

    def _offered(self) -> list[SavedServer]:
        """The saved servers, for the menu."""
        there = set(self.monitor.server_names())
        return [
            SavedServer(
                name, name in there and self.monitor.server(name).state.is_up, entry.is_disabled
            )
            for name, entry in self.cataloguing.saved.entries.items()
        ]

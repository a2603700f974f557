"""The program behind the window: creates each object once, joins them, and ends them in order."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot

from mcp_progress_monitor import formatting, paths
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.gui.agents.controller import AgentsController
from mcp_progress_monitor.gui.agents.invite_controller import InviteController
from mcp_progress_monitor.gui.aio import BackgroundTasks
from mcp_progress_monitor.gui.calls.controller import CallsController
from mcp_progress_monitor.gui.confirmations import EndGuard
from mcp_progress_monitor.gui.crash_notices import CrashNotices
from mcp_progress_monitor.gui.deferred_startup import loading
from mcp_progress_monitor.gui.jobs import commands as on_jobs
from mcp_progress_monitor.gui.jobs.controller import JobDialogs, JobRemoval, JobsController
from mcp_progress_monitor.gui.notifications.controller import NotificationsController
from mcp_progress_monitor.gui.notifications.events import NoticeAction
from mcp_progress_monitor.gui.questions.controller import QuestionsController
from mcp_progress_monitor.gui.recent_controller import RecentController
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.clients_controller import (
    ClientsController,
    files_here,
    project_folder,
)
from mcp_progress_monitor.gui.servers.controller import ServersController
from mcp_progress_monitor.gui.servers.dialogs_controller import ServerDialogs
from mcp_progress_monitor.gui.servers.doctor_controller import DoctorController
from mcp_progress_monitor.gui.servers.here_controller import ServersHere
from mcp_progress_monitor.gui.servers.machine_controller import MachineController
from mcp_progress_monitor.gui.servers.save_controller import SaveController
from mcp_progress_monitor.gui.servers.secrets_controller import SecretsController
from mcp_progress_monitor.gui.servers.sign_in import SignInController
from mcp_progress_monitor.gui.startup import FIRST, WindowStartup
from mcp_progress_monitor.gui.tasks.controller import TasksController
from mcp_progress_monitor.gui.telemetry_controller import TelemetryController
from mcp_progress_monitor.gui.tool_bar import SavedServer
from mcp_progress_monitor.gui.undo import UndoOffer
from mcp_progress_monitor.gui.user_settings import LimitSettings
from mcp_progress_monitor.gui.window_commands import QUIT
from mcp_progress_monitor.gui.window_program import WindowProgram
from mcp_progress_monitor.recording.folder import LIVE
from mcp_progress_monitor.recording.settings import FOLDER as RECORDINGS
from mcp_progress_monitor.recording.spool import delete_abandoned_spools
from mcp_progress_monitor.secrets.system_keyring import SystemKeyring
from mcp_progress_monitor.store.resumes import ResumeStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import anyio
    from PySide6.QtWidgets import QApplication

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.launch_options import WindowOptions
    from mcp_progress_monitor.gui.main_window import MainWindow
    from mcp_progress_monitor.gui.setting_rows import Section
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.tracker.snapshot import JobId


class Program(WindowProgram):
    """The live program: one instance, from the first paint to the end of the loop."""

    engine: Engine

    def __init__(
        self,
        application: QApplication,
        options: WindowOptions,
        opening: WindowStartup | None = None,
    ) -> None:
        """`opening` is the window, if it is already shown."""
        super().__init__()
        self._opening = WindowStartup(application, options) if opening is None else opening
        self._opening.setParent(self)
        self._life = self._opening.life
        self._options = options
        self._keyring = SystemKeyring()
        self._disk_errors: tuple[ErrorDetails | None, ErrorDetails | None] = (None, None)

    @property
    def ready(self) -> anyio.Event:
        """Set when the window is up and `engine`, `window` and `servers` are there."""
        return self._life.ready

    @property
    def window(self) -> MainWindow:
        """The window, once it is shown."""
        return self._opening.window

    async def run(self) -> int:
        """Show the window, serve until `quit`, and end every server before returning."""
        opening = self._opening
        opening.show()
        opening.failures.watch(asyncio.get_running_loop())
        folder = self._options.data_dir.absolute()
        engine = self.engine = Engine(
            opening.clock,
            ResumeStore(folder),
            recorder=opening.recorder,
            settings=folder / paths.SERVER_SETTINGS,
            reconnects=True,
            keyring=self._keyring,
            prompt=SecretsController(opening.window).ask,
            folder=folder,
            refusal=self._refusal,
            watched=() if self._options.is_safe else (folder / RECORDINGS / LIVE,),
        )
        tasks = BackgroundTasks(opening.report, opening.failures.note)
        self._build(tasks)
        if engine.settings.error is not None:
            self._report(engine.settings.error)
        async with engine, tasks:
            if not self._life.is_over:  # the window may be closed before everything is ready
                self._begin()
            await self._life.last()
            self.undo.settle()
            self._put_away()
        self._telemetry.close()
        opening.failures.uninstall()
        return self._life.exit_code

    @Slot()
    def quit(self) -> None:
        """End the program: the window closes at once, servers get time to end."""
        self._life.quit()

    def _build(self, tasks: BackgroundTasks) -> None:
        opening = self._opening
        self._tasks = tasks
        self._deferred = opening.deferred
        self._preferences = opening.preferences
        self._models = opening.models
        self._status = opening.status
        appearance = opening.appearance
        self._models.follow(self.engine, self.engine.recording.flush)
        self._models.watched.set_source(self.engine.watched)
        self._status.count_watched(self._models.watched.servers)
        self.settings = self.window.settings
        self.undo = UndoOffer(self.window)
        self.window.offer_undo(self.undo.action)
        self.end_guard = EndGuard(self.window, self.engine, self.settings)
        self._build_catalogue(tasks, appearance)
        self.calls = CallsController(
            self.window.middle,
            self.engine,
            tasks,
            self._report,
            self.servers.connect_server,
            self._preferences,
            appearance,
        )
        self.recent = RecentController(
            self.window.recent,
            self.engine.servers,
            self.calls,
            self.servers.connect_server,
            self._preferences,
        )
        window, models = self.window, self._models
        self.questions = QuestionsController(
            window.late.questions,
            self.engine,
            models.feed,
            window.show_questions,
            appearance,
            self._report,
        )
        self.sign_in = SignInController(
            window, models.servers, models.feed, appearance, self.end_guard
        )
        window.add_bar(self.sign_in.bar)
        self.sign_in.bar.open_requested.connect(self.questions.open_link)
        self.doctor = DoctorController(
            window.servers,
            window.notices,
            self.engine.servers,
            self.engine.now,
            models.feed,
            appearance,
        )
        CrashNotices(window.notices, self.engine, models.feed, window.commands)
        self._saves = SaveController(
            window,
            self.engine,
            tasks,
            window.notices,
            models.feed,
            self.calls.saved_calls,
            appearance,
        )
        self.jobs = JobsController(self.engine, tasks, self._report, self)
        self.removal = JobRemoval(self._models.jobs, self.jobs, self.undo, self)
        self._job_dialogs = JobDialogs(
            self.window, self.engine, self.jobs, self.removal, self.settings
        )
        self._servers_here = ServersHere(
            self.window,
            self.engine,
            tasks,
            self._report,
            self.servers.saved,
            self.servers.approvals,
        )
        self.jobs.approval_requested.connect(self._servers_here.ask)
        today = formatting.date_and_clock(time.time())[:10]
        self._build_shared(
            self.window,
            self.engine,
            appearance,
            tasks,
            self._options.data_dir,
            f"Session of {today}",
            self.engine,
        )
        self.findings.counted.connect(self._status.count_findings)
        self.notifications = NotificationsController(
            self.window,
            self.window.do[QUIT],
            self._models,
            appearance,
            self._preferences,
            self.settings,
            self._navigation.reveal_job,
            self._carry_out_notice,
        )
        self.calls.job_of_series_ended.connect(self.notifications.leave_out)
        self.calls.series_ended.connect(self.notifications.report_series)
        self.window.add_to_view_menu([self.notifications.mini_action, self.notifications.on_action])
        self.tasks = TasksController(
            self.window, self.engine, tasks, appearance, self._report, self._navigation.open_job
        )
        self._telemetry = TelemetryController(
            self.engine,
            tasks,
            self.settings,
            self._report,
            self._status.show_telemetry,
            is_forced=self._options.otel,
            parent=self,
        )
        self._limits = LimitSettings()
        self._on_settings_changed(self.settings.of(LimitSettings))
        self.settings.changed.connect(self._on_settings_changed)
        self._join_palette()
        self._join_drops()
        self._join_feed()
        self._join_panes()

    def _carry_out_notice(self, action: NoticeAction, job: JobId) -> None:
        """Carry out the button of a notification."""
        match action:
            case NoticeAction.ANSWER:
                self.window.commands.run(on_jobs.ANSWER, job)
            case NoticeAction.RESUME:
                self.window.commands.run(on_jobs.RESUME, (job,))
            case NoticeAction.REISSUE:
                self.window.commands.run(on_jobs.REISSUE, (job,))

    def _build_catalogue(self, tasks: BackgroundTasks, appearance: Appearance) -> None:
        folder = self._options.data_dir.absolute()
        self.servers = ServersController(
            self.engine, tasks, self._report, folder, self._keyring, self
        )
        self.catalogue_dialogs = ServerDialogs(
            self.window, self.engine, self.servers, tasks, appearance, self.settings, self.undo
        )
        self.clients = ClientsController(self.window, self.servers, tasks, appearance, folder)
        self._machines = MachineController(
            self.window,
            self.engine,
            self.servers.approvals,
            self._models.watched,
            tasks,
            appearance,
            folder,
            self._report,
        )
        self._agents = AgentsController(
            self.window, self.window.commands, tasks, appearance, folder, self._status.count_agents
        )
        self._invites = InviteController(
            self.window,
            tasks,
            appearance,
            folder,
            lambda: list(self.servers.saved.entries),
            self._models.watched.servers,
            project_folder,
        )
        self.servers.entries_changed.connect(self._on_entries_changed)
        self._join_catalogue()

    def _join_catalogue(self) -> None:
        self._join_end_guard()
        self.servers.turns_changed.connect(self._models.servers.set_turns)

    def _join_end_guard(self) -> None:
        """Route everything that ends running jobs through confirmations."""
        guard, saving = self.end_guard, self.servers
        saving.restart_requested.connect(guard.restart_server)
        guard.restart_confirmed.connect(saving.restart_server)
        guard.disconnect_confirmed.connect(saving.disconnect_server)
        guard.disable_confirmed.connect(saving.set_disabled)
        guard.sign_out_confirmed.connect(saving.sign_out)
        guard.quit_confirmed.connect(self.quit)
        self.window.close_requested.disconnect(self._opening.quit)
        self.window.close_requested.connect(guard.quit)
        self.window.commands.carry_out(QUIT, guard.quit)

    def _join_palette(self) -> None:
        palette = self.palette
        palette.server_chosen.connect(self.calls.show_server)
        palette.connect_chosen.connect(self.servers.connect_server)
        palette.offer_chosen.connect(self.calls.new_call_of)

    def _join_drops(self) -> None:
        drops = self.drops
        drops.configuration_dropped.connect(self.clients.ask_to_import_file)
        drops.program_dropped.connect(self.catalogue_dialogs.ask_about_program)
        drops.address_dropped.connect(self.catalogue_dialogs.ask_about_address)

    @Slot(object)
    def _on_settings_changed(self, values: Section) -> None:
        if not isinstance(values, LimitSettings):
            return
        before, self._limits = self._limits, values
        self.engine.calls.default_limits = values.of_calls
        if values.attempts != before.attempts:
            self.jobs.set_limit(values.attempts)
            if self.window.late.job.is_made:
                self.window.job_pane.attempts.limit.setValue(values.attempts)

    @Slot(int)
    def _on_attempts_chosen(self, attempts: int) -> None:
        self.settings.set(LimitSettings.attempts, attempts)

    def _forget_arguments(self) -> None:
        self.calls.forget_arguments()
        self.recent.refresh()

    def _join_feed(self) -> None:
        feed = self._models.feed
        feed.servers_changed.connect(self._on_servers_changed)
        feed.servers_changed.connect(self.calls.refresh_servers)
        self._models.jobs.groups_changed.connect(self._show_what_is_there)
        feed.frames_added.connect(self._status.count_frames)

    def _join_panes(self) -> None:
        window, jobs = self.window, self.jobs
        for owner in (jobs, self.removal, self.servers, self.calls):
            window.commands.join(owner)
        window.commands.join(self._job_dialogs)
        self._carry_out_elsewhere(window.commands)
        window.traffic_pane.controller.edit_wanted.connect(self.calls.edit_and_send)
        self.calls.server_requested.connect(jobs.edit)
        jobs.edit_ready.connect(self.calls.edit)
        window.late.job.when_made(self._join_job_pane)
        self._join_servers()
        for shown in (window.job_filters.view.clicked, window.job_filters.view.activated):
            shown.connect(window.middle.show_jobs)

    def _carry_out_elsewhere(self, commands: Commands) -> None:
        """Carry out commands on jobs in other rooms, which do not know that of the jobs."""
        commands.carry_out(on_jobs.ANSWER, self.questions.show_job)
        commands.carry_out(on_jobs.EDIT, self.calls.edit_and_send)
        commands.carry_out(on_jobs.COPY_COMMAND, self.calls.copy_of_job, "command")
        commands.carry_out(on_jobs.COPY_CURL, self.calls.copy_of_job, "curl")

    def _join_servers(self) -> None:
        commands, servers, questions = self.window.commands, self.window.servers, self.questions
        servers.log_level_requested.connect(questions.set_log_level)
        servers.subscription_requested.connect(self.tasks.subscribe)
        for owner in (
            self.catalogue_dialogs,
            self.clients,
            self._machines,
            self.doctor,
            self._saves,
            self._agents,
            self._invites,
        ):
            commands.join(owner)
        self._saves.called_again.connect(self._navigation.compare_again)
        guard, move = self.end_guard, self._move_server
        for command, work, *given in (
            (on_servers.OPEN, self._open_server),
            (on_servers.DISCONNECT, guard.disconnect_server),
            (on_servers.RESTART, guard.restart_server),
            (on_servers.DISABLE, guard.set_disabled, True),
            (on_servers.ENABLE, guard.set_disabled, False),
            (on_servers.SIGN_OUT, guard.sign_out),
            (on_servers.RULES, questions.ask_for_rules),
            (on_servers.ROOTS, questions.ask_for_roots),
            (on_servers.TASKS, self.tasks.show_tasks),
            (on_servers.UP, move, -1),
            (on_servers.DOWN, move, 1),
            (on_servers.WATCHED_DISMISS, self._dismiss_ended),
            (on_servers.INVITE_AGENT, self._invites.ask_for_server),
            (on_servers.WATCHED_INVITE, self._invites.ask_for_watched),
        ):
            commands.carry_out(command, work, *given)

    def _open_server(self, name: str) -> None:
        """Show what a server offers, or connect it first."""
        entry = self.servers.saved.entries.get(name)
        if self.engine.servers.snapshot(name).state.is_up:
            self.calls.show_server(name)
        elif entry is None or not entry.is_disabled:
            self.servers.connect_server(name)

    def _move_server(self, name: str, by: int) -> None:
        """Move a server among the saved ones, or among the others."""
        servers = self._models.servers
        at = servers.row_of(name)
        if at is not None:
            place, _count = servers.place(at)
            self.servers.move(name, place + by)

    def _dismiss_ended(self) -> None:
        ended = (each.name for each in self._models.watched.servers() if not each.is_live)
        self.engine.watched.dismiss(tuple(ended))

    def _join_job_pane(self) -> None:
        pane = self.window.job_pane
        pane.attempts.limit.setValue(self._limits.attempts)
        pane.automatic_limit_changed.connect(self._on_attempts_chosen)

    def _begin(self) -> None:
        self._on_servers_changed()
        self._on_beat()
        self._life.beat.connect(self._on_beat)
        self._life.beat.connect(self.servers.poll)
        self._life.beat.connect(self._telemetry.poll)
        self._life.beat.connect(self._models.watched.count_down)
        options = self._options
        self._telemetry.begin()
        self.servers.begin(connects=not options.is_safe)
        if not options.is_safe:
            self._machines.restore()
        if options.config is not None:
            self.servers.offer(str(options.config), options.definitions)
        elif options.is_demo:
            self.servers.start_demo()
        else:
            self.servers.add_for_now(options.definitions)
            self.servers.connect_servers(options.saved)
        late = (
            self._offer_reports,
            self._look_for_files,
            *self._late_steps(),
            self._look_at_ended_taps,
        )
        self._deferred.take(late)
        if options.screenshot is not None:
            self._life.take_picture(options.screenshot, options.after_s)

    def _late_steps(self) -> Sequence[Callable[[], object]]:
        """Return steps for what is not visible in a new window, but soon needed."""
        window = self.window
        return (
            window.traffic_pane.make_details,
            *window.late.steps(),
            *loading(),
            partial(delete_abandoned_spools, self._options.data_dir),
            self._garbage.settle,
        )

    def _offer_reports(self) -> None:
        from mcp_progress_monitor.gui.crash_bar import offer_reports  # seldom needed

        bar = offer_reports(self.window, self._options.data_dir, self._preferences)
        if bar is not None:
            self.window.add_bar(bar)

    def _look_at_ended_taps(self) -> None:
        if not self._options.is_safe:
            self._tasks.start("look at ended taps", self._show_what_ended)

    async def _show_what_ended(self) -> None:
        """Show the jobs that clients left while no window was open."""
        from mcp_progress_monitor.engine.ended_taps import save_what_ended  # not at the start

        if await save_what_ended(self._options.data_dir.absolute()):
            await self.engine.show_saved()

    def _look_for_files(self) -> None:
        if self.window.welcome.isVisible():
            self._tasks.start("look for configurations", self._name_files)

    async def _name_files(self) -> None:
        """Name the programs from which servers can be imported, without reading their files."""
        found = await files_here()
        self.window.welcome.show_found([each.client.title for each in found])
        own = [each.client.title for each in found if not each.is_shared]
        self.window.welcome.offer_to_watch(own)

    def _put_away(self) -> None:
        self._deferred.stop()
        self._agents.stop()
        self._preferences.keep_json(FIRST, {"has_jobs": self.window.welcome.isHidden()})
        self.engine.tasks.leave()
        self.notifications.close()
        self.window.remember()
        self.calls.close()
        self._put_window_away()

    def _refusal(self, definition: ServerDefinition) -> ErrorDetails | None:
        return self.servers.refusal(definition)

    def _report(self, error: ErrorDetails) -> None:
        self._opening.report(error)

    @Slot()
    def _on_beat(self) -> None:
        """Report once what can no longer be saved, and again if that changes."""
        self._models.keep_notes_beside(self.engine.recording.path)
        found = (self.engine.resumer.error, self.engine.recording.error)
        for error, known in zip(found, self._disk_errors, strict=True):
            if error is None or error == known or self._options.is_known(error):
                continue
            self._report(error)
        self._disk_errors = found

    @Slot(object)
    def _on_entries_changed(self, entries: Mapping[str, CatalogueEntry]) -> None:
        self._models.servers.set_catalogue(entries)
        self._on_servers_changed()

    @Slot()
    def _on_servers_changed(self) -> None:
        self._show_what_is_there()
        self.calls.show_new_servers()
        self.recent.refresh()
        self.window.tool_bar.set_servers(self._offered())
        self._status.refresh()

    @Slot()
    def _show_what_is_there(self) -> None:
        engine = self.engine
        are_servers = engine.servers.names() or engine.watched.names()
        has_servers = bool(are_servers or self.servers.saved.entries)
        self.window.middle.show_first(are_any=has_servers or bool(self.engine.jobs.ids()))
        self.calls.leave_page_for_jobs()
        self._status.count_dropped_jobs(self.engine.jobs.dropped_count)

    def _offered(self) -> list[SavedServer]:
        servers = self.engine.servers
        there = set(servers.names())
        return [
            SavedServer(
                name, name in there and servers.snapshot(name).state.is_up, entry.is_disabled
            )
            for name, entry in self.servers.saved.entries.items()
        ]

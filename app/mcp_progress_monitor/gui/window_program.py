"""Base of the programs of live sessions and of recordings: the controllers that both have."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.gui.calls.memory import forget_arguments
from mcp_progress_monitor.gui.command_palette.controller import PaletteController
from mcp_progress_monitor.gui.drop_controller import Drops
from mcp_progress_monitor.gui.export_controller import ExportController, StderrSaver
from mcp_progress_monitor.gui.findings.controller import FindingsController
from mcp_progress_monitor.gui.garbage import Garbage
from mcp_progress_monitor.gui.jobs.commands import FINDINGS
from mcp_progress_monitor.gui.navigation import Navigation
from mcp_progress_monitor.gui.recordings.controller import RecordingsController
from mcp_progress_monitor.gui.results.controller import ResultsController
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.settings.controller import SettingsController
from mcp_progress_monitor.gui.traffic import commands as on_messages
from mcp_progress_monitor.gui.user_settings import PrivacySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.deferred_startup import DeferredStartup
    from mcp_progress_monitor.gui.main_window import MainWindow
    from mcp_progress_monitor.gui.models import Models
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.playback.playback import Playback
    from mcp_progress_monitor.protocol.frames import Frame


class WindowProgram(QObject):
    """A program behind a window, whose models are followed by now: `_build_shared` joins them."""

    _models: Models
    _preferences: Preferences
    _deferred: DeferredStartup

    def _build_shared(
        self,
        window: MainWindow,
        source: Engine | Playback,
        appearance: Appearance,
        tasks: BackgroundTasks,
        data_dir: Path,
        title: str,
        engine: Engine | None = None,
    ) -> None:
        """Make what shows `source` and exports it as `title`.

        Without an `engine` nothing is live: there are no servers to be added or called.
        """
        shared, self._shared_window = self._models, window
        self._garbage = Garbage(source.timeline, self)
        self._navigation = Navigation(window, source.jobs, shared.shown_jobs, self._report)
        self.findings = FindingsController(
            window.late.findings,
            window.do,
            shared.findings,
            source.timeline,
            self._preferences,
            self._navigation.open_job,
        )
        self.exports = ExportController(
            window, window.statusBar(), source, tasks, self._report, title
        )
        self._saving = StderrSaver(window.late.stderr, tasks)
        self.results = ResultsController(
            window,
            tasks,
            self._report,
            self.exports.row,
            self._navigation.open_job,
            None if engine is None else engine.calls,
        )
        window.commands.join(self.results)
        window.late.job.when_made(self._join_result)
        self._join_findings()
        self._join_exports()
        remembers = partial(self._preferences.value, PrivacySettings.recordings)
        self.recordings = RecordingsController(
            window,
            window.commands,
            window.recent_menu,
            appearance,
            tasks,
            self._report,
            data_dir,
            remembers,
        )
        self.drops = Drops(window, tasks, self._report, is_live=engine is not None)
        self.settings_dialog = SettingsController(
            window,
            window.commands,
            window.settings,
            appearance,
            tasks,
            data_dir.absolute(),
            lambda: window.shortcuts,
            engine,
        )
        self.settings_dialog.recording_chosen.connect(self.recordings.save_choices)
        self.settings_dialog.pressed.connect(self._on_setting_pressed)
        self.palette = PaletteController(
            window,
            window.commands,
            lambda: window.shortcuts,
            shared.servers.enabled,
            shared.followed,
            self._preferences,
            appearance,
            tasks,
            self.recordings.folder,
            self.settings_dialog.sections,
        )
        window.commands.carry_out(on_servers.WATCHED_RECORDING, self._open_watched)
        window.dropped.connect(self.drops.take)
        self.drops.recording_dropped.connect(self.recordings.open_recording)
        self.palette.setting_chosen.connect(self.settings_dialog.open_setting)
        self.palette.theme_chosen.connect(window.theme.choose)
        self.palette.job_chosen.connect(self._navigation.open_job)
        self.palette.recording_chosen.connect(self.recordings.open_recording)
        shared.feed.stderr_added.connect(self._on_stderr_added)
        shared.feed.frames_marked.connect(self.exports.add_findings)
        shared.notes.error_found.connect(self._on_error_found)

    def _join_findings(self) -> None:
        window, findings = self._shared_window, self.findings
        findings.message_requested.connect(self._navigation.show_message)
        window.late.finding_opened.connect(findings.jump)
        window.commands.carry_out(FINDINGS, findings.show_of_job)
        for command in (on_servers.FINDINGS, on_servers.WATCHED_FINDINGS):
            window.commands.carry_out(command, findings.show_of_server)

    def _join_result(self) -> None:
        self._shared_window.job_pane.link_clicked.connect(self.results.ask_to_open_page)

    def _join_exports(self) -> None:
        window, exports = self._shared_window, self.exports
        window.commands.join(exports)
        window.commands.carry_out(on_messages.EXPORT, self._export_shown)
        window.traffic_pane.controller.snippet_requested.connect(exports.copy_snippet)

    def _export_shown(self) -> None:
        self.exports.ask_for_shown(self._shared_window.traffic_pane.wanted_for_export())

    def _put_window_away(self) -> None:
        """Save the window's state and release what it shows."""
        self._preferences.save()
        self.results.close()
        self._models.detach()
        self._shared_window.hide()
        self._garbage.restore()

    def _report(self, error: ErrorDetails) -> None:
        raise NotImplementedError

    @Slot(str)
    def _on_setting_pressed(self, button: str) -> None:
        """Do what a button of the settings is for."""
        work: Mapping[str, Callable[[], None]] = {
            "associate": self.recordings.ask_to_associate,
            "manage": self.recordings.show_recordings,
            "show_folder": self.recordings.show_data_folder,
            "forget_recordings": self.recordings.forget_opened,
            "forget_palette": self.palette.forget,
            "forget_arguments": self._forget_arguments,
        }
        if button in work:
            work[button]()

    def _forget_arguments(self) -> None:
        """Forget the arguments of calls: by default those of the windows that make calls."""
        forget_arguments(self._preferences)

    def _open_watched(self, name: str) -> None:
        """Open the recording of a watched server."""
        for server in self._models.watched.servers():
            if server.name == name:
                self.recordings.open_recording(server.path)

    @Slot(object)
    def _on_stderr_added(self, frames: Sequence[Frame]) -> None:
        self._shared_window.stderr_pane.add_frames(frames)  # which is made for it

    @Slot(object)
    def _on_error_found(self, error: ErrorDetails) -> None:
        self._report(error)

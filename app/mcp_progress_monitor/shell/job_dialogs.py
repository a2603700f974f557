"""The dialogs about jobs: forgetting, re-issuing, and servers that saved jobs would start.

They are imported when first asked for, as in `shell.dialogs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Slot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtWidgets import QDialog, QWidget

    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.resuming.servers import ServerChangedError
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.shell.preferences import Preferences
    from mcp_progress_monitor.shell.resuming import Resuming
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.widgets.saved_server_dialog import SavedServerDialog

_REISSUE: Final = "questions/reissue"


class JobDialogs(QObject):
    """Asks, and hands what was agreed to to `Resuming`."""

    def __init__(
        self, parent: QWidget, monitor: Monitor, resuming: Resuming, preferences: Preferences
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._monitor = monitor
        self._resuming = resuming
        self._preferences = preferences
        self._servers: dict[str, SavedServerDialog] = {}
        resuming.server_wanted.connect(self.ask_for_server)

    @Slot(object)
    def ask_to_forget(self, jobs: Iterable[JobId]) -> None:
        """Ask before what is needed to go on with `jobs` is deleted."""
        found = [job for job in map(self._monitor.snapshot, jobs) if job is not None]
        if found:
            from mcp_progress_monitor.widgets.job_questions import ForgetQuestion

            question = ForgetQuestion(found, self._parent)
            question.forget_agreed.connect(self._resuming.forget)
            _open(question)

    @Slot(object)
    def ask_to_reissue(self, jobs: Iterable[JobId]) -> None:
        """Warn once for all of `jobs` that work may run twice, if the user still wants that."""
        found = [job for job in map(self._monitor.snapshot, jobs) if job is not None]
        if not found:
            return
        if self._preferences.json_of(_REISSUE).get("is_asked", True):
            from mcp_progress_monitor.widgets.job_questions import ReissueQuestion

            question = ReissueQuestion(found, self._parent)
            question.reissue_agreed.connect(self._on_reissue_agreed)
            _open(question)
        else:
            self._resuming.reissue(tuple(job.id for job in found))

    @Slot(object, object)
    def ask_for_server(self, job: JobId, changed: ServerChangedError) -> None:
        """Show what a saved job would start; one question for all jobs of one definition."""
        key = changed.definition.fingerprint
        dialog = self._servers.get(key)
        if dialog is None:
            from mcp_progress_monitor.widgets.saved_server_dialog import SavedServerDialog

            now = self._definition_now(changed.definition.name)
            dialog = SavedServerDialog(changed.problem, changed.definition, now, self._parent)
            dialog.saved_server_agreed.connect(self._resuming.resume_as_saved)
            dialog.finished.connect(self._on_server_answered)
            self._servers[key] = dialog
            _open(dialog)
        dialog.add_job(job)

    def _definition_now(self, name: str) -> ServerDefinition | None:
        found = (server.definition for server in self._monitor.servers() if server.name == name)
        return next(found, None)

    @Slot(object, bool)
    def _on_reissue_agreed(self, jobs: Iterable[JobId], is_asked: bool) -> None:
        self._preferences.keep_json(_REISSUE, {"is_asked": is_asked})
        self._resuming.reissue(jobs)

    @Slot()
    def _on_server_answered(self) -> None:
        self._servers = {key: d for key, d in self._servers.items() if d is not self.sender()}


def _open(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()

"""Resumes, re-issues or edits other clients' jobs here, once their servers are approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.common.dialog_watch import watch
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.store.watched import UNKNOWN_CLIENT, split_watched_key
from mcp_progress_monitor.wording import watched as watched_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias, TypedDict

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.catalogue.trust import EarlierApproval
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.engine.servers_here import ServerHere
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.servers.consent import ConsentDialog
    from mcp_progress_monitor.gui.servers.saved_servers import Consents, SavedServers
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.tracker.snapshot import JobId

    Again: TypeAlias = Callable[[tuple[JobId]], None]
    """Called with a job once its server may be started."""

    class _Texts(TypedDict):
        earlier: list[EarlierApproval | None]
        note: str
        sources: list[str]


class _Pending:
    """Actions that wait for the approval of one server of another client."""

    def __init__(self, origin: Origin, dialog: ConsentDialog) -> None:
        self.origin = origin
        self.dialog = dialog
        self.wanted: list[tuple[JobId, Again]] = []
        self.is_looking = False


class ServersHere(QObject):
    """Finds the servers of other clients' jobs, and asks before starting one for the first time.

    There is one question for all jobs of a server.
    """

    def __init__(
        self,
        parent: QWidget,
        engine: Engine,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        saved: SavedServers,
        approvals: Consents,
    ) -> None:
        """Servers are looked for among `saved` first."""
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._tasks = tasks
        self._report = report
        self._saved = saved
        self._approvals = approvals
        self._pending: dict[str, _Pending] = {}

    @Slot(object, object, object)
    def ask(self, job: JobId, origin: Origin, again: Again) -> None:
        """Find the server of another client's job; ask unless it was already approved."""
        self._tasks.start(f"find the server of job {job}", self._find, job, origin, again)

    async def _find(self, job: JobId, origin: Origin, again: Again) -> None:
        found = await self._found(origin)
        if not found.others and self._approvals.is_approved(found.definition):
            self._engine.resumer.use_here(origin, found.definition)
            again((job,))
            return
        pending = self._pending.get(origin.server_key)
        if pending is None:
            pending = self._consent(origin, found)
        else:
            pending.dialog.raise_()
        if (job, again) not in pending.wanted:
            pending.wanted.append((job, again))

    async def _found(self, origin: Origin) -> ServerHere:
        from mcp_progress_monitor.engine.servers_here import (
            find_server_here,  # late: reads other clients' files, which few sessions need
        )

        entries = tuple(self._saved.entries.values())
        return await anyio.to_thread.run_sync(find_server_here, origin, entries)

    def _consent(self, origin: Origin, found: ServerHere) -> _Pending:
        """Show what would be started."""
        from mcp_progress_monitor.gui.servers.consent import ConsentDialog

        definitions, texts = self._question(origin, found)
        dialog = ConsentDialog(found.source, definitions, self._parent, **texts)
        pending = self._pending[origin.server_key] = _Pending(origin, dialog)
        dialog.servers_approved.connect(self._on_agreed)
        dialog.finished.connect(self._on_finished)
        watch(dialog, self._is_to_start)
        open_dialog(dialog)
        return pending

    def _question(self, origin: Origin, found: ServerHere) -> tuple[list[ServerDefinition], _Texts]:
        """The definitions to show, and what is said about them."""
        client = (split_watched_key(origin.server_key) or (UNKNOWN_CLIENT, ""))[0]
        unknown = watched_texts.unknown_values(found.missing, found.hidden_count)
        has_url = found.definition.transport != "stdio"
        request = watched_texts.why_approve(client, has_url=has_url)
        fitting = [found, *found.others]
        definitions = [each.definition for each in fitting]
        return definitions, {
            "earlier": self._approvals.earlier(definitions),
            "note": "\n".join(filter(None, (request, unknown))),
            "sources": [each.source for each in fitting] if found.others else [],
        }

    def _is_to_start(self, dialog: ConsentDialog) -> bool:
        """Look for the server again; False once all jobs that wait for it were removed."""
        (pending,) = (each for each in self._pending.values() if each.dialog is dialog)
        there = set(self._engine.jobs.ids())
        pending.wanted = [each for each in pending.wanted if each[0] in there]
        if not pending.is_looking:
            pending.is_looking = True
            self._tasks.start("look for a server again", self._find_again, pending)
        return bool(pending.wanted)

    async def _find_again(self, pending: _Pending) -> None:
        """Show what fits now: other clients' files change, and so do the saved servers."""
        found = await self._found(pending.origin)
        if pending in self._pending.values():
            definitions, texts = self._question(pending.origin, found)
            pending.dialog.keep(found.source, definitions, **texts)
        pending.is_looking = False

    @Slot(object)
    def _on_agreed(self, definitions: Sequence[ServerDefinition]) -> None:
        try:
            self._approvals.approve(definitions)
        except UserError as error:  # it is valid until the program exits
            self._report(error.details)
        for pending in self._pending.values():
            if pending.dialog is self.sender():
                self._engine.resumer.use_here(pending.origin, definitions[0])
                for job, again in pending.wanted:
                    again((job,))

    @Slot()
    def _on_finished(self) -> None:
        self._pending = {
            key: pending
            for key, pending in self._pending.items()
            if pending.dialog is not self.sender()
        }

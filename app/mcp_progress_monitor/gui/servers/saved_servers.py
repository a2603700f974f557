"""Synchronises the engine's servers with the catalogue, as far as they are approved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mcp_progress_monitor.catalogue.catalogue import Catalogue, CatalogueEntry
    from mcp_progress_monitor.catalogue.trust import EarlierApproval, Trust
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


class Consents:
    """Approvals on disk, and those that are valid until the program exits.

    The file is opened on first use: not at startup without saved servers.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now: set[str] = set()
        self._trust: Trust | None = None
        self._users: list[Callable[[], Iterable[ServerDefinition]]] = []

    def keep_those_of(self, user: Callable[[], Iterable[ServerDefinition]]) -> None:
        """Keep the approvals of what `user` returns, also when others forget the same command."""
        self._users.append(user)

    @property
    def error(self) -> ErrorDetails | None:
        """Why approvals on disk could not be read the last time."""
        return None if self._trust is None else self._trust.error

    def is_approved(self, definition: ServerDefinition) -> bool:
        """Return whether exactly this is approved."""
        return definition.approval_key in self._now or self._opened().is_trusted(definition)

    def approve(self, definitions: Iterable[ServerDefinition]) -> None:
        """Save the approval of each.

        Raises:
            UserError: it cannot be written; it is valid until the program exits nevertheless.
        """
        wanted = tuple(definitions)
        self._now.update(each.approval_key for each in wanted)
        if wanted:
            self._opened().approve(*wanted)

    def approve_once(self, definition: ServerDefinition) -> None:
        """Approve what the user named on the command line, for this run."""
        self._now.add(definition.approval_key)

    def earlier(self, definitions: Iterable[ServerDefinition]) -> list[EarlierApproval | None]:
        """The earlier approval of each name, if its definition differs."""
        return self._opened().earlier(definitions)

    def forget(self, definition: ServerDefinition) -> None:
        """Revoke the approval unless it is in use. `UserError` if that cannot be saved."""
        key = definition.approval_key
        if any(each.approval_key == key for user in self._users for each in user()):
            return
        self._now.discard(key)
        self._opened().forget(definition)

    def _opened(self) -> Trust:
        if self._trust is None:
            from mcp_progress_monitor.catalogue.trust import (  # not at startup without servers
                FILE_NAME,
                Trust,
            )

            self._trust = Trust(self._folder / FILE_NAME)
        return self._trust


FILE_NAME: Final = "servers.json"
"""As in `catalogue.catalogue`, whose imports would slow down the start."""
_LATER: Final = "The change takes effect when the server is connected again."
_NAME: Final = 60
_NAMES: Final = 400


class SavedServers:
    """Synchronises the engine's servers with the enabled ones of the catalogue.

    A connected server stays as it is until it ends. A changed command does not replace an approved
    one before it is approved: an automatic reconnect runs the old one.
    """

    def __init__(
        self,
        path: Path,
        engine: Engine,
        approvals: Consents,
        report: Callable[[ErrorDetails], None],
    ) -> None:
        self.path: Final = path
        self._engine = engine
        self._approvals = approvals
        self._report = report
        self._catalogue: Catalogue | None = None
        self.entries: dict[str, CatalogueEntry] = {}
        """The saved servers as last read, by name, in the user's order."""
        self._brought: set[str] = set()  # consent keys of everything that was in the file
        self._in_engine: set[str] = set()
        self._leaving: set[str] = set()
        self._reported: set[ErrorDetails] = set()
        approvals.keep_those_of(lambda: (each.definition for each in self.entries.values()))

    @property
    def catalogue(self) -> Catalogue:
        """The saved servers; read on first use."""
        if self._catalogue is None:
            from mcp_progress_monitor.catalogue.catalogue import Catalogue

            self._catalogue = Catalogue(self.path)
        return self._catalogue

    def is_saved(self, name: str) -> bool:
        """Return whether the engine's server of that name is in the catalogue."""
        return name in self._in_engine

    def wanted(self, name: str) -> ServerDefinition:
        """The definition to connect under a name; `UserError` if there is no such server."""
        if name in self._in_engine and name in self.entries:
            return self.entries[name].definition
        return self._engine.servers.newest(name)

    def refuses(self, definition: ServerDefinition) -> bool:
        """Return whether this is or was in the catalogue, and is not approved."""
        is_of_file = definition.approval_key in self._brought
        return is_of_file and not self._approvals.is_approved(definition)

    def poll(self) -> bool:
        """Read changes of the file by others; whether there were any."""
        # Not Path.exists: it raises in a folder that may not be entered (before Python 3.14).
        if self._catalogue is None and not os.path.lexists(self.path):
            return False
        self.catalogue.reload()
        self._report_file_errors()
        return self.synchronise(is_external=True)

    def synchronise(self, *, is_external: bool = False) -> bool:
        """Update the engine from the catalogue; whether anything changed.

        With `is_external`, another program changed it: the effect is reported.
        """
        now = {entry.name: entry for entry in self.catalogue.entries()}
        before, self.entries = self.entries, now
        self._brought.update(entry.definition.approval_key for entry in now.values())
        gone = self._dropped(is_external=is_external)
        if before == now and list(before) == list(now) and not gone:
            return False
        if is_external and before and not now:
            names = ", ".join(before)
            what = "The file of saved servers no longer contains any servers"
            self._report(ErrorDetails(what, str(self.path), f"Removed: {one_line(names, _NAMES)}."))
        for name, entry in now.items():
            if not entry.is_disabled:
                self._add_or_redefine(entry, is_external=is_external and before.get(name) != entry)
        return True

    def apply(self, name: str) -> None:
        """Add a saved server to the engine, once it is approved."""
        entry = self.entries.get(name)
        if entry is not None and name in self._in_engine:
            self._redefine(entry, is_external=False)

    def rename(self, name: str, definition: ServerDefinition) -> None:
        """Set the definition of the engine's server `name` to that of the catalogue.

        Raises:
            UserError: it is connected, and cannot be renamed.
        """
        self._engine.servers.set_definition(name, definition)
        if name in self._in_engine:
            self._in_engine.discard(name)
            self._in_engine.add(definition.name)

    def claim(self, name: str) -> None:
        """Mark the engine's server of that name as one of the catalogue."""
        self._in_engine.add(name)

    def release(self, name: str) -> None:
        """Mark the engine's server of that name as no longer in the catalogue."""
        self._in_engine.discard(name)
        self._leaving.discard(name)

    def _dropped(self, *, is_external: bool) -> bool:
        """Remove servers that are no longer saved, or disabled, once they are not connected."""
        dropped = False
        for name in sorted(self._in_engine):
            entry = self.entries.get(name)
            if entry is not None and not entry.is_disabled:
                continue
            if not self._engine.servers.snapshot(name).state.is_up:
                self._engine.servers.remove(name)
                self.release(name)
                dropped = True
            elif is_external and name not in self._leaving:
                self._leaving.add(name)
                self._report_change(
                    "A connected server was removed from the file of saved servers, or disabled",
                    name,
                    "It stays connected until you disconnect it.",
                )
        return dropped

    def _add_or_redefine(self, entry: CatalogueEntry, *, is_external: bool) -> None:
        name = entry.name
        if name in self._in_engine:
            self._redefine(entry, is_external=is_external)
        elif name in self._engine.servers.names():
            self._report_change(
                "A saved server has the same name as one added only for this run",
                name,
                "Remove the latter from the list, or rename one of them.",
            )
        else:
            self._engine.servers.add(entry.definition)
            self._in_engine.add(name)

    def _redefine(self, entry: CatalogueEntry, *, is_external: bool) -> None:
        name, new = entry.name, entry.definition
        server = self._engine.servers.snapshot(name)
        old = self._engine.servers.newest(name)
        if new == old:
            return
        is_other = new.approval_key != old.approval_key
        was_run = self._approvals.is_approved(old) or server.state is not ServerState.IDLE
        if is_other and not self._approvals.is_approved(new) and was_run:
            if is_external:
                self._report_changed(name, is_up=server.state.is_up)
            return
        self._engine.servers.set_definition(name, new)
        if is_other and is_external and server.state.is_up:
            what = "A connected server was changed in the file of saved servers"
            self._report_change(
                what, name, "The change takes effect when the server is connected again."
            )

    def _report_changed(self, name: str, *, is_up: bool) -> None:
        what = "The command or URL of a saved server was changed in its file"
        hint = "You will be asked before the new command runs."
        if is_up:
            hint = f"{_LATER} {hint}"
        self._report_change(what, name, hint)

    def _report_file_errors(self) -> None:
        """Report errors of the file and of approvals, each once until it is fixed."""
        found = [self.catalogue.error, self._approvals.error, *self.catalogue.errors]
        now = {error for error in found if error is not None}
        for error in sorted(now - self._reported):
            self._report(error)
        self._reported = now

    def _report_change(self, what: str, name: str, hint: str) -> None:
        self._report(ErrorDetails(what, one_line(name, _NAME), hint))

"""The servers of the catalogue in the monitor: as they are saved, as far as they are agreed to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.sessions.snapshot import ServerState
from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcp_progress_monitor.catalogue.catalogue import Catalogue
    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.shell.consents import Consents
    from mcp_progress_monitor.shell.gate import GatedMonitor

FILE_NAME: Final = "servers.json"
"""As in `catalogue.catalogue`, which loads pydantic: no start waits for that."""
_NAME: Final = 60
_NAMES: Final = 400


class SavedServers:
    """Keeps the monitor's servers like the catalogue's that are not disabled.

    What is connected stays as it is until it ends. A changed command is not even put in the place
    of one that was agreed to: whatever connects the server by itself meanwhile runs the old one.
    """

    def __init__(
        self, path: Path, monitor: GatedMonitor, consents: Consents, tell: Callable[[Problem], None]
    ) -> None:
        self.path: Final = path
        self._monitor = monitor
        self._consents = consents
        self._tell = tell
        self._catalogue: Catalogue | None = None
        self._seen: dict[str, CatalogueEntry] = {}
        self._brought: set[str] = set()  # consent keys of all that stood in the file
        self._placed: set[str] = set()
        self._leaving: set[str] = set()
        self._told: set[Problem] = set()

    @property
    def catalogue(self) -> Catalogue:
        """The saved servers; read when first asked for."""
        if self._catalogue is None:
            from mcp_progress_monitor.catalogue.catalogue import (
                Catalogue,  # with pydantic: not for an empty start
            )

            self._catalogue = Catalogue(self.path)
        return self._catalogue

    @property
    def entries(self) -> Mapping[str, CatalogueEntry]:
        """The saved servers as they were taken in last, by name, in the user's order."""
        return self._seen

    def is_saved(self, name: str) -> bool:
        """Whether the monitor's server of that name is one of the catalogue."""
        return name in self._placed

    def wanted(self, name: str) -> ServerDefinition:
        """What is to be connected under a name; `ProblemError` when there is no such server."""
        if name in self._placed and name in self._seen:
            return self._seen[name].definition
        return self._monitor.newest(name)

    def refuses(self, definition: ServerDefinition) -> bool:
        """Whether this is, or was, of the catalogue and was not agreed to."""
        is_of_file = definition.consent_key in self._brought
        return is_of_file and not self._consents.is_agreed(definition)

    def look(self) -> bool:
        """Take in what others changed in the file; whether there was anything."""
        # Not Path.exists: in a folder that may not be entered it raises (before Python 3.14).
        if self._catalogue is None and not os.path.lexists(self.path):
            return False
        self.catalogue.look()
        self._tell_of_file()
        return self.take_in(is_news=True)

    def take_in(self, *, is_news: bool = False) -> bool:
        """Let the monitor have what the catalogue says; whether that differs from before.

        With `is_news` somebody else changed it: what that means is told.
        """
        now = {entry.name: entry for entry in self.catalogue.entries()}
        before, self._seen = self._seen, now
        self._brought.update(entry.definition.consent_key for entry in now.values())
        gone = self._dropped(is_news=is_news)
        if before == now and list(before) == list(now) and not gone:
            return False
        if is_news and before and not now:
            names = ", ".join(before)
            what = "The file of saved servers names none any more"
            self._tell(Problem(what, str(self.path), f"It had: {one_line(names, _NAMES)}."))
        for name, entry in now.items():
            if not entry.is_disabled:
                self._give(entry, is_news=is_news and before.get(name) != entry)
        return True

    def apply(self, name: str) -> None:
        """Give the monitor what is saved under a name, which the user has agreed to by now."""
        entry = self._seen.get(name)
        if entry is not None and name in self._placed:
            self._redefine(entry, is_news=False)

    def rename(self, name: str, definition: ServerDefinition) -> None:
        """Let the monitor's server `name` be `definition`, as the catalogue has it by now.

        Raises:
            ProblemError: it is connected, and can have no other name.
        """
        self._monitor.set_definition(name, definition)
        if name in self._placed:
            self._placed.discard(name)
            self._placed.add(definition.name)

    def claim(self, name: str) -> None:
        """Take the monitor's server of that name, which is in the catalogue now, for its own."""
        self._placed.add(name)

    def let_go(self, name: str) -> None:
        """Leave the monitor's server of that name, which the catalogue has no more, to others."""
        self._placed.discard(name)
        self._leaving.discard(name)

    def _dropped(self, *, is_news: bool) -> bool:
        """Take away what is saved no more, or disabled, as soon as it is not connected."""
        dropped = False
        for name in sorted(self._placed):
            entry = self._seen.get(name)
            if entry is not None and not entry.is_disabled:
                continue
            if not self._monitor.server(name).state.is_up:
                self._monitor.remove_server(name)
                self.let_go(name)
                dropped = True
            elif is_news and name not in self._leaving:
                self._leaving.add(name)
                self._tell_of(
                    "A connected server was taken out of the file of saved servers, or disabled",
                    name,
                    "It goes on until you disconnect it.",
                )
        return dropped

    def _give(self, entry: CatalogueEntry, *, is_news: bool) -> None:
        name = entry.name
        if name in self._placed:
            self._redefine(entry, is_news=is_news)
        elif name in self._monitor.server_names():
            self._tell_of(
                "A saved server has the name of another one that is there for this run",
                name,
                "Remove that one from the list, or rename one of them.",
            )
        else:
            self._monitor.add_server(entry.definition)
            self._placed.add(name)

    def _redefine(self, entry: CatalogueEntry, *, is_news: bool) -> None:
        name, new = entry.name, entry.definition
        server = self._monitor.server(name)
        old = self._monitor.newest(name)
        if new == old:
            return
        is_other = new.consent_key != old.consent_key
        was_run = self._consents.is_agreed(old) or server.state is not ServerState.IDLE
        if is_other and not self._consents.is_agreed(new) and was_run:
            if is_news:
                self._tell_changed(name, is_up=server.state.is_up)
            return
        self._monitor.set_definition(name, new)
        if is_other and is_news and server.state.is_up:
            what = "A connected server was changed in the file of saved servers"
            self._tell_of(what, name, "It goes on as it was until it is connected again.")

    def _tell_changed(self, name: str, *, is_up: bool) -> None:
        what = "What a server runs was changed in the file of saved servers"
        hint = "You are asked before the new command runs."
        if is_up:
            hint = f"The server goes on as it was until it is connected again. {hint}"
        self._tell_of(what, name, hint)

    def _tell_of_file(self) -> None:
        """Tell what is wrong with the file and with consents, each thing once until mended."""
        found = [self.catalogue.problem, self._consents.problem, *self.catalogue.problems]
        now = {problem for problem in found if problem is not None}
        for problem in sorted(now - self._told):
            self._tell(problem)
        self._told = now

    def _tell_of(self, what: str, name: str, hint: str) -> None:
        self._tell(Problem(what, one_line(name, _NAME), hint))

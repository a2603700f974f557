"""What the window's wishes about saved servers do, and when any server may be connected."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.shell.consents import Consents, refusal
from mcp_progress_monitor.shell.saved_servers import FILE_NAME, SavedServers
from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.models.catalogue_draft import EditedServer
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.references import Keyring
    from mcp_progress_monitor.shell.aio import Tasks
    from mcp_progress_monitor.shell.control import Control
    from mcp_progress_monitor.shell.gate import GatedMonitor

_NAMES: Final = 2000
"""Characters of variables' names that are shown."""
_BEATS: Final = 4
"""Beats of the window from one look at the file to the next: a second."""


class Cataloguing(QObject):
    """Saves servers, and connects them: those not agreed to only after the user was asked."""

    restart_wanted = Signal(str)
    """A server is to be connected as it was just saved; that may end jobs."""
    consent_wanted = Signal(object, object)
    """Where definitions come from, in words, and the definitions: the user is to see them."""
    entries_changed = Signal(object)
    """The saved servers, by name."""
    edit_saved = Signal(object)
    """The `EditedServer` that is on disk now."""
    edit_refused = Signal(object, object)
    """The `EditedServer` that could not be saved, and the problem."""

    def __init__(
        self,
        monitor: GatedMonitor,
        control: Control,
        tasks: Tasks,
        tell: Callable[[Problem], None],
        folder: Path,
        keyring: Keyring,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._monitor = monitor
        self._control = control
        self._tasks = tasks
        self._tell = tell
        self.keyring = keyring
        """Where secrets are put; never within the window's own thread."""
        self._folder = folder
        self.consents = Consents(folder)
        self.saved = SavedServers(folder / FILE_NAME, monitor, self.consents, tell)
        self._offered: set[str] = set()  # consent keys of what is not to be saved
        self._beat = 0

    def refusal(self, definition: ServerDefinition) -> Problem | None:
        """Why a definition must not be connected by anyone; None when it may be."""
        return refusal(definition.name) if self.saved.refuses(definition) else None

    def begin(self) -> None:
        """Show what is saved, and connect what is to be connected at start."""
        self.saved.look()
        self.entries_changed.emit(self.saved.entries)
        at_start = [
            entry.name
            for entry in self.saved.entries.values()
            if entry.connects_at_start and not entry.is_disabled
        ]
        self.connect_servers(at_start)

    @Slot()
    def look(self) -> None:
        """Take in, once a second, what others changed in the file."""
        self._beat = (self._beat + 1) % _BEATS
        if not self._beat and self.saved.look():
            self.entries_changed.emit(self.saved.entries)

    # Connecting

    @Slot(str)
    def connect_server(self, name: str) -> None:
        """Connect a server; one that was not agreed to is shown first."""
        self.connect_servers([name])

    @Slot(str)
    def restart_server(self, name: str) -> None:
        """End a server and connect it as it is saved now."""
        self.connect_servers([name], is_anew=True)

    def connect_servers(self, names: Iterable[str], *, is_anew: bool = False) -> None:
        """Connect several in their order; one question for all that were not agreed to."""
        asked: list[ServerDefinition] = []
        agreed: list[str] = []
        for name in names:
            definition = self._wanted(name)
            if definition is None:
                continue
            if self.saved.refuses(definition):
                asked.append(definition)
                continue
            self.saved.apply(name)
            if is_anew and self._monitor.server(name).state.is_up:
                self._control.restart_server(name)
            else:
                agreed.append(name)
        if len(agreed) == 1:  # not behind others that take their time
            self._control.connect_server(agreed[0])
        else:
            self._control.connect_servers(agreed)
        if asked:
            self.consent_wanted.emit(self._origin(asked), tuple(asked))

    @Slot(str)
    def sign_out(self, name: str) -> None:
        """End a server and forget what lets us in there: the next connection asks to sign in."""
        self._tasks.start(f"sign out from {name}", self._sign_out, name)

    async def _sign_out(self, name: str) -> None:
        from mcp_progress_monitor.sessions.http.sign_in import sign_out  # with the HTTP client

        definition = self._monitor.server(name).definition
        if definition.transport == "stdio":
            return
        await self._monitor.disconnect(name)
        if not await anyio.to_thread.run_sync(sign_out, definition, self._folder):
            what = self.tr("You were not signed in at this server")
            self._tell(Problem(what, name, self.tr("Nothing was kept that had to be forgotten.")))

    def offer(self, origin: str, definitions: Sequence[ServerDefinition]) -> None:
        """Take in what a file names for this run: what was agreed to before is connected."""
        known = [each for each in definitions if self.consents.is_agreed(each)]
        self.add_for_now(known)
        asked = tuple(each for each in definitions if each not in known)
        self._offered.update(each.consent_key for each in asked)
        if asked:
            self.consent_wanted.emit(origin, asked)

    def add_for_now(self, definitions: Iterable[ServerDefinition]) -> None:
        """Connect servers that the user named for this run; one that is saved is that one."""
        for definition in definitions:
            self.consents.agree_for_now(definition)
            entry = self.saved.entries.get(definition.name)
            if entry is not None and entry.definition == definition and not entry.is_disabled:
                self.connect_server(definition.name)
            else:
                self._control.add_server(definition)

    @Slot(object)
    def agree(self, definitions: Sequence[ServerDefinition]) -> None:
        """Keep the user's consent, and connect what was agreed to."""
        self._told(self.consents.agree, definitions)
        for_now = [each for each in definitions if each.consent_key in self._offered]
        self._offered.difference_update(each.consent_key for each in for_now)
        self.add_for_now(for_now)
        # What was changed again since it was shown is asked for again.
        saved = [each.name for each in definitions if each not in for_now]
        self.connect_servers(saved, is_anew=True)

    def _wanted(self, name: str) -> ServerDefinition | None:
        entry = self.saved.entries.get(name)
        if entry is not None and entry.is_disabled:
            hint = self.tr("Enable it first.")
            self._tell(Problem(self.tr("The server is disabled"), name, hint))
            return None
        try:
            return self.saved.wanted(name)
        except ProblemError as error:
            self._tell(error.problem)
            return None

    def _origin(self, definitions: Sequence[ServerDefinition]) -> str:
        entries = [self.saved.entries.get(each.name) for each in definitions]
        origins = {entry.origin for entry in entries if entry is not None and entry.origin}
        return ", ".join(sorted(origins)) or str(self.saved.path)

    # Saving

    @Slot(object)
    def save(self, edited: EditedServer) -> None:
        """Save what the user entered, who has agreed to it by that; its secrets go first."""
        self._tasks.start(f"save {edited.entry.name}", self._save, edited)

    async def _save(self, edited: EditedServer) -> None:
        try:
            for name, secret in edited.secrets.items():
                await anyio.to_thread.run_sync(
                    self.keyring.put, name, secret, abandon_on_cancel=True
                )
            name = self._put(edited)
        except ProblemError as error:
            self.edit_refused.emit(edited, error.problem)
            return
        self.refresh()
        self.edit_saved.emit(edited)
        if edited.is_to_connect:
            self.restart_wanted.emit(name)
        elif edited.was:
            self._tell_when_it_counts(name, edited.entry.definition)

    def _put(self, edited: EditedServer) -> str:
        entry, was = edited.entry, edited.was
        if not was:
            self.consents.agree([entry.definition])
            return self.saved.catalogue.add(entry)
        is_there = was in self._monitor.server_names()
        if entry.name != was and is_there and self._monitor.server(was).state.is_up:
            what = self.tr("A connected server cannot have another name")
            raise ProblemError(Problem(what, was, self.tr("Disconnect it first.")))
        if was in self.saved.entries:
            self.saved.catalogue.replace(was, entry)
        else:
            self._must_be_free(entry.name)
            self.saved.catalogue.add(entry)
            self.saved.claim(was)
        self.consents.agree([entry.definition])
        if is_there:
            self.saved.rename(was, entry.definition)
        return entry.name

    def _tell_when_it_counts(self, name: str, definition: ServerDefinition) -> None:
        if name in self._monitor.server_names() and self._monitor.server(name).state.is_up:
            what = self.tr("What you changed counts from the next connection on")
            self._tell(Problem(what, definition.name, self.tr("Restart the server to use it now.")))

    @Slot(str)
    def keep(self, name: str) -> None:
        """Save a server that was there for this run only."""
        self._told(self._keep, name)

    def _keep(self, name: str) -> None:
        from mcp_progress_monitor.catalogue.entry import CatalogueEntry

        self._must_be_free(name)
        definition = self._monitor.newest(name)
        self.saved.catalogue.add(CatalogueEntry(definition))
        self.consents.agree([definition])
        self.saved.claim(name)
        self.refresh()

    def _must_be_free(self, name: str) -> None:
        """`ProblemError` when what is there for this run cannot be saved under its own name."""
        if self.saved.catalogue.is_taken(name):
            what = self.tr("There is a saved server of this name already")
            hint = self.tr("Rename one of them; in the file, if it cannot be used.")
            raise ProblemError(Problem(what, name, hint))

    @Slot(str)
    def clone(self, name: str) -> None:
        """Save a copy of a server, which does the same and needs no further consent."""
        self._told(self._clone, name)

    def _clone(self, name: str) -> None:
        self.saved.catalogue.clone(name)
        self.refresh()

    @Slot(str, bool)
    def set_connects_at_start(self, name: str, is_wanted: bool) -> None:
        """Connect a server when the program starts, or no more."""
        self._told(self._set_connects_at_start, name, is_wanted)

    def _set_connects_at_start(self, name: str, is_wanted: bool) -> None:
        entry = self.saved.catalogue.entry(name)
        self._replace(dataclasses.replace(entry, connects_at_start=is_wanted))

    @Slot(str, bool)
    def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Switch a server off, which ends it, or on."""
        self._tasks.start(f"disable {name}", self._set_disabled, name, is_disabled)

    async def _set_disabled(self, name: str, is_disabled: bool) -> None:
        if is_disabled and name in self._monitor.server_names():
            await self._monitor.disconnect(name)
        entry = self.saved.catalogue.entry(name)
        self._replace(dataclasses.replace(entry, is_disabled=is_disabled))

    def _replace(self, entry: CatalogueEntry) -> None:
        self.saved.catalogue.replace(entry.name, entry)
        self.refresh()

    @Slot(str, int)
    def move(self, name: str, position: int) -> None:
        """Put a server at another place: among the saved ones if it is saved."""
        self._told(self._move, name, position)

    def _move(self, name: str, position: int) -> None:
        if name in self.saved.entries:
            self.saved.catalogue.move(name, position)
            self.refresh()
        else:
            others = [each for each in self._monitor.server_names() if self.saved.is_saved(each)]
            self._monitor.place_server(name, len(others) + position)

    @Slot(str, object)
    def remove(self, name: str, secrets: Sequence[str] = ()) -> None:
        """End a server and forget it, and what the user agreed to with it; its jobs stay.

        `secrets` of the keyring go with it, by name, if it is still the only one to refer to them.
        """
        self._tasks.start(f"remove {name}", self._remove, name, tuple(secrets))

    def secrets_of_alone(self, name: str) -> tuple[str, ...]:
        """Secrets in the keyring that a saved server refers to, and no other server here."""
        if name not in self.saved.entries:
            return ()
        from mcp_progress_monitor.catalogue.secrets import (
            keyring_names,  # with pydantic, which is there by now
        )

        others = [self._monitor.newest(each) for each in self._monitor.server_names()]
        used = [keyring_names(each.model_dump()) for each in others if each.name != name]
        alone = self.saved.catalogue.secrets_of_alone([name])
        return tuple(each for each in alone if not any(each in names for names in used))

    async def _remove(self, name: str, secrets: Sequence[str]) -> None:
        if name in self._monitor.server_names():
            await self._monitor.disconnect(name)
        entry = self.saved.entries.get(name)
        if entry is None:
            self.saved.let_go(name)
            if name in self._monitor.server_names():  # else a look at the file has taken it away
                self._monitor.remove_server(name)
            return
        unwanted = [each for each in self.secrets_of_alone(name) if each in secrets]
        self.saved.catalogue.remove(name)
        self.refresh()
        if not self._is_elsewhere(entry):
            self.consents.forget(entry.definition)
        for each in unwanted:
            await anyio.to_thread.run_sync(self.keyring.forget, each, abandon_on_cancel=True)

    def _is_elsewhere(self, entry: CatalogueEntry) -> bool:
        key = entry.definition.consent_key
        return any(each.definition.consent_key == key for each in self.saved.entries.values())

    def tell_variables(self, names: Iterable[str]) -> None:
        """Tell which variables the user has to set for what was saved; nothing without any."""
        wanted = sorted(set(names))
        if wanted:
            what = self.tr("Imported servers take secrets from variables of the environment")
            hint = self.tr("Set them before this program starts.")
            self._tell(Problem(what, one_line(", ".join(wanted), _NAMES), hint))

    def refresh(self) -> None:
        """Show what is saved by now."""
        self.saved.take_in()
        self.entries_changed.emit(self.saved.entries)

    def _told(self, work: Callable[..., object], *given: object, **named: object) -> None:
        """Do what takes no time; what is wrong with it is told."""
        try:
            work(*given, **named)
        except ProblemError as error:
            self._tell(error.problem)

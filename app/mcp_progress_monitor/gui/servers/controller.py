"""Saves, clones, moves, disables and removes servers; connects them once approved."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import TYPE_CHECKING, Concatenate, Final, NamedTuple, ParamSpec

import anyio.to_thread
from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.gui.servers.saved_servers import FILE_NAME, Consents, SavedServers
from mcp_progress_monitor.gui.window_commands import DEMO
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.snapshots.servers import not_connected
from mcp_progress_monitor.wording.approval import not_approved
from mcp_progress_monitor.wording.servers import disabled

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.servers.draft import EditedServer
    from mcp_progress_monitor.secrets.references import Keyring
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

P = ParamSpec("P")

_NAMES: Final = 2000  # characters of variables' names that are shown
_BEATS: Final = 4  # ticks of the window between two checks of the file: a second
_AT_ONCE: Final = 8
"""How many servers are started at the same time: each has a limit to become ready."""


class RemovedServer(NamedTuple):
    """A removed server, to be restored; `position` is among the saved ones."""

    entry: CatalogueEntry
    position: int
    is_approved: bool
    is_saved: bool


def _reporting_errors(
    work: Callable[Concatenate[ServersController, P], None],
) -> Callable[Concatenate[ServersController, P], None]:
    """Let a quick action report its `UserError` in the window."""

    @functools.wraps(work)
    def run(self: ServersController, /, *given: P.args, **named: P.kwargs) -> None:
        try:
            work(self, *given, **named)
        except UserError as error:
            self.report_error(error.details)

    return run


class ServersController(QObject):
    """Saves servers and connects them; asks for missing approvals first."""

    restart_requested = Signal(str)
    """A server is to be connected as just saved; that may end jobs."""
    consent_requested = Signal(object, object)
    """The origin of definitions, and the definitions to show the user."""
    turns_changed = Signal(object)
    """The names of the servers that wait for their turn to be connected."""
    entries_changed = Signal(object)  # the saved servers, by name
    server_removed = Signal(object)  # a `RemovedServer` that can be restored
    edit_saved = Signal(object)  # the `EditedServer` that was saved
    edit_refused = Signal(object, object)
    """The `EditedServer` that could not be saved, and the error."""

    def __init__(
        self,
        engine: Engine,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        folder: Path,
        keyring: Keyring,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._tasks = tasks
        self.report_error = report
        self.keyring = keyring  # where secrets are stored; never accessed in the window's thread
        self._folder = folder
        self.approvals = Consents(folder)
        self.saved = SavedServers(folder / FILE_NAME, engine, self.approvals, report)
        self._offered: set[str] = set()  # consent keys of definitions that are not saved
        self._beat = 0
        self._turn: collections.deque[str] = collections.deque()
        self._taking_turns = 0

    def refusal(self, definition: ServerDefinition) -> ErrorDetails | None:
        """Say why a definition must not be connected; None if it may."""
        hint = "Connect it from the server list to review and approve what it runs."
        return not_approved(definition.name, hint) if self.saved.refuses(definition) else None

    def begin(self, *, connects: bool = True) -> None:
        """Show the saved servers and, if `connects`, connect those that connect at start."""
        self.saved.poll()
        self.entries_changed.emit(self.saved.entries)
        at_start = [
            entry.name
            for entry in self.saved.entries.values()
            if connects and entry.connects_at_start and not entry.is_disabled
        ]
        self.connect_servers(at_start)

    @Slot()
    def poll(self) -> None:
        """Apply changes of the file by others, once a second."""
        self._beat = (self._beat + 1) % _BEATS
        if not self._beat and self.saved.poll():
            self.entries_changed.emit(self.saved.entries)

    # Connecting

    @carries_out(commands.CONNECT)
    @Slot(str)
    def connect_server(self, name: str) -> None:
        """Connect a server; show it first if it is not approved."""
        self.connect_servers([name])

    @Slot(str)
    def restart_server(self, name: str) -> None:
        """End a server and connect it as currently saved."""
        self.connect_servers([name], is_restart=True)

    def connect_servers(self, names: Iterable[str], *, is_restart: bool = False) -> None:
        """Connect several servers in order; one question for all that are not approved."""
        unapproved: list[ServerDefinition] = []
        approved: list[str] = []
        for name in names:
            definition = self._wanted(name)
            if definition is None:
                continue
            if self.saved.refuses(definition):
                unapproved.append(definition)
                continue
            self.saved.apply(name)
            if is_restart and self._engine.servers.snapshot(name).state.is_up:
                self._start(f"restart {name}", self._engine.servers.restart, name)
            else:
                approved.append(name)
        if len(approved) == 1:  # do not wait for slow ones
            self._connect(approved[0])
        else:
            self._connect_in_turn(approved)
        if unapproved:
            self.consent_requested.emit(self._origin(unapproved), tuple(unapproved))

    def _connect(self, name: str) -> None:
        self._cancel_turn(name)
        self._start(f"connect {name}", self._engine.servers.connect, name)

    def _start(
        self, title: str, connect: Callable[[str], Coroutine[object, object, object]], name: str
    ) -> None:
        self._tasks.start(title, self._unless_unwanted, connect, name)

    async def _unless_unwanted(
        self, connect: Callable[[str], Coroutine[object, object, object]], name: str
    ) -> None:
        """Connect a server; do not report that the user disconnected it meanwhile."""
        try:
            await connect(name)
        except UserError as error:
            if error.details != not_connected(name):
                raise

    def _connect_in_turn(self, names: Iterable[str]) -> None:
        """Connect several servers in order, a few at the same time."""
        self._turn.extend(names)
        for _ in range(min(_AT_ONCE - self._taking_turns, len(self._turn))):
            self._taking_turns += 1
            self._tasks.start("connect in turn", self._take_turns)
        self._show_turns()

    async def _take_turns(self) -> None:
        """Connect the waiting servers one after the other."""
        try:
            while self._turn:
                name = self._turn.popleft()
                self._show_turns()
                if name not in self._engine.servers.names():
                    continue  # removed or disabled meanwhile
                try:
                    await self._unless_unwanted(self._engine.servers.connect, name)
                except UserError as error:
                    self.report_error(error.details)
        finally:
            self._taking_turns -= 1

    def _cancel_turn(self, name: str) -> None:
        if name in self._turn:
            self._turn.remove(name)
            self._show_turns()

    def _show_turns(self) -> None:
        self.turns_changed.emit(frozenset(self._turn))

    @Slot(str)
    def disconnect_server(self, name: str) -> None:
        """Disconnect a server gracefully, or cancel its turn."""
        self._cancel_turn(name)
        self._tasks.start(f"disconnect {name}", self._engine.servers.disconnect, name)

    @carries_out(DEMO)
    @Slot()
    def start_demo(self) -> None:
        self._tasks.start("demo", self._run_demo)

    async def _run_demo(self) -> None:
        from mcp_progress_monitor.demo.scenes import DEMO_CALLS  # late: not needed at startup
        from mcp_progress_monitor.snapshots.definitions import demo_definition  # late, as above

        name = self._engine.servers.add(demo_definition())
        await self._unless_unwanted(self._engine.servers.connect, name)
        if not self._engine.servers.snapshot(name).state.is_up:
            return
        for scene in DEMO_CALLS:
            params = {"name": scene.tool, "arguments": dict(scene.arguments)}
            call = Call(server=name, method=CALL_TOOL, params=params)
            self._tasks.start(f"demo {scene.tool}", self._engine.calls.make, call)

    @Slot(str)
    def sign_out(self, name: str) -> None:
        """End a server and delete its tokens: the next connection asks to sign in."""
        self._tasks.start(f"sign out from {name}", self._sign_out, name)

    async def _sign_out(self, name: str) -> None:
        if not await self._engine.servers.sign_out(name):
            what = "You were not signed in to this server"
            self.report_error(ErrorDetails(what, name, "No saved sign-in was found."))

    def offer(self, origin: str, definitions: Sequence[ServerDefinition]) -> None:
        """Add the servers of a file for this run; connect those that are approved."""
        known = [each for each in definitions if self.approvals.is_approved(each)]
        self.add_for_now(known)
        unapproved = tuple(each for each in definitions if each not in known)
        self._offered.update(each.approval_key for each in unapproved)
        if unapproved:
            self.consent_requested.emit(origin, unapproved)

    def add_for_now(self, definitions: Iterable[ServerDefinition]) -> None:
        """Connect servers that the user named for this run; a saved one is reused."""
        for definition in definitions:
            self.approvals.approve_once(definition)
            entry = self.saved.entries.get(definition.name)
            if entry is not None and entry.definition == definition and not entry.is_disabled:
                self.connect_server(definition.name)
            else:
                self._connect(self._engine.servers.add(definition))

    @Slot(object)
    def approve(self, definitions: Sequence[ServerDefinition]) -> None:
        """Save the user's approval, and connect what was approved."""
        self._save_approvals(definitions)
        for_now = [each for each in definitions if each.approval_key in self._offered]
        self._offered.difference_update(each.approval_key for each in for_now)
        self.add_for_now(for_now)
        # What was changed again since it was shown needs another approval.
        saved = [each.name for each in definitions if each not in for_now]
        self.connect_servers(saved, is_restart=True)

    def _wanted(self, name: str) -> ServerDefinition | None:
        entry = self.saved.entries.get(name)
        if entry is not None and entry.is_disabled:
            hint = "Enable it first."
            self.report_error(disabled(name, hint))
            return None
        try:
            return self.saved.wanted(name)
        except UserError as error:
            self.report_error(error.details)
            return None

    def definition_now(self, definition: ServerDefinition) -> ServerDefinition | None:
        """The newest definition of the same server; None if it was removed or disabled."""
        if definition.approval_key in self._offered:
            return definition
        name = definition.name
        entry = self.saved.entries.get(name)
        if entry is not None:
            return None if entry.is_disabled else entry.definition
        return self._engine.servers.newest(name) if name in self._engine.servers.names() else None

    def _origin(self, definitions: Sequence[ServerDefinition]) -> str:
        entries = [self.saved.entries.get(each.name) for each in definitions]
        origins = {entry.origin for entry in entries if entry is not None and entry.origin}
        return ", ".join(sorted(origins)) or str(self.saved.path)

    # Saving

    @Slot(object)
    def save(self, edited: EditedServer) -> None:
        """Save what the user entered, which approves it; secrets are saved first."""
        self._tasks.start(f"save {edited.entry.name}", self._save, edited)

    async def _save(self, edited: EditedServer) -> None:
        try:
            for name, secret in edited.secrets.items():
                await anyio.to_thread.run_sync(
                    self.keyring.put, name, secret, abandon_on_cancel=True
                )
            name = self._put(edited)
        except UserError as error:
            self.edit_refused.emit(edited, error.details)
            return
        self.refresh()
        self.edit_saved.emit(edited)
        if edited.is_to_connect:
            self.restart_requested.emit(name)
        elif edited.was:
            self._report_when_it_counts(name, edited.entry.definition)

    def _put(self, edited: EditedServer) -> str:
        entry, was = edited.entry, edited.was
        if not was:
            self.approvals.approve([entry.definition])
            return self.saved.catalogue.add(entry)
        is_there = was in self._engine.servers.names()
        if entry.name != was and is_there and self._engine.servers.snapshot(was).state.is_up:
            what = "Cannot rename a connected server"
            raise UserError(ErrorDetails(what, was, "Disconnect it first."))
        if was in self.saved.entries:
            self.saved.catalogue.replace(was, entry)
        else:
            self._must_be_free(entry.name)
            self.saved.catalogue.add(entry)
            self.saved.claim(was)
        self.approvals.approve([entry.definition])
        if is_there:
            self.saved.rename(was, entry.definition)
        return entry.name

    def _report_when_it_counts(self, name: str, definition: ServerDefinition) -> None:
        if name in self._engine.servers.names() and self._engine.servers.snapshot(name).state.is_up:
            what = "Changes take effect at the next connection"
            self.report_error(
                ErrorDetails(what, definition.name, "Restart the server to apply them now.")
            )

    @carries_out(commands.KEEP)
    @Slot(str)
    @_reporting_errors
    def keep(self, name: str) -> None:
        """Save a server that was only added for this run."""
        from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry

        self._must_be_free(name)
        definition = self._engine.servers.newest(name)
        self.saved.catalogue.add(CatalogueEntry(definition))
        self.approvals.approve([definition])
        self.saved.claim(name)
        self.refresh()

    def _must_be_free(self, name: str) -> None:
        """Raise `UserError` if a server of this run cannot be saved under its own name."""
        if self.saved.catalogue.is_taken(name):
            what = "A saved server with this name already exists"
            hint = "Rename one of them; if the saved one is invalid, rename it in the file."
            raise UserError(ErrorDetails(what, name, hint))

    @carries_out(commands.CLONE)
    @Slot(str)
    @_reporting_errors
    def clone(self, name: str) -> None:
        """Save a copy of a server, which needs no further approval."""
        self.saved.catalogue.clone(name)
        self.refresh()

    @carries_out(commands.AT_START)
    @Slot(str, bool)
    @_reporting_errors
    def set_connects_at_start(self, name: str, is_wanted: bool) -> None:
        """Set whether a server is connected when the program starts."""
        entry = self.saved.catalogue.entry(name)
        self._replace(dataclasses.replace(entry, connects_at_start=is_wanted))

    @Slot(str, bool)
    def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Disable a server, which ends it, or enable it."""
        self._tasks.start(f"disable {name}", self._set_disabled, name, is_disabled)

    async def _set_disabled(self, name: str, is_disabled: bool) -> None:
        if is_disabled and name in self._engine.servers.names():
            await self._engine.servers.disconnect(name)
        entry = self.saved.catalogue.entry(name)
        self._replace(dataclasses.replace(entry, is_disabled=is_disabled))

    def _replace(self, entry: CatalogueEntry) -> None:
        self.saved.catalogue.replace(entry.name, entry)
        self.refresh()

    @Slot(str, int)
    @_reporting_errors
    def move(self, name: str, position: int) -> None:
        """Move a server: among the saved ones if it is saved."""
        if name in self.saved.entries:
            self.saved.catalogue.move(name, position)
            self.refresh()
        else:
            others = [each for each in self._engine.servers.names() if self.saved.is_saved(each)]
            self._engine.servers.place(name, len(others) + position)

    @Slot(str, object)
    def remove(self, name: str, secrets: Sequence[str] = ()) -> None:
        """Disconnect a server and delete it with its approval; its jobs stay.

        `secrets` of the keyring are deleted by name, unless other servers refer to them.
        """
        self._tasks.start(f"remove {name}", self._remove, name, tuple(secrets))

    def unshared_secrets(self, name: str) -> tuple[str, ...]:
        """Secrets in the keyring that only this saved server refers to."""
        if name not in self.saved.entries:
            return ()
        from mcp_progress_monitor.catalogue.secrets import keyring_names  # late, as above

        others = [self._engine.servers.newest(each) for each in self._engine.servers.names()]
        used = [keyring_names(each.model_dump()) for each in others if each.name != name]
        alone = self.saved.catalogue.unshared_secrets([name])
        return tuple(each for each in alone if not any(each in names for names in used))

    @_reporting_errors
    def restore(self, removed: RemovedServer) -> None:
        """Restore a removed server with its position and approval."""
        entry = removed.entry
        if not removed.is_saved:
            self._engine.servers.add(entry.definition)
            return
        name = self.saved.catalogue.add(entry)
        self.saved.catalogue.move(name, removed.position)
        if removed.is_approved:
            self.approvals.approve([entry.definition])
        self.refresh()

    async def _remove(self, name: str, secrets: Sequence[str]) -> None:
        if name in self._engine.servers.names():
            await self._engine.servers.disconnect(name)
        entry = self.saved.entries.get(name)
        if entry is None:
            self.saved.release(name)
            if name in self._engine.servers.names():  # else the file's update removed it
                self._remove_unsaved(name)
            return
        unwanted = [each for each in self.unshared_secrets(name) if each in secrets]
        position = list(self.saved.entries).index(name)
        is_approved = self.approvals.is_approved(entry.definition)
        self.saved.catalogue.remove(name)
        self.refresh()
        self.approvals.forget(entry.definition)
        for each in unwanted:
            await anyio.to_thread.run_sync(self.keyring.forget, each, abandon_on_cancel=True)
        if not unwanted:  # else it could not be connected as before
            self.server_removed.emit(RemovedServer(entry, position, is_approved, is_saved=True))

    def _remove_unsaved(self, name: str) -> None:
        from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry

        entry = CatalogueEntry(self._engine.servers.newest(name))
        self._engine.servers.remove(name)
        self.server_removed.emit(RemovedServer(entry, 0, is_approved=False, is_saved=False))

    def report_variables(self, names: Iterable[str]) -> None:
        """Report which variables the user has to set for the saved servers, if any."""
        wanted = sorted(set(names))
        if wanted:
            what = "Imported servers read secrets from environment variables"
            hint = "Set the variables before you start this program."
            self.report_error(ErrorDetails(what, one_line(", ".join(wanted), _NAMES), hint))

    def refresh(self) -> None:
        """Show the servers as currently saved."""
        self.saved.synchronise()
        self.entries_changed.emit(self.saved.entries)

    @_reporting_errors
    def _save_approvals(self, definitions: Sequence[ServerDefinition]) -> None:
        self.approvals.approve(definitions)

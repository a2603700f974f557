"""All servers by name: their definitions, states, and sessions."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint_if_cancelled

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import NoKeyring
from mcp_progress_monitor.sessions.connection.negotiation import FILE_NAME, EraMemory
from mcp_progress_monitor.sessions.connection.session import ReconnectPolicy
from mcp_progress_monitor.sessions.connection.tool_memory import FOLDER_NAME, ToolMemory
from mcp_progress_monitor.sessions.transport import base
from mcp_progress_monitor.sessions.transport.base import SignIns, TransportResources
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState, not_connected

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.eras import ClientIdentity
    from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
    from mcp_progress_monitor.protocol.peer import TokenSource
    from mcp_progress_monitor.secrets.references import Keyring
    from mcp_progress_monitor.sessions.connection.connection import Connection, Room, Sink, Upkeep
    from mcp_progress_monitor.sessions.connection.negotiation import ProvenEra
    from mcp_progress_monitor.sessions.connection.session import Session
    from mcp_progress_monitor.sessions.questions.broker import RequestBroker
    from mcp_progress_monitor.sessions.settings_file import SettingsFile
    from mcp_progress_monitor.sessions.transport.base import Transport
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.servers import OnSave, SignIn

_LONGEST: Final = 80  # most characters of a name: it is part of every line in a recording


def unique_name(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or `wanted-2`, `wanted-3` … when it is taken.

    A long name is cut, and half a character, which no file can hold, becomes a question mark.
    """
    wanted = wanted[:_LONGEST].encode(errors="replace").decode()
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


class _ManagedServer:
    """A server: its definition, its newest session, and its reconnect policy."""

    def __init__(
        self, definition: ServerDefinition, reconnecting: ReconnectPolicy, key: str | None
    ) -> None:
        self.newest = definition
        self._brought = definition, key
        self.session: Session | None = None
        self.reconnecting = reconnecting
        self.watch_error: ErrorDetails | None = None
        self.asked: dict[str, str] = {}  # secrets that the user entered, by name
        self.on_save: OnSave | None = None
        self.learnt: ProvenEra | None = None  # how the newest session was opened, as saved
        self._printed: tuple[ServerDefinition, str] | None = None

    @property
    def definition(self) -> ServerDefinition:
        """The server's definition: while it is connected, the one it was connected with."""
        if self.session is not None and not self.session.is_over:
            return self.session.definition
        return self.newest

    @property
    def fingerprint(self) -> str:
        """The definition's, cached: snapshots are taken many times a second."""
        definition = self.definition
        if self._printed is None or self._printed[0] is not definition:
            self._printed = definition, definition.fingerprint
        return self._printed[1]

    @property
    def job_key(self) -> str:
        """The definition's key, or the one by which saved jobs know a restored server."""
        definition = self.definition
        brought, key = self._brought
        if key is not None and definition is brought:
            return key
        return self.fingerprint if definition.deciding_folder is None else definition.job_key

    def snapshot(self, settings: SettingsFile, sign_in: SignIn | None) -> ServerSnapshot:
        found = self._bare(settings)
        state, error = found.state, found.error
        if state is ServerState.FAILED:
            error = self.reconnecting.error(error)
            if self.reconnecting.is_waiting:
                state = ServerState.WAITING
            elif self.reconnecting.is_dismissed:
                state, error = ServerState.CLOSED, None
        elif state is ServerState.CONNECTED:
            error = error or self.watch_error
        return found._replace(
            name=self.newest.name,
            definition=self.definition,
            state=state,
            error=error,
            restarts=self.reconnecting.restarts,
            retry=self.reconnecting.retry,
            sign_in=sign_in,
            on_save=self.on_save,
        )

    def _bare(self, settings: SettingsFile) -> ServerSnapshot:
        if self.session is None:
            found = settings.of(self.fingerprint)
            return ServerSnapshot(name=self.newest.name, definition=self.newest, own_settings=found)
        return self.session.snapshot()


class SessionManager:
    """Names servers, creates their sessions, and remembers the era of each.

    Starts no task: the caller runs the sessions.
    """

    def __init__(
        self,
        client: ClientIdentity,
        numbers: FrameNumbers,
        tokens: TokenSource,
        clock: Clock,
        sink: Sink,
        on_change: Callable[[str], None],
        request_broker: RequestBroker,
        room: Room = checkpoint_if_cancelled,
        keyring: Keyring | None = None,
        folder: Path | None = None,
        *,
        reconnects: bool = False,
    ) -> None:
        """Send all frames and facts to `sink`, and names of changed servers to `on_change`.

        Servers are read only as fast as `room` returns. Their requests go to `request_broker`.
        Secrets are in `keyring`; tokens of sign-ins are saved in `folder`. With `reconnects`,
        servers that end unexpectedly are reconnected.
        """
        self._reconnects = reconnects
        self._request_broker = request_broker
        self._client = client
        self._numbers = numbers
        self._tokens = tokens
        self._clock = clock
        self._sink = sink
        self._on_change = on_change
        self._room = room
        self._entries: dict[str, _ManagedServer] = {}
        eras = None if folder is None else folder / FILE_NAME
        self._eras = EraMemory(eras, clock)
        self._tools = None if folder is None else ToolMemory(folder / FOLDER_NAME)
        self._counts: dict[str, int] = {}
        self.sign_ins = SignIns(self._on_sign_in)
        self._means = TransportResources(keyring or NoKeyring(), self.sign_ins, folder, older=set())

    def add(self, definition: ServerDefinition, *, key: str | None = None) -> str:
        """Add a server; returns its name, with a number added if it is taken.

        `key` is how saved jobs know it, until it is changed; None is its `job_key`.
        """
        name = unique_name(definition.name, self._entries)
        reconnecting = ReconnectPolicy(name, is_on=self._reconnects)
        added = definition.model_copy(update={"name": name})
        self._entries[name] = _ManagedServer(added, reconnecting, key)
        self._on_change(name)
        return name

    def set_definition(self, name: str, definition: ServerDefinition) -> None:
        """Replace a server's definition from its next connection on.

        A new name renames the server, which keeps its place. `UserError` when the name is taken, or
        the server is connected.
        """
        entry = self._entry(name)
        if definition.name != name:
            self._rename(entry, definition.name)
        if definition.approval_key != entry.newest.approval_key:
            entry.asked.clear()  # they were entered for another server
        entry.newest = definition
        self._on_change(definition.name)

    def _rename(self, entry: _ManagedServer, new: str) -> None:
        old = entry.newest.name
        if new in self._entries:
            raise UserError(
                ErrorDetails("A server with this name already exists", new, "Choose another name.")
            )
        if self.snapshot(old).state.is_up:
            hint = "Disconnect it first: its messages are recorded under its name."
            raise UserError(ErrorDetails("A connected server cannot be renamed", old, hint))
        items = self._entries.items()
        self._entries = {new if name == old else name: each for name, each in items}
        entry.reconnecting.name = new
        self._on_change(old)

    def place(self, name: str, position: int) -> None:
        moved = self._entry(name)
        others = [(key, entry) for key, entry in self._entries.items() if key != name]
        others.insert(max(position, 0), (name, moved))
        self._entries = dict(others)
        self._on_change(name)

    def newest(self, name: str) -> ServerDefinition:
        return self._entry(name).newest

    def asked(self, name: str) -> dict[str, str]:
        """The secrets that the user entered for a server: in memory alone, and to be changed."""
        return self._entry(name).asked

    def note_watch(self, name: str, error: ErrorDetails | None) -> None:
        """Set why changes of a server's files are not noticed; None when they are."""
        entry = self._entry(name)
        if entry.watch_error != error:
            entry.watch_error = error
            self._on_change(name)

    def note_on_save(self, name: str, on_save: OnSave | None) -> None:
        """Set how a server is restarted when its files are saved; None if it is not."""
        self._entry(name).on_save = on_save
        self._on_change(name)

    def reconnecting(self, name: str) -> ReconnectPolicy:
        """A server's reconnect policy; `UserError` when there is no such server."""
        return self._entry(name).reconnecting

    def poll(self, now: float) -> None:
        for session in self.sessions():
            session.poll(now)

    def remove(self, name: str) -> None:
        """Remove a server; `UserError` while it is connected."""
        if self.snapshot(name).state.is_up:
            raise UserError(ErrorDetails("The server is connected", name, "Disconnect it first."))
        del self._entries[name]
        self._on_change(name)

    def forget_sign_in(self, name: str) -> bool:
        """Delete the tokens of a server; whether there were any. Blocks: call it in a thread."""
        from mcp_progress_monitor.sessions.transport.http.oauth import (
            sign_out,  # with the HTTP client
        )

        definition = self.snapshot(name).definition
        return definition.transport != "stdio" and sign_out(definition, self._means.folder)

    def names(self) -> list[str]:
        return list(self._entries)

    def key_of(self, name: str) -> str:
        """A server's key, whatever its name (see `job_key`); the name itself if it was removed."""
        return self._entries[name].job_key if name in self._entries else name

    def snapshot(self, name: str) -> ServerSnapshot:
        entry = self._entry(name)
        return entry.snapshot(self._request_broker.settings, self.sign_ins.of(name))

    def definition(self, name: str) -> ServerDefinition:
        """The definition of a server; `UserError` for an unknown one."""
        return self._entry(name).definition

    def connection(self, name: str) -> Connection:
        session = self._entry(name).session
        if session is None:
            raise UserError(not_connected(name))
        return session.connection

    def session(self, name: str) -> Session | None:
        """The newest session with a server, which may have ended; None if it never had one."""
        return self._entry(name).session

    async def listed(self, name: str) -> None:
        """Wait until the lists of a connected server were read, for a moment at most."""
        session = self._entry(name).session
        if session is not None:
            await session.listed()

    def sessions(self) -> list[Session]:
        return [entry.session for entry in self._entries.values() if entry.session]

    def connection_of(self, connection: str) -> Connection | None:
        for entry in self._entries.values():
            current = None if entry.session is None else entry.session.current
            if current is not None and current.id == connection:
                return current
        return None

    def session_of(self, connection: str) -> Session | None:
        found = (s for s in self.sessions() if s.current is not None and s.current.id == connection)
        return next(found, None)

    def begin(self, name: str) -> Session:
        """A new session with a server whose last one has ended; the caller runs it."""
        from mcp_progress_monitor.sessions.connection.session import Session

        entry = self._entry(name)
        definition = entry.newest
        remembered = self._eras.of(definition) if definition.era == "auto" else None
        entry.session = Session(
            definition,
            definition.era,
            functools.partial(self._connection, entry),
            self.identity(definition),
            lambda: self._changed(entry),
            self._request_broker.context(definition, self._clock),
            entry.reconnecting,
            remembered,
            None if self._tools is None else functools.partial(self._tools.exchange, definition),
        )
        entry.learnt = None
        entry.reconnecting.begin()
        return entry.session

    def identity(self, definition: ServerDefinition) -> ClientIdentity:
        """The capabilities to declare to a server: its question rules decide on some."""
        return self._request_broker.identity(self._client, definition)

    def changed(self, name: str) -> None:
        """Report that a server's snapshot has changed because of its settings."""
        self._on_change(name)

    def _changed(self, entry: _ManagedServer) -> None:
        session = entry.session
        if session is not None and session.definition.era == "auto":
            proven = session.proven_era
            if proven is not None and proven != entry.learnt:
                entry.learnt = proven
                self._eras.learn(session.definition, proven)
            elif session.has_misremembered:
                self._eras.forget(session.definition)
        self._on_change(entry.newest.name)

    def _on_sign_in(self, name: str) -> None:
        """Stop the connection timeout while the user signs in."""
        if name in self._entries:
            session = self._entries[name].session
            if session is not None:
                session.note_sign_in(is_open=self.sign_ins.of(name) is not None)
        self._on_change(name)

    def _connection(self, entry: _ManagedServer, upkeep: Upkeep) -> Connection:
        from mcp_progress_monitor.protocol.framing import Framer  # idem
        from mcp_progress_monitor.sessions.connection.connection import Connection

        server = entry.newest.name
        # Counted by name, so that no id is reused when another server gets the name.
        count = self._counts[server] = self._counts.get(server, 0) + 1
        name = f"{server}#{count}"
        framer = Framer(name, self._numbers)
        means = dataclasses.replace(self._means, asked=entry.asked)
        transport = transport_for(entry.definition, framer, self._clock, means)
        return Connection(
            name, transport, framer, self._tokens, self._clock, self._sink, self._room, upkeep
        )

    def _entry(self, name: str) -> _ManagedServer:
        if name not in self._entries:
            import difflib  # only for mistyped names

            near = difflib.get_close_matches(name, self._entries, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Servers: {', '.join(self._entries)}"
            raise UserError(ErrorDetails("Server not found", name, hint))
        return self._entries[name]


def transport_for(
    definition: ServerDefinition, framer: Framer, clock: Clock, means: TransportResources
) -> Transport:
    base.make_room()
    if definition.transport == "stdio":
        from mcp_progress_monitor.sessions.transport.stdio import StdioTransport

        return StdioTransport(definition, framer, clock, means.keyring, means.asked)
    # The HTTP client takes 0.2 s to import: only if it is needed.
    from mcp_progress_monitor.sessions.transport.http.transport import HttpTransport

    return HttpTransport(definition, framer, clock, means)

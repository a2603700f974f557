"""All servers by name: what is known of each, and the session with those that are up."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint_if_cancelled

from app.problem import Problem, ProblemError
from app.protocol.framing import Framer
from app.sessions.connection import Connection
from app.sessions.desk import Desk
from app.sessions.names import unique_name
from app.sessions.session import Session, not_connected
from app.sessions.snapshot import ServerSnapshot
from app.sessions.stdio import StdioTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.protocol.eras import ClientIdentity
    from app.protocol.framing import FrameNumbers
    from app.protocol.tokens import TokenSource
    from app.sessions.clock import Clock
    from app.sessions.connection import Room, Sink
    from app.sessions.definitions import Era, ServerDefinition
    from app.sessions.server_settings import ServerSettings


class _Entry:
    """A server: its definition, its newest session, and how many connections it had."""

    def __init__(self, definition: ServerDefinition) -> None:
        self.definition = definition
        self.session: Session | None = None
        self.connection_count = 0

    def snapshot(self, settings: ServerSettings) -> ServerSnapshot:
        if self.session is None:
            return ServerSnapshot(
                name=self.definition.name, definition=self.definition, settings=settings
            )
        return self.session.snapshot()


class Manager:
    """Names servers, makes their sessions, remembers which era each of them turned out to speak.

    Starts no task: whoever asks for a session runs it.
    """

    def __init__(
        self,
        client: ClientIdentity,
        numbers: FrameNumbers,
        tokens: TokenSource,
        clock: Clock,
        sink: Sink,
        on_change: Callable[[str], None],
        room: Room = checkpoint_if_cancelled,
        desk: Desk | None = None,
    ) -> None:
        """All frames and facts go to `sink`, names of changed servers to `on_change`.

        Servers are read only as fast as `room` returns. What they ask goes to `desk`.
        """
        self._desk = desk or Desk.alone()
        self._client = client
        self._numbers = numbers
        self._tokens = tokens
        self._clock = clock
        self._sink = sink
        self._on_change = on_change
        self._room = room
        self._entries: dict[str, _Entry] = {}
        self._verdicts: dict[str, Era] = {}

    def add(self, definition: ServerDefinition) -> str:
        """Take a server in; returns its name, made unique by a number where it must be."""
        name = unique_name(definition.name, self._entries)
        self._entries[name] = _Entry(definition.model_copy(update={"name": name}))
        self._on_change(name)
        return name

    def remove(self, name: str) -> None:
        """Forget a server; `ProblemError` while it is connected."""
        if self.snapshot(name).state.is_up:
            raise ProblemError(Problem("The server is connected", name, "Disconnect it first."))
        del self._entries[name]
        self._on_change(name)

    def names(self) -> list[str]:
        """All servers, in the order they were added."""
        return list(self._entries)

    def key_of(self, name: str) -> str:
        """What a server is, whatever it is called (see `fingerprint`); its name if it is gone."""
        return self._entries[name].definition.fingerprint if name in self._entries else name

    def snapshot(self, name: str) -> ServerSnapshot:
        """A picture of one server; `ProblemError` when there is none of that name."""
        entry = self._entry(name)
        return entry.snapshot(self._desk.settings.of(entry.definition.fingerprint))

    def connection(self, name: str) -> Connection:
        """The connection of a connected server; `ProblemError` when it is not connected."""
        session = self._entry(name).session
        if session is None:
            raise ProblemError(not_connected(name))
        return session.connection

    def session(self, name: str) -> Session | None:
        """The newest session with a server, perhaps over; None if it never had one."""
        return self._entry(name).session

    def sessions(self) -> list[Session]:
        """The newest session of each server that had one."""
        return [entry.session for entry in self._entries.values() if entry.session]

    def connection_of(self, connection: str) -> Connection | None:
        """The live connection with this id."""
        for session in self.sessions():
            if session.current is not None and session.current.id == connection:
                return session.current
        return None

    def session_of(self, connection: str) -> Session | None:
        """The session that has the connection with this id."""
        found = (s for s in self.sessions() if s.current is not None and s.current.id == connection)
        return next(found, None)

    def begin(self, name: str) -> Session:
        """A new session with a server whose last one is over; the caller runs it."""
        entry = self._entry(name)
        definition = entry.definition
        era = self._verdicts.get(definition.fingerprint, definition.era)
        entry.session = Session(
            definition,
            era,
            lambda: self._connection(entry),
            self.identity(definition),
            lambda: self._changed(entry),
            self._desk.context(definition, self._clock),
        )
        return entry.session

    def identity(self, definition: ServerDefinition) -> ClientIdentity:
        """What a server is told about us: the rules for its questions decide what it may ask."""
        return self._desk.identity(self._client, definition)

    def changed(self, name: str) -> None:
        """Tell that a server's snapshot has changed for a reason of its settings."""
        self._on_change(name)

    def _changed(self, entry: _Entry) -> None:
        """Remember the era that a server turned out to speak, and tell of the change."""
        definition, session = entry.definition, entry.session
        if session is not None and session.agreement is not None:
            self._verdicts[definition.fingerprint] = session.agreement.era.value
        self._on_change(definition.name)

    def _connection(self, entry: _Entry) -> Connection:
        entry.connection_count += 1
        name = f"{entry.definition.name}#{entry.connection_count}"
        framer = Framer(name, self._numbers)
        transport = StdioTransport(entry.definition, framer, self._clock)
        return Connection(
            name, transport, framer, self._tokens, self._clock, self._sink, self._room
        )

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            near = difflib.get_close_matches(name, self._entries, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Servers: {', '.join(self._entries)}"
            raise ProblemError(Problem("There is no such server", name, hint))
        return self._entries[name]

"""All servers by name: what is known of each, and the session with those that are up."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint_if_cancelled

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.connect_failure import not_connected
from mcp_progress_monitor.sessions.desk import Desk
from mcp_progress_monitor.sessions.era_memory import FILE_NAME, EraMemory
from mcp_progress_monitor.sessions.mending import Mending
from mcp_progress_monitor.sessions.names import unique_name
from mcp_progress_monitor.sessions.reaching import Means, transport_for
from mcp_progress_monitor.sessions.references import NoKeyring
from mcp_progress_monitor.sessions.sign_ins import SignIns
from mcp_progress_monitor.sessions.snapshot import ServerSnapshot, ServerState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_progress_monitor.protocol.eras import ClientIdentity
    from mcp_progress_monitor.protocol.framing import FrameNumbers
    from mcp_progress_monitor.protocol.tokens import TokenSource
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.connection import Connection, Room, Sink
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.era_memory import Verdict
    from mcp_progress_monitor.sessions.references import Keyring
    from mcp_progress_monitor.sessions.server_settings import ServerSettings
    from mcp_progress_monitor.sessions.session import Session
    from mcp_progress_monitor.sessions.snapshot import SignIn


class _Entry:
    """A server: its definition, its newest session, and what its ends come to."""

    def __init__(self, definition: ServerDefinition, mending: Mending, key: str | None) -> None:
        self.newest = definition
        self._brought = definition, key
        self.session: Session | None = None
        self.mending = mending
        self.watch_problem: Problem | None = None
        self.learnt: Verdict | None = None
        """What the newest session proved of how it is opened, as it was kept."""
        self._printed: tuple[ServerDefinition, str] | None = None

    @property
    def definition(self) -> ServerDefinition:
        """What the server is: while it is up, as it was connected, whatever was edited since."""
        if self.session is not None and not self.session.is_over:
            return self.session.definition
        return self.newest

    @property
    def fingerprint(self) -> str:
        """The definition's, made once: pictures are taken many times a second."""
        definition = self.definition
        if self._printed is None or self._printed[0] is not definition:
            self._printed = definition, definition.fingerprint
        return self._printed[1]

    @property
    def job_key(self) -> str:
        """The definition's, or what the server is known by that was brought back for a job."""
        definition = self.definition
        brought, key = self._brought
        if key is not None and definition is brought:
            return key
        return self.fingerprint if definition.deciding_folder is None else definition.job_key

    def snapshot(self, settings: ServerSettings, sign_in: SignIn | None) -> ServerSnapshot:
        found = self._bare(settings)
        state, problem = found.state, found.problem
        if state is ServerState.FAILED:
            problem = self.mending.problem(problem)
            if self.mending.is_waiting:
                state = ServerState.WAITING
            elif self.mending.is_dismissed:
                state, problem = ServerState.CLOSED, None
        elif state is ServerState.CONNECTED:
            problem = problem or self.watch_problem
        return dataclasses.replace(
            found,
            name=self.newest.name,
            definition=self.definition,
            state=state,
            problem=problem,
            restarts=self.mending.restarts,
            retry=self.mending.retry,
            sign_in=sign_in,
        )

    def _bare(self, settings: ServerSettings) -> ServerSnapshot:
        if self.session is None:
            return ServerSnapshot(name=self.newest.name, definition=self.newest, settings=settings)
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
        keyring: Keyring | None = None,
        folder: Path | None = None,
        *,
        mends: bool = False,
    ) -> None:
        """All frames and facts go to `sink`, names of changed servers to `on_change`.

        Servers are read only as fast as `room` returns. What they ask goes to `desk`.
        Secrets are in `keyring`; tokens of sign-ins are kept in `folder`. With `mends`, servers
        that end by themselves are to be connected again.
        """
        self._mends = mends
        self._desk = desk or Desk.alone()
        self._client = client
        self._numbers = numbers
        self._tokens = tokens
        self._clock = clock
        self._sink = sink
        self._on_change = on_change
        self._room = room
        self._entries: dict[str, _Entry] = {}
        eras = None if folder is None else folder / FILE_NAME
        self._eras = EraMemory(eras, clock)
        self._counts: dict[str, int] = {}
        self.sign_ins = SignIns(self._on_sign_in)
        self._means = Means(keyring or NoKeyring(), self.sign_ins, folder)

    def add(self, definition: ServerDefinition, *, key: str | None = None) -> str:
        """Take a server in; returns its name, made unique by a number where it must be.

        `key` is what saved jobs know it by, as long as it is not changed; None is its `job_key`.
        """
        name = unique_name(definition.name, self._entries)
        mending = Mending(name, is_on=self._mends)
        added = definition.model_copy(update={"name": name})
        self._entries[name] = _Entry(added, mending, key)
        self._on_change(name)
        return name

    def set_definition(self, name: str, definition: ServerDefinition) -> None:
        """Have a server be another one from its next connection on.

        Another name in it renames the server, which keeps its place. `ProblemError` when that name
        is taken, or the server is connected.
        """
        entry = self._entry(name)
        if definition.name != name:
            self._rename(entry, definition.name)
        entry.newest = definition
        self._on_change(definition.name)

    def _rename(self, entry: _Entry, new: str) -> None:
        old = entry.newest.name
        if new in self._entries:
            raise ProblemError(Problem("There is a server of that name", new, "Choose another."))
        if self.snapshot(old).state.is_up:
            hint = "Disconnect it first: what is on record has its name."
            raise ProblemError(Problem("A connected server cannot be renamed", old, hint))
        items = self._entries.items()
        self._entries = {new if name == old else name: each for name, each in items}
        entry.mending.name = new
        self._on_change(old)

    def place(self, name: str, position: int) -> None:
        """Have a server stand at `position` among all of them, counted from 0."""
        moved = self._entry(name)
        others = [(key, entry) for key, entry in self._entries.items() if key != name]
        others.insert(max(position, 0), (name, moved))
        self._entries = dict(others)
        self._on_change(name)

    def newest(self, name: str) -> ServerDefinition:
        """What a server will be when it is connected next."""
        return self._entry(name).newest

    def note_watch(self, name: str, problem: Problem | None) -> None:
        """Know why changes of a server's files are not noticed; None when they are."""
        entry = self._entry(name)
        if entry.watch_problem != problem:
            entry.watch_problem = problem
            self._on_change(name)

    def mending(self, name: str) -> Mending:
        """What a server's ends come to; `ProblemError` when there is none of that name."""
        return self._entry(name).mending

    def look(self, now: float) -> None:
        """Let time pass for all that are connected."""
        for session in self.sessions():
            session.look(now)

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
        """What a server is, whatever it is called (see `job_key`); its name if it is gone."""
        return self._entries[name].job_key if name in self._entries else name

    def snapshot(self, name: str) -> ServerSnapshot:
        """A picture of one server; `ProblemError` when there is none of that name."""
        entry = self._entry(name)
        settings = self._desk.settings.of(entry.fingerprint)
        return entry.snapshot(settings, self.sign_ins.of(name))

    def connection(self, name: str) -> Connection:
        """The connection of a connected server; `ProblemError` when it is not connected."""
        session = self._entry(name).session
        if session is None:
            raise ProblemError(not_connected(name))
        return session.connection

    def session(self, name: str) -> Session | None:
        """The newest session with a server, perhaps over; None if it never had one."""
        return self._entry(name).session

    async def listed(self, name: str) -> None:
        """Wait until what a connected server offers was read, for a moment at most."""
        session = self._entry(name).session
        if session is not None:
            await session.listed()

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
        from mcp_progress_monitor.sessions.session import (
            Session,  # no start of the window waits for it
        )

        entry = self._entry(name)
        definition = entry.newest
        remembered = self._eras.of(definition) if definition.era == "auto" else None
        entry.session = Session(
            definition,
            definition.era,
            lambda: self._connection(entry),
            self.identity(definition),
            lambda: self._changed(entry),
            self._desk.context(definition, self._clock),
            entry.mending,
            remembered,
        )
        entry.learnt = None
        entry.mending.begin()
        return entry.session

    def identity(self, definition: ServerDefinition) -> ClientIdentity:
        """What a server is told about us: the rules for its questions decide what it may ask."""
        return self._desk.identity(self._client, definition)

    def changed(self, name: str) -> None:
        """Tell that a server's snapshot has changed for a reason of its settings."""
        self._on_change(name)

    def _changed(self, entry: _Entry) -> None:
        """Remember the era that a server turned out to speak, and tell of the change."""
        session = entry.session
        if session is not None and session.definition.era == "auto":
            verdict = session.verdict
            if verdict is not None and verdict != entry.learnt:
                entry.learnt = verdict
                self._eras.learn(session.definition, verdict)
            elif session.has_misremembered:
                self._eras.forget(session.definition)
        self._on_change(entry.newest.name)

    def _on_sign_in(self, name: str) -> None:
        """Let the time for connecting stand still while the user signs in."""
        if name in self._entries:
            session = self._entries[name].session
            if session is not None:
                session.note_sign_in(is_open=self.sign_ins.of(name) is not None)
        self._on_change(name)

    def _connection(self, entry: _Entry) -> Connection:
        from mcp_progress_monitor.protocol.framing import Framer  # idem
        from mcp_progress_monitor.sessions.connection import Connection

        server = entry.newest.name
        # Counted by name, so that no id comes again when another server gets the name.
        count = self._counts[server] = self._counts.get(server, 0) + 1
        name = f"{server}#{count}"
        framer = Framer(name, self._numbers)
        transport = transport_for(entry.definition, framer, self._clock, self._means)
        return Connection(
            name, transport, framer, self._tokens, self._clock, self._sink, self._room
        )

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            import difflib  # for who mistypes a name

            near = difflib.get_close_matches(name, self._entries, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Servers: {', '.join(self._entries)}"
            raise ProblemError(Problem("There is no such server", name, hint))
        return self._entries[name]

"""The application without a face: servers, calls and jobs behind one object that front ends share.

It alone publishes: everything that happens on any connection reaches every listener through one
synchronous update a chunk, frames before the facts read from them and the changes these made.
"""

from __future__ import annotations

import dataclasses
import difflib
import logging
from typing import TYPE_CHECKING, NamedTuple, Self

import anyio

from app import __version__
from app.paths import APPLICATION
from app.problem import Problem, ProblemError
from app.protocol.eras import ClientIdentity
from app.protocol.frame import Channel, server_name
from app.protocol.framing import FrameNumbers
from app.protocol.tokens import AUTO, TokenSource
from app.sessions import time_limit
from app.sessions.arguments import argument_problems
from app.sessions.clock import Clock
from app.sessions.exchange import End, Limits
from app.sessions.manager import Manager
from app.sessions.session import not_connected
from app.tracker import endings
from app.tracker.snapshot import Changes, Failure, JobState
from app.tracker.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from anyio.abc import TaskGroup

    from app.protocol.facts import Fact, JsonObject
    from app.protocol.frame import Frame
    from app.protocol.messages import Tool
    from app.protocol.tokens import TokenChoice
    from app.sessions.connection import Connection
    from app.sessions.definitions import ServerDefinition
    from app.sessions.exchange import Exchange
    from app.sessions.session import Session
    from app.sessions.snapshot import ServerSnapshot
    from app.tracker.snapshot import JobDetail, JobId, JobSnapshot

_log = logging.getLogger(__name__)

_TICK_S = 1.0
_NOTHING = Changes()


class Update(NamedTuple):
    """What one chunk brought: its frames, the facts read from them, what these changed.

    `servers` names the servers whose snapshot changed. Delivered at once and in order; a listener
    must be quick, and may not wait.
    """

    frames: Sequence[Frame] = ()
    facts: Sequence[Fact] = ()
    changes: Changes = _NOTHING
    servers: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Call:
    """A request to make of a server. `params` come without `_meta`; limits in seconds, None is off.

    The idle limit counts from the last progress, the total one from the call.
    """

    server: str
    method: str
    params: JsonObject
    token: TokenChoice = AUTO
    allow_duplicate_token: bool = False
    idle_timeout_s: float | None = 1800
    total_timeout_s: float | None = None


class Outcome(NamedTuple):
    """How a call ended. `raw` is the reply's exact bytes, empty when there was none.

    `job` is None for a request that is no job, or was never written.
    """

    job: JobId | None
    result: JsonObject | None
    failure: Failure | None
    state: JobState
    duration_s: float
    raw: bytes


class Monitor:
    """Servers, their sessions and all jobs. An async context manager that owns one task group.

    Nothing it publishes is ever missed or reordered for a listener that subscribed before.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """A monitor without servers; `clock` is the computer's unless a test hands in its own."""
        self._clock = clock or Clock()
        self._tracker = Tracker()
        self._listeners: dict[int, Callable[[Update], None]] = {}
        self._listener_count = 0
        self._complained: set[tuple[int, type[BaseException]]] = set()
        identity = ClientIdentity({"name": APPLICATION, "version": __version__}, {})
        self._manager = Manager(
            identity,
            FrameNumbers(),
            TokenSource(int(self._clock.wall() * 1000)),
            self._clock,
            self._on_wire,
            self._on_server,
        )
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        """Open the task group that sessions live in, and let time pass for jobs."""
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._tick, name="one second")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every server politely, then all tasks."""
        if self._tasks is None:
            return
        with anyio.CancelScope(shield=True):
            await self.aclose()
        tasks, self._tasks = self._tasks, None
        tasks.cancel_scope.cancel()
        # Not told of the body's exception: it goes on as it is, not inside a group.
        await tasks.__aexit__(None, None, None)

    async def aclose(self) -> None:
        """Disconnect all servers, at the same time, and wait until their processes are gone."""
        sessions = self._manager.sessions()
        for session in sessions:
            session.close()
        for session in sessions:
            await session.over()

    def now(self) -> float:
        """Monotonic seconds, on the clock that frames and jobs are stamped with."""
        return self._clock.monotonic()

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""
        self._listener_count += 1
        key = self._listener_count
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    def add_server(self, definition: ServerDefinition) -> str:
        """Take a server in, not connected; returns its name, made unique by a number."""
        return self._manager.add(definition)

    def remove_server(self, name: str) -> None:
        """Forget a server; `ProblemError` while it is connected. Its jobs stay."""
        self._manager.remove(name)

    def servers(self) -> list[ServerSnapshot]:
        """All servers, in the order they were added."""
        return [self._manager.snapshot(name) for name in self._manager.names()]

    def server(self, name: str) -> ServerSnapshot:
        """One server; `ProblemError` when there is none of that name."""
        return self._manager.snapshot(name)

    async def connect(self, name: str) -> ServerSnapshot:
        """Connect a server and wait until it can be called; its state is visible meanwhile.

        A server that is connected stays so. `ProblemError` tells why one cannot be. Cancelling
        disconnects.
        """
        session = await self._current_session(name)
        if session is None:
            tasks = self._task_group()
            session = self._manager.begin(name)
            tasks.start_soon(session.run, name=f"session {name}")
            self._on_server(name)
        try:
            await session.ready()
        except anyio.get_cancelled_exc_class():
            session.close()
            raise
        return self._manager.snapshot(name)

    async def disconnect(self, name: str) -> None:
        """Disconnect a server and wait until its process is gone; nothing if it is not up."""
        session = self._manager.session(name)
        if session is not None:
            session.close()
            await session.over()

    async def call(self, call: Call) -> Outcome:
        """Make a request and wait for its end, which may be a reply, a limit or the server's end.

        Never raises for what a server does. `ProblemError` for a server that is not connected and
        a progress token that is refused. Cancelling cancels the request.
        """
        connection = self._manager.connection(call.server)
        exchange = self._ask(connection, call)
        limits = Limits(call.idle_timeout_s, call.total_timeout_s)
        try:
            end = await exchange.wait(limits, self.now)
        except anyio.get_cancelled_exc_class():
            connection.mail.cancel(exchange, "The caller gave up")
            connection.mail.give_up(exchange, End.CANCELLED)
            raise
        if end in {End.IDLE_TIMEOUT, End.TOTAL_TIMEOUT}:
            return self._timed_out(connection, exchange, limits)
        return self._outcome(exchange)

    async def cancel(self, job: JobId, reason: str = "Cancelled by the user") -> None:
        """Ask the server to cancel a job of ours; nothing if that was done. `call` goes on waiting.

        The job ends when the server confirms, or after a time of silence.
        """
        found = self.snapshot(job)
        if found is None or found.state.is_over or found.state is JobState.CANCELLING:
            return
        for connection, exchange in self._waiting(found):
            self._publish(changes=self._tracker.note_cancel_requested(job, self.now()))
            connection.mail.cancel(exchange, reason)

    def remove_jobs(self, jobs: Iterable[JobId]) -> None:
        """Forget those of `jobs` that are over."""
        self._publish(changes=self._tracker.remove(jobs))

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """A job now; None when there is none of that id, or no more."""
        return self._tracker.snapshot(job, self.now())

    def detail(self, job: JobId) -> JobDetail | None:
        """The longer story of a job; None when there is none of that id, or no more."""
        return self._tracker.detail(job, self.now())

    def jobs(self) -> Sequence[JobId]:
        """All jobs in the order of their start."""
        return self._tracker.jobs()

    def job_of(self, request: int) -> JobId | None:
        """The job that a request belongs to, by the number of its frame."""
        return self._tracker.job_of(request)

    def tool_problems(self, server: str, tool: str, arguments: JsonObject) -> list[str]:
        """What of `arguments` does not fit the tool's schema; empty when it may be called so.

        `ProblemError` when there is no such server or tool.
        """
        return argument_problems(self._tool(server, tool).input_schema, arguments)

    def _tool(self, server: str, name: str) -> Tool:
        tools = self.server(server).tools
        found = next((tool for tool in tools if tool.name == name), None)
        if found is None:
            near = difflib.get_close_matches(name, [tool.name for tool in tools], n=3)
            hint = f"Did you mean {' or '.join(near)}?" if near else "See the list of its tools."
            raise ProblemError(Problem(f"The server has no tool {name!r}", server, hint))
        return found

    async def _current_session(self, name: str) -> Session | None:
        """The session that is up or coming up; None once there is none, the last one awaited."""
        self._manager.snapshot(name)
        while (session := self._manager.session(name)) is not None:
            if session.is_usable:
                return session
            if session.is_over:
                return None
            await session.over()
        return None

    def _task_group(self) -> TaskGroup:
        if self._tasks is None:
            raise ProblemError(Problem("The program is closing"))
        return self._tasks

    def _ask(self, connection: Connection, call: Call) -> Exchange:
        try:
            return connection.mail.ask(
                call.method,
                call.params,
                token=call.token,
                allow_duplicate=call.allow_duplicate_token,
            )
        except anyio.ClosedResourceError as error:
            raise ProblemError(not_connected(call.server)) from error

    def _timed_out(self, connection: Connection, exchange: Exchange, limits: Limits) -> Outcome:
        """End the job with the story of its silence, then tell the server."""
        job = self._job_of(exchange)
        found = None if job is None else self.snapshot(job)
        last_tick_at = None if found is None else found.last_tick_at
        words = time_limit.words(exchange, limits, connection, last_tick_at)
        if job is not None:
            self._publish(changes=self._tracker.note_timeout(job, self.now(), words))
        connection.mail.cancel(exchange, "It took too long")
        connection.mail.give_up(exchange, exchange.end or End.IDLE_TIMEOUT)
        return self._outcome(exchange, words)

    def _outcome(self, exchange: Exchange, words: str = "") -> Outcome:
        """What became of an exchange: as its job tells, or as its end does if it has none."""
        job, reply = self._job_of(exchange), exchange.reply
        found = None if job is None else self.snapshot(job)
        state, failure = _verdict(exchange, words)
        if found is not None and found.state.is_over:
            state, failure = found.state, found.failure
        ended_at = self.now() if reply is None else reply.at
        result = None if reply is None else reply.result
        return Outcome(job, result, failure, state, ended_at - exchange.made_at, exchange.raw)

    def _job_of(self, exchange: Exchange) -> JobId | None:
        return None if exchange.request is None else self._tracker.job_of(exchange.request)

    async def _tick(self) -> None:
        """Let time pass for the jobs: once a second, stalls and cancels met with silence."""
        while True:
            await anyio.sleep(_TICK_S)
            changes = self._tracker.tick(self.now())
            for job in changes.moved:
                self._settle(job)
            if changes != _NOTHING:
                self._publish(changes=changes)

    def _settle(self, job: JobId) -> None:
        """Let go of a call whose job has ended by time alone."""
        found = self.snapshot(job)
        if found is None or not found.state.is_over:
            return
        for connection, exchange in self._waiting(found):
            connection.mail.give_up(exchange, End.CANCELLED)

    def _waiting(self, job: JobSnapshot) -> Iterator[tuple[Connection, Exchange]]:
        """The exchange that waits for the end of a job of ours, if one does."""
        connection = self._manager.connection_of(job.connection)
        exchange = None if connection is None else connection.mail.exchange_of(job.request)
        if connection is not None and exchange is not None:
            yield connection, exchange

    def _on_wire(self, frames: Sequence[Frame], facts: Sequence[Fact]) -> None:
        """Take what a connection saw. Stderr and events change what is known of its server."""
        changes = self._tracker.apply(facts, self.now())
        first = frames[0]
        is_of_server = first.channel in {Channel.STDERR, Channel.EVENT}
        servers = frozenset({server_name(first.connection)} if is_of_server else ())
        self._publish(frames, facts, changes, servers)

    def _on_server(self, name: str) -> None:
        self._publish(servers=frozenset({name}))

    def _publish(
        self,
        frames: Sequence[Frame] = (),
        facts: Sequence[Fact] = (),
        changes: Changes = _NOTHING,
        servers: frozenset[str] = frozenset(),
    ) -> None:
        """Tell every listener; the one place where a listener's own error is caught and logged."""
        update = Update(frames, facts, changes, servers)
        for key, listener in list(self._listeners.items()):
            try:
                listener(update)
            except Exception as error:  # noqa: BLE001  # this is the place that logs it
                self._complain(key, error)

    def _complain(self, key: int, error: Exception) -> None:
        """Log the first error of each kind from each listener: a flood would hide it."""
        if (key, type(error)) not in self._complained:
            self._complained.add((key, type(error)))
            _log.error("a listener failed and goes on being told", exc_info=error)


def _verdict(exchange: Exchange, words: str) -> tuple[JobState, Failure | None]:
    """State and failure by the exchange alone."""
    if exchange.reply is not None:
        ending = endings.of_answer(exchange.reply)
        return ending.state, ending.failure
    if exchange.end is End.LOST:
        return JobState.LOST, Failure("local", "The connection ended before the reply")
    if exchange.end is End.CANCELLED:
        return JobState.CANCELLED, Failure("local", "Cancelled")
    return JobState.TIMED_OUT, Failure("local", words)

"""One server's session: connect, negotiate, list, call, keep alive, close, and reconnect."""

from __future__ import annotations

import importlib
import logging
import sys
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import SEQUENTIAL, Era
from mcp_progress_monitor.protocol.messages import DISCOVER, PING
from mcp_progress_monitor.protocol.offers import definition_changes
from mcp_progress_monitor.sessions.connection.clocks import ConnectLimit, not_signed_in
from mcp_progress_monitor.sessions.connection.connection import (
    Upkeep,
    loss_error,
    silence_error,
    start_error,
    unread_error,
)
from mcp_progress_monitor.sessions.connection.lists import ServerLists, Subscriptions
from mcp_progress_monitor.sessions.connection.negotiation import (
    Negotiation,
    ProvenEra,
    ReopenError,
    digest_of,
    opening_of,
)
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.questions.multi_round_trip import MultiRoundTrips
from mcp_progress_monitor.sessions.questions.server_requests import ServerRequests
from mcp_progress_monitor.sessions.transport.base import DEFECT_HINT
from mcp_progress_monitor.snapshots.doctor import EndKind
from mcp_progress_monitor.snapshots.servers import (
    Health,
    Retry,
    ServerSnapshot,
    ServerState,
    Waiting,
    not_connected,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.eras import Agreement, ClientIdentity
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Tool
    from mcp_progress_monitor.protocol.opening import ConnectionOpening
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
    from mcp_progress_monitor.sessions.questions.server_requests import ServerContext
    from mcp_progress_monitor.snapshots.definitions import Era as EraChoice
    from mcp_progress_monitor.snapshots.definitions import RestartPolicy, ServerDefinition
    from mcp_progress_monitor.snapshots.doctor import OpeningQuestion as Question

_HINT: Final = (
    "Find out why it stops: its stderr and last messages are in the recording. "
    "Connect again when it is fixed."
)
_THEN: Final = "then resume what is resumable; re-issued requests may run twice"


class ReconnectPolicy:
    """The restarts of one server.

    Does nothing itself: it is informed of events, and says what is due. A series of restarts begins
    when a connected server ends unexpectedly, continues with each attempt that fails and each
    connection that does not last, and ends when one lasts.
    """

    def __init__(self, name: str, *, is_on: bool = False) -> None:
        """Begin without restarts; unless `is_on`, nothing is ever due."""
        self.name = name
        self.is_on = is_on
        self.retry: Retry | None = None
        """The attempt that is due or in progress; None when the server is not being reconnected."""
        self.restarts = 0  # how often it was reconnected or restarted
        self.is_restarting = False  # whether it was ended in order to be restarted immediately
        self.is_dismissed = False
        """Whether the user stopped further attempts; then the failure is not reported."""
        self._made = 0
        self._connected_at: float | None = None
        self._is_decided = False
        self._is_exhausted = False
        self._refusal: ErrorDetails | None = None
        self._changed = anyio.Event()

    @property
    def is_waiting(self) -> bool:
        return self.retry is not None and self.retry.due_at is not None

    @property
    def is_reconnecting(self) -> bool:
        """True if the server is about to be connected or given up automatically."""
        return self.retry is not None or self.is_restarting

    async def changed(self) -> None:
        await self._changed.wait()

    def begin(self) -> None:
        """A connection attempt begins, for whatever reason."""
        self._connected_at = self._refusal = None
        self._is_decided = self._is_exhausted = self.is_dismissed = False
        if self.retry is not None:
            self.retry = self.retry._replace(due_at=None)
        self._publish()

    def connected(self, now: float) -> None:
        self._connected_at = now
        if self.retry is not None or self.is_restarting:
            self.restarts += 1
        self.retry = None
        self.is_restarting = False
        self._publish()

    def ended(self, policy: RestartPolicy, now: float) -> None:
        """The connection ended unexpectedly, or failed. Repeated calls decide once."""
        if self._is_decided or self.is_restarting:
            return
        self._is_decided = True
        is_retry = self.retry is not None
        self.retry = None
        if self._connected_at is not None and now - self._connected_at >= policy.calm_s:
            self._made = 0
        if (self._connected_at is not None or is_retry) and self.is_on and policy.is_on:
            self._decide(policy, now)
        self._publish()

    def _decide(self, policy: RestartPolicy, now: float) -> None:
        if self._made >= policy.limit:
            self._is_exhausted = True
            return
        # The exponent is bounded: a thousand doublings overflow.
        delay_s = min(policy.first_delay_s * 2 ** min(self._made, 64), policy.longest_delay_s)
        self._made += 1
        self.retry = Retry(self._made, policy.limit, now + delay_s)

    def stop(self) -> None:
        """Make no further attempts; the next failure begins a new series."""
        self.is_dismissed = self.is_dismissed or self.is_waiting
        self.retry = None
        self.is_restarting = False
        self._made = 0
        self._is_exhausted = False
        self._is_decided = True
        self._publish()

    def refused(self, why: ErrorDetails) -> None:
        """The attempt that was due was refused: make no further ones."""
        self.retry = None
        self._made = 0
        self._refusal = why
        self._publish()

    def restarting(self) -> None:
        self.retry = None
        self._made = 0
        self.is_restarting = True
        self._publish()

    def not_restarted(self) -> None:
        """The restart did not happen."""
        self.is_restarting = False
        self._publish()

    def outlook(self, now: float) -> str:
        """Say what happens next, for those who waited for the server; empty if nothing."""
        if self.is_restarting:
            return f"Restarting now: {_THEN}"
        if self.retry is not None and self.retry.due_at is not None:
            left_s = max(self.retry.due_at - now, 0.0)
            count = f"attempt {self.retry.number} of {self.retry.limit}"
            left_s = round(left_s) if left_s >= 1 else left_s
            when = f"in {formatting.duration(left_s)}" if left_s else "now"
            return f"Reconnecting {when} ({count}): {_THEN}"
        if self._is_exhausted:
            return f"No further reconnects after {self._times()}"
        return ""

    def error(self, last: ErrorDetails | None) -> ErrorDetails | None:
        """The error about its failure; `last` says why it last failed."""
        if last is not None and self._refusal is not None:
            return self._refusal._replace(detail=f"Before that: {last.what}")
        if not self._is_exhausted or last is None:
            return last
        what = f"The server was reconnected {self._times()} and failed each time"
        why = f"Last failure: {last.what}"
        return ErrorDetails(what, last.where, _HINT, "\n".join(filter(None, [why, last.detail])))

    def _times(self) -> str:
        return f"{formatting.count(self._made, 'time')} in a row"

    def _publish(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


_PATIENCE_S: Final = 10.0  # how long a server may take to answer; less if it is pinged more often
_SUSPENDED_S: Final = 1.0
"""A wait that overran by this much means that the program was suspended and has not read yet."""


class Keepalive:
    """Pings one connected server, and keeps the outcome.

    A server that waits for its user's answer to a question is not pinged: it is silent because of
    us. A ping is recorded like any request, but is not a job and touches no call's clock. A server
    that may handle one request at a time, as Python SDK 1.2 does, is not pinged either: the ping
    would block the answer to its next question.
    """

    def __init__(
        self,
        connection: Connection,
        era: Era,
        interval_s: float,
        on_change: Callable[[], None],
        spawn: Callable[[Callable[[], Coroutine[object, object, None]], str], None],
        *,
        may_be_sequential: bool = False,
    ) -> None:
        """Ping once calls have waited in silence for `interval_s`; 0 never pings.

        A server that `may_be_sequential` is pinged only once it has answered requests out of order.
        `on_change` is called when `health` has changed; `spawn` runs the task that waits for the
        answer.
        """
        self.health: Health | None = None  # none if there is nothing to report
        self._connection = connection
        self._method = PING if era is Era.HANDSHAKE else DISCOVER
        self._interval_s = interval_s
        self._may_be_sequential = may_be_sequential
        self._on_change = on_change
        self._spawn = spawn
        self._silent_since: float | None = None
        self._sign_at: float | None = None
        self._is_asking = False

    def poll(self, now: float) -> None:
        """Ping if it is due; called about once a second."""
        if self._is_asking or not self._connection.is_open:
            return
        if not self._connection.outbox.is_awaited:
            self._silent_since = None
            self._put(None)
            return
        received_at = self._connection.last_received_at
        if received_at != self._sign_at:
            self._sign_at = received_at
            self._silent_since = now if received_at is None else received_at
            self._put(None)
        elif self._silent_since is None:
            self._silent_since = now
        is_due = self._interval_s and now - self._silent_since >= self._interval_s
        if is_due and self._may_be_asked():
            self._is_asking = True
            self._spawn(self._ask, "keep-alive")

    def _may_be_asked(self) -> bool:
        return not self._may_be_sequential or self._connection.outbox.is_concurrent

    async def _ask(self) -> None:
        outbox, now = self._connection.outbox, self._connection.now
        try:
            asked_at = now()
            exchange = outbox.ask(self._method, {} if self._method == DISCOVER else None)
            await self._wait(exchange, asked_at)
        except anyio.ClosedResourceError:
            return  # reported with the connection's end
        finally:
            self._is_asking = False
            self._silent_since = now()

    async def _wait(self, exchange: PendingRequest, asked_at: float) -> None:
        before = self._connection.last_received_at
        end = await self._end_of(exchange)
        if end is ExchangeEnd.ANSWERED:
            self._sign_at = self._connection.last_received_at  # the answer itself
            answered_at = asked_at if exchange.reply is None else exchange.reply.at
            self._put(Health(asked_at, max(answered_at - asked_at, 0.0)))
        elif end is None:
            # Not cancelled: a server that does not answer does not read a cancel either.
            self._connection.outbox.give_up(exchange, ExchangeEnd.IDLE_TIMEOUT)
            came = self._connection.last_received_at != before
            self._sign_at = self._connection.last_received_at
            self._put(None if came else Health(asked_at, None, is_hung=True))

    async def _end_of(self, exchange: PendingRequest) -> ExchangeEnd | None:
        """Wait; start again if the program or computer was suspended meanwhile."""
        patience_s, now = min(_PATIENCE_S, self._interval_s), self._connection.now
        while True:
            began = now()
            end = await exchange.over(patience_s)
            if end is not None or now() - began < patience_s + _SUSPENDED_S:
                return end

    def _put(self, health: Health | None) -> None:
        if health != self.health:
            self.health = health
            self._on_change()


_log = logging.getLogger(__name__)

_LEVEL_LIMIT_S: Final = 5.0  # how long a server may take to set its log level before the first call
_LISTED_S: Final = 3.0  # how long calls wait for lists that the server is slow to return
_DISCONNECTED: Final = "You disconnected the server"


class Session:
    """A server's connection, and what was agreed over it.

    Used once. `run` is the owner task; `on_change` is called whenever `snapshot` has changed.
    """

    def __init__(
        self,
        definition: ServerDefinition,
        era: EraChoice,
        make_connection: Callable[[Upkeep], Connection],
        identity: ClientIdentity,
        on_change: Callable[[], None],
        context: ServerContext,
        reconnecting: ReconnectPolicy | None = None,
        remembered: Era | None = None,
        note_tools: Callable[[Sequence[Tool]], list[JsonObject]] | None = None,
    ) -> None:
        """A session that `run` starts; `era` is tried first, `remembered` worked before.

        `context` answers the server's requests. `reconnecting` is informed how it ends.
        `note_tools` remembers the tools, and returns what changed (see `ToolMemory.exchange`).
        """
        self.definition = definition  # the definition at the beginning; it may be edited meanwhile
        self.cause: JsonObject | None = None  # why it was started automatically, for the recording
        self.agreement: Agreement | None = None  # what was agreed with the server; None before that
        self.opening: ConnectionOpening | None = None
        """How it is opened; None before the first connection."""
        self.current: Connection | None = None
        """The newest connection; None before the first. It may have ended."""
        self.server_requests: ServerRequests | None = None
        """Answers the server's requests over that connection."""
        self.multi_round_trips: MultiRoundTrips | None = None
        """Continues calls whose results require input over that connection."""
        self.notifications: Subscriptions | None = None
        """Subscribes to the server's notifications; None unless it is connected."""
        self.keepalive: Keepalive | None = None  # pings it; None unless it is or was connected
        self._note_tools = note_tools
        self._are_tools_known = False
        self._tool_changes: tuple[tuple[str, str], ...] = ()
        self._context = context
        self._reconnecting = reconnecting or ReconnectPolicy(definition.name)
        self._limit: ConnectLimit | None = None
        self._is_end_wanted = False
        self._definition = definition
        self._era = era
        self._remembered = remembered
        self._said = ""
        self._earlier: tuple[Question, ...] = ()
        self._make_connection = make_connection
        self._identity = identity
        self._on_change = on_change
        self._state = ServerState.CONNECTING
        self._lists: ServerLists | None = None
        self._error: ErrorDetails | None = None
        self._negotiation: Negotiation | None = None
        self._scope = anyio.CancelScope()
        self._group: TaskGroup | None = None
        self._ready = anyio.Event()
        self._over = anyio.Event()

    @property
    def connection(self) -> Connection:
        if self._state is not ServerState.CONNECTED or self.current is None:
            raise UserError(not_connected(self._definition.name))
        return self.current

    @property
    def lists(self) -> ServerLists:
        if self._state is not ServerState.CONNECTED or self._lists is None:
            raise UserError(not_connected(self._definition.name))
        return self._lists

    @property
    def proven_era(self) -> ProvenEra | None:
        """How the server was opened, to be remembered; None before that."""
        if self.agreement is None or self._negotiation is None or self.opening is None:
            return None
        is_newer = self._negotiation.is_newer_after_all
        era = Era.PER_REQUEST if is_newer else self.agreement.era
        return ProvenEra(era, self._said, self.opening.was_discover_asked)

    @property
    def has_misremembered(self) -> bool:
        """True if it could not be opened in the remembered era, or in any."""
        is_over = self._state is ServerState.FAILED and self.agreement is None
        return is_over and self._remembered is not None

    @property
    def questions(self) -> tuple[Question, ...]:
        newest = () if self._negotiation is None else self._negotiation.questions
        return (*self._earlier, *newest)

    @property
    def is_usable(self) -> bool:
        return self._state in {ServerState.CONNECTING, ServerState.CONNECTED}

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def snapshot(self) -> ServerSnapshot:
        bare = ServerSnapshot(
            self._definition.name,
            self._definition,
            state=self._state,
            waiting=self._waiting(),
            own_settings=self._context.settings(),
        )
        return self._with_lists(self._with_agreement(self._with_connection(bare)))

    async def ready(self) -> None:
        """Wait until the server is ready for calls; `UserError` when it never will be."""
        await self._ready.wait()
        if self._state is not ServerState.CONNECTED:
            raise UserError(self._error or not_connected(self._definition.name))

    async def listed(self) -> None:
        """Wait until the server's lists were read, but only for a moment.

        Then no list request follows a call, and none waits for a long one to end.
        """
        if self._lists is None or self._lists.are_finished:
            return
        if self._state is ServerState.CONNECTED:
            with anyio.move_on_after(_LISTED_S):
                await self._lists.finished()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The server's tools, as far as they were read."""
        return () if self._lists is None else self._lists.tools

    def poll(self, now: float) -> None:
        """Advance the clocks: a starting server may get more time, a silent one is pinged."""
        if self._state is ServerState.CONNECTING and self._limit is not None:
            stderr_at = None if self.current is None else self.current.stderr_at
            if stderr_at is not None:
                self._limit.note_stderr(now - stderr_at)
            self._on_change()
        if self.keepalive is not None and self._state is ServerState.CONNECTED:
            self.keepalive.poll(now)

    def note_sign_in(self, *, is_open: bool) -> None:
        """A sign-in began or ended: the connection timeout is held meanwhile."""
        if self._limit is not None:
            self._limit.hold() if is_open else self._limit.release()

    def close(self, reason: str = _DISCONNECTED) -> None:
        """Request a graceful end; `over` waits for it."""
        self._is_end_wanted = True
        if self.current is not None:
            self.current.end(reason)
        if self._state.is_up:
            self._become(ServerState.CLOSING)
        self._scope.cancel()

    async def over(self) -> None:
        """Wait until the server's process is gone and everything was reported."""
        await self._over.wait()

    def start_soon(self, work: Callable[[], Coroutine[object, object, None]], name: str) -> None:
        """Run `work` while the session lives; at the end it is cancelled and awaited.

        `UserError` if the session has ended.
        """
        if self._group is None:
            raise UserError(not_connected(self._definition.name))
        self._group.start_soon(self._beside, work, name=name)

    async def run(self) -> None:
        """Run the session from start to end; never raises for what a server does."""
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    self._group = tasks
                    await self._guarded(tasks)
                    tasks.cancel_scope.cancel()
        finally:
            self._group = None
            self._become(ServerState.FAILED if self._error else ServerState.CLOSED)
            self._ready.set()
            self._over.set()

    async def _guarded(self, tasks: TaskGroup) -> None:
        try:
            await self._serve(tasks)
        except UserError as error:
            self._fail(error.details)
        except Exception:  # noqa: BLE001  # see _fail_by_defect
            self._fail_by_defect()

    async def _beside(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Run a task beside the session; a bug in it ends this session only."""
        try:
            await work()
        except Exception:  # noqa: BLE001  # see _fail_by_defect
            self._fail_by_defect()
            self._scope.cancel()

    def _fail_by_defect(self) -> None:
        """End because of an internal error, logged here only: other sessions continue."""
        _log.exception("the session with %s met a defect", self._definition.name)
        what = "An internal error ended the session"
        self._fail(ErrorDetails(what, self._definition.name, DEFECT_HINT))

    async def _serve(self, tasks: TaskGroup) -> None:
        connection, agreement = await self._establish(tasks)
        self._said = digest_of(agreement)
        self.agreement = agreement
        self._attend(connection, agreement)
        context = self._context
        self.notifications = Subscriptions(
            connection,
            agreement,
            context.settings,
            self._on_change,
            follows_lists=context.follows_lists,
        )
        self._lists = ServerLists(
            connection,
            agreement.capabilities,
            self._on_change,
            context.lists,
            follows=context.follows_lists,
            on_tools=None if self._note_tools is None else self._on_tools,
        )
        self._become(ServerState.CONNECTED)
        tasks.start_soon(self._keep, self._lists)
        tasks.start_soon(self._beside, self.notifications.run)
        await connection.ended()
        self._become(ServerState.CLOSING)
        await connection.over()
        lost = loss_error(self._definition.address, connection)
        raise UserError(self._located(lost))

    def _attend(self, connection: Connection, agreement: Agreement) -> None:
        """Set the server's state, and how to continue if it ended unexpectedly."""
        interval_s = self._definition.ping_interval_s
        self.keepalive = Keepalive(
            connection,
            agreement.era,
            interval_s,
            self._on_change,
            self.start_soon,
            may_be_sequential=not connection.is_http and agreement.revision == SEQUENTIAL,
        )
        self._reconnecting.connected(self._context.clock.monotonic())

    def _schema_of(self, tool: str) -> JsonObject | None:
        return None if self._lists is None else self._lists.schema_of(tool)

    async def _relist(self) -> None:
        if self._lists is not None:
            await self._lists.reload_tools()

    def _outlook(self) -> str:
        """The error for those who waited for a connected server that has ended."""
        if self.keepalive is None:
            return ""
        now = self._context.clock.monotonic()
        if not self._is_end_wanted:
            self._reconnecting.ended(self._definition.restart, now)
        return self._reconnecting.outlook(now)

    async def _keep(self, lists: ServerLists) -> None:
        await lists.load_tools()
        await self._log_level_set()
        if self._state is ServerState.CONNECTED:
            self._ready.set()
        await lists.keep()

    async def _on_tools(self, tools: Sequence[Tool]) -> None:
        """Record what changed since the last session; later changes are announced in this one."""
        assert self._note_tools is not None  # noqa: S101  # else this is not called
        changes = await anyio.to_thread.run_sync(self._note_tools, tools)
        if changes and not self._are_tools_known and self.current is not None:
            self._tool_changes = tuple(definition_changes({"tools": changes}))
            await self.current.record_event("definitions_changed", tools=changes)
        self._are_tools_known = True

    async def _log_level_set(self) -> None:
        """Wait briefly until the server has set the log level, so that it logs the first call."""
        if self.notifications is not None and self._context.settings().log_level is not None:
            with anyio.move_on_after(_LEVEL_LIMIT_S):
                await self.notifications.begun.wait()

    async def _establish(self, tasks: TaskGroup) -> tuple[Connection, Agreement]:
        """Connect within the definition's limit, over a second connection if needed."""
        definition = self._definition
        has_process = definition.transport == "stdio"
        limit = self._limit = ConnectLimit(definition.connect_timeout_s, has_process=has_process)
        scope: anyio.CancelScope | None = limit.scope
        while scope is not None:
            with scope:
                return await self._attempts(tasks, limit)
            again = None if self.opening is None else self.opening.out_of_time()
            scope = None if again is None else limit.renew()
            if again is not None and scope is not None:
                await self._begin_again(again.why)
        address = self._definition.address
        error = not_signed_in(address) if limit.is_held else self._silence()
        if self.current is not None:
            self.current.end(error.what, EndKind.TIMED_OUT)
        raise UserError(error)

    async def _attempts(
        self, tasks: TaskGroup, limit: ConnectLimit
    ) -> tuple[Connection, Agreement]:
        while True:
            limit.note_start()
            try:
                return await self._attempt(tasks)
            except ReopenError as again:
                await self._begin_again(again.why)

    async def _begin_again(self, why: str) -> None:
        """End the connection that proved nothing, to try another one."""
        self._earlier, self._negotiation = self.questions, None
        self.cause = {"reason": why}
        if self.current is not None:
            self.current.end(why)
            await self.current.over()

    async def _attempt(self, tasks: TaskGroup) -> tuple[Connection, Agreement]:
        await prepare(self._definition)
        connection = self.current = self._make_connection(
            Upkeep(self._schema_of, self._relist, self._outlook)
        )
        connection.outbox.hold_watchers.append(self._on_change)
        if self.opening is None:
            self.opening = opening_of(connection, self._identity, self._era, self._remembered)
        negotiation = self._negotiation = Negotiation(connection, self._identity, self.opening)
        tasks.start_soon(connection.run)
        self.server_requests = server_requests = ServerRequests(
            connection, self._context, self._identity
        )
        self.multi_round_trips = MultiRoundTrips(connection, server_requests)
        tasks.start_soon(self._beside, server_requests.run)
        tasks.start_soon(self._beside, self.multi_round_trips.run)
        cause, self.cause = self.cause, None
        if cause is not None:
            await connection.record_event("restarting", **cause)
        await connection.opened()
        self._on_change()
        agreement = await self._negotiated(connection, negotiation)
        server_requests.begin(agreement.era)
        return connection, agreement

    async def _negotiated(self, connection: Connection, negotiation: Negotiation) -> Agreement:
        try:
            return await negotiation.run()
        except UserError as error:
            connection.end(error.details.what)
            raise UserError(self._located(error.details)) from error
        except anyio.ClosedResourceError:
            await connection.over()
            ended = start_error(self._definition.address, connection)
            raise UserError(self._located(ended)) from None

    def _located(self, error: ErrorDetails) -> ErrorDetails:
        return error if error.where else error._replace(where=self._definition.address)

    def _silence(self) -> ErrorDetails:
        command, chosen_s = self._definition.address, self._definition.connect_timeout_s
        limit_s = chosen_s or (0.0 if self._limit is None else round(self._limit.waited_s))
        if self.current is None:
            return ErrorDetails(f"The server could not be started within {limit_s:g} s", command)
        asked = () if self._negotiation is None else self._negotiation.asked
        return silence_error(command, limit_s, asked, self.current)

    def _fail(self, error: ErrorDetails) -> None:
        self._error = error
        if not self._is_end_wanted:
            self._reconnecting.ended(self._definition.restart, self._context.clock.monotonic())
        self._become(ServerState.FAILED)
        self._ready.set()

    def _become(self, state: ServerState) -> None:
        if state is not self._state:
            self._state = state
            self._on_change()

    def _with_connection(self, bare: ServerSnapshot) -> ServerSnapshot:
        if self.current is None:
            return bare._replace(error=self._error)
        return bare._replace(
            connection=self.current.id,
            pid=self.current.pid,
            stderr_tail=tuple(self.current.stderr_tail),
            health=self._health(),
            error=self._error or self._unread(self.current),
        )

    def _waiting(self) -> Waiting | None:
        limit = self._limit
        if limit is None or limit.is_held or self._state is not ServerState.CONNECTING:
            return None
        now = self._context.clock.monotonic()
        asked = () if self._negotiation is None else self._negotiation.asked
        stderr_at = None if self.current is None else self.current.stderr_at
        return Waiting(
            " and ".join(asked), now - limit.waited_s, now + max(limit.left_s, 0.0), stderr_at
        )

    def _health(self) -> Health | None:
        is_known = self.keepalive is not None and self._state is ServerState.CONNECTED
        return self.keepalive.health if self.keepalive is not None and is_known else None

    def _unread(self, connection: Connection) -> ErrorDetails | None:
        return unread_error(self._definition.address, connection.outbox)

    def _with_agreement(self, bare: ServerSnapshot) -> ServerSnapshot:
        if self.agreement is None:
            return bare
        return bare._replace(
            revision=self.agreement.revision,
            era=self.agreement.era,
            server_info=self.agreement.server_info,
            capabilities=self.agreement.capabilities,
            instructions=self.agreement.instructions,
        )

    def _with_lists(self, bare: ServerSnapshot) -> ServerSnapshot:
        if self._lists is None:
            return bare
        notifications = self.notifications
        return bare._replace(
            subscriptions=() if notifications is None else notifications.subscriptions,
            resource_updates=() if notifications is None else notifications.updates,
            tools=self._lists.tools,
            tool_changes=self._tool_changes,
            resources=self._lists.resources,
            prompts=self._lists.prompts,
            events=self._lists.events,
            skills=self._lists.skills,
            latest_events=() if notifications is None else notifications.events,
            error=bare.error
            or self._lists.error
            or (None if notifications is None else notifications.error),
        )


_HTTP: Final = "mcp_progress_monitor.sessions.transport.http.transport"


async def prepare(definition: ServerDefinition) -> None:
    """Import what a transport needs: the HTTP client takes 0.2 s, in a thread."""
    if definition.transport != "stdio" and _HTTP not in sys.modules:
        await anyio.to_thread.run_sync(importlib.import_module, _HTTP)

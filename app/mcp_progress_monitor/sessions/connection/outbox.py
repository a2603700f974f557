"""Sends requests, notifications and cancels, and matches replies to the pending requests."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    TaskStated,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.frames import at_of, raw_of
from mcp_progress_monitor.protocol.messages import (
    DISCOVER,
    INITIALIZE,
    LIST_PROMPTS,
    LIST_RESOURCES,
    LIST_TEMPLATES,
    LIST_TOOLS,
    PING,
    SET_LOG_LEVEL,
    STREAMS,
    SUBSCRIBE,
    UNSUBSCRIBE,
)
from mcp_progress_monitor.protocol.peer import Peer
from mcp_progress_monitor.protocol.tasks import related_task
from mcp_progress_monitor.sessions.connection.clocks import CallClock
from mcp_progress_monitor.snapshots.limits import Limit, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.conversation import Conversation
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import FactRun, Frame
    from mcp_progress_monitor.protocol.peer import TokenChoice, TokenSource
    from mcp_progress_monitor.sessions.transport.base import Loss

    _Watcher = Callable[[NotificationReceived], None]
    from mcp_progress_monitor.protocol.peer import Outgoing

__all__ = ["ExchangeEnd", "Limits", "PendingRequest"]


class ExchangeEnd(enum.Enum):
    """End of an exchange."""

    ANSWERED = enum.auto()
    CANCELLED = enum.auto()
    LOST = enum.auto()  # the connection ended first, or the stream that should carry the reply
    GIVEN_UP = enum.auto()  # this client gave up; `PendingRequest.reason` says why
    IDLE_TIMEOUT = enum.auto()
    TOTAL_TIMEOUT = enum.auto()


_ENDS: Final = {Limit.IDLE: ExchangeEnd.IDLE_TIMEOUT, Limit.TOTAL: ExchangeEnd.TOTAL_TIMEOUT}


class PendingRequest:
    """A request and its reply.

    `request` is its frame's number, None until it is written. Its `clock` may be shared with the
    other requests of one call. A reply that requires input does not end it: `is_asking` until the
    input is available, then the next request is `outgoing`; `first` remains the first one. `loss`
    says why this request alone was lost, if it was.
    """

    __slots__ = (
        "_over",
        "clock",
        "end",
        "first",
        "is_asking",
        "loss",
        "made_at",
        "method",
        "outgoing",
        "raw",
        "reason",
        "reply",
        "request",
        "round_trips",
    )

    def __init__(
        self, outgoing: Outgoing, method: str, now: float, clock: CallClock | None = None
    ) -> None:
        self.outgoing = self.first = outgoing
        self.method = method
        self.made_at = now
        self.clock = CallClock(now) if clock is None else clock
        self.request: int | None = None
        self.end: ExchangeEnd | None = None
        self.reply: RequestAnswered | None = None
        self.raw = b""
        self.is_asking = False
        self.round_trips = 0
        self.reason = ""
        self.loss: Loss | None = None
        self._over = anyio.Event()

    def answer(self, reply: RequestAnswered, raw: bytes) -> None:
        """End with the server's reply and its exact bytes, unless it has already ended."""
        if self.end is None:
            self.reply, self.raw = reply, raw
            self.stop(ExchangeEnd.ANSWERED)

    def renew(self, outgoing: Outgoing) -> None:
        """Continue with another request, which carries the required input."""
        self.outgoing = outgoing
        self.is_asking = False

    def stop(self, end: ExchangeEnd) -> None:
        if self.end is None:
            self.end = end
            self._over.set()
            self.clock.wake()

    async def over(self, within_s: float | None = None) -> ExchangeEnd | None:
        """Wait for the end, at most `within_s`; unlike `wait`, this never ends the exchange."""
        with anyio.move_on_after(within_s):
            await self._over.wait()
        return self.end

    async def wait(self, limits: Limits | None, now: Callable[[], float]) -> ExchangeEnd:
        """Wait for the end, or for a limit, which ends the exchange.

        `limits` replace those of the clock unless None. Limits may change and the clock be held
        meanwhile.
        """
        if limits is not None:
            self.clock.set_limits(limits)
        reached = await self.clock.until(self._is_over, now)
        if reached is not None:
            self.stop(_ENDS[reached])
        assert self.end is not None  # noqa: S101  # what was waited for
        return self.end

    def _is_over(self) -> bool:
        return self.end is not None


METHOD_NOT_FOUND: Final = -32601
_MOST_QUEUED: Final = 1000
"""Most queued messages before we stop reading the requests that cause more."""
_FEW_QUEUED: Final = 100
"""With more, we write before we read on: each may be the reply to a request, which is open …"""
_MOMENT_S: Final = 0.2  # … but no longer than this, and not again: the server may not read now
_BYTES_AT_ONCE: Final = 2**16
_RUBBISH_KEPT: Final = 5
_RUBBISH_BYTES: Final = 200

_NEEDED_BY_NOBODY: Final = STREAMS | {DISCOVER, INITIALIZE}
"""Requests that may stay open as long as the connection.

An older server may not answer the opening's probe, and a late answer is still useful.
"""

_HOUSEKEEPING: Final = _NEEDED_BY_NOBODY | {
    SET_LOG_LEVEL,
    PING,
    LIST_PROMPTS,
    LIST_RESOURCES,
    SUBSCRIBE,
    LIST_TEMPLATES,
    UNSUBSCRIBE,
    LIST_TOOLS,
}
"""Requests that keep the server's state up to date, not work for the user."""


_PATIENCE_S: Final = 1.0
"""How long we stop reading before it is reported: a server may be busy for a moment."""


class OutgoingMessage(NamedTuple):
    """A queued message, and the exchange it begins if it is a request.

    Or no message, but the response to the request with the frame number `closes`, to be closed:
    this cancels requests of 2026-07-28 over HTTP.
    """

    raw: bytes
    exchange: PendingRequest | None = None
    closes: int | None = None
    reason: str = ""

    @property
    def is_plain(self) -> bool:
        """True if it is a reply or a notification."""
        return self.exchange is None and self.closes is None


class Outbox:
    """Our requests and replies on one connection, from queueing to completion.

    Does no I/O: the connection writes `outgoing`, and passes in the facts of what it reads. Nothing
    here grows with what a server does: its requests are answered only as fast as it reads.
    """

    def __init__(self, conversation: Conversation, tokens: TokenSource, clock: Clock) -> None:
        self.peer = Peer(tokens, conversation.is_token_active)
        self.on_request: Callable[[RequestMade, bytes], None] = self.refuse
        """Called with each request of the server except pings, and its bytes.

        The handler writes to this outbox, so it is created later; requests before that are refused.
        """
        self.withdrawal_watchers: list[Callable[[RequestCancelled], None]] = []
        """Called when the server cancels an open request of its own."""
        self.continuations: list[Callable[[PendingRequest, RequestAnswered, bytes], bool]] = []
        """Called with each awaited reply: whether the exchange continues after it."""
        self.hold_watchers: list[Callable[[], None]] = []  # called when `is_on_hold` has changed
        self.is_on_hold = False
        """Whether we have stopped reading because the server does not read its input."""
        self.queued_count = 0  # the number of messages that wait to be written
        self.invalid_lines: list[bytes] = []
        """The first lines from the server that were not messages, cut for quoting."""
        self.closes_streams = False
        """Whether requests are cancelled by closing their responses instead of by a notification.
        """
        self.is_concurrent = False
        """Whether the server has answered a request before an earlier one: it reads while it works.
        """
        self._watchers: dict[str, list[_Watcher]] = {}
        self._clock = clock
        self._is_closed = False
        self.task_clocks: dict[str, CallClock] = {}
        """The clocks of calls that wait for a task, by task id; messages about the task touch them.
        """
        self._exchanges: dict[int, PendingRequest] = {}
        self._unsent: set[PendingRequest] = set()
        self._between: dict[int, PendingRequest] = {}
        """Exchanges between a reply that requires input and the next request, by the first."""
        self._room = anyio.Event()
        self._is_read_slowly = False
        self._settled = anyio.Event()
        self._outbox, self._inbox = anyio.create_memory_object_stream[OutgoingMessage](math.inf)
        self._handlers: dict[type, Callable[[Any, Sequence[Frame]], None]] = {
            RequestAnswered: self._on_answer,
            RequestMade: self._on_request,
            RequestCancelled: self._on_cancelled,
            NotificationReceived: self._on_notification,
            UnreadableReceived: self._on_unreadable,
            TaskStated: self._on_task,
        }

    @property
    def waiting_count(self) -> int:
        return len(self._waiting())

    @property
    def due_count(self) -> int:
        """The number of replies that are awaited, except for subscriptions and opening requests."""
        waiting = (*self._exchanges.values(), *self._unsent)
        return sum(exchange.method not in _NEEDED_BY_NOBODY for exchange in waiting)

    @property
    def is_awaited(self) -> bool:
        """True if a reply is due that the server, not an open question, delays."""
        waiting = (*self._exchanges.values(), *self._unsent)
        return any(e.method not in _NEEDED_BY_NOBODY and not e.clock.is_suspended for e in waiting)

    async def quiet(self) -> None:
        """Wait until no call is pending, or the connection is closed.

        Some servers read one request at a time: a request of ours between a call and our answer to
        its question would block them. Python SDK 1.2 is such a server.
        """
        while not self._is_closed and self._is_working():
            self._settled = anyio.Event()
            await self._settled.wait()

    def _is_working(self) -> bool:
        return any(exchange.method not in _HOUSEKEEPING for exchange in self._waiting())

    def ask(
        self,
        method: str,
        params: JsonObject | None,
        *,
        token: TokenChoice = None,
        allow_duplicate: bool = False,
        clock: CallClock | None = None,
    ) -> PendingRequest:
        """Queue a request; `clock` is that of the call it belongs to, if any.

        `UserError` for a token in use; `anyio.ClosedResourceError` after the end.
        """
        if self._is_closed:
            raise anyio.ClosedResourceError
        outgoing = self.peer.request(
            method,
            params,
            token,
            allow_duplicate=allow_duplicate,
            now_ms=int(self._clock.wall() * 1000),
        )
        exchange = PendingRequest(outgoing, method, self._clock.monotonic(), clock)
        self._unsent.add(exchange)
        self._put(OutgoingMessage(outgoing.raw, exchange))
        return exchange

    def ask_again(
        self, exchange: PendingRequest, params: JsonObject, verbatim: Mapping[str, bytes]
    ) -> None:
        """Continue an exchange, whose reply required input, with another request.

        For `verbatim` see `Peer.request`. `UserError` if `params` cannot be written;
        `anyio.ClosedResourceError` after the end.
        """
        if self._is_closed:
            raise anyio.ClosedResourceError
        # A request that took its token meanwhile took it from this call.
        outgoing = self.peer.request(
            exchange.method, params, None, allow_duplicate=True, verbatim=verbatim
        )
        exchange.renew(outgoing)
        self._unsent.add(exchange)
        self._put(OutgoingMessage(outgoing.raw, exchange))

    def post(self, raw: bytes) -> None:
        if not self._is_closed:
            self._put(OutgoingMessage(raw))

    def _put(self, message: OutgoingMessage) -> None:
        self.queued_count += 1
        self._outbox.send_nowait(message)

    def exchange_of(self, request: int) -> PendingRequest | None:
        """The pending exchange of the request with this frame number."""
        return self._exchanges.get(request) or self._between.get(request)

    def clocks(self) -> list[CallClock]:
        return [*(each.clock for each in self._waiting()), *self.task_clocks.values()]

    def _waiting(self) -> list[PendingRequest]:
        found = (*self._exchanges.values(), *self._between.values(), *self._unsent)
        return list(dict.fromkeys(found))

    def give_up(self, exchange: PendingRequest, end: ExchangeEnd) -> None:
        """Stop waiting for `exchange`; a later reply is marked as late."""
        exchange.stop(end)
        if exchange in self._unsent:
            self.peer.cancel(exchange.outgoing.id)  # frees its token; nothing is sent
        self._unsent.discard(exchange)
        if exchange.request is not None:
            self._exchanges.pop(exchange.request, None)
            self._between.pop(exchange.request, None)
        self._settled.set()

    async def settle(self, exchange: PendingRequest, limits: Limits) -> None:
        """Wait for a reply; cancel the request at the first of the limits.

        Raises:
            anyio.ClosedResourceError: the request is lost.
        """
        end = await exchange.wait(limits, self._clock.monotonic)
        if end is ExchangeEnd.LOST:
            raise anyio.ClosedResourceError
        if exchange.reply is None:
            self.send_cancel(exchange, "Timed out")
            self.give_up(exchange, end)

    def send_cancel(self, exchange: PendingRequest, reason: str) -> None:
        """Send a cancel for a request; its caller keeps waiting.

        A request that was not written yet is never sent. While the user is asked for required
        input, there is nothing to cancel.
        """
        if exchange.request is None or exchange.is_asking:
            self.give_up(exchange, ExchangeEnd.CANCELLED)
        elif exchange.reply is None and exchange.method != INITIALIZE:
            notification = self.peer.cancel(exchange.outgoing.id, reason)
            if not self.closes_streams:
                self.post(notification)
            elif not self._is_closed:
                self._put(OutgoingMessage(b"", closes=exchange.request, reason=reason))

    def is_due(self, request: int) -> bool:
        exchange = self._exchanges.get(request)
        return exchange is not None and self.peer.is_pending(exchange.outgoing.id)

    def lose(self, request: int, loss: Loss) -> None:
        """End the exchange of a request that will get no reply although the server still runs."""
        exchange = self._exchanges.get(request)
        if exchange is None:
            return
        self.peer.forget(exchange.outgoing.id)
        exchange.loss = loss
        exchange.reason = loss.details.as_text()
        self.give_up(exchange, ExchangeEnd.LOST if loss.outcome == "lost" else ExchangeEnd.GIVEN_UP)

    async def outgoing(self, at_once: int) -> AsyncIterator[list[OutgoingMessage]]:
        """Yield messages to write, the next ones once the last are written; skips cancelled ones.

        Up to `at_once` replies and notifications that wait are yielded together: a server may make
        a thousand requests a second. Everything else is yielded alone.
        """
        async for message in self._inbox:
            found, size = [message], len(message.raw)
            while found[-1].is_plain and len(found) < at_once and size < _BYTES_AT_ONCE:
                try:
                    found.append(self._inbox.receive_nowait())
                except anyio.WouldBlock:
                    break
                size += len(found[-1].raw)
            self.queued_count -= len(found)
            last = [] if found[-1].is_plain else [found.pop()]
            if found:
                yield found
            if last and (last[0].exchange is None or last[0].exchange.end is None):
                yield last
            self._room.set()

    def sent(self, exchange: PendingRequest, request: int, now: float) -> None:
        self._between.pop(exchange.request or 0, None)
        exchange.request = request
        exchange.clock.touch(now)
        self._unsent.discard(exchange)
        self._exchanges[request] = exchange

    async def room(self) -> None:
        """Wait while many messages are queued; longer if the server does not read its input."""
        if self.queued_count > _FEW_QUEUED and not self._is_read_slowly:
            with anyio.move_on_after(_MOMENT_S):
                await self._has_room(_FEW_QUEUED)
        self._is_read_slowly = self.queued_count > _FEW_QUEUED
        if self.queued_count <= _MOST_QUEUED:
            return
        with anyio.move_on_after(_PATIENCE_S):
            await self._has_room(_MOST_QUEUED // 2)
            return
        self._hold(is_on_hold=True)
        try:
            await self._has_room(_MOST_QUEUED // 2)
        finally:
            self._hold(is_on_hold=False)

    async def _has_room(self, most: int) -> None:
        while not self._is_closed and self.queued_count > most:
            self._room = anyio.Event()
            await self._room.wait()

    def _hold(self, *, is_on_hold: bool) -> None:
        self.is_on_hold = is_on_hold
        for watcher in self.hold_watchers:
            watcher()

    def take(self, facts: FactRun, frames: Sequence[Frame]) -> None:
        """Act on `facts`, read from `frames`."""
        if facts.ticks:
            at = at_of(facts.ticks[0])
            for request in set(facts.requests):
                self._touch(request, at)
        is_of_tasks = bool(self.task_clocks)
        for fact in facts.others:
            if isinstance(fact, NotificationReceived) and not is_of_tasks:
                if fact.method not in self._watchers:
                    continue  # log messages come in floods, too
            elif type(fact) is ProgressReceived:
                self._touch(fact.request, fact.at)
                continue
            handler = self._handlers.get(type(fact))
            if handler is not None:
                handler(fact, frames)

    def watch(self, methods: Iterable[str], watcher: _Watcher) -> None:
        """Call `watcher` with each notification of the server with one of these methods."""
        for method in methods:
            self._watchers[method] = [*self._watchers.get(method, ()), watcher]

    def unwatch(self, methods: Iterable[str], watcher: _Watcher) -> None:
        for method in methods:
            self._watchers[method] = [w for w in self._watchers[method] if w != watcher]

    def stop(self) -> None:
        self._is_closed = True
        self._inbox.close()
        self._room.set()
        self._settled.set()

    def close(self, reason: str = "") -> None:
        """The connection has ended: pending exchanges are lost, and told whether they were sent."""
        self.stop()
        for exchange in self._unsent:
            if exchange.request is None and reason:
                exchange.reason = f"{reason} before this was sent; it is safe to send again"
        for exchange in self._waiting():
            self.give_up(exchange, ExchangeEnd.LOST)
        self._outbox.close()
        self.peer.closed()

    def _touch(self, request: int | None, at: float) -> None:
        exchange = self._exchanges.get(request or 0)
        if exchange is not None:
            exchange.clock.touch(at)

    def _on_answer(self, fact: RequestAnswered, frames: Sequence[Frame]) -> None:
        self.peer.answered(fact)
        exchange = self._exchanges.pop(fact.request or 0, None)
        if exchange is None:
            return
        self.is_concurrent = self.is_concurrent or self._has_overtaken(exchange)
        raw = raw_of(frames, fact.number)
        if exchange.request is not None and any(
            continues(exchange, fact, raw) for continues in self.continuations
        ):
            self._between[exchange.request] = exchange
        else:
            exchange.answer(fact, raw)
            self._settled.set()

    def _has_overtaken(self, answered: PendingRequest) -> bool:
        waiting = (e for e in self._exchanges.values() if e.method not in _NEEDED_BY_NOBODY)
        oldest = next(waiting, None)  # in the order in which they were sent
        if oldest is None or oldest.request is None or answered.request is None:
            return False
        return oldest.request < answered.request

    def _touch_task(self, task: str | None, at: float) -> None:
        """Restart the idle timeout of the call that waits for this task."""
        clock = None if task is None else self.task_clocks.get(task)
        if clock is not None:
            clock.touch(at)

    def _on_task(self, fact: TaskStated, _frames: Sequence[Frame]) -> None:
        self._touch_task(fact.task.id, fact.at)

    def _on_request(self, fact: RequestMade, frames: Sequence[Frame]) -> None:
        if fact.sender is Side.CLIENT:
            return
        self._touch_task(related_task(fact.params), fact.at)
        if fact.method == PING:
            self.post(self.peer.respond(fact.id, {}))
            return
        self.on_request(fact, raw_of(frames, fact.number))

    def refuse(self, fact: RequestMade, _raw: bytes) -> None:
        text = f"This client does not support {fact.method}"
        self.post(self.peer.refuse(fact.id, METHOD_NOT_FOUND, text))

    def _on_cancelled(self, fact: RequestCancelled, _frames: Sequence[Frame]) -> None:
        if fact.sender is Side.CLIENT or fact.standing is not RequestStanding.ACTIVE:
            return
        listening = self._exchanges.get(fact.request or 0)
        if listening is None:
            for watcher in self.withdrawal_watchers:
                watcher(fact)
        else:  # a server ends a subscription by this (2026-07-28 "Cancellation")
            self.give_up(listening, ExchangeEnd.CANCELLED)

    def _on_notification(self, fact: NotificationReceived, _frames: Sequence[Frame]) -> None:
        if fact.sender is Side.SERVER:
            if self.task_clocks:
                self._touch_task(related_task(fact.params), fact.at)
            for watcher in self._watchers.get(fact.method, ()):
                watcher(fact)

    def _on_unreadable(self, fact: UnreadableReceived, frames: Sequence[Frame]) -> None:
        if len(self.invalid_lines) < _RUBBISH_KEPT:
            self.invalid_lines.append(raw_of(frames, fact.number)[:_RUBBISH_BYTES])

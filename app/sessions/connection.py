"""One transport's life: its tasks, what it writes and reads, and the exchanges that wait on it."""

from __future__ import annotations

import bisect
import logging
import math
import operator
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from app.problem import Problem, ProblemError
from app.protocol.conversation import Conversation
from app.protocol.facts import (
    NotificationReceived,
    ProgressReceived,
    RequestAnswered,
    RequestMade,
    Side,
    UnreadableReceived,
)
from app.protocol.jsonrpc import OVERSIZED
from app.protocol.peer import Peer
from app.sessions import connect_failure
from app.sessions.exchange import End, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.protocol.facts import Fact, JsonObject
    from app.protocol.frame import Frame
    from app.protocol.framing import Framer
    from app.protocol.tokens import TokenChoice, TokenSource
    from app.sessions.clock import Clock
    from app.sessions.transport import Transport

_log = logging.getLogger(__name__)

METHOD_NOT_FOUND: Final = -32601
_OUTBOX: Final = 1000
"""Most messages that wait to be written before we stop reading what asks for more of them."""
_TURN_S: Final = 0.004
"""How long a flood of messages may hold the loop before others get their turn."""
_STDERR_TAIL: Final = 20
_RUBBISH_KEPT: Final = 5
_RUBBISH_BYTES: Final = 200


def _ignore(_method: str) -> None:
    """What a connection does with notifications until someone wants them."""


Sink: TypeAlias = "Callable[[Sequence[Frame], Sequence[Fact]], None]"
"""Takes what happened on the wire, frames and the facts read from them, at once and in order."""


class _Letter(NamedTuple):
    """A message that waits to be written, and the exchange it begins if it is a request."""

    raw: bytes
    exchange: Exchange | None = None


class Connection:
    """Owns a transport and everything that goes over it.

    `run` is its one owner task; everyone else posts letters and waits for exchanges. All it sees
    goes through one synchronous sink, frame by frame in wire order.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        framer: Framer,
        tokens: TokenSource,
        clock: Clock,
        sink: Sink,
    ) -> None:
        """A connection called `name`, `"<server>#<n>"`, that `run` will open."""
        self.id = name
        self.problem: Problem | None = None
        self.reason = ""
        self.on_notification: Callable[[str], None] = _ignore
        self.stderr_tail: deque[str] = deque(maxlen=_STDERR_TAIL)
        self.rubbish: list[bytes] = []
        self.last_received_at: float | None = None
        self._transport = transport
        self._framer = framer
        self._clock = clock
        self._sink = sink
        self._conversation = Conversation(name)
        self.peer = Peer(tokens, self._conversation.is_token_active)
        self._publishing = anyio.Lock(fast_acquire=True)
        self._exchanges: dict[int, Exchange] = {}
        self._unsent: set[Exchange] = set()
        self._room = anyio.Event()
        self._outbox, self._inbox = anyio.create_memory_object_stream[_Letter](math.inf)
        self._opened = anyio.Event()
        self._ending = anyio.Event()
        self._over = anyio.Event()
        self._writing = anyio.CancelScope()
        self._handlers: dict[type, Callable[[Any, Sequence[Frame]], None]] = {
            ProgressReceived: self._on_progress,
            RequestAnswered: self._on_answer,
            RequestMade: self._on_request,
            NotificationReceived: self._on_notification,
            UnreadableReceived: self._on_unreadable,
        }

    def now(self) -> float:
        """Monotonic time as the connection's frames are stamped with it."""
        return self._clock.monotonic()

    @property
    def pid(self) -> int | None:
        """The server's process id, None before it was started."""
        return self._transport.pid

    @property
    def exit_code(self) -> int | None:
        """How the server's process ended, None while it runs."""
        return self._transport.exit_code

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._opened.is_set() and not self._ending.is_set()

    @property
    def waiting_count(self) -> int:
        """How many exchanges wait for their end."""
        return len(self._exchanges) + len(self._unsent)

    def end(self, reason: str) -> None:
        """Ask for the polite end of the connection; the first reason stays.

        Without a reason of ours, how the server ended becomes the reason.
        """
        self.reason = self.reason or reason
        self._ending.set()

    async def opened(self) -> None:
        """Wait until the transport is up; `ProblemError` when it could not be."""
        await self._opened.wait()
        if self.problem is not None:
            raise ProblemError(self.problem)

    async def over(self) -> None:
        """Wait until all is ended, awaited and told."""
        await self._over.wait()

    async def ended(self) -> None:
        """Wait until the connection begins to end, whoever wants it to."""
        await self._ending.wait()

    def ask(
        self,
        method: str,
        params: JsonObject | None,
        *,
        token: TokenChoice = None,
        allow_duplicate: bool = False,
    ) -> Exchange:
        """Post a request.

        `ProblemError` for a token in use; `anyio.ClosedResourceError` after the end.
        """
        if self._ending.is_set():
            raise anyio.ClosedResourceError
        outgoing = self.peer.request(
            method,
            params,
            token,
            allow_duplicate=allow_duplicate,
            now_ms=int(self._clock.wall() * 1000),
        )
        exchange = Exchange(outgoing, method, self._clock.monotonic())
        self._unsent.add(exchange)
        self._outbox.send_nowait(_Letter(outgoing.raw, exchange))
        return exchange

    def post(self, raw: bytes) -> None:
        """Put a message in line to be written; after the end it is of no use and left out."""
        if not self._ending.is_set():
            self._outbox.send_nowait(_Letter(raw))

    def exchange_of(self, request: int) -> Exchange | None:
        """The exchange that waits on the request with this frame number."""
        return self._exchanges.get(request)

    def give_up(self, exchange: Exchange, end: End) -> None:
        """Stop waiting for `exchange`; a reply that still comes is late and no longer ours."""
        exchange.stop(end)
        if exchange in self._unsent:
            self.peer.cancel(exchange.outgoing.id)  # to free its token; nothing is to be sent
        self._unsent.discard(exchange)
        if exchange.request is not None:
            self._exchanges.pop(exchange.request, None)

    def cancel(self, exchange: Exchange, reason: str) -> None:
        """Tell the server that we give up a request; whoever waits for its end goes on waiting.

        A request that was not written yet is simply never sent.
        """
        if exchange.request is None:
            self.give_up(exchange, End.CANCELLED)
        elif exchange.end is None or exchange.reply is None:
            self.post(self.peer.cancel(exchange.outgoing.id, reason))

    async def run(self) -> None:
        """Open, serve and end the connection; cancelling asks for the same polite end."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_when_cancelled)
            with anyio.CancelScope(shield=True):
                await self._live()
            tasks.cancel_scope.cancel()

    async def _end_when_cancelled(self) -> None:
        try:
            # Not sleep_forever: Qt's loop has no timer for an infinite time.
            await anyio.Event().wait()
        finally:
            self.end("The program is closing")

    async def _live(self) -> None:
        try:
            await self._open_and_serve()
        except ProblemError as error:
            self.problem = error.problem
            self.reason = error.problem.what
            await self._event("failed", **error.problem._asdict())
        except Exception:  # noqa: BLE001
            # The one place for our own errors in a connection's tasks: it ends, others go on.
            _log.exception("connection %s ended by a defect of this program", self.id)
            self.problem = Problem("A defect of this program ended the connection", self.id)
            self.reason = self.problem.what
        finally:
            await self._finish()

    async def _open_and_serve(self) -> None:
        detail = await self._transport.open()
        await self._event("opened", **detail)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._transport.watch, self._publish_stderr)
            tasks.start_soon(self._read)
            tasks.start_soon(self._write)
            self._opened.set()
            await self._ending.wait()
            self._stop_writing()
            await self._transport.close()

    def _stop_writing(self) -> None:
        self._writing.cancel()
        self._inbox.close()
        self._room.set()

    async def _finish(self) -> None:
        """End what is left, tell of it, and let everyone who waits know."""
        self._ending.set()
        self._stop_writing()
        await self._transport.close()
        await self._transport.release()
        self.reason = self.reason or connect_failure.ending(self._transport.exit_code)
        await self._tell_end()
        for exchange in [*self._exchanges.values(), *self._unsent]:
            self.give_up(exchange, End.LOST)
        self._outbox.close()
        self.peer.closed()
        self._opened.set()
        self._over.set()

    async def _tell_end(self) -> None:
        try:
            await self._event("closed", reason=self.reason, exit_code=self._transport.exit_code)
        except Exception:  # noqa: BLE001  # as above: what waits must still be let go
            _log.exception("the end of connection %s met a defect as well", self.id)

    async def _read(self) -> None:
        turn_ends = self._clock.monotonic() + _TURN_S
        while True:
            try:
                frames = await self._transport.receive()
            except anyio.EndOfStream:
                self._ending.set()
                return
            await self._publish(frames)
            await self._wait_for_room()
            self.last_received_at = now = self._clock.monotonic()
            if now >= turn_ends:
                await checkpoint()
                turn_ends = self._clock.monotonic() + _TURN_S

    async def _wait_for_room(self) -> None:
        """While the server does not read the answers to its questions, we do not read either."""
        while self.is_open and self._outbox.statistics().current_buffer_used > _OUTBOX:
            self._room = anyio.Event()
            await self._room.wait()

    async def _write(self) -> None:
        with self._writing:
            try:
                async for letter in self._inbox:
                    await self._write_one(letter)
                    self._room.set()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the server's end, which the reader will tell of

    async def _write_one(self, letter: _Letter) -> None:
        """Publish before writing: what waits for a slow reader is to be seen as asked for."""
        exchange = letter.exchange
        if exchange is not None and exchange.end is not None:
            return
        now = self._clock.monotonic()
        frame = self._framer.sent(letter.raw, self._clock.wall(), now)
        if exchange is not None:
            exchange.request, exchange.touched_at = frame.number, now
            self._unsent.discard(exchange)
            self._exchanges[frame.number] = exchange
        await self._publish([frame])
        await self._transport.send(letter.raw)

    async def _event(self, name: str, **fields: object) -> None:
        frame = self._framer.event(name, self._clock.wall(), self._clock.monotonic(), **fields)
        await self._publish([frame])

    async def _publish_stderr(self, frames: Sequence[Frame]) -> None:
        self.stderr_tail.extend(frame.raw.decode(errors="replace").rstrip() for frame in frames)
        await self._publish(frames)

    async def _publish(self, frames: Sequence[Frame]) -> None:
        """Read frames into facts and pass both on, then do what the facts ask of us."""
        async with self._publishing:
            if any(len(frame.raw) > OVERSIZED for frame in frames):
                facts = await self._read_in_slices(frames)
            else:
                facts = self._conversation.read(frames)
            self._sink(frames, facts)
        handlers = self._handlers
        for fact in facts:
            handler = handlers.get(type(fact))
            if handler is not None:
                handler(fact, frames)

    async def _read_in_slices(self, frames: Sequence[Frame]) -> list[Fact]:
        facts: list[Fact] = []
        for slice_ in self._conversation.read_in_slices(frames):
            facts += slice_
            await checkpoint()
        return facts

    def _on_progress(self, fact: ProgressReceived, _frames: Sequence[Frame]) -> None:
        exchange = self._exchanges.get(fact.request or 0)
        if exchange is not None:
            exchange.touched_at = fact.at

    def _on_answer(self, fact: RequestAnswered, frames: Sequence[Frame]) -> None:
        self.peer.answered(fact)
        exchange = self._exchanges.pop(fact.request or 0, None)
        if exchange is not None:
            place = bisect.bisect_left(frames, fact.number, key=_number_of)
            exchange.answer(fact, frames[place].raw)

    def _on_request(self, fact: RequestMade, _frames: Sequence[Frame]) -> None:
        if fact.sender is Side.CLIENT:
            return
        if fact.method == "ping":
            self.post(self.peer.respond(fact.id, {}))
            return
        text = f"This client does not support {fact.method}"
        self.post(self.peer.refuse(fact.id, METHOD_NOT_FOUND, text))

    def _on_notification(self, fact: NotificationReceived, _frames: Sequence[Frame]) -> None:
        if fact.sender is Side.SERVER:
            self.on_notification(fact.method)

    def _on_unreadable(self, fact: UnreadableReceived, frames: Sequence[Frame]) -> None:
        if len(self.rubbish) < _RUBBISH_KEPT:
            place = bisect.bisect_left(frames, fact.number, key=_number_of)
            self.rubbish.append(frames[place].raw[:_RUBBISH_BYTES])


_number_of = operator.attrgetter("number")

"""Queues what the tasks that read responses received, and makes frames of it on demand."""

from __future__ import annotations

import operator
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import anyio

from mcp_progress_monitor.protocol.http_events import BodyNotes
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Kind, decode
from mcp_progress_monitor.protocol.sse import SseParser, SseTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.protocol.sse import SseEvent
    from mcp_progress_monitor.sessions.transport.base import Loss, WireLine

if TYPE_CHECKING:
    _Stamp = tuple[float, float]

MOST_BYTES: Final = 256 * 1024 * 1024
"""A longer message is not taken: its response is closed, and its request ends as failed."""
_SLICE_LINES: Final = 128
"""Most messages returned at once: a millisecond's work if they are plain progress, and ten of lines
with something wrong in each."""
_HELD_BYTES: Final = 256 * 1024
"""Bytes of one stream that wait here before its socket is read no further."""
_PORTION: Final = 32 * 1024
_PORTION_LINES: Final = 4096
_SMALL_PORTION: Final = 4 * 1024
"""So many bytes are parsed at once, fewer where they are mostly ends of line: others get their turn
between."""

_NO_BLANK_LINE: Final = "its last event was dropped because no blank line follows it"
_BARE_JSON: Final = 'the content looks like JSON, but events must start with "data:"'
_REPLIES: Final = frozenset({Kind.RESULT, Kind.ERROR})
_OPENING: Final = frozenset({b"{", b"["})

_TOLD_BYTES: Final = 64 * 1024
"""So many bytes of events, beside messages, are told at once."""

_monotonic_of: Final = operator.itemgetter(1)


class QueueItem(Protocol):
    """Something in line."""

    def frames(self, inbound: ReceiveQueue) -> Iterator[Sequence[Frame]]:
        """Frames of it, in lists of one channel; each was published before the next is made."""


class ReceiveQueue:
    """The line between the tasks that read and the one that publishes.

    Only here are frames numbered, and only when they are asked for: so their numbers are in the
    order in which they are published. Times are those at which bytes came, but never earlier than
    that of the frame before: what was sent while they stood in line is not to be later than them.
    """

    def __init__(self, framer: Framer, clock: Clock) -> None:
        """Frames are made by `framer`; what tells of itself is stamped by `clock`."""
        self.framer = framer
        self.clock = clock
        self.teller = BodyNotes()
        self._latest: _Stamp = (0.0, 0.0)
        self._line: deque[QueueItem] = deque()
        self._waker = anyio.Event()

    def put(self, item: QueueItem) -> None:
        """Put something at the end of the line."""
        self._line.append(item)
        self._waker.set()

    def put_back(self, item: QueueItem) -> None:
        """Put something at the beginning of the line, where it was."""
        self._line.appendleft(item)

    def record_event(self, event: str, **fields: object) -> None:
        """Put an event in line (see `Framer.event`)."""
        self.put(_Told(event, fields, *self.stamp()))

    def stamp(self) -> tuple[float, float]:
        """Wall and monotonic time."""
        return self.clock.wall(), self.clock.monotonic()

    async def passed(self) -> None:
        """Wait until all that is in line now was made into frames, and these were published."""
        mark = _Mark()
        self.put(mark)
        await mark.reached.wait()

    def put_end_last(self) -> None:
        """Let what was put in line behind the end come before it."""
        if self._line:
            self._line.rotate(-1)

    async def next(self) -> Iterator[Sequence[Frame]]:
        """The frames of what is first in line."""
        while not self._line:
            self._waker = anyio.Event()
            await self._waker.wait()
        return self._line.popleft().frames(self)

    def waiting(self) -> Iterator[Sequence[Frame]]:
        """The frames of all that is in line, for who need not wait for more."""
        while self._line:
            yield from self._line.popleft().frames(self)

    def received(self, raws: Sequence[bytes], when: float, at: float) -> Iterator[Sequence[Frame]]:
        """Frame messages, a slice at a time; batches are cut."""
        for start in range(0, len(raws), _SLICE_LINES):
            part = raws[start : start + _SLICE_LINES]
            stamp = self._in_order((when, at))
            yield from self.framer.in_slices(part, *stamp)

    def event(self, name: str, stamp: _Stamp, **fields: object) -> Frame:
        """Frame an event (see `Framer.event`)."""
        when, at = self._in_order(stamp)
        return self.framer.event(name, when, at, **fields)

    def _in_order(self, stamp: _Stamp) -> _Stamp:
        """A time that is no earlier than that of any frame before."""
        latest = max(self._latest, self.framer.latest, key=_monotonic_of)
        self._latest = stamp if stamp[1] >= latest[1] else latest
        return self._latest


class _Told(NamedTuple):
    """An event."""

    event: str
    fields: dict[str, object]
    when: float
    at: float

    def frames(self, inbound: ReceiveQueue) -> Iterator[Sequence[Frame]]:
        yield [inbound.event(self.event, (self.when, self.at), **self.fields)]


class _Mark:
    """A place in line."""

    def __init__(self) -> None:
        self.reached = anyio.Event()

    def frames(self, _inbound: ReceiveQueue) -> Iterator[Sequence[Frame]]:
        self.reached.set()
        yield []


class QueueEnd:
    """Nothing comes after it."""

    def frames(self, inbound: ReceiveQueue) -> Iterator[Sequence[Frame]]:
        """Stay where it is, whatever comes later."""
        inbound.put_back(self)
        raise anyio.EndOfStream


class MessageBody(NamedTuple):
    """A body that is one message, or one batch."""

    exchange: int
    raw: bytes
    when: float
    at: float

    def frames(self, inbound: ReceiveQueue) -> Iterator[Sequence[Frame]]:
        """Frames of it, after what it came on."""
        told = inbound.teller.report_body(self.exchange)
        stamp = self.when, self.at
        yield [inbound.event("http_events", stamp, exchange=self.exchange, events=told)]
        yield from inbound.received([self.raw], self.when, self.at)


class UnansweredRequest(NamedTuple):
    """A request of ours gets no reply: told as an event, then to who waits for it."""

    line: WireLine
    request: int
    loss: Loss
    when: float
    at: float

    def frames(self, inbound: ReceiveQueue) -> Iterator[Sequence[Frame]]:
        """The event, unless the request is over already."""
        if not self.line.is_due(self.request):
            return
        outcome, text = self.loss.outcome, self.loss.problem.as_text()
        fields = {"request": self.request, "outcome": outcome, "text": text}
        yield [inbound.event("call_ended", (self.when, self.at), **fields)]
        self.line.lost(self.request, self.loss)


def leave(_event: SseEvent) -> None:
    """What is done with events that are no messages."""


class EventStream:
    """The events of one response, in line whenever there are bytes of it that were not parsed.

    Bytes of many small chunks are parsed and framed together: whoever reads them is not slowed
    down by what each costs.
    """

    def __init__(
        self,
        inbound: ReceiveQueue,
        exchange: int,
        on_other: Callable[[SseEvent], None] = leave,
        most: int = MOST_BYTES,
    ) -> None:
        """Nothing came yet of the response of `exchange`.

        Events that are no messages go to `on_other`.
        """
        self.retry_ms: int | None = None
        """When to come back, as the server said."""
        self.too_large: SseTooLargeError | None = None
        """Why no more is taken; None as long as it is."""
        self.count = 0
        """How many messages came."""
        self.oddity = ""
        """What is odd about its end, once that is framed; words that follow others."""
        self._inbound = inbound
        self._exchange = exchange
        self._on_other = on_other
        self._parser = SseParser(most)
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._stamp = (0.0, 0.0)
        self._has_ended = False
        self._last = b""
        self._taken = anyio.Event()

    @property
    def last_event_id(self) -> str | None:
        """From where the stream can be taken up; None where it cannot be."""
        return self._parser.last_event_id or None

    @property
    def ended_with_reply(self) -> bool:
        """Whether the last message that came is a reply, to whatever; unknown of a huge one."""
        return len(self._last) <= OVERSIZED and decode(self._last).kind in _REPLIES

    @property
    def held_bytes(self) -> int:
        """Bytes that were added and are not framed: unparsed, or an event whose end is to come."""
        return self._held_bytes + self._parser.held_bytes

    def add(self, data: bytes) -> bool:
        """Take bytes; whether those that wait are enough for now, see `room`."""
        self._held.append(data)
        self._held_bytes += len(data)
        if len(self._held) == 1:
            self._stamp = self._inbound.stamp()
            self._inbound.put(self)
        return self._held_bytes > _HELD_BYTES or self.too_large is not None

    def end(self) -> None:
        """Take no more: an event that the stream ended within is told as well."""
        self._has_ended = True
        if not self._held:
            self._stamp = self._inbound.stamp()
            self._inbound.put(self)

    async def room(self) -> None:
        """Wait until what was added is parsed; `SseTooLargeError` when no more is taken."""
        while self._held and self.too_large is None:
            self._taken = anyio.Event()
            await self._taken.wait()
        if self.too_large is not None:
            raise self.too_large

    def frames(self, inbound: ReceiveQueue) -> Iterator[Sequence[Frame]]:
        """Frames of what was added since the last time."""
        data = b"".join(self._held)
        self._held.clear()
        self._held_bytes = 0
        self._taken.set()
        stamp = self._stamp  # more may be added before all of this is published
        for portion in _portions(data):
            yield from self._portion(portion, stamp)
        if self._has_ended and not self._held and (rest := self._parser.end()):
            self.oddity = self._oddity(rest)
            yield from self._framed(rest, stamp)

    def _oddity(self, rest: list[SseEvent]) -> str:
        """Why what the stream ended within is no message, where it looks like one."""
        if any(event.data for event in rest):
            return _NO_BLANK_LINE
        begin = rest[0].raw.lstrip()[:1]
        return _BARE_JSON if not self.count and begin in _OPENING else ""

    def _portion(self, data: bytes, stamp: _Stamp) -> Iterator[Sequence[Frame]]:
        run = None if self.too_large else self._parser.feed_alike(data)
        if run is None:
            yield from self._framed(self._parsed(data), stamp)
            return
        told = self._inbound.teller.report_run(self._exchange, run)
        yield from self._messages(told, run.datas, stamp)

    def _framed(self, events: list[SseEvent], stamp: _Stamp) -> Iterator[Sequence[Frame]]:
        if not events:
            yield []  # others get their turn all the same
        for group in _groups(events):
            told = self._inbound.teller.tell(self._exchange, group)
            raws = [event.data or b"" for event in group if event.is_message]
            for event in group:
                self._note(event)
            yield from self._messages(told, raws, stamp)

    def _messages(
        self, told: list[JsonObject], raws: Sequence[bytes], stamp: _Stamp
    ) -> Iterator[Sequence[Frame]]:
        inbound = self._inbound
        if told:
            name, number = "http_events", self._exchange
            yield [inbound.event(name, stamp, exchange=number, events=told)]
        self.count += len(raws)
        self._last = raws[-1] if raws else self._last
        yield from inbound.received(raws, *stamp)

    def _note(self, event: SseEvent) -> None:
        if event.retry_ms is not None:
            self.retry_ms = event.retry_ms
        if not event.is_message:
            self._on_other(event)

    def _parsed(self, data: bytes) -> list[SseEvent]:
        if self.too_large is not None:
            return []
        try:
            return self._parser.feed(data)
        except SseTooLargeError as error:
            self.too_large = error
            return error.events


def _groups(events: list[SseEvent]) -> Iterator[list[SseEvent]]:
    """Events that are told at once: a long one has many pieces. They are taken out of `events`."""
    events.reverse()
    while events:
        group: list[SseEvent] = []
        size = 0
        while events and size < _TOLD_BYTES:
            event = events.pop()
            size += len(event.before) + len(event.after) + len(event.whole or b"")
            group.append(event)
        yield group


def _portions(data: bytes) -> Iterator[bytes]:
    """Cut bytes into what is parsed at once; what mostly are ends of line into less."""
    for begin in range(0, len(data), _PORTION):
        portion = data[begin : begin + _PORTION]
        lines = portion.count(b"\n") + portion.count(b"\r")
        step = _SMALL_PORTION if lines > _PORTION_LINES else _PORTION
        for start in range(0, len(portion), step):
            yield portion[start : start + step]

"""Queues what the response readers received, and makes frames of it on demand."""

from __future__ import annotations

import operator
from collections import deque
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.protocol.framing import RUN_LINES
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

if TYPE_CHECKING:
    _Stamp = tuple[float, float]

MOST_BYTES: Final = 256 * 1024 * 1024
"""A longer message is refused: its response is closed, and its request fails."""
_HELD_BYTES: Final = 256 * 1024
"""Bytes of one stream that wait here before its socket is no longer read."""
_PORTION: Final = 80 * 1024
_PORTION_LINES: Final = 4096
_SMALL_PORTION: Final = 4 * 1024
"""Bytes that are parsed at once, fewer if they are mostly line ends: other tasks run between."""

_NO_BLANK_LINE: Final = "its last event was dropped because no blank line follows it"
_BARE_JSON: Final = 'the content looks like JSON, but events must start with "data:"'
_REPLIES: Final = frozenset({Kind.RESULT, Kind.ERROR})
_OPENING: Final = frozenset({b"{", b"["})

_EVENT_BYTES: Final = 64 * 1024  # bytes of events, besides messages, that are described at once

_monotonic_of: Final = operator.itemgetter(1)


class ReceiveQueue:
    """The queue between the reading tasks and the publishing one.

    Frames are numbered only here, and only on demand, so their numbers are in the order in which
    they are published. Times are those at which bytes arrived, but never earlier than that of the
    frame before: later events must not have earlier times.
    """

    def __init__(self, framer: Framer, clock: Clock) -> None:
        """`framer` makes frames; `clock` stamps our own events."""
        self.framer = framer
        self.clock = clock
        self.teller = BodyNotes()
        self._latest: _Stamp = (0.0, 0.0)
        self._line: deque[Iterator[Sequence[Frame]] | None] = deque()
        """What makes frames when its turn comes; None is the end, which stays last."""
        self._waker = anyio.Event()

    def put(self, frames: Iterator[Sequence[Frame]] | None) -> None:
        """Queue frames of one channel, made once those before are published; None ends it."""
        self._line.append(frames)
        self._waker.set()

    def record_event(self, event: str, /, **fields: object) -> None:
        self.put(self._event(event, self.stamp(), fields))

    def stamp(self) -> tuple[float, float]:
        """Wall and monotonic time."""
        return self.clock.wall(), self.clock.monotonic()

    async def passed(self) -> None:
        """Wait until everything in the queue was framed and published."""
        reached = anyio.Event()

        def mark() -> Iterator[Sequence[Frame]]:
            reached.set()
            yield []

        self.put(mark())
        await reached.wait()

    def put_end_last(self) -> None:
        """Move the end behind items that were queued after it."""
        if self._line:
            self._line.rotate(-1)

    async def next(self) -> Iterator[Sequence[Frame]]:
        while not self._line:
            self._waker = anyio.Event()
            await self._waker.wait()
        frames = self._line.popleft()
        if frames is None:
            self._line.appendleft(None)
            raise anyio.EndOfStream
        return frames

    def waiting(self) -> Iterator[Sequence[Frame]]:
        """The frames of all queued items, for those who need not wait for more."""
        while self._line:
            yield from self._line.popleft() or ()

    def _event(
        self, name: str, stamp: _Stamp, fields: dict[str, object]
    ) -> Iterator[Sequence[Frame]]:
        yield [self.event(name, stamp, **fields)]

    def body(self, exchange: int, raw: bytes, stamp: _Stamp) -> Iterator[Sequence[Frame]]:
        """The frames of a body that is one message, or one batch."""
        told = self.teller.report_body(exchange)
        yield [self.event("http_events", stamp, exchange=exchange, events=told)]
        yield from self.received([raw], *stamp)

    def received(self, raws: Sequence[bytes], when: float, at: float) -> Iterator[Sequence[Frame]]:
        """Frame messages, a slice at a time; batches are split."""
        for start in range(0, len(raws), RUN_LINES):
            stamp = self._in_order((when, at))
            yield from self.framer.in_slices(raws[start : start + RUN_LINES], *stamp)

    def event(self, name: str, stamp: _Stamp, /, **fields: object) -> Frame:
        when, at = self._in_order(stamp)
        return self.framer.event(name, when, at, **fields)

    def _in_order(self, stamp: _Stamp) -> _Stamp:
        """A time that is no earlier than that of any frame before."""
        latest = max(self._latest, self.framer.latest, key=_monotonic_of)
        self._latest = stamp if stamp[1] >= latest[1] else latest
        return self._latest


def leave(_event: SseEvent) -> None:
    """Ignores events that are not messages."""


class EventStream:
    """The events of one response, queued whenever it has unparsed bytes.

    Bytes of many small chunks are parsed and framed together: the readers need not pay for each.
    """

    def __init__(
        self,
        inbound: ReceiveQueue,
        exchange: int,
        on_other: Callable[[SseEvent], None] = leave,
        most: int = MOST_BYTES,
    ) -> None:
        """An empty stream for the response of `exchange`.

        Events that are not messages go to `on_other`.
        """
        self.retry_ms: int | None = None  # when to reconnect, as the server requested
        self.too_large: SseTooLargeError | None = None
        """Why no more is accepted; None as long as it is."""
        self.count = 0  # the number of messages that arrived
        self.oddity = ""  # a note about its end, once that is framed; it follows another text
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
        """The id from which the stream can be resumed; None if it cannot be."""
        return self._parser.last_event_id or None

    @property
    def ended_with_reply(self) -> bool:
        """True if the last message is a reply, to anything; unknown for a huge one."""
        return len(self._last) <= OVERSIZED and decode(self._last).kind in _REPLIES

    @property
    def held_bytes(self) -> int:
        """Bytes that were added and are not framed: unparsed, or in an incomplete event."""
        return self._held_bytes + self._parser.held_bytes

    def add(self, data: bytes) -> bool:
        """Add bytes; whether enough are waiting, see `room`."""
        self._held.append(data)
        self._held_bytes += len(data)
        if len(self._held) == 1:
            self._stamp = self._inbound.stamp()
            self._inbound.put(self.frames())
        return self._held_bytes > _HELD_BYTES or self.too_large is not None

    def end(self) -> None:
        """Accept no more: an incomplete event is described as well."""
        self._has_ended = True
        if not self._held:
            self._stamp = self._inbound.stamp()
            self._inbound.put(self.frames())

    async def room(self) -> None:
        """Wait until the bytes are parsed; `SseTooLargeError` if no more is accepted."""
        while self._held and self.too_large is None:
            self._taken = anyio.Event()
            await self._taken.wait()
        if self.too_large is not None:
            raise self.too_large

    def frames(self) -> Iterator[Sequence[Frame]]:
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
        """Say why an incomplete event is not a message, if it looks like one."""
        if any(event.data for event in rest):
            return _NO_BLANK_LINE
        begin = rest[0].raw.lstrip()[:1]
        return _BARE_JSON if not self.count and begin in _OPENING else ""

    def _portion(self, data: bytes, stamp: _Stamp) -> Iterator[Sequence[Frame]]:
        run = None if self.too_large else self._parser.feed_alike(data)
        if run is None:
            yield from self._framed(self._parsed(data), stamp)
            return
        reports = self._inbound.teller.report_run(self._exchange, run)
        yield from self._messages(reports, run.datas, stamp)

    def _framed(self, events: list[SseEvent], stamp: _Stamp) -> Iterator[Sequence[Frame]]:
        if not events:
            yield []  # other tasks run nevertheless
        for group in _groups(events):
            reports = self._inbound.teller.report_events(self._exchange, group)
            raws = [event.data or b"" for event in group if event.is_message]
            for event in group:
                self._note(event)
            yield from self._messages(reports, raws, stamp)

    def _messages(
        self, reports: list[JsonObject], raws: Sequence[bytes], stamp: _Stamp
    ) -> Iterator[Sequence[Frame]]:
        inbound = self._inbound
        if reports:
            name, number = "http_events", self._exchange
            yield [inbound.event(name, stamp, exchange=number, events=reports)]
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
    """Events that are described at once: a long one has many pieces.

    They are removed from `events`.
    """
    events.reverse()
    while events:
        group: list[SseEvent] = []
        size = 0
        while events and size < _EVENT_BYTES:
            event = events.pop()
            size += len(event.before) + len(event.after) + len(event.whole or b"")
            group.append(event)
        yield group


def _portions(data: bytes) -> Iterator[bytes]:
    """Split bytes into what is parsed at once; fewer if they are mostly line ends."""
    for begin in range(0, len(data), _PORTION):
        portion = data[begin : begin + _PORTION]
        lines = max(portion.count(b"\n"), portion.count(b"\r"))
        step = _SMALL_PORTION if lines > _PORTION_LINES else _PORTION
        for start in range(0, len(portion), step):
            yield portion[start : start + step]

"""Server-sent events (WHATWG HTML): a stream's bytes in, whole events out, nothing lost.

    parser = SseParser(most=256 * 2**20)
    for chunk in body:
        for event in parser.feed(chunk):
            if event.is_message: …  # `event.data` is the frame's bytes
    rest = parser.end()             # what the stream ended within

Of a long event, what is no message comes in pieces, each like an event that says nothing, before
and after the one that has its data. A flood is read faster by asking `feed_alike` for each chunk
first. Every byte stands in exactly one event's `raw`, so that the stream can be put together again;
how that is told in a recording is in `protocol.http_events`. A second EventSource rule is left
to the caller: `last_event_id` is what a resumed stream is asked from.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.protocol.sse_fields import Fields
from mcp_progress_monitor.protocol.sse_long import PIECE, LongEvent
from mcp_progress_monitor.protocol.sse_run import shape_of

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.sse_run import Shape, SseRun

_BOM = b"\xef\xbb\xbf"
# A lone CR counts only where no LF follows, or a CRLF would be taken for two ends of line.
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")
# Lines that say nothing: blank ones and comments.
_IDLE = re.compile(rb"(?::[^\r\n]*+|[\r\n]++)*+")
_IDLE_STARTS = frozenset((b"", b":", b"\r", b"\n"))
_DATA = b"data: "
# An event that is longer is read as it comes, not all at its end.
_LONG = 8 * 1024
_MOST_HEADS = 512
# Skips the named tuple's own constructor, which takes as long again for every event.
_new = tuple.__new__


class SseEvent(NamedTuple):
    """One event as it stood in the stream, with its blank line.

    `data` is what its data lines hold, joined with LF, None if it has none. Where they are one
    line, `before` and `after` are the exact bytes around it; otherwise `whole` is all of the
    event and they are empty. `name` is "" where none is given; `id` and `retry_ms` are None where
    the event does not set them. `is_complete` is False for what the stream ended within, which
    counts for nothing.
    """

    before: bytes
    data: bytes | None
    after: bytes
    whole: bytes | None
    name: str
    id: str | None
    retry_ms: int | None
    is_complete: bool = True

    @property
    def raw(self) -> bytes:
        """The exact bytes of the event."""
        if self.whole is not None:
            return self.whole
        return self.before + (self.data or b"") + self.after

    @property
    def is_message(self) -> bool:
        """Whether it carries a message: no comment, no priming event, no other name."""
        return bool(self.data) and self.name in {"", "message"} and self.is_complete


class SseTooLargeError(Exception):
    """An event is longer than allowed; `events` are those that were complete before it."""

    def __init__(self, size: int, most: int, events: list[SseEvent]) -> None:
        super().__init__(f"an event of more than {most} bytes ({size} so far)")
        self.size = size
        self.most = most
        self.events = events


class SseParser:
    """Cuts one stream into events, whatever its chunks, in time linear in its length.

    An event is given as soon as its blank line is there. Of an event longer than `most` bytes
    nothing is kept: `SseTooLargeError` is raised, and the parser is of no further use.
    """

    def __init__(self, most: int) -> None:
        self.last_event_id: str | None = None
        """The newest id that a complete event has set; None before the first."""
        self._most = most
        self._held: list[bytes] = []
        self._held_size = 0
        # The last two bytes held: an end of line of two bytes may be cut in two.
        self._tail = b""
        # Takes the place of what is held once that is much.
        self._long: LongEvent | None = None
        self._is_begun = False
        # What the lines before the data of usual events mean: most events of a stream share them.
        self._heads: dict[bytes, tuple[str, str | None, int | None]] = {}
        self._shape: Shape | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes; return the events they complete."""
        events: list[SseEvent] = []
        if self._tail:
            chunk = self._finish(chunk, events)
        pieces, blanks, rest = _cut(chunk)
        idle: list[bytes] = []
        for piece, blank in zip(pieces, blanks, strict=True):
            if piece[:1] in _IDLE_STARTS and self._is_idle(piece):
                idle += (piece, blank)
                continue
            if idle:
                events.append(_idle_event(b"".join(idle)))
                idle = []
            self._take(piece, blank, events)
        if idle:
            events.append(_idle_event(b"".join(idle)))
        if rest:
            self._hold(rest, events)
        if events:
            self._shape = shape_of(events[-1]) or self._shape
        return events

    def feed_alike(self, chunk: bytes) -> SseRun | None:
        """Take the next bytes, if the events they complete are alike, and like those before.

        None if they are not, or complete none: then nothing was taken, and `feed` must be called.
        """
        # Joined again and again with small chunks, a long event would take time without bound.
        if self._shape is None or self._long or self._held_size > len(chunk):
            return None
        text = b"".join((*self._held, chunk))
        found = self._shape.cut(text) if len(text) <= self._most else None
        if found is None:
            return None
        run, rest = found
        if len(rest) >= PIECE:  # pieces of it may have to be told at once
            return None
        self._drop()
        if rest:
            self._hold(rest, [])
        if run.ids:
            self.last_event_id = run.ids[-1]
        return run

    def end(self) -> list[SseEvent]:
        """At the end of the stream: return what it ended within, if that is anything."""
        long, raw = self._long, b"".join(self._held)
        self._drop()
        if long is not None:
            return _events_of(long, is_complete=False)
        return [self._parsed(raw, raw)._replace(is_complete=False)] if raw else []

    def _hold(self, rest: bytes, events: list[SseEvent]) -> None:
        self._held_size += len(rest)
        if self._held_size > self._most:
            size = self._held_size
            self._drop()
            raise SseTooLargeError(size, self._most, events)
        self._tail = rest[-2:] if len(rest) > 1 else (self._tail + rest)[-2:]
        if self._long is None:
            self._held.append(rest)
            if self._held_size <= _LONG or self._may_be_mark():
                return
            rest = b"".join(self._held)
            self._held.clear()
            self._long = LongEvent(self._begin(rest))
        self._long.add(rest)
        if pieces := self._long.release():
            self._held_size = self._long.size
            events += map(_idle_event, pieces)

    def _may_be_mark(self) -> bool:
        """Whether so little of the stream came that the mark at its begin may be cut."""
        return not self._is_begun and self._held_size < len(_BOM)

    def _drop(self) -> None:
        self._held.clear()
        self._held_size = 0
        self._tail = b""
        self._long = None

    def _finish(self, chunk: bytes, events: list[SseEvent]) -> bytes:
        """Complete the event held, if its blank line is there; return what follows it."""
        window = self._tail + chunk
        match = _BLANK_LINE.search(window)
        if match is None:
            return chunk
        start, stop = match.span()
        rest, long = window[len(self._tail) : stop], self._long
        if long is None:
            raw = b"".join(self._held) + rest
            self._drop()
            self._take(raw[: len(raw) - (stop - start)], window[start:stop], events)
        else:
            self._hold(rest, events)  # for it may be too long now
            self._drop()
            events += _events_of(long)
            if long.fields.id is not None:
                self.last_event_id = long.fields.id
        return window[stop:]

    def _is_idle(self, piece: bytes) -> bool:
        """Whether it says nothing, and can be told together with others that do not."""
        is_sound = self._is_begun and len(piece) + len(b"\r\n\r\n") <= self._most
        return is_sound and _IDLE.fullmatch(piece) is not None

    def _take(self, piece: bytes, blank: bytes, events: list[SseEvent]) -> None:
        size = len(piece) + len(blank)
        if size > self._most:
            raise SseTooLargeError(size, self._most, events)
        events.append(self._event(piece, blank))

    def _event(self, piece: bytes, blank: bytes) -> SseEvent:
        """The event of a piece and its blank line; ids that it sets become the newest."""
        head, mark, data = piece.partition(_DATA)
        is_usual = mark and b"\n" not in data and b"\r" not in data
        meaning = self._heads.get(head) if is_usual and self._is_begun else None
        if meaning is None:
            event = self._parsed(piece, piece + blank, blank)
        else:
            name, id_, retry_ms = meaning
            before = head + _DATA
            event = _new(SseEvent, (before, data, blank, None, name, id_, retry_ms, True))
        if event[5] is not None:
            self.last_event_id = event[5]
        return event

    def _parsed(self, piece: bytes, raw: bytes, blank: bytes = b"") -> SseEvent:
        """Read an event line by line."""
        fields = Fields(self._begin(piece))
        fields.read(piece)
        meaning = (fields.name, fields.id, fields.retry_ms)
        if fields.count != 1:
            return SseEvent(b"", fields.data, b"", raw, *meaning)
        begin, stop = fields.place
        before, after = piece[:begin], piece[stop:] + blank
        # What is remembered is only what holds for the same bytes anywhere in the stream.
        if stop == len(piece) and before.endswith(_DATA) and not fields.start:
            self._remember(before[: -len(_DATA)], fields)
        return SseEvent(before, fields.data, after, None, *meaning)

    def _begin(self, piece: bytes) -> int:
        """Where the lines of an event begin: after the mark that a stream may begin with."""
        is_first, self._is_begun = not self._is_begun, True
        return len(_BOM) if is_first and piece.startswith(_BOM) else 0

    def _remember(self, head: bytes, fields: Fields) -> None:
        # Ids differ with each event: remembering them would cost more than reading them.
        if _DATA in head or fields.id is not None:
            return
        if len(self._heads) >= _MOST_HEADS:
            self._heads.clear()
        self._heads[head] = (fields.name, fields.id, fields.retry_ms)


def _idle_event(raw: bytes) -> SseEvent:
    return SseEvent(b"", None, b"", raw, "", None, None)


def _events_of(long: LongEvent, *, is_complete: bool = True) -> list[SseEvent]:
    """A long event of which all has come, with its pieces."""
    long.finish()
    fields, size = long.fields, long.size
    data, meaning = fields.data, (fields.name, fields.id, fields.retry_ms)
    event = SseEvent(b"", data, b"", None, *meaning, is_complete)
    if fields.count == 1 and is_complete and (event.is_message or size <= PIECE):
        before, after = long.around()
        if sum(map(len, (*before, *after))) > PIECE:
            return [*map(_idle_event, before), event, *map(_idle_event, after)]
        return [event._replace(before=b"".join(before), after=b"".join(after))]
    pieces = list(long.pieces())
    if not pieces:
        return []
    if size <= PIECE:
        pieces = [b"".join(pieces)]
    return [*map(_idle_event, pieces[:-1]), event._replace(whole=pieces[-1])]


def _cut(chunk: bytes) -> tuple[list[bytes], list[bytes], bytes]:
    """The pieces before each blank line, the blank lines, and what follows the last."""
    blank = _only_blank_line(chunk)
    if blank:
        pieces = chunk.split(blank)
        rest = pieces.pop()
        return pieces, [blank] * len(pieces), rest
    pieces, blanks, begin = [], [], 0
    for match in _BLANK_LINE.finditer(chunk):
        pieces.append(chunk[begin : match.start()])
        blanks.append(match.group())
        begin = match.end()
    return pieces, blanks, chunk[begin:]


def _only_blank_line(chunk: bytes) -> bytes:
    """The one kind of blank line in `chunk`, if it has only one kind of end of line."""
    if b"\r" not in chunk:
        return b"\n\n"
    pairs = chunk.count(b"\r\n")
    if pairs == chunk.count(b"\r") == chunk.count(b"\n"):
        return b"\r\n\r\n"
    return b""

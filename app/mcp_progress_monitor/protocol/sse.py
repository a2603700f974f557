"""Server-sent events (WHATWG HTML): a stream's bytes in, complete events out, without losses.

Similar consecutive events are split at once; an event of hundreds of megabytes blocks nothing.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

END_OF_LINE: Final = re.compile(rb"\r\n|\n|\r")
_LONGEST_RETRY: Final = 12


class SseFields:
    """The meaning of one event's lines, the first of which begins at `start`."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.stop = 0  # how far the event is parsed
        self.count = 0  # how many lines of data it has
        self.place = (0, 0)  # where the value of the last of them is in the event
        self.name = ""
        self.id: str | None = None
        self.retry_ms: int | None = None
        self._lines: list[bytes] = []
        self._blocks: list[bytes] = []

    @property
    def data(self) -> bytes | None:
        return b"\n".join(self._blocks) if self.count else None

    def read(self, text: bytes) -> None:
        """Parse the lines of `text`, which follows the parsed part."""
        begin = 0 if self.stop else self.start
        for match in END_OF_LINE.finditer(text, begin):
            self._line(text, begin, match.start())
            begin = match.end()
        self._line(text, begin, len(text))
        self.stop += len(text)
        if self._lines:
            # Millions of short lines would take many times their bytes.
            self._gather(b"\n".join(self._lines))
            self._lines.clear()

    def _gather(self, block: bytes) -> None:
        self._blocks.append(block)

    def _line(self, piece: bytes, begin: int, stop: int) -> None:
        colon = piece.find(b":", begin, stop)
        if colon == begin:
            return
        field = piece[begin : stop if colon < 0 else colon]
        value = stop if colon < 0 else colon + 1
        if piece[value : min(value + 1, stop)] == b" ":
            value += 1
        match field:
            case b"data":
                self.count += 1
                self._lines.append(piece[value:stop])
                self.place = (self.stop + value, self.stop + stop)
            case b"event":
                self.name = piece[value:stop].decode(errors="replace")
            case b"id":
                self._identify(piece[value:stop])
            case b"retry":
                self._wait(piece[value:stop])
            case _:
                pass

    def _identify(self, value: bytes) -> None:
        if b"\0" not in value:
            self.id = value.decode(errors="replace")

    def _wait(self, value: bytes) -> None:
        if value.isdigit() and len(value) <= _LONGEST_RETRY:
            self.retry_ms = int(value)


class LongFields(SseFields):
    """The fields of a long event: its data is joined as it arrives, and needs no second copy.

    A line of data may be parsed before it is complete: `open_line`, `go_on`, `close_line`.
    """

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self._joined = io.BytesIO()
        self._is_some = False

    @property
    def data(self) -> bytes | None:
        """All lines of data, joined; None if there are none. Nothing may be added afterwards."""
        return self._joined.getvalue() if self.count else None  # the bytes themselves, no copy

    @property
    def are_empty(self) -> bool:
        """True if there was no field so far."""
        return not (self.count or self.name or self.id is not None or self.retry_ms is not None)

    def open_line(self, begin: int, value: bytes) -> None:
        """A line of data has arrived up to `value`, which begins `begin` bytes further on."""
        self.count += 1
        self._gather(value)
        self.place = (self.stop + begin, self.stop + begin + len(value))
        self.stop = self.place[1]

    def go_on(self, value: bytes) -> None:
        self._joined.write(value)
        self.stop += len(value)
        self.place = (self.place[0], self.stop)

    def skip(self, size: int) -> None:
        self.stop += size

    def _gather(self, block: bytes) -> None:
        if self._is_some:
            self._joined.write(b"\n")
        self._is_some = True
        self._joined.write(block)


PIECE: Final = 32 * 1024  # smallest piece, in bytes; larger chunks are not split
LONGEST_FIELD: Final = 64 * 1024
"""A longer id or event name is not read: the event has no id, or is not a message."""
_DATA_NAME: Final = b"data:"
_UNREAD_NAME: Final = "(too long)"


class LongEvent:
    """Bytes of one event, without its blank line."""

    def __init__(self, start: int) -> None:
        """Begin with nothing; its first line begins at `start`."""
        self.fields = LongFields(start)
        self.size = 0
        """The number of bytes held."""
        self._pieces: list[bytes] = []
        self._piece = bytearray()
        self._released = 0
        # The rest after the parsed lines, and whether it is a line whose end is not needed to know
        # its meaning.
        self._unread = bytearray()
        self._is_data = False
        self._is_skipped = False

    def add(self, text: bytes) -> None:
        self._keep(text)
        had_half = self._unread.endswith(b"\r")
        if self._is_data or self._is_skipped:
            text = self._within_line(text)
        if not text:
            return
        self._unread += text
        if had_half or b"\n" in text or b"\r" in text:
            self._read_lines()
        self._begin_line()

    def release(self) -> list[bytes]:
        """Pieces that have no meaning, whatever follows them; they are freed."""
        rest = bytes(self._unread)
        is_silent = self.fields.are_empty and not self._is_data
        if not is_silent or self.size - len(rest) < PIECE:
            return []
        pieces = list(self.pieces())
        if len(pieces[-1]) < len(rest):
            self._pieces = pieces
            return []
        pieces[-1] = pieces[-1][: len(pieces[-1]) - len(rest)]
        self._released += self.size - len(rest)
        self._piece += rest
        self.size = len(rest)
        return pieces

    def finish(self) -> None:
        if self._unread:
            self.fields.read(bytes(self._unread))
            self._unread.clear()

    def pieces(self) -> Iterator[bytes]:
        """All of it; each piece is freed once the next is requested."""
        if self._piece:
            self._pieces.append(bytes(self._piece))
            self._piece.clear()
        self._pieces.reverse()
        while self._pieces:
            yield self._pieces.pop()

    def around(self) -> tuple[list[bytes], list[bytes]]:
        """The pieces before and after the only line of data's value; the others are freed."""
        begin, stop = (place - self._released for place in self.fields.place)
        before: list[bytes] = []
        after: list[bytes] = []
        place = 0
        for piece in self.pieces():
            if place < begin:
                before.append(piece[: begin - place])
            if place + len(piece) > stop:
                after.append(piece[max(stop - place, 0) :])
            place += len(piece)
        return before, after

    def _keep(self, text: bytes) -> None:
        self.size += len(text)
        if not self._piece and len(text) >= PIECE:
            self._pieces.append(text)
            return
        self._piece += text
        if len(self._piece) >= PIECE:
            self._pieces.append(bytes(self._piece))
            self._piece.clear()

    def _within_line(self, text: bytes) -> bytes:
        """Continue within a line; the rest after it, with its line end."""
        match = END_OF_LINE.search(text)
        stop = len(text) if match is None else match.start()
        if self._is_data:
            self.fields.go_on(text[:stop])
        else:
            self.fields.skip(stop)
        if match is not None:
            self._is_data = self._is_skipped = False
        return text[stop:]

    def _read_lines(self) -> None:
        unread = self._unread
        # A CR at the end may be half of a line end.
        stop = 1 + max(unread.rfind(b"\n"), unread.rfind(b"\r", 0, len(unread) - 1))
        if stop:
            self.fields.read(bytes(unread[:stop]))
            del unread[:stop]

    def _begin_line(self) -> None:
        """Determine the kind of the incomplete line, as far as possible."""
        unread = self._unread
        start = 0 if self.fields.stop else self.fields.start
        if len(unread) <= start + len(_DATA_NAME) or b"\r" in unread[start:]:
            return
        if unread.startswith(_DATA_NAME, start):
            begin = start + len(_DATA_NAME)
            begin += unread[begin : begin + 1] == b" "
            self.fields.open_line(begin, bytes(unread[begin:]))
            self._is_data = True
        elif unread.startswith(b":", start) or len(unread) > LONGEST_FIELD:
            if unread.startswith(b"event:", start):
                self.fields.name = _UNREAD_NAME
            self.fields.skip(len(unread))
            self._is_skipped = True
        else:
            return
        unread.clear()


class SseRun(NamedTuple):
    """Consecutive messages, each its own event: `opening`, id and `middle`, its data, `blank`.

    Where events have no ids, `ids` is None and `middle` empty.
    """

    opening: bytes
    middle: bytes
    blank: bytes
    datas: list[bytes]
    ids: list[str] | None = None

    @property
    def around_last(self) -> tuple[bytes, bytes]:
        """The bytes before and after the data of its last event."""
        id_ = self.ids[-1].encode() if self.ids else b""
        return self.opening + id_ + self.middle, self.blank


class SseShape(NamedTuple):
    """The bytes around the data of usual events; if `has_ids`, an id after `opening`."""

    opening: bytes
    middle: bytes
    blank: bytes
    has_ids: bool

    def cut(self, text: bytes) -> tuple[SseRun, bytes] | None:
        """The events that `text` begins with, and the rest after the last; None if any differs."""
        end = text.rfind(self.blank)
        if end < 0 or not text.startswith(self.opening) or self._may_strip(text):
            return None
        body, rest = text[len(self.opening) : end], text[end + len(self.blank) :]
        pieces = body.split(self.blank + self.opening)
        if not self._has_only(body, len(pieces)) or _may_end(rest):
            return None
        ids, datas = self._read(pieces) if self.has_ids else (None, pieces)
        # Without data an event is not a message.
        if b"" in datas or (self.has_ids and ids is None):
            return None
        return SseRun(self.opening, self.middle, self.blank, datas, ids), rest

    def _may_strip(self, text: bytes) -> bool:
        """Return whether a space may be where the standard removes one."""
        leads = (self.opening, self.middle)
        return any(lead.endswith(b":") and lead + b" " in text for lead in leads)

    def _has_only(self, body: bytes, count: int) -> bool:
        """Return whether all line ends in `body` are those of so many events of this shape."""
        between = self.blank + self.opening
        return all(
            body.count(end) == (count - 1) * between.count(end) + count * self.middle.count(end)
            for end in (b"\n", b"\r")
        )

    def _read(self, pieces: list[bytes]) -> tuple[list[str] | None, list[bytes]]:
        """Ids and data of the events; None for ids that must be parsed one by one."""
        parts = [piece.partition(self.middle) for piece in pieces]
        datas = [part[2] for part in parts]
        whole, middles = b"\n".join([part[0] for part in parts]), [part[1] for part in parts]
        # With as many line ends as there are middles, none has two if each has one.
        if b"\0" in whole or not all(middles):
            return None, datas
        try:
            return whole.decode().split("\n"), datas
        except UnicodeDecodeError:
            return None, datas


def _may_end(rest: bytes) -> bool:
    """Return whether an event may end within `rest`, by a blank line of another kind."""
    return (b"\n\n" in rest) or (b"\n\r" in rest) or (b"\r\r" in rest)


_BOM = b"\xef\xbb\xbf"
# A lone CR counts only if no LF follows, or a CRLF would be taken for two line ends.
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")
# Lines without meaning: blank ones and comments.
_IDLE = re.compile(rb"(?::[^\r\n]*+|[\r\n]++)*+")
_IDLE_STARTS = frozenset((b"", b":", b"\r", b"\n"))
_DATA = b"data: "
# A longer event is parsed as it arrives, not all at its end.
_LONG = 8 * 1024
_MOST_HEADS = 512
# The named tuple's own constructor would double the time of every event.
_new = tuple.__new__

_BLANKS = (b"\n\n", b"\r\n\r\n")


class SseEvent(NamedTuple):
    """One event as it was in the stream, with its blank line.

    `data` is the content of its data lines, joined with LF, None if it has none. Where they are one
    line, `before` and `after` are the exact bytes around it; otherwise `whole` is all of the event
    and they are empty. `name` is "" if none is given; `id` and `retry_ms` are None if the event
    does not set them. `is_complete` is False for an event that the stream ended within, which does
    not count.
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
        if self.whole is not None:
            return self.whole
        return self.before + (self.data or b"") + self.after

    @property
    def is_message(self) -> bool:
        """True if it carries a message: not a comment, priming event, or another name."""
        return bool(self.data) and self.name in {"", "message"} and self.is_complete


class SseTooLargeError(Exception):
    """An event is longer than allowed; `events` are those that were complete before it."""

    def __init__(self, size: int, most: int, events: list[SseEvent]) -> None:
        super().__init__(f"an event of more than {most} bytes ({size} so far)")
        self.size = size
        self.most = most
        self.events = events


class SseParser:
    """Splits one stream into events, whatever its chunks, in time linear in its length.

    An event is returned as soon as its blank line has arrived. Nothing is kept of an event longer
    than `most` bytes: `SseTooLargeError` is raised, and the parser cannot be used any more.
    """

    def __init__(self, most: int) -> None:
        self.last_event_id: str | None = None
        """The newest id that a complete event has set; None before the first."""
        self._most = most
        self._held: list[bytes] = []
        self._held_size = 0
        # The last two bytes held: a line end of two bytes may be cut in two.
        self._tail = b""
        # Replaces the held bytes once there are that many.
        self._long: LongEvent | None = None
        self._is_begun = False
        # The meaning of the lines before the data of usual events: most events share them.
        self._heads: dict[bytes, tuple[str, str | None, int | None]] = {}
        self._shape: SseShape | None = None

    @property
    def held_bytes(self) -> int:
        """Bytes of an event whose blank line has not arrived."""
        return self._held_size

    def feed(self, chunk: bytes) -> list[SseEvent]:
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
        """Add bytes, if the events they complete are similar, and like those before.

        None if they are not, or complete none: then nothing was added, and `feed` must be called.
        """
        # Joined again and again with small chunks, a long event would take quadratic time.
        if self._shape is None or self._long or self._held_size > len(chunk):
            return None
        text = b"".join((*self._held, chunk))
        found = self._shape.cut(text) if len(text) <= self._most else None
        if found is None:
            return None
        run, rest = found
        if len(rest) >= PIECE:  # pieces of it may have to be described at once
            return None
        self._drop()
        if rest:
            self._hold(rest, [])
        if run.ids:
            self.last_event_id = run.ids[-1]
        return run

    def end(self) -> list[SseEvent]:
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
        """True if so little of the stream has arrived that a mark at its beginning may be cut."""
        return not self._is_begun and self._held_size < len(_BOM)

    def _drop(self) -> None:
        self._held.clear()
        self._held_size = 0
        self._tail = b""
        self._long = None

    def _finish(self, chunk: bytes, events: list[SseEvent]) -> bytes:
        """Complete the held event, if its blank line is there; return the rest after it."""
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
        """Return whether it has no meaning, and can be described together with similar ones."""
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
        fields = SseFields(self._begin(piece))
        fields.read(piece)
        meaning = (fields.name, fields.id, fields.retry_ms)
        if fields.count != 1:
            return SseEvent(b"", fields.data, b"", raw, *meaning)
        begin, stop = fields.place
        before, after = piece[:begin], piece[stop:] + blank
        # Only what holds for the same bytes anywhere in the stream is remembered.
        if stop == len(piece) and before.endswith(_DATA) and not fields.start:
            self._remember(before[: -len(_DATA)], fields)
        return SseEvent(before, fields.data, after, None, *meaning)

    def _begin(self, piece: bytes) -> int:
        """Return where the lines of an event begin: after a byte order mark of the stream."""
        is_first, self._is_begun = not self._is_begun, True
        return len(_BOM) if is_first and piece.startswith(_BOM) else 0

    def _remember(self, head: bytes, fields: SseFields) -> None:
        # Ids differ with each event: remembering them would cost more than parsing them.
        if _DATA in head or fields.id is not None:
            return
        if len(self._heads) >= _MOST_HEADS:
            self._heads.clear()
        self._heads[head] = (fields.name, fields.id, fields.retry_ms)


def _idle_event(raw: bytes) -> SseEvent:
    return SseEvent(b"", None, b"", raw, "", None, None)


def _events_of(long: LongEvent, *, is_complete: bool = True) -> list[SseEvent]:
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
    """The pieces before each blank line, the blank lines, and the rest after the last."""
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
    """The only kind of blank line in `chunk`, if it has only one kind of line end."""
    if b"\r" not in chunk:
        return b"\n\n"
    pairs = chunk.count(b"\r\n")
    if pairs == chunk.count(b"\r") == chunk.count(b"\n"):
        return b"\r\n\r\n"
    return b""


def shape_of(event: SseEvent) -> SseShape | None:
    """The shape of an event, for later ones; None if it is unusual."""
    before, blank = event.before, event.after
    if event.whole is not None or not event.is_message or blank not in _BLANKS:
        return None
    if event.retry_ms is not None or not _is_plain(before):
        return None
    lines = before.replace(b"\r\n", b"\n").split(b"\n")
    if event.id is None:
        return SseShape(before, b"", blank, has_ids=False)
    if b"id" in lines or sum(line.startswith(b"id:") for line in lines) != 1:
        return None
    return _with_id(before, blank, event.id.encode())


def _is_plain(before: bytes) -> bool:
    """Return whether it has whole lines, in UTF-8, with at most two kinds of line ends."""
    try:
        before.decode()
    except UnicodeDecodeError:
        return False
    is_begun = before[:1] in {b"\n", b"\r"} or before.startswith(b"\xef\xbb\xbf")
    return not is_begun and before.count(b"\r") == before.count(b"\r\n")


def _with_id(before: bytes, blank: bytes, id_: bytes) -> SseShape | None:
    """The shape of an event whose only line of an id says `id_`."""
    place = 0 if before.startswith(b"id:") else before.find(b"\nid:") + 1
    begin = place + len(b"id: ") if before[place:].startswith(b"id: ") else place + len(b"id:")
    stop = begin + len(id_)
    opening, middle = before[:begin], before[stop:]
    if before[begin:stop] != id_ or middle[:1] not in {b"\n", b"\r"}:
        return None
    return SseShape(opening, middle, blank, has_ids=True)

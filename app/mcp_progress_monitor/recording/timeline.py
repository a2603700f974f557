"""All frames of a session by place, read on demand: for Traffic, filters and exports."""

from __future__ import annotations

import bisect
import os
from array import array
from typing import TYPE_CHECKING, Final, Protocol

from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind, Part
from mcp_progress_monitor.recording.format import unescaped
from mcp_progress_monitor.recording.index import Columns, FrameSource, Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path


def _open(path: str, flags: int) -> int:
    """Open without waiting: in place of the file there may be a pipe by now."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class FileBytes:
    """Reads ranges of a file (see `timeline.Bytes`).

    The file is opened for each of them, in about 15 µs, so that it can be renamed, grow, or be
    deleted meanwhile on every platform.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, offset: int, size: int) -> bytes:
        """The bytes from `offset` on; fewer, or none, if they are gone or unreadable."""
        pieces: list[bytes] = []
        try:
            with open(self._path, "rb", buffering=0, opener=_open) as file:
                file.seek(offset)
                while size > 0 and (piece := file.read(size)):
                    pieces.append(piece)
                    size -= len(piece)
        except OSError:
            return b"".join(pieces)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_UNKNOWN: Final = FrameSource("", Channel.EVENT)
_GAP: Final = 4096  # a gap between two frames up to which it is read rather than skipped
_AT_ONCE: Final = 4 * 1024 * 1024  # bytes read at once, unless one frame is larger
_SPLICED_APART: Final = 64 * 1024
"""Gap between two frames of a file up to which they belong to one stretch."""


class Bytes(Protocol):
    """The storage of a part's bytes: a file, or memory if nothing is recorded."""

    def read(self, offset: int, size: int) -> bytes:
        """The bytes from `offset` on; fewer, or none, if they are gone or unreadable."""


WATCHED_PART: Final = -1  # the part of all frames whose bytes are in other programs' recordings


class SplicedBytes:
    """Stretches of many files as one part, in the order in which they were indexed.

    Ten growing files would otherwise be ten parts, and the index begins a segment wherever the part
    changes.
    """

    def __init__(self) -> None:
        self._begins = array("Q")
        self._offsets = array("Q")
        self._sources: list[Bytes] = []
        self._end = 0

    def enter(self, source: Bytes, begin: int, end: int) -> int:
        """Add the bytes `begin` to `end` of a file; returns how much further on they are here."""
        if self._sources and self._sources[-1] is source:
            shift = self._begins[-1] - self._offsets[-1]
            if self._offsets[-1] <= begin <= self._end - shift + _SPLICED_APART:
                self._end = max(self._end, end + shift)
                return shift
        # Separated from what precedes them: no read crosses from one file into another.
        at = self._end + _GAP + 1
        self._begins.append(at)
        self._offsets.append(begin)
        self._sources.append(source)
        self._end = at + end - begin
        return at - begin

    def read(self, offset: int, size: int) -> bytes:
        """The bytes from `offset` on; fewer, or none, if they are gone or unreadable."""
        place = bisect.bisect_right(self._begins, offset) - 1
        if place < 0:
            return b""
        return self._sources[place].read(offset - self._begins[place] + self._offsets[place], size)


class Timeline:
    """Frames by place: a frame's place is the number of frames before it, including dropped ones.

    Places never change, so rows, searches and selections survive the dropping of old frames. Bytes
    are read on demand; everything else is in the index in memory.
    """

    def __init__(self) -> None:
        self.columns = Columns()
        self.closed = 0
        """Places below this one may still be in a file, although they are no longer in memory."""
        self._parts: dict[int, Bytes] = {}
        self._numberings: dict[str, Callable[[int], int | None]] = {}

    @property
    def first(self) -> int:
        return self.columns.first

    @property
    def end(self) -> int:
        return self.columns.end

    @property
    def gap(self) -> range:
        """Places between `first` and `end` whose frames are gone; empty if there are none."""
        return self.columns.gap

    @property
    def dropped(self) -> int:
        """The number of lost frames: the oldest, and those in the gap."""
        return self.columns.first + len(self.columns.gap)

    @property
    def is_closed(self) -> bool:
        """True if the oldest are gone only from memory: the recording's files may have them."""
        return 0 < self.columns.first == self.closed

    def add_part(self, number: int, source: Bytes) -> None:
        self._parts[number] = source

    def drop_part(self, number: int) -> None:
        self.columns.drop_part(number)
        self._parts.pop(number, None)

    def note_numbering(self, connection: str, number_of: Callable[[int], int | None]) -> None:
        """Map the numbers by which events of a connection refer to frames to ours."""
        self._numberings[connection] = number_of

    def number_here(self, connection: str, number: int) -> int | None:
        """The number of a frame that an event of `connection` refers to; None if unknown."""
        number_of = self._numberings.get(connection)
        return number if number_of is None else number_of(number)

    def keep_newest(self, rows: int) -> None:
        """Keep about so many of the newest rows in memory; files do not change.

        Whole segments are dropped: up to `ROWS` fewer may be left.
        """
        before = self.first
        self.columns.keep_newest(rows)
        if self.first != before:
            self.closed = self.first

    def give_up(self, number: int, kept: int, following: int) -> None:
        """Drop those rows of a part whose bytes are after its first `kept`.

        All others up to the part with the number `following` go with them: elements of batches of
        older parts. `gap` says where the rows were, unless they were the oldest.
        """
        columns = self.columns
        start = _first_behind(columns.segments, number, kept)
        if start is not None:
            ends = (each.first for each in columns.segments if each.part >= following)
            columns.give_up(start, max(start, next(ends, columns.end)))
        if not kept:
            self._parts.pop(number, None)

    def clear(self) -> None:
        """Drop all frames, so that they arrive again from place 0: a replay restarts.

        The one exception to places that never change.
        """
        self.columns = Columns()

    def frame(self, place: int, limit: int | None = None) -> Frame | None:
        """The frame at `place`; None if it is gone or does not exist yet.

        With `limit`, `raw` has at most so many of its first bytes.
        """
        found = self.columns.locate(place)
        if found is None:
            return None
        segment, row = found
        size = segment.sizes[row]
        raw = self._read(segment, segment.base + segment.offsets[row], _least(size, limit))
        return self._made(segment, row, raw)

    def frames(self, start: int, stop: int) -> list[Frame]:
        """The frames from `start` up to `stop`, without dropped ones, in few reads."""
        found: list[Frame] = []
        for segment, rows in self.stretches(start, stop):
            found += self.frames_of(segment, rows)
        return found

    def stretches(self, start: int, stop: int) -> Iterator[tuple[Segment, range]]:
        """The segments from `start` up to `stop`, each with its rows in that range."""
        place = max(start, self.first)
        while (at := self.columns.locate(self.columns.after(place))) is not None:
            segment, row = at
            until = min(len(segment), stop - segment.first)
            if until <= row:
                return
            yield segment, range(row, until)
            place = segment.first + until

    def frames_of(self, segment: Segment, rows: Sequence[int]) -> list[Frame]:
        """The frames of some rows of a segment, in increasing order."""
        return [
            self._made(segment, row, raw)
            for row, raw in zip(rows, self.raws(segment, rows), strict=True)
        ]

    def raws(self, segment: Segment, rows: Sequence[int]) -> list[bytes]:
        """The bytes of some rows, in increasing order, as on disk (see `Source.is_escaped`)."""
        raws: list[bytes] = []
        offsets, sizes = segment.offsets, segment.sizes
        done = 0
        while done < len(rows):
            begin = offsets[rows[done]]
            end, until = begin + sizes[rows[done]], done + 1
            while until < len(rows):
                offset = offsets[rows[until]]
                after = offset + sizes[rows[until]]
                if not (begin <= offset <= end + _GAP and after - begin <= _AT_ONCE):
                    break
                end, until = max(end, after), until + 1
            block = self._read(segment, segment.base + begin, end - begin)
            for row in rows[done:until]:
                at = offsets[row] - begin
                raws.append(block[at : at + sizes[row]])
            done = until
        return raws

    def piece(self, segment: Segment, row: int, begin: int, size: int) -> bytes:
        """Up to `size` bytes of a row's, from `begin` on, as on disk."""
        size = min(size, segment.sizes[row] - begin)
        return self._read(segment, segment.base + segment.offsets[row] + begin, size)

    def source(self, segment: Segment, row: int) -> FrameSource:
        """The source of a row: its connection and channel."""
        return self.columns.sources.value(segment.sources[row]) or _UNKNOWN

    def kind(self, place: int) -> FrameKind | None:
        found = self.columns.locate(place)
        return None if found is None else FrameKind(found[0].kinds[found[1]] & Segment.KIND)

    def size(self, place: int) -> int:
        found = self.columns.locate(place)
        return 0 if found is None else found[0].sizes[found[1]]

    def number(self, place: int) -> int:
        return self.columns.number(place)

    def place_of(self, number: int) -> int | None:
        """The place of the frame with that number; None if it is gone or never existed."""
        place = self.columns.place_of(number)
        is_here = place is not None and place >= self.first and place not in self.gap
        return place if is_here else None

    def raw_of(self, number: int) -> bytes | None:
        """All bytes of the frame with that number; None if it is gone or never existed."""
        place = self.place_of(number)
        frame = None if place is None else self.frame(place)
        return None if frame is None else frame.raw

    def mark(self, numbers: Iterable[int]) -> None:
        """Mark the frames with these numbers as violations."""
        for number in self.columns.mark_newest(numbers):
            place = self.columns.place_of(number)
            found = None if place is None else self.columns.locate(place)
            if found is not None:
                found[0].kinds[found[1]] |= Segment.MARKED

    def is_marked(self, place: int) -> bool:
        """Return whether the frame at `place` is a violation."""
        found = self.columns.locate(place)
        return found is not None and bool(found[0].kinds[found[1]] & Segment.MARKED)

    def exchange(self, place: int) -> int:
        """The number of the request that the frame at `place` is or belongs to; 0 for none."""
        found = self.columns.locate(place)
        return 0 if found is None else found[0].exchanges[found[1]]

    def request_of(self, place: int) -> int | None:
        exchange = self.exchange(place)
        return self.place_of(exchange) if exchange else None

    def next_of(self, place: int, exchange: int, *, replies: bool = False) -> int | None:
        """The next place after `place` with a frame of that exchange; None if there is none.

        With `replies`, its reply. Costs some nanoseconds for every frame in between.
        """
        columns = self.columns
        found = columns.locate(columns.after(max(place + 1, self.first)))
        while found is not None:
            segment, row = found
            try:
                row = segment.exchanges.index(exchange, row)
            except ValueError:
                found = columns.locate(columns.after(segment.end))
                continue
            kind = segment.kinds[row] & Segment.KIND
            if not replies or kind in (FrameKind.REPLY, FrameKind.ERROR):
                return segment.first + row
            found = columns.locate(columns.after(segment.first + row + 1))
        return None

    def previous_of(self, place: int, exchange: int) -> int | None:
        """The last place before `place` with a frame of that exchange; None if there is none."""
        at = place - 1
        while (found := self.columns.locate(self.columns.before(at))) is not None:
            segment, row = found
            try:
                return segment.first + row - segment.exchanges[row::-1].index(exchange)
            except ValueError:
                at = segment.first - 1
        return None

    def duration_s(self, place: int) -> float | None:
        """Seconds from request to reply; None except for replies to existing requests."""
        found = self.columns.locate(place)
        if found is None:
            return None
        segment, row = found
        if segment.kinds[row] & Segment.KIND not in (FrameKind.REPLY, FrameKind.ERROR):
            return None
        request = self.request_of(place)
        begun = None if request is None else self.columns.locate(request)
        return None if begun is None else segment.ats[row] - begun[0].ats[begun[1]]

    def _made(self, segment: Segment, row: int, raw: bytes) -> Frame:
        place = segment.first + row
        source, at = self.source(segment, row), segment.ats[row]
        if source.is_escaped:
            raw = unescaped(raw)
        number, when = self.columns.number(place), self.columns.when(place, at)
        part = self.columns.batch_part(place)
        return Frame(
            number,
            source.connection,
            source.channel,
            when,
            at,
            raw,
            None if part is None else Part(*part),
            source.is_complete,
        )

    def _read(self, segment: Segment, offset: int, size: int) -> bytes:
        part = self._parts.get(segment.part)
        return b"" if part is None else part.read(offset, size)


def _first_behind(segments: Iterable[Segment], number: int, kept: int) -> int | None:
    """The place of the first row of a part whose bytes are not within the first `kept`."""
    for segment in segments:
        if segment.part != number:
            continue
        row = bisect.bisect_left(segment.offsets, kept - segment.base)
        if row and segment.base + segment.offsets[row - 1] + segment.sizes[row - 1] > kept:
            row -= 1
        if row < len(segment):
            return segment.first + row
    return None


def _least(size: int, limit: int | None) -> int:
    return size if limit is None else min(size, limit)

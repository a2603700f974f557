"""Consecutive rows of the index that are searched together, and their bytes."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from mcp_progress_monitor.recording.format import unescaped

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.index import FrameSource, Segment, SharedValues
    from mcp_progress_monitor.recording.timeline import Timeline

T = TypeVar("T")
Work: TypeAlias = Generator[None, None, T]
"""Work that pauses by yielding None every few tenths of a millisecond, and returns a T."""
Rows: TypeAlias = Sequence[int]  # increasing rows of a segment: a range, or a list

LONG: Final = 256 * 1024  # messages of more bytes are searched in pieces of about so many
_GROUP: Final = 256
_GROUP_BYTES: Final = 64 * 1024


class Escapes:
    """Which sources have their line feeds escaped on disk; updated as sources are added."""

    def __init__(self) -> None:
        self._sources: SharedValues[FrameSource] | None = None
        self._seen = 0
        self.numbers: set[int] = set()

    def refresh(self, sources: SharedValues[FrameSource]) -> None:
        if sources is not self._sources:
            self._sources, self._seen, self.numbers = sources, 0, set()
        for number in range(self._seen + 1, len(sources) + 1):
            source = sources.value(number)
            if source is not None and source.is_escaped:
                self.numbers.add(number)
        self._seen = len(sources)


class Stride:
    """The rows `start` up to `stop` of a segment, with the timeline that has their bytes."""

    def __init__(
        self, timeline: Timeline, segment: Segment, start: int, stop: int, escaped: Collection[int]
    ) -> None:
        self.timeline = timeline
        self.segment = segment
        self.start = start
        self.stop = stop
        self._escaped = escaped

    @property
    def rows(self) -> range:
        return range(self.start, self.stop)

    def groups(self, rows: Rows) -> Iterator[Rows]:
        """The rows in groups to be read at once; one of more than `LONG` bytes is alone."""
        sizes = self.segment.sizes
        done = 0
        while done < len(rows):
            count = _GROUP
            while count > 1 and sum(picked(sizes, rows[done : done + count])) > _GROUP_BYTES:
                count //= 2
            yield rows[done : done + count]
            done += count

    def is_long(self, rows: Rows) -> bool:
        return len(rows) == 1 and self.segment.sizes[rows[0]] > LONG

    def raws(self, rows: Rows) -> list[bytes]:
        raws = self.timeline.raws(self.segment, rows)
        escaped, sources = self._escaped, self.segment.sources
        if not escaped:
            return raws
        return [
            unescaped(raw) if sources[row] in escaped else raw
            for row, raw in zip(rows, raws, strict=True)
        ]

    def pieces(self, row: int) -> Iterator[bytes]:
        """The exact bytes of a long message, in pieces of about `LONG` bytes."""
        is_escaped = self.segment.sources[row] in self._escaped
        size = self.segment.sizes[row]
        held = b""
        for begin in range(0, size, LONG):
            piece = held + self.timeline.piece(self.segment, row, begin, min(LONG, size - begin))
            held = b""
            if is_escaped:
                if begin + LONG < size and (len(piece) - len(piece.rstrip(b"\\"))) % 2:
                    piece, held = piece[:-1], piece[-1:]
                piece = unescaped(piece)
            yield piece


def picked(column: Sequence[T], rows: Rows) -> Sequence[T]:
    if isinstance(rows, range):
        return column[rows.start : rows.stop]
    return [column[row] for row in rows]


class RowPredicate(Protocol):
    """Chooses rows."""

    @property
    def cost(self) -> int:
        """The cost of a row, for ordering predicates: up to 1 without reading its bytes."""

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """Those of the stride's `rows` that match, in their order; pauses now and then."""

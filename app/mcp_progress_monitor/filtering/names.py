"""Tests of what rows have in common: each value of a table is judged once, rows by its number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp_progress_monitor.filtering.judging import ABSENT
from mcp_progress_monitor.filtering.stride import picked
from mcp_progress_monitor.protocol.frame import server_name
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.protocol.jsonrpc import decode_in_slices
from mcp_progress_monitor.recording.columns import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.filtering.stride import Rows, Stride, Work
    from mcp_progress_monitor.recording.columns import Columns
    from mcp_progress_monitor.recording.names import Names, Source
    from mcp_progress_monitor.recording.timeline import Timeline

_OFTEN: Final = 512
_TICK_KINDS: Final = (FrameKind.PROGRESS, FrameKind.REQUEST)


class Table(Protocol):
    """A column of numbers, the table of what they stand for, and how to find what it has not."""

    def names(self, columns: Columns) -> Names[Any]:
        """The table."""

    def column(self, segment: Segment) -> Sequence[int]:
        """The column."""

    def value(self, entry: Any) -> Any:
        """What is judged of an entry of the table."""

    def looked_up(self, stride: Stride, row: int) -> Work[Any]:
        """The value of a row whose number is `Names.many`; `ABSENT` when it has none."""


class Judges(Protocol):
    """Decides on values."""

    def lets_through(self, value: Any) -> bool:
        """Whether a value is wanted."""


class Methods:
    """Methods of requests and notifications."""

    def names(self, columns: Columns) -> Names[Any]:
        """See `Table`."""
        return columns.methods

    def column(self, segment: Segment) -> Sequence[int]:
        """See `Table`."""
        return segment.methods

    def value(self, entry: Any) -> Any:
        """See `Table`."""
        return entry

    def looked_up(self, stride: Stride, row: int) -> Work[Any]:
        """See `Table`."""
        message = yield from _message(stride.timeline, stride.segment.first + row)
        return ABSENT if message is None or message.method is None else message.method


class Tokens:
    """Progress tokens; replies and cancels have that of their request."""

    def names(self, columns: Columns) -> Names[Any]:
        """See `Table`."""
        return columns.tokens

    def column(self, segment: Segment) -> Sequence[int]:
        """See `Table`."""
        return segment.tokens

    def value(self, entry: Any) -> Any:
        """See `Table`."""
        return entry

    def looked_up(self, stride: Stride, row: int) -> Work[Any]:
        """See `Table`."""
        kind = stride.segment.kinds[row] & Segment.KIND
        place: int | None = stride.segment.first + row
        if kind not in _TICK_KINDS and place is not None:
            place = stride.timeline.request_of(place)
        message = None if place is None else (yield from _message(stride.timeline, place))
        if message is None or not isinstance(message.params, dict):
            return ABSENT
        if kind == FrameKind.PROGRESS:
            return message.params.get("progressToken", ABSENT)
        meta = message.params.get("_meta")
        return meta.get("progressToken", ABSENT) if isinstance(meta, dict) else ABSENT


class Sources:
    """What a row's source tells: its connection, by default."""

    def names(self, columns: Columns) -> Names[Any]:
        """See `Table`."""
        return columns.sources

    def column(self, segment: Segment) -> Sequence[int]:
        """See `Table`."""
        return segment.sources

    def value(self, entry: Source) -> Any:
        """See `Table`."""
        return entry.connection

    def looked_up(self, _stride: Stride, _row: int) -> Work[Any]:
        """Nothing: a recording of tens of thousands of connections names no more of them."""
        yield from ()
        return ABSENT


class Servers(Sources):
    """The servers' names."""

    def value(self, entry: Source) -> Any:
        """See `Table`."""
        return server_name(entry.connection)


class Directions(Sources):
    """The channels' words."""

    def value(self, entry: Source) -> Any:
        """See `Table`."""
        return entry.channel.name.lower()


class NameTest:
    """Chooses rows by a column of names."""

    cost = 1

    def __init__(self, table: Table, judge: Judges, *, pauses_often: bool = False) -> None:
        """Judging one value takes long when it `pauses_often`."""
        self._table = table
        self._judge = judge
        self._pause = 1 if pauses_often else _OFTEN
        self._names: Names[Any] | None = None
        self._seen = 0
        self._wanted: set[int] = set()

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
        names = self._table.names(stride.timeline.columns)
        yield from self._refresh(names)
        column = self._table.column(stride.segment)
        wanted = self._wanted
        found = [
            row for row, number in zip(rows, picked(column, rows), strict=True) if number in wanted
        ]
        if names.many in picked(column, found):
            return (yield from self._without_strangers(stride, found, column, names.many))
        return found

    def _refresh(self, names: Names[Any]) -> Work[None]:
        """Judge what has come to the table."""
        if names is not self._names:
            self._names, self._seen, self._wanted = names, 0, {names.many}
        while self._seen < len(names):
            self._seen += 1
            if self._judge.lets_through(self._table.value(names.value(self._seen))):
                self._wanted.add(self._seen)
            if self._seen % self._pause == 0:
                yield

    def _without_strangers(
        self, stride: Stride, rows: list[int], column: Sequence[int], many: int
    ) -> Work[Rows]:
        """The rows, but those that the table does not tell only if their frames do."""
        found = []
        for row in rows:
            if column[row] == many:
                value = yield from self._table.looked_up(stride, row)
                yield
                if not self._judge.lets_through(value):
                    continue
            found.append(row)
        return found


def _message(timeline: Timeline, place: int) -> Work[Any]:
    """The message at a place, decoded; None when it is gone."""
    frame = timeline.frame(place)
    if frame is None:
        return None
    return (yield from decode_in_slices(frame.raw, is_complete=frame.is_complete))

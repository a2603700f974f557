"""The rows of Traffic: places of a timeline, of which ticks of one request may be folded."""

from __future__ import annotations

import bisect
import heapq
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Signal

from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.protocol.frames import FrameKind

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex

    from mcp_progress_monitor.gui.traffic.folds import Fold, FoldedRows, Taken
    from mcp_progress_monitor.recording.timeline import Timeline

_LAST: Final = max(TrafficColumn)


class SparseRange(Sequence[int]):
    """Two ranges in one; `before` ends where, or before, `after` begins."""

    def __init__(self, before: range, after: range) -> None:
        self.before = before
        self.after = after

    def __len__(self) -> int:
        return len(self.before) + len(self.after)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> SparseRange: ...
    def __getitem__(self, index: int | slice) -> int | SparseRange:
        count = len(self.before)
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            after = self.after[max(start - count, 0) : max(stop - count, 0)]
            return SparseRange(self.before[start:stop], after)
        if index < 0:
            index += len(self)
        return self.before[index] if index < count else self.after[index - count]


def without(start: int, end: int, gap: range) -> range | SparseRange:
    """The numbers from `start` up to `end`, except those of a gap."""
    if not gap or end <= gap.start or start >= gap.stop:
        return range(start, end)
    before, after = range(start, max(start, gap.start)), range(gap.stop, max(end, gap.stop))
    return SparseRange(before, after) if before else after


class Beside(NamedTuple):
    """Where the messages of some rows end, and the requests whose ticks are folded elsewhere.

    Those `before` are folded into rows above, those `after` into rows below, behind `last`.
    """

    end: int
    before: set[int]
    after: set[int]
    last: int


class PlaceRows(QAbstractTableModel):
    """Rows that hold places of a timeline in ascending order.

    Without a filter and without folds they are a range, so that ten million rows take no memory.
    """

    folded_in = Signal(object)  # how many messages were folded into rows that were there
    rows_dropping = Signal(object)
    """The range of rows that are about to be removed because their frames are gone."""

    def __init__(self, timeline: Timeline, parent: QObject | None) -> None:
        super().__init__(parent)
        self.timeline: Final = timeline
        self._rows: range | SparseRange | array[int] = range(0)
        self._folded: FoldedRows | None = None

    @property
    def shown(self) -> int:
        """How many messages the rows hold."""
        return len(self._rows) + (0 if self._folded is None else self._folded.hidden)

    @property
    def is_folded(self) -> bool:
        """True if ticks are folded now."""
        return self._folded is not None

    def fold_at(self, row: int) -> Fold | None:
        """The ticks that a row begins; None for other messages."""
        return None if self._folded is None else self._folded.folds.get(self._rows[row])

    def place(self, row: int) -> int:
        """The place of an existing row, which stays the same when rows are added or removed."""
        return self._rows[row]

    def row_of(self, place: int) -> int | None:
        """The row at `place`; None if it is not shown, or folded."""
        row = bisect.bisect_left(self._rows, place)
        return row if row < len(self._rows) and self._rows[row] == place else None

    def row_with(self, place: int) -> int | None:
        """The row at `place`, or the one that it is folded into; None if it is not shown."""
        row = self.row_of(place)
        head = None if row is not None or self._folded is None else self._folded.head_of(place)
        return row if head is None else self.row_of(head)

    def row_from(self, place: int) -> int:
        """The first row at or after `place`; the number of rows if there is none."""
        return bisect.bisect_left(self._rows, place)

    def last_place(self, row: int) -> int:
        """The place of the last message that a row holds."""
        fold = self.fold_at(row)
        return self._rows[row] if fold is None or fold.is_open else fold.places[-1]

    def places(self, row: int) -> Sequence[int]:
        """The places of the messages that a row holds."""
        fold = self.fold_at(row)
        return (self._rows[row],) if fold is None or fold.is_open else fold.places

    def is_folded_at(self, row: int) -> bool | None:
        """True if a row's ticks are folded; None for a message that belongs to no fold."""
        if self._folded is None or self.timeline.kind(self._rows[row]) is not FrameKind.PROGRESS:
            return None
        head = self._folded.head_of(self._rows[row])
        return None if head is None else not self._folded.folds[head].is_open

    def reveal(self, place: int) -> int | None:
        """Open the fold that hides `place`; returns its row, None if it is not shown."""
        row = self.row_with(place)
        if row is not None and self._rows[row] != place:
            self.set_open(row, is_open=True)
        return self.row_of(place)

    def set_open(self, row: int, *, is_open: bool) -> bool:
        """Show or hide the ticks of the fold that a row belongs to; False if nothing changes."""
        folded = self._folded
        head = None if folded is None else folded.head_of(self._rows[row])
        if folded is None or head is None or folded.folds[head].is_open is is_open:
            return False
        first = bisect.bisect_left(folded.rows, head)
        members = folded.set_open(head, is_open=is_open)
        behind = first + 1 if is_open else first + 1 + len(members)
        is_apart = behind < len(folded.rows) and folded.rows[behind] < members[-1]
        if not is_open:
            is_apart = folded.rows[first + 1 : behind] != members
        if is_apart:
            self._merge(folded, members, is_open=is_open)
        elif is_open:
            self.beginInsertRows(QModelIndex(), behind, first + len(members))
            folded.rows[behind:behind] = members
            self.endInsertRows()
        else:
            self.beginRemoveRows(QModelIndex(), first + 1, behind - 1)
            del folded.rows[first + 1 : behind]
            self.endRemoveRows()
        self.dataChanged.emit(self.index(first, 0), self.index(first, _LAST))
        return True

    def _merge(self, folded: FoldedRows, members: array[int], *, is_open: bool) -> None:
        """Add or remove rows that stand between others."""
        self.beginResetModel()
        if is_open:
            folded.rows[:] = array("q", heapq.merge(folded.rows, members))
        else:
            gone = set(members)
            folded.rows[:] = array("q", [place for place in folded.rows if place not in gone])
        self.endResetModel()

    def beside(self, first: int, last: int) -> Beside:
        """The ticks of other rows among the messages from one row to another."""
        end = self._rows[last]
        before, after = set[int](), set[int]()
        if self._folded is not None:
            stretch = (self._rows[last], *self._folded.ticks_before(last))
            rows = (self.row_from(place) for place in stretch if place >= self._rows[first])
            end = max(map(self.last_place, rows))
            exchange = self.timeline.exchange
            for place in self._folded.ticks_before(first):
                if self.last_place(self.row_from(place)) > self._rows[first]:
                    before.add(exchange(place))
            row = last + 1
            while row < len(self._rows) and self._rows[row] < end:
                after.add(exchange(self._rows[row]))
                row += 1
        return Beside(end, before, after, self._rows[last])

    def end_of_ticks(self, row: int) -> int:
        """Return the last place of the run of ticks at `row`, with what is hidden in it."""
        while row < len(self._rows) and self.timeline.kind(self._rows[row]) is FrameKind.PROGRESS:
            row += 1
        return self._rows[row] - 1 if row < len(self._rows) else self.timeline.end - 1

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def _append(self, places: array[int]) -> None:
        """Add places to rows that are an array."""
        if places and isinstance(self._rows, array):
            count = len(self._rows)
            self.beginInsertRows(QModelIndex(), count, count + len(places) - 1)
            self._rows.extend(places)
            self.endInsertRows()

    def _show_taken(self, taken: Taken, folded_in: int) -> None:
        """Add new rows, and repaint those that hold so many more messages."""
        self._append(taken.rows)
        if taken.grown:
            self.folded_in.emit(folded_in)
            first, last = self.row_from(min(taken.grown)), self.row_from(max(taken.grown))
            self.dataChanged.emit(self.index(first, 0), self.index(last, _LAST))

    def _drop(self, start: int, stop: int, gap: range) -> None:
        """Remove the rows from `start` up to `stop`, whose frames are gone."""
        begin, end = self.row_from(start), self.row_from(stop)
        moved = [] if self._folded is None else self._folded.drop(start, stop)
        if end > begin:
            self._remove(begin, end, gap)
        for place in moved:
            row = self.row_from(place)
            if self.row_of(place) is None and isinstance(self._rows, array):
                self.beginInsertRows(QModelIndex(), row, row)
                self._rows.insert(row, place)
                self.endInsertRows()

    def _remove(self, begin: int, end: int, gap: range) -> None:
        self.rows_dropping.emit(range(begin, end))
        self.beginRemoveRows(QModelIndex(), begin, end - 1)
        if isinstance(self._rows, array):
            del self._rows[begin:end]
        elif begin:
            self._rows = without(self._rows[0], self._rows[-1] + 1, gap)
        else:
            self._rows = self._rows[end:]
        self.endRemoveRows()
        if begin < len(self._rows):
            # The first row has lost the frame that its time difference refers to.
            following = self.index(begin, TrafficColumn.DELTA)
            self.dataChanged.emit(following, following)

"""The log as rows: every frame in one timeline, kept up in batches, filtered in slices."""

from __future__ import annotations

import bisect
import enum
import time
from array import array
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, QTimer, Signal, Slot

from app.models.log_cells import LogCells
from app.models.log_marks import LogMarks
from app.models.log_search import LogFilter, LogSearch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtCore import QPersistentModelIndex

    from app.models.log_row import LogKind
    from app.models.log_store import LogStore
    from app.protocol.frame import Frame

SLICE_S: Final = 0.004
"""Longest stretch of searching at one go, so that painting and typing come between."""

_SLICE_PAUSE_MS: Final = 1

_SHOWN_EVERY_S: Final = 0.05
"""How often rows are added while a search goes on: each time costs a repaint."""

_RELEASED: Final = 4_000
"""Dropped frames freed at one go: about half a millisecond."""
_RELEASE_PAUSE_MS: Final = 3


class LogColumn(enum.IntEnum):
    """The columns, in their first order."""

    TIME = 0
    DELTA = 1
    DIRECTION = 2
    SERVER = 3
    KIND = 4
    METHOD = 5
    KEY = 6
    SUMMARY = 7
    SIZE = 8


_RIGHT = frozenset({LogColumn.DELTA, LogColumn.SIZE})


class LogModel(QAbstractTableModel):
    """Frames of a `LogStore` as rows; one call of `append` per batch, nothing per frame.

    Rows hold places in the store (see `FrameSource`). Without a filter they are a range, so a
    batch costs the same however large it is. Pausing looks at a frozen copy of the store while
    the store goes on; clearing only hides. Decoding is left to `LogCells`, for painted rows.
    """

    FRAME = Qt.ItemDataRole.UserRole + 1
    """The row's `Frame`."""
    KIND = Qt.ItemDataRole.UserRole + 2
    """The row's `LogKind`."""
    MARK = Qt.ItemDataRole.UserRole + 3
    """What is wrong with the row's message, in words."""

    dropped_changed = Signal(object)
    """How many of the oldest frames are gone from memory."""
    waiting_changed = Signal(object)
    """How many frames came since the view was paused; 0 when it is not."""
    search_changed = Signal(object)
    """How many frames are still to be searched."""
    rows_dropping = Signal(object)
    """The number of first rows that are about to be removed because their frames are gone."""

    def __init__(self, store: LogStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._source = store
        self._cells = LogCells(self)
        self._marks = LogMarks()
        self._filter = LogFilter()
        self._search: LogSearch | None = None
        self._rows: range | array[int] = range(store.first, store.end)
        self._floor = 0
        self._found: list[int] = []
        self._shown_at = 0.0
        self._slices = QTimer(self)
        self._slices.setSingleShot(True)
        self._slices.setInterval(_SLICE_PAUSE_MS)
        self._slices.timeout.connect(self._on_slice_due)
        self._releases = QTimer(self)
        self._releases.setInterval(_RELEASE_PAUSE_MS)
        self._releases.timeout.connect(self._on_release_due)

    @property
    def filter(self) -> LogFilter:
        """What is shown."""
        return self._filter

    @property
    def is_paused(self) -> bool:
        """Whether the view stands still while the store goes on."""
        return self._source is not self._store

    @property
    def waiting(self) -> int:
        """How many frames came since the view was paused."""
        return self._store.end - self._source.end

    @property
    def dropped(self) -> int:
        """How many of the oldest frames are gone from memory."""
        return self._store.dropped

    @property
    def hidden(self) -> int:
        """How many frames in memory `clear_view` hides."""
        return max(0, min(self._floor, self._source.end) - self._source.first)

    @property
    def unsearched(self) -> int:
        """How many frames are still to be searched."""
        return self._search.left(self._source) if self._search else 0

    @Slot(object)
    def append(self, frames: Sequence[Frame]) -> None:
        """Take a batch of frames as the newest."""
        gone = self._store.dropped
        self._store.append(frames)
        if self._store.dropped != gone:
            self._releases.start()
            self._marks.forget_before(self._number(self._source.first))
            self.dropped_changed.emit(self._store.dropped)
        if self.is_paused:
            self.waiting_changed.emit(self.waiting)
        else:
            self._catch_up()

    @Slot(object)
    def mark(self, marked: Mapping[int, str]) -> None:
        """Take what is wrong with frames that are about to be appended, by their numbers."""
        self._marks.add(marked)

    def set_filter(self, wanted: LogFilter) -> None:
        """Show only what `wanted` lets through; rows appear as the search goes on."""
        if wanted != self._filter:
            self._filter = wanted
            self._start_over()

    def set_paused(self, paused: bool) -> None:
        """Let the view stand still, or show what came meanwhile."""
        if paused == self.is_paused:
            return
        self._source = self._store.frozen() if paused else self._store
        self._catch_up()
        self.waiting_changed.emit(self.waiting)

    def clear_view(self) -> None:
        """Hide every row of now; nothing is wiped, see `show_all`."""
        self._floor = self._source.end
        self._start_over()

    def show_all(self) -> None:
        """Show again what `clear_view` hid."""
        self._floor = 0
        self._start_over()

    def frame(self, row: int) -> Frame | None:
        """Return the frame of a row; None when there is no such row or its frame is gone."""
        return self._source.frame(self._rows[row]) if 0 <= row < len(self._rows) else None

    def place(self, row: int) -> int:
        """Return the place of an existing row; it stays the same while rows come and go."""
        return self._rows[row]

    def row_of(self, place: int) -> int | None:
        """Return the row at `place`; None when it is not shown."""
        row = bisect.bisect_left(self._rows, place)
        return row if row < len(self._rows) and self._rows[row] == place else None

    def row_from(self, place: int) -> int:
        """Return the first row at `place` or after it; the number of rows when there is none."""
        return bisect.bisect_left(self._rows, place)

    def row_of_number(self, number: int) -> int | None:
        """Return the row of the frame with that number; None when it is gone or not shown."""
        places = range(self._source.first, self._source.end)
        at = bisect.bisect_left(places, number, key=self._number)
        if at == len(places) or self._number(places[at]) != number:
            return None
        return self.row_of(places[at])

    def kind(self, row: int) -> LogKind | None:
        """Return what the frame of a row is."""
        frame = self.frame(row)
        return self._cells.kind(self._rows[row], frame) if frame is not None else None

    def mark_of(self, row: int) -> str:
        """Return what is wrong with the frame of a row; empty when nothing is known to be."""
        frame = self.frame(row)
        return "" if frame is None else self._marks.of(frame.number)

    def text(self, row: int, column: int) -> str:
        """Return the words of one cell; empty for a frame that is gone."""
        frame = self.frame(row)
        if frame is None:
            return ""
        if column == LogColumn.DELTA:
            return self._cells.delta(frame, self.frame(row - 1))
        return self._cells.text(self._rows[row], frame, column)

    def line(self, row: int) -> str:
        """Return a row as one line, its cells apart by tabs; what is wrong with it comes last."""
        cells = [self.text(row, column) for column in LogColumn]
        return "\t".join([*cells, *filter(None, [self.mark_of(row)])])

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:
        """Return the number of frames shown."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(LogColumn)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = 0) -> Any:
        """Return a cell's words, and a row's frame, kind and mark."""
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(index.row(), index.column())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(index.row(), index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in _RIGHT:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == self.FRAME:
            return self.frame(index.row())
        if role == self.MARK:
            return self.mark_of(index.row())
        return self.kind(index.row()) if role == self.KIND else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title, and in its tool tip what it shows."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(LogColumn):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cells.title(LogColumn(section))
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._cells.explanation(LogColumn(section))
        return None

    def _spoken(self, row: int, column: int) -> str:
        mark = self.mark_of(row) if column == LogColumn.SUMMARY else ""
        words = self.text(row, column)
        return f"{self.tr('Not in order')}: {mark}. {words}" if mark else words

    def _number(self, place: int) -> int:
        frame = self._source.frame(place)
        return -1 if frame is None else frame.number

    def _first(self) -> int:
        return max(self._source.first, self._floor)

    def _start_over(self) -> None:
        """Make the rows anew for a changed filter or a changed beginning."""
        self.beginResetModel()
        if self._filter.shows_all:
            self._search = None
            self._rows = range(self._first(), self._source.end)
        else:
            self._search = LogSearch(self._filter, self._first(), self._marks)
            self._rows = array("q")
        self._found = []
        self._shown_at = 0.0
        self.endResetModel()
        self._catch_up()

    def _catch_up(self) -> None:
        """Make the rows agree with the source: drop what is gone, add what is new."""
        self._drop_gone()
        if self._search is None:
            self._add_range(self._source.end)
        else:
            self._search_slice(self._search)

    def _drop_gone(self) -> None:
        count = bisect.bisect_left(self._rows, self._source.first)
        if not count:
            return
        self.rows_dropping.emit(count)
        self.beginRemoveRows(QModelIndex(), 0, count - 1)
        self._rows = self._rows[count:]
        self.endRemoveRows()
        if self._rows:
            # The first row has lost the one its time difference was counted from.
            first = self.index(0, LogColumn.DELTA)
            self.dataChanged.emit(first, first)

    def _add_range(self, end: int) -> None:
        start = self._rows[0] if self._rows else self._first()
        count = end - start - len(self._rows)
        if count > 0:
            self.beginInsertRows(QModelIndex(), len(self._rows), len(self._rows) + count - 1)
            self._rows = range(start, end)
            self.endInsertRows()

    def _search_slice(self, search: LogSearch) -> None:
        self._found += search.run(self._source, SLICE_S)
        left = search.left(self._source)
        if left:
            self._slices.start()
        now = time.perf_counter()
        if not left or now - self._shown_at >= _SHOWN_EVERY_S:
            self._shown_at = now
            self._show_found()
            self.search_changed.emit(left)

    def _show_found(self) -> None:
        first = self._source.first
        found = [place for place in self._found if place >= first]
        self._found = []
        if found and isinstance(self._rows, array):
            count = len(self._rows)
            self.beginInsertRows(QModelIndex(), count, count + len(found) - 1)
            self._rows.extend(found)
            self.endInsertRows()

    @Slot()
    def _on_release_due(self) -> None:
        if not self._store.release(_RELEASED):
            self._releases.stop()

    @Slot()
    def _on_slice_due(self) -> None:
        self._catch_up()

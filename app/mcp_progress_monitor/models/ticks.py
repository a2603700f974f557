"""A job's progress notifications as a table: when, how much more, what they said."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import line, tr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_progress_monitor.protocol.facts import ProgressReceived

FRAME: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of the number of the frame that carried the tick."""
MARK: Final = FRAME + 1
"""Role of what is wrong with the tick, in the tracker's words; empty when nothing is."""

_Index = QModelIndex | QPersistentModelIndex


class TickColumn(enum.IntEnum):
    """The columns, in their order."""

    NUMBER = 0
    TIME = 1
    SINCE = 2
    PROGRESS = 3
    STEP = 4
    TOTAL = 5
    MARK = 6
    MESSAGE = 7


_TITLES: Final = ("#", "Time", "Δt", "Progress", "Δ progress", "Total", "Mark", "Message")
_TEXTS: Final = frozenset({TickColumn.TIME, TickColumn.MARK, TickColumn.MESSAGE})
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class TicksModel(QAbstractTableModel):
    """The newest ticks of one job, oldest first; rows already shown stay as they are.

    The ticks' numbers count from the job's first one, although only the newest are kept.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ticks: list[ProgressReceived] = []
        self._before = 0
        self._marked: Mapping[int, str] = {}

    def show_ticks(
        self, ticks: Sequence[ProgressReceived], count: int, marked: Mapping[int, str]
    ) -> None:
        """Show `ticks`, the newest of `count`; only what is new or gone is announced.

        `marked` says what is wrong with some of them, by frame; of one shown it never changes.
        """
        self._marked = marked
        wanted = list(ticks)
        kept = _kept(self._ticks, wanted)
        if kept is None:
            self.beginResetModel()
            self._ticks, self._before = wanted, count - len(wanted)
            self.endResetModel()
            return
        gone = len(self._ticks) - kept
        if gone:
            self.beginRemoveRows(QModelIndex(), 0, gone - 1)
            del self._ticks[:gone]
            self._before = count - len(wanted)
            self.endRemoveRows()
            # What came before the first row is gone: its steps cannot be told any more.
            self.dataChanged.emit(self.index(0, TickColumn.SINCE), self.index(0, TickColumn.STEP))
        if len(wanted) > kept:
            self.beginInsertRows(QModelIndex(), kept, len(wanted) - 1)
            self._ticks.extend(wanted[kept:])
            self.endInsertRows()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of ticks kept."""
        return 0 if parent.isValid() else len(self._ticks)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(TickColumn)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Titles, aligned as their columns."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(TickColumn):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return tr(_TITLES[section])
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, the frame's number, or what is wrong."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        tick = self._ticks[index.row()]
        if role == FRAME:
            return tick.number
        if role == MARK:
            return self._marked.get(tick.number, "")
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._words(tick, index.row(), TickColumn(index.column()))

    def _words(self, tick: ProgressReceived, row: int, column: TickColumn) -> str:
        before = self._ticks[row - 1] if row else None
        if column is TickColumn.NUMBER:
            return text.number(self._before + row + 1)
        if column is TickColumn.TIME:
            return text.clock(tick.when)
        if column is TickColumn.SINCE:
            return "" if before is None else text.since(tick.at - before.at)
        if column is TickColumn.STEP:
            return "" if before is None else _step(before.progress, tick.progress)
        if column is TickColumn.MESSAGE:
            return line(tick.message or "")
        if column is TickColumn.MARK:
            return line(self._marked.get(tick.number, ""))
        value = tick.progress if column is TickColumn.PROGRESS else tick.total
        return "" if value is None else text.number(value)


def _kept(shown: list[ProgressReceived], wanted: list[ProgressReceived]) -> int | None:
    """How many of the last of `shown` are the first of `wanted`, None when none are."""
    if not shown or not wanted:
        return None
    first = wanted[0].number
    start = next((row for row, tick in enumerate(shown) if tick.number == first), None)
    if start is None:
        return None
    kept = len(shown) - start
    is_continued = kept <= len(wanted) and wanted[kept - 1].number == shown[-1].number
    return kept if is_continued else None


def _step(before: float | None, now: float | None) -> str:
    """What was added, signed; nothing when it cannot be said."""
    if before is None or now is None:
        return ""
    try:
        step = now - before
    except OverflowError:  # a fraction and an integer beyond all floats
        return ""
    if isinstance(step, float):
        # 0.3 - 0.2 is 0.09999…; twelve digits are what both were sent with, and more.
        step = float(f"{step:.12g}")
    return text.number(step) if step < 0 else f"+{text.number(step)}"


def _alignment(column: int) -> int:
    return _LEFT if column in _TEXTS else _RIGHT

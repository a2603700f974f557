"""A job's progress notifications as a table, with their findings."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.findings.finding import joined
from mcp_progress_monitor.gui.common.controls import TipDelegate
from mcp_progress_monitor.gui.common.tables import PlainTable, TitledTable, fill
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.wording.jobs import line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtCore import QPoint

    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.facts import ProgressReceived
    from mcp_progress_monitor.tracker.snapshot import JobDetail

FRAME: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of the number of the frame that carried the tick."""
MARK: Final = FRAME + 1  # role of the tick's findings, as text; empty if there are none

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


_TITLES: Final = ("#", "Time", "Δt", "Progress", "Δ progress", "Total", "Finding", "Message")
_NUMBERS: Final = set(TickColumn) - {TickColumn.TIME, TickColumn.MARK, TickColumn.MESSAGE}


class TicksModel(TitledTable):
    """The newest ticks of one job, oldest first; rows already shown do not change.

    Ticks are numbered from the job's first one, although only the newest are kept.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_TITLES, parent, numbers=_NUMBERS)
        self._ticks: list[ProgressReceived] = []
        self._before = 0
        self._marked: Mapping[int, tuple[Finding, ...]] = {}

    def show_ticks(
        self,
        ticks: Sequence[ProgressReceived],
        count: int,
        marked: Mapping[int, tuple[Finding, ...]],
    ) -> None:
        """Show `ticks`, the newest of `count`; announces only new and removed rows.

        `marked` has the findings of some, by frame; those of a shown tick never change.
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
            # What preceded the first row is gone: its step is unknown.
            self.dataChanged.emit(self.index(0, TickColumn.SINCE), self.index(0, TickColumn.STEP))
        if len(wanted) > kept:
            self.beginInsertRows(QModelIndex(), kept, len(wanted) - 1)
            self._ticks.extend(wanted[kept:])
            self.endInsertRows()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._ticks)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, the frame's number, or the findings."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        tick = self._ticks[index.row()]
        if role == FRAME:
            return tick.number
        if role == MARK:
            return joined(self._marked.get(tick.number, ()))
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._text(tick, index.row(), TickColumn(index.column()))

    def _text(self, tick: ProgressReceived, row: int, column: TickColumn) -> str:
        before = self._ticks[row - 1] if row else None
        if column is TickColumn.NUMBER:
            return formatting.number(self._before + row + 1)
        if column is TickColumn.TIME:
            return formatting.clock(tick.when)
        if column is TickColumn.SINCE:
            return "" if before is None else formatting.since(tick.at - before.at)
        if column is TickColumn.STEP:
            return "" if before is None else _step(before.progress, tick.progress)
        if column is TickColumn.MESSAGE:
            return line(tick.message or "")
        if column is TickColumn.MARK:
            return line(joined(self._marked.get(tick.number, ())))
        value = tick.progress if column is TickColumn.PROGRESS else tick.total
        return "" if value is None else formatting.number(value)


def _kept(shown: list[ProgressReceived], wanted: list[ProgressReceived]) -> int | None:
    """Return how many of the last of `shown` are the first of `wanted`; None if none are."""
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
    """The difference, with sign; empty if unknown."""
    if before is None or now is None:
        return ""
    try:
        step = now - before
    except OverflowError:  # a fraction and an integer beyond the range of floats
        return ""
    if isinstance(step, float):
        # 0.3 - 0.2 is 0.09999…; twelve digits are more than both were sent with.
        step = float(f"{step:.12g}")
    return formatting.number(step) if step < 0 else f"+{formatting.number(step)}"


_WIDTHS: Final = {
    TickColumn.NUMBER: 9,
    TickColumn.TIME: 13,
    TickColumn.SINCE: 10,
    TickColumn.PROGRESS: 12,
    TickColumn.STEP: 12,
    TickColumn.TOTAL: 12,
    TickColumn.MARK: 42,
}
"""In digits."""


class TickDelegate(TipDelegate):
    """Paints a tick with a finding with icon and colour; the tool tip has the full text."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw an icon before a finding's text, and the text as a warning."""
        super().initStyleOption(option, index)
        if index.column() != TickColumn.MARK or not index.data(MARK):
            return
        option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
        option.icon = self._appearance.icon("warning", Tone.WARNING)
        option.palette.setColor(QPalette.ColorRole.Text, self._appearance.colour(Tone.WARNING))

    def tip_at(
        self, index: QModelIndex | QPersistentModelIndex, _option: QStyleOptionViewItem, _at: QPoint
    ) -> str | None:
        """Return all findings of the tick."""
        return index.data(MARK) or None


class TicksSection(QWidget):
    """Every kept tick; follows the newest while the table is scrolled to its end.

    Findings have their own column, shown only if there are any.
    """

    frame_followed = Signal(object)  # the number of the frame that carried a tick

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = TicksModel(self)
        self.table = PlainTable(self.model, "Ticks", self, empty="No progress yet")
        self.table.setToolTip("Show the message in Traffic (Enter)")
        self.table.activated.connect(self._on_activated)
        self.table.setItemDelegate(TickDelegate(appearance, self.table))
        digit = self.fontMetrics().horizontalAdvance("0")
        for column, digits in _WIDTHS.items():
            self.table.setColumnWidth(column, digit * digits)
        self.table.horizontalHeader().setStretchLastSection(True)
        fill(self, self.table)

    def show_detail(self, detail: JobDetail) -> None:
        bar = self.table.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum()
        self.model.show_ticks(detail.ticks, detail.snapshot.tick_count, detail.marked)
        self.table.setColumnHidden(TickColumn.MARK, not detail.marked)
        if is_at_end:
            self.table.scrollToBottom()

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        self.frame_followed.emit(index.data(FRAME))

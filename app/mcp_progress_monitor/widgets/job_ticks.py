"""The section of a job's pane that lists its ticks, and says which of them break a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Signal, Slot
from PySide6.QtGui import QHelpEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from mcp_progress_monitor.models.ticks import FRAME, MARK, TickColumn, TicksModel
from mcp_progress_monitor.widgets.appearance import Appearance, Tone
from mcp_progress_monitor.widgets.job_sections import PlainTable, fill
from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobDetail

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


class TickDelegate(QStyledItemDelegate):
    """Gives a tick that breaks a rule its sign and colour, and a tip that says all of it."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw the sign before a mark's words, and these as a warning."""
        super().initStyleOption(option, index)
        if index.column() != TickColumn.MARK or not index.data(MARK):
            return
        option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
        option.icon = self._appearance.icon("warning", Tone.WARNING)
        option.palette.setColor(QPalette.ColorRole.Text, self._appearance.colour(Tone.WARNING))

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        """Say all that is wrong with the tick under the mouse."""
        words = index.data(MARK) if event.type() is QEvent.Type.ToolTip else ""
        if not words:
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), plain_tip(words), view)
        return True


class TicksSection(QWidget):
    """Every tick that is kept; follows the newest while the table is scrolled to its end.

    What is wrong with a tick has a column of its own, which is there where it has something to say.
    """

    frame_followed = Signal(object)
    """The number of the frame that carried a tick."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = TicksModel(self)
        self.table = PlainTable(self.model, self.tr("Ticks"), self)
        self.table.setToolTip(self.tr("Enter shows the message in the log"))
        self.table.activated.connect(self._on_activated)
        self.table.setItemDelegate(TickDelegate(appearance, self.table))
        digit = self.fontMetrics().horizontalAdvance("0")
        for column, digits in _WIDTHS.items():
            self.table.setColumnWidth(column, digit * digits)
        self.table.horizontalHeader().setStretchLastSection(True)
        fill(self, self.table)

    def show_detail(self, detail: JobDetail) -> None:
        """Show the ticks of a job."""
        bar = self.table.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum()
        self.model.show_ticks(detail.ticks, detail.snapshot.tick_count, detail.marked)
        self.table.setColumnHidden(TickColumn.MARK, not detail.marked)
        if is_at_end:
            self.table.scrollToBottom()

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        self.frame_followed.emit(index.data(FRAME))

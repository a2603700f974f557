"""Paints the rows of the open questions: what is asked, and by whom, since when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QSize
from PySide6.QtWidgets import QAbstractItemView, QStyleOptionViewItem, QToolTip

from mcp_progress_monitor.models.questions import ABOUT
from mcp_progress_monitor.widgets.appearance import GAP, Tone
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.side_delegate import SideDelegate

if TYPE_CHECKING:
    from PySide6.QtGui import QHelpEvent, QPainter

_Index = QModelIndex | QPersistentModelIndex


class QuestionDelegate(SideDelegate):
    """Two lines beside the sign of what needs the user."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Two lines."""
        return QSize(120, 2 * option.fontMetrics.height() + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint a question."""
        painter.save()
        area = self.begin(painter, option, "state-needs-you", Tone.WARNING)
        first = area.adjusted(0, 2, 0, 0)
        first.setHeight(area.height() // 2 - 1)
        second = first.translated(0, first.height())
        face = self.faces(option.font).first
        self.write(painter, face, first, str(index.data()), Tone.TEXT)
        self.write(painter, face, second, str(index.data(ABOUT)), Tone.MUTED)
        painter.restore()

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Show both lines whole, as plain text."""
        if event.type() is not QEvent.Type.ToolTip or not index.isValid():
            return super().helpEvent(event, view, option, index)
        words = f"{index.data()}\n{index.data(ABOUT)}"
        QToolTip.showText(event.globalPos(), plain_tip(words), view)
        return True

"""Paints the rows of the job list and tells which of their buttons was clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
)

from mcp_progress_monitor.models import job_texts, stream_texts
from mcp_progress_monitor.models.job_columns import COLUMNS, Column
from mcp_progress_monitor.models.jobs import SNAPSHOT
from mcp_progress_monitor.tracker.snapshot import JobSnapshot
from mcp_progress_monitor.widgets.appearance import Appearance, Tone
from mcp_progress_monitor.widgets.job_cells import JobCells, button_rects
from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtCore import QObject

    from mcp_progress_monitor.widgets.row_actions import RowAction

_Index = QModelIndex | QPersistentModelIndex

# Combining flags is slow in Python, and is asked for every cell painted.
_SELECTED: Final = int(QStyle.StateFlag.State_Selected.value)
_ACTIVE: Final = int(QStyle.StateFlag.State_Active.value)
_UNDER_MOUSE: Final = int(QStyle.StateFlag.State_MouseOver.value)


class JobDelegate(QStyledItemDelegate):
    """Paints a `JobSnapshot` in the columns of `JobsModel` and tells which button was clicked."""

    action_clicked = Signal(object, object)
    """The `JobId` and the `RowAction`."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._cells = JobCells(appearance)
        self._is_read_only = False
        self._hovered: tuple[int, str] | None = None
        self._pressed: tuple[int, str] | None = None
        appearance.changed.connect(self._on_appearance_changed)

    def set_read_only(self) -> None:
        """Paint no buttons from now on."""
        self._is_read_only = True

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Two lines high in every column, so that all rows are alike."""
        return self._cells.row_size(option.font)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint one cell."""
        rect = option.rect
        cells = [(index.column(), rect.left(), rect.width())]
        self.paint_row(painter, option, int(option.state.value), index, cells)

    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        state: int,
        index: _Index,
        cells: Iterable[tuple[int, int, int]],
    ) -> None:
        """Paint some cells of a row, given by column, left edge and width."""
        ground, font = self._ground(state), option.font
        job = index.data(SNAPSHOT)
        top, height = option.rect.top(), option.rect.height()
        painter.save()
        for column, left, width in cells:
            area = QRect(left, top, width, height)
            if not isinstance(job, JobSnapshot):
                painter.fillRect(area, ground)
            elif column == Column.ACTIONS and not self._is_read_only:
                painter.fillRect(area, ground)
                place = self._hovered
                hovered = place[1] if place is not None and place[0] == job.id else ""
                self._cells.paint_buttons(painter, area, job, hovered)
            else:
                self._cells.paint(painter, area, font, column, job, ground)
        painter.restore()

    def editorEvent(
        self,
        event: QEvent,
        model: QAbstractItemModel,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Turn a click that begins and ends on a button into `action_clicked`."""
        job = index.data(SNAPSHOT)
        if not isinstance(event, QMouseEvent) or not isinstance(job, JobSnapshot):
            return super().editorEvent(event, model, option, index)
        action = self._action_at(event.position(), option.rect, index, job)
        place = None if action is None else (job.id, action.key)
        if event.type() is QEvent.Type.MouseMove:
            self.hover(option.widget, place)
            return False
        if event.button() is not Qt.MouseButton.LeftButton:
            return False
        if event.type() is QEvent.Type.MouseButtonRelease:
            pressed, self._pressed = self._pressed, None
            if action is not None and pressed == place:
                self.action_clicked.emit(job.id, action)
        else:
            self._pressed = place
        return action is not None

    def hover(self, widget: object, place: tuple[int, str] | None) -> None:
        """Show the button at `place` as under the mouse, None when there is none."""
        if place != self._hovered:
            self._hovered = place
            if isinstance(widget, QAbstractItemView):
                widget.viewport().update()

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Show the whole of what the cell abbreviates, as plain text."""
        job = index.data(SNAPSHOT)
        if event.type() is not QEvent.Type.ToolTip or not isinstance(job, JobSnapshot):
            return super().helpEvent(event, view, option, index)
        action = self._action_at(QPointF(event.pos()), option.rect, index, job)
        words = action.tip() if action is not None else _tip(job, Column(index.column()))
        QToolTip.showText(event.globalPos(), plain_tip(words), view)
        return True

    def _ground(self, state: int) -> QColor:
        if state & _SELECTED:
            return self._appearance.ground(Tone.ACCENT, 0.20 if state & _ACTIVE else 0.12)
        return self._appearance.ground(Tone.TEXT, 0.04 if state & _UNDER_MOUSE else 0.0)

    @Slot()
    def _on_appearance_changed(self) -> None:
        self._cells.forget()

    def _action_at(
        self, place: QPointF, cell: QRect, index: _Index, job: JobSnapshot
    ) -> RowAction | None:
        if index.column() != Column.ACTIONS or self._is_read_only:
            return None
        for action, area in button_rects(cell, job):
            if area.contains(place.toPoint()):
                return action
        return None


def _tip(job: JobSnapshot, column: Column) -> str:
    if column is Column.PROGRESS:
        said = filter(None, (stream_texts.note(job), job_texts.message(job)))
        parts = (job_texts.count(job), job_texts.percent(job), "\n".join(said))
    elif column is Column.SERVER:
        parts = (job_texts.line(job.connection), job_texts.token(job), "")
    elif column is Column.STATUS:
        state = f"{job_texts.state(job)}, {job_texts.amount(job)}".removesuffix(", ")
        parts = (state, job_texts.status(job), _more(job))
    elif column is Column.JOB:
        about = (job_texts.summary(job), job_texts.cause(job))
        parts = (job_texts.name(job), "\n".join(filter(None, about)), job_texts.marks(job))
    else:
        parts = (COLUMNS[column].text(job), "", "")
    return "\n".join(part for part in parts if part)


def _more(job: JobSnapshot) -> str:
    """Why a resumable job stopped, then all that is irregular."""
    note = job_texts.line(job.resume_note)
    return "\n".join(part for part in (note, job_texts.marks(job)) if part)

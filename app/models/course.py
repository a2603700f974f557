"""How a job went, as two small tables: its phases, and its marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app import text
from app.models.job_texts import line, tr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.tracker.snapshot import Mark, Phase

FIRST_FRAME: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of the number of the frame that a mark was seen in first."""

_Index = QModelIndex | QPersistentModelIndex
_Row = tuple[str, ...]
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class CourseModel(QAbstractTableModel):
    """Rows of words: the first column is text, the others numbers.

    Used for phases and for marks. Rows that stay are not announced again, so that a selection
    and the place scrolled to outlive ten updates a second.
    """

    def __init__(self, titles: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._titles = tuple(titles)
        self._rows: list[_Row] = []
        self._frames: list[int] = []

    def show_phases(self, phases: Sequence[Phase], now: float) -> None:
        """Show the phases, oldest first; the last one's length is counted to `now`."""
        self._show([_phase_row(phase, now) for phase in phases], [])

    def show_marks(self, marks: Sequence[Mark]) -> None:
        """Show what was irregular."""
        rows: list[_Row] = [(line(mark.text), text.number(mark.count)) for mark in marks]
        self._show(rows, [mark.first for mark in marks])

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of phases or marks."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        """As many as there are titles."""
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Titles, aligned as their columns."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self._titles):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return tr(self._titles[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section else _LEFT
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, or a mark's frame."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == FIRST_FRAME and self._frames:
            return self._frames[index.row()]
        return _RIGHT if role == Qt.ItemDataRole.TextAlignmentRole and index.column() else None

    def _show(self, rows: list[_Row], frames: list[int]) -> None:
        common = min(len(rows), len(self._rows))
        changed = [row for row in range(common) if rows[row] != self._rows[row]]
        if len(rows) < len(self._rows) or len(changed) > 1:
            self.beginResetModel()
            self._rows, self._frames = rows, frames
            self.endResetModel()
            return
        self._rows[:common], self._frames = rows[:common], frames[:common]
        for row in changed:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self._titles) - 1))
        if len(rows) > common:
            self.beginInsertRows(QModelIndex(), common, len(rows) - 1)
            self._rows, self._frames = rows, frames
            self.endInsertRows()


def _phase_row(phase: Phase, now: float) -> _Row:
    length_s = (now if phase.ended_at is None else phase.ended_at) - phase.began_at
    words = line(phase.message) or tr("(no message)")
    return words, text.duration(length_s), text.number(phase.tick_count)

"""How a job went, as small tables: its phases, its marks, its attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import line, tr

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mcp_progress_monitor.tracker.snapshot import Mark, Phase

FIRST_FRAME: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of the number of the frame that a row is about, None if there is none."""

_Index = QModelIndex | QPersistentModelIndex
_Row: TypeAlias = tuple[str, ...]
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class CourseModel(QAbstractTableModel):
    """Rows of words: the first column is text, the others numbers, unless told otherwise.

    Used for phases, for marks and for attempts. Rows that stay are not announced again, so that
    a selection and the place scrolled to outlive ten updates a second.
    """

    def __init__(
        self,
        titles: Sequence[str],
        parent: QObject | None = None,
        *,
        text_columns: Collection[int] = (0,),
    ) -> None:
        super().__init__(parent)
        self._titles = tuple(titles)
        self._text_columns = frozenset(text_columns)
        self._rows: list[_Row] = []
        self._frames: list[int | None] = []

    def show_phases(self, phases: Sequence[Phase], now: float) -> None:
        """Show the phases, oldest first; the last one's length is counted to `now`."""
        self.show_rows([_phase_row(phase, now) for phase in phases], [])

    def show_marks(self, marks: Sequence[Mark]) -> None:
        """Show what was irregular."""
        rows: list[_Row] = [(line(mark.text), text.number(mark.count)) for mark in marks]
        self.show_rows(rows, [mark.first for mark in marks])

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
            return self._side(section)
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, or a row's frame."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == FIRST_FRAME and self._frames:
            return self._frames[index.row()]
        return self._side(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _side(self, column: int) -> int:
        return _LEFT if column in self._text_columns else _RIGHT

    def show_rows(self, rows: list[_Row], frames: list[int | None]) -> None:
        """Show `rows`, one word for each title; `frames` are theirs, or empty."""
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

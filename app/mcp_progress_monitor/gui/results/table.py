"""Structured content as a table: an array of objects, one row for each, sorted by any member."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QHeaderView, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.tables import PlainTable
from mcp_progress_monitor.wording.content import compact, number
from mcp_progress_monitor.wording.results import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject

ROWS: Final = 100_000
COLUMNS: Final = 100
_CELL: Final = 1_000  # characters of a cell
_WIDEST: Final = 360  # pixels of a column at first
_MEASURED: Final = 100  # rows that the widths are fitted to
_Index = QModelIndex | QPersistentModelIndex
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


def cell(value: Any) -> str:
    """A value as the text of a cell, in full."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return "" if value is None else compact(value, 1_000_000)


def table_rows(rows: Sequence[JsonObject]) -> Iterator[list[str]]:
    """All cells of a table in full, the names of the members first."""
    names = columns(rows, sys.maxsize)
    yield names
    for row in rows:
        yield [cell(row.get(name)) for name in names]


class RowsModel(QAbstractTableModel):
    """The rows of an array of objects; a member that a row lacks is empty."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._given: Sequence[JsonObject] = ()
        self._rows: Sequence[JsonObject] = ()
        self._columns: list[str] = []

    def show_rows(self, rows: Sequence[JsonObject]) -> None:
        self.beginResetModel()
        self._given = self._rows = rows[:ROWS]
        self._columns = columns(self._given, COLUMNS)
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        is_title = orientation is Qt.Orientation.Horizontal and section < len(self._columns)
        if is_title and role == Qt.ItemDataRole.DisplayRole:
            return formatting.one_line(self._columns[section], _CELL)
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        value = self._rows[index.row()].get(self._columns[index.column()])
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if role == Qt.ItemDataRole.TextAlignmentRole and is_number:
            return _RIGHT
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if isinstance(value, str):
            return formatting.one_line(value, _CELL)
        if isinstance(value, int | float) and is_number:
            return number(value, _CELL)
        return "" if value is None else compact(value, _CELL)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a member, numbers before texts; without a column, in the order of the reply."""
        self.layoutAboutToBeChanged.emit()
        self._rows = self._given
        if 0 <= column < len(self._columns):
            name, is_down = self._columns[column], order is Qt.SortOrder.DescendingOrder
            self._rows = sorted(self._given, key=lambda row: _rank(row.get(name)), reverse=is_down)
        self.layoutChanged.emit()


def _rank(value: Any) -> tuple[int, float | str]:
    """Order values of any types: numbers, texts, others, and last what is missing."""
    if isinstance(value, int | float):  # also true and false
        return 0, value
    if isinstance(value, str):
        return 1, value.casefold()
    return (3, "") if value is None else (2, compact(value, _CELL))


class RowsTable(PlainTable):
    """Shows an array of objects; a click on a title sorts, a third click undoes that."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.rows: Final = RowsModel()
        super().__init__(self.rows, "Table", parent)
        self.rows.setParent(self)
        titles = self.horizontalHeader()
        titles.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        titles.setResizeContentsPrecision(_MEASURED)
        titles.setSortIndicatorClearable(True)
        titles.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)

    def show_rows(self, rows: Sequence[JsonObject]) -> None:
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.rows.show_rows(rows)
        self.resizeColumnsToContents()
        for column in self._too_wide():
            self.setColumnWidth(column, _WIDEST)

    def _too_wide(self) -> Iterable[int]:
        every = range(self.rows.columnCount())
        return (column for column in every if self.columnWidth(column) > _WIDEST)

"""The choice of an order for the jobs, for those who have no hand at the header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup

from mcp_progress_monitor.models.job_columns import COLUMNS, Column

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu, QTreeView

_START: Final = -1
_OFFERED: Final = (Column.SERVER, Column.JOB, Column.PROGRESS, Column.STATUS, Column.SAVED)


class SortingChoice(QObject):
    """One action for each order; sorted by server, the jobs of each stand together.

    Follows clicks on the header, and does what they do.
    """

    def __init__(self, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view
        self._group = QActionGroup(self)
        self._by_column = {_START: self._made(self.tr("&Start"), _START)}
        for column in _OFFERED:
            self._by_column[column] = self._made(COLUMNS[column].title(), column)
        self._group.triggered.connect(self._on_chosen)
        view.header().sortIndicatorChanged.connect(self._on_sorted)
        self._on_sorted(view.header().sortIndicatorSection())

    def add_to(self, menu: QMenu) -> None:
        """Offer the choice in `menu`."""
        menu.addActions(self._group.actions())

    def _made(self, words: str, column: int) -> QAction:
        action = QAction(words, self._group)
        action.setCheckable(True)
        action.setData(int(column))
        return action

    @Slot(QAction)
    def _on_chosen(self, action: QAction) -> None:
        self._view.sortByColumn(action.data(), Qt.SortOrder.AscendingOrder)

    @Slot(int)
    def _on_sorted(self, column: int) -> None:
        """Tick what the jobs are sorted by; nothing when that is a column not offered."""
        chosen = self._by_column.get(column)
        for action in self._group.actions():
            action.setChecked(action is chosen)

"""What small tables of texts have in common: their columns' titles, from the left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_Index = QModelIndex | QPersistentModelIndex


class TitledTable(QAbstractTableModel):
    """A table whose columns are its titles; who inherits it has the rows."""

    def __init__(self, context: str, titles: Sequence[str], parent: QObject | None = None) -> None:
        """Show `titles` in the user's language, as they are translated in `context`."""
        super().__init__(parent)
        self._context = context
        self._titles = tuple(titles)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        """As many as there are titles."""
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """The titles."""
        is_title = orientation is Qt.Orientation.Horizontal and 0 <= section < len(self._titles)
        if is_title and role == Qt.ItemDataRole.DisplayRole:
            return QCoreApplication.translate(self._context, self._titles[section])
        return _LEFT if is_title and role == Qt.ItemDataRole.TextAlignmentRole else None

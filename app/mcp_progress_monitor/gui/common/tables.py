"""What small tables and lists have in common: titles, looks, and scrolling to the newest row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Slot,
)
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_Index = QModelIndex | QPersistentModelIndex


class TitledTable(QAbstractTableModel):
    """A table model with fixed column titles; subclasses provide the rows."""

    def __init__(
        self,
        titles: Sequence[str],
        parent: QObject | None = None,
        *,
        numbers: Collection[int] = (),
    ) -> None:
        """Use `titles` for the columns; those in `numbers` are aligned to the right."""
        super().__init__(parent)
        self._titles = tuple(titles)
        self._numbers = frozenset(numbers)

    def alignment(self, column: int) -> int:
        """The alignment of a column and its title."""
        return _RIGHT if column in self._numbers else _LEFT

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
            return self._titles[section]
        is_aligned = is_title and role == Qt.ItemDataRole.TextAlignmentRole
        return self.alignment(section) if is_aligned else None


def is_in_sight(view: QAbstractItemView, index: QModelIndex) -> bool:
    """Whether the middle of a row is in the part of `view` that is seen."""
    return view.viewport().rect().contains(view.visualRect(index).center())


def scroll_to_end(view: QAbstractItemView) -> None:
    """Show the last row, or as many towards it as leave the chosen row in sight."""
    chosen = view.currentIndex()
    is_kept = view.selectionModel().isSelected(chosen) and is_in_sight(view, chosen)
    view.scrollToBottom()
    if is_kept and view.visualRect(chosen).top() < 0:
        view.scrollTo(chosen, QAbstractItemView.ScrollHint.PositionAtTop)


class PlainTable(QTableView):
    """A dense, read-only table of plain text; Ctrl+C copies the selected rows."""

    def __init__(self, model: QAbstractItemModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setAccessibleName(name)
        self.setFrameShape(self.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        rows = self.verticalHeader()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.horizontalHeader().setHighlightSections(False)
        copy = QAction("Copy", self)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._on_copy)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Begin in sight where no row is chosen yet: Qt would take the very first."""
        row = self.rowAt(0)
        if self.currentIndex().isValid() or row < 0:
            return super().moveCursor(action, modifiers)
        return self.model().index(row, 0)

    @Slot()
    def _on_copy(self) -> None:
        rows = sorted(self.selectionModel().selectedRows(), key=QModelIndex.row)
        every = range(self.model().columnCount())
        columns = [column for column in every if not self.isColumnHidden(column)]
        lines = (
            "\t".join(str(row.siblingAtColumn(c).data() or "") for c in columns) for row in rows
        )
        QGuiApplication.clipboard().setText("\n".join(lines))


def fill(whole: QWidget, part: QWidget) -> None:
    """Let `part` be all that `whole` shows."""
    layout = QVBoxLayout(whole)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(part)

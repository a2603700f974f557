"""What small tables and lists have in common: titles, looks, and scrolling to the newest row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    Qt,
    Slot,
)
from PySide6.QtGui import (
    QAction,
    QColor,
    QCursor,
    QGuiApplication,
    QKeySequence,
    QPainter,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableView,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.gui.theme import SELECTED, SELECTED_BEHIND, mixed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from PySide6.QtGui import QPaintEvent

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


_PADDING: Final = 4
_ARROW: Final = 3


class FlatHeader(QHeaderView):
    """Titles without bevels, on the ground of the rows below; the one under the mouse is tinted.

    The view is given the selection of the lists of jobs and messages: a tinted ground under the
    usual colours. A style sheet would do all that, but does not follow a change of the theme.
    """

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setStretchLastSection(isinstance(view, QTreeView))
        self._view = view
        self._soften_selection()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.ApplicationPaletteChange:
            self._soften_selection()

    def _soften_selection(self) -> None:
        used, wanted = QGuiApplication.palette(), QPalette()
        group, roles = QPalette.ColorGroup, QPalette.ColorRole
        base, accent = used.color(roles.Base), used.color(roles.Highlight)
        for of, share in ((group.Active, SELECTED), (group.Inactive, SELECTED_BEHIND)):
            wanted.setColor(of, roles.Highlight, mixed(base, accent, share))
            wanted.setColor(of, roles.HighlightedText, used.color(roles.Text))
        self._view.setPalette(wanted)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the ground also beside the last title."""
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), self.palette().base())
        painter.end()
        super().paintEvent(event)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        """Paint one title and, if the rows are sorted by it, which way."""
        palette, model = self.palette(), self.model()
        ink, line = palette.color(QPalette.ColorRole.Text), palette.color(QPalette.ColorRole.Text)
        line.setAlphaF(0.16)
        place = self.viewport().mapFromGlobal(QCursor.pos())
        if self.viewport().underMouse() and rect.contains(place):
            tint = QColor(ink)
            tint.setAlphaF(0.07)
            painter.fillRect(rect, tint)
        painter.setPen(line)
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.drawLine(rect.right(), rect.top() + 4, rect.right(), rect.bottom() - 4)
        words = rect.adjusted(_PADDING, 0, -_PADDING - 1, -1)
        if self.isSortIndicatorShown() and self.sortIndicatorSection() == section:
            self._paint_arrow(painter, words, ink)
            words.setRight(words.right() - 3 * _ARROW)
        title = model.headerData(section, self.orientation(), Qt.ItemDataRole.DisplayRole)
        aligned = model.headerData(section, self.orientation(), Qt.ItemDataRole.TextAlignmentRole)
        ink.setAlphaF(0.8)
        painter.setPen(ink)
        painter.setFont(self.font())
        text = self.fontMetrics().elidedText(
            str(title or ""), Qt.TextElideMode.ElideRight, words.width()
        )
        alignment = int(self.defaultAlignment().value) if aligned is None else int(aligned)
        painter.drawText(words, alignment | int(Qt.TextFlag.TextSingleLine), text)

    def _paint_arrow(self, painter: QPainter, area: QRect, ink: QColor) -> None:
        is_up = self.sortIndicatorOrder() is Qt.SortOrder.AscendingOrder
        middle, x = area.center().y(), area.right() - _ARROW
        tip, foot = (middle - _ARROW // 2 - 1, middle + _ARROW // 2 + 1)[:: 1 if is_up else -1]
        arrow = [QPoint(x - _ARROW, foot), QPoint(x, tip), QPoint(x + _ARROW, foot)]
        painter.setPen(QPen(ink, 1.4))
        painter.drawPolyline(arrow)


def paint_empty(view: QAbstractItemView, words: str) -> None:
    """Say in the middle of a list without rows why there are none."""
    ink = view.palette().color(QPalette.ColorRole.Text)
    ink.setAlphaF(0.7)
    painter = QPainter(view.viewport())
    painter.setPen(ink)
    painter.setFont(QGuiApplication.font())
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    painter.drawText(view.viewport().rect().adjusted(8, 0, -8, 0), int(flags), words)
    painter.end()


class PlainTable(QTableView):
    """A dense, read-only table of plain text; Ctrl+C copies the selected rows.

    Without rows it says `empty`.
    """

    def __init__(
        self,
        model: QAbstractItemModel,
        name: str,
        parent: QWidget | None = None,
        *,
        empty: str = "",
    ) -> None:
        super().__init__(parent)
        self._empty = empty or f"No {name[:1].lower()}{name[1:]}"
        self.setHorizontalHeader(FlatHeader(self))
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
        copy = QAction("Copy", self)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._on_copy)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows, or that there are none."""
        super().paintEvent(event)
        if not self.model().rowCount():
            paint_empty(self, self._empty)

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

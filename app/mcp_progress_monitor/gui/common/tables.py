"""Shared by small tables and lists: titles, looks, and scrolling to the newest row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    Slot,
)
from PySide6.QtGui import (
    QAction,
    QColor,
    QContextMenuEvent,
    QCursor,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QTreeView,
    QWidget,
)

from mcp_progress_monitor.gui.common.layout import in_column, viewport_of
from mcp_progress_monitor.gui.theme import row_grounds

_AWAY: Final = 24
"""Pixels from the left of a row to the menu that the keyboard opens there."""
_ON_ROWS: Final = frozenset(
    {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Delete, Qt.Key.Key_F2, Qt.Key.Key_F5}
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QTreeWidget

_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_Index = QModelIndex | QPersistentModelIndex


class TitledTable(QAbstractTableModel):
    """A table model with fixed column titles; subclasses provide the rows."""

    def __init__(
        self, titles: Sequence[str], parent: QObject | None = None, *, numbers: Collection[int] = ()
    ) -> None:
        """Use `titles` for the columns; those in `numbers` are aligned to the right."""
        super().__init__(parent)
        self._titles = tuple(titles)
        self._numbers = frozenset(numbers)
        self._rows: Sequence[Any] = ()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def alignment(self, column: int) -> int:
        return _RIGHT if column in self._numbers else _LEFT

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        """One for each title."""
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        is_title = orientation is Qt.Orientation.Horizontal and 0 <= section < len(self._titles)
        if is_title and role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        is_aligned = is_title and role == Qt.ItemDataRole.TextAlignmentRole
        return self.alignment(section) if is_aligned else None


def is_in_sight(view: QAbstractItemView, index: QModelIndex) -> bool:
    """Return whether the middle of a row is in the visible part of `view`."""
    return view.viewport().rect().contains(view.visualRect(index).center())


def scroll_to_end(view: QAbstractItemView) -> None:
    """Scroll to the last row, but keep the selected row in sight."""
    chosen = view.currentIndex()
    is_kept = view.selectionModel().isSelected(chosen) and is_in_sight(view, chosen)
    view.scrollToBottom()
    if is_kept and view.visualRect(chosen).top() < 0:
        view.scrollTo(chosen, QAbstractItemView.ScrollHint.PositionAtTop)


_SETTLED_MS: Final = 100
"""So long after the last turn of a wheel the row under the mouse is looked for again."""


class RowHover(QObject):
    """Tints the row under the mouse of any view, and repaints that row and the one before only.

    While rows scroll, or come and go, the tint stays with its row until the mouse is moved: nothing
    is painted for it. A view whose rows paint their own ground asks for `row`.
    """

    def __init__(self, view: QAbstractItemView, *, is_painted: bool = True) -> None:
        """`is_painted`: the ground of the row is painted here, below what the view paints."""
        super().__init__(view)
        self._view = view
        self._is_painted = is_painted
        self._index = QPersistentModelIndex()
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(_SETTLED_MS)
        self._settled.timeout.connect(self._on_settled)
        view.setMouseTracking(True)
        viewport_of(view).installEventFilter(self)

    @property
    def row(self) -> int:
        """The row under the mouse, -1 when there is none."""
        return self._index.row()

    def eventFilter(self, _viewport: QObject, event: QEvent) -> bool:
        """Follow the mouse, and paint the ground before the rows are painted."""
        kind = event.type()
        if kind is QEvent.Type.Paint:
            if self._is_painted and self._index.isValid():
                self._paint()
        elif isinstance(event, QMouseEvent):
            self._set(event.position().toPoint())
        elif kind is QEvent.Type.Leave:
            self._set(None)
        elif kind is QEvent.Type.Wheel:
            self._settled.start()
        return False

    def _set(self, place: QPoint | None) -> None:
        index = QModelIndex() if place is None else self._view.indexAt(place)
        if not index.flags() & Qt.ItemFlag.ItemIsSelectable:
            index = QModelIndex()
        if self._index == index:
            return
        before, self._index = self._strip(), QPersistentModelIndex(index)
        for strip in (before, self._strip()):
            self._view.viewport().update(strip)

    def _strip(self) -> QRect:
        place = self._view.visualRect(self._index)
        width = self._view.viewport().width() if place.isValid() else 0
        return QRect(0, place.top(), width, place.height())

    def _paint(self) -> None:
        painter = QPainter(self._view.viewport())
        painter.fillRect(self._strip(), row_grounds(self._view.palette()).hovered)
        painter.end()

    @Slot()
    def _on_settled(self) -> None:
        viewport = self._view.viewport()
        self._set(viewport.mapFromGlobal(QCursor.pos()) if viewport.underMouse() else None)


class _RoomyRows(QStyledItemDelegate):
    """Gives rows of plain text the height that they have in a `PlainTable`."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """A little more than the text needs; no less than was asked for."""
        hint = super().sizeHint(option, index)
        least = index.data(Qt.ItemDataRole.SizeHintRole)
        return hint if isinstance(least, QSize) else QSize(hint.width(), hint.height() + _ROOM - 2)


def dress_rows(view: QListView | QTreeView) -> None:
    """Give a plain list or tree the rows of other tables: their height, tinted under the mouse."""
    view.setItemDelegate(_RoomyRows(view))
    RowHover(view)


def dress_tree(tree: QTreeWidget, titles: Sequence[str], name: str) -> None:
    """Give a tree flat titles and rows of one height; `name` is spoken."""
    tree.setHeader(FlatHeader(tree))
    dress_rows(tree)
    tree.setHeaderLabels(list(titles))
    tree.setUniformRowHeights(True)
    tree.setAllColumnsShowFocus(True)
    tree.setAccessibleName(name)


_ROOM: Final = 6  # pixels by which a row is higher than its text
_PADDING: Final = 4
_ARROW: Final = 3


class FlatHeader(QHeaderView):
    """Flat titles on the background of the rows below; the one under the mouse is tinted.

    A style sheet would do that as well, but does not follow a change of the theme.
    """

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        viewport_of(self)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setStretchLastSection(isinstance(view, QTreeView))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        room = self.viewport().rect()
        if self.length() < room.width():
            painter = QPainter(self.viewport())
            painter.setBackground(self.palette().base())
            painter.eraseRect(room.adjusted(self.length(), 0, 0, 0))
            painter.end()

    def sectionSizeFromContents(self, section: int) -> QSize:
        """The style's size, or what is painted if that is wider."""
        size = super().sectionSizeFromContents(section)
        model = cast("QAbstractItemModel | None", self.model())
        if model is None:  # it was deleted first, as Qt does at the end of a window
            return size
        title = model.headerData(section, self.orientation(), Qt.ItemDataRole.DisplayRole)
        painted = self.fontMetrics().horizontalAdvance(str(title or "")) + 2 * _PADDING + 2
        return size.expandedTo(QSize(painted, 0))

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        """Paint one title and, if the rows are sorted by it, the direction."""
        palette, model = self.palette(), self.model()
        ink, line = palette.color(QPalette.ColorRole.Text), palette.color(QPalette.ColorRole.Text)
        line.setAlphaF(0.16)
        painter.setBackground(palette.base())
        painter.eraseRect(rect)  # for `fillRect` PySide creates `QGradient`, 2 ms of the start
        place = self.viewport().mapFromGlobal(QCursor.pos())
        if self.viewport().underMouse() and rect.contains(place):
            tint = QColor(ink)
            tint.setAlphaF(0.07)
            painter.fillRect(rect, tint)
        painter.setPen(line)
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.drawLine(rect.right(), rect.top() + 4, rect.right(), rect.bottom() - 4)
        room = rect.adjusted(_PADDING, 0, -_PADDING - 1, -1)
        if self.isSortIndicatorShown() and self.sortIndicatorSection() == section:
            self._paint_arrow(painter, room, ink)
            room.setRight(room.right() - 3 * _ARROW)
        title = model.headerData(section, self.orientation(), Qt.ItemDataRole.DisplayRole)
        aligned = model.headerData(section, self.orientation(), Qt.ItemDataRole.TextAlignmentRole)
        ink.setAlphaF(0.8)
        painter.setPen(ink)
        painter.setFont(self.font())
        text = self.fontMetrics().elidedText(
            str(title or ""), Qt.TextElideMode.ElideRight, room.width()
        )
        alignment = int(self.defaultAlignment().value) if aligned is None else int(aligned)
        painter.drawText(room, alignment | int(Qt.TextFlag.TextSingleLine), text)

    def _paint_arrow(self, painter: QPainter, area: QRect, ink: QColor) -> None:
        is_up = self.sortIndicatorOrder() is Qt.SortOrder.AscendingOrder
        middle, x = area.center().y(), area.right() - _ARROW
        tip, foot = (middle - _ARROW // 2 - 1, middle + _ARROW // 2 + 1)[:: 1 if is_up else -1]
        arrow = [QPoint(x - _ARROW, foot), QPoint(x, tip), QPoint(x + _ARROW, foot)]
        painter.setPen(QPen(ink, 1.4))
        painter.drawPolyline(arrow)


def paint_empty(view: QAbstractItemView, text: str) -> None:
    """Show in the middle of an empty list why it is empty."""
    ink = view.palette().color(QPalette.ColorRole.Text)
    ink.setAlphaF(0.7)
    painter = QPainter(view.viewport())
    painter.setPen(ink)
    painter.setFont(QGuiApplication.font())
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    painter.drawText(view.viewport().rect().adjusted(8, 0, -8, 0), int(flags), text)
    painter.end()


class EmptyText(QObject):
    """Shows in an empty list why it has no rows."""

    def __init__(self, view: QAbstractItemView, text: str) -> None:
        super().__init__(view)
        self._view = view
        self._text = text
        viewport_of(view).installEventFilter(self)

    def eventFilter(self, _viewport: QObject, event: QEvent) -> bool:
        """Paint the text of an empty list."""
        if event.type() is QEvent.Type.Paint and not self._view.model().rowCount():
            paint_empty(self._view, self._text)
        return False


class PlainTable(QTableView):
    """A dense, read-only table of plain text; Ctrl+C copies the selected rows.

    Without rows it shows `empty`.
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
        rows.setDefaultSectionSize(self.fontMetrics().height() + _ROOM)
        RowHover(self)
        copy = QAction("Copy", self)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._on_copy)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows, or why there are none."""
        super().paintEvent(event)
        if not self.model().rowCount():
            paint_empty(self, self._empty)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Begin in sight if no row is selected yet: Qt would use the very first."""
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
    """Make `part` the only content of `whole`."""
    in_column(part, of=whole, margins=0)


class RowKeys(QObject):
    """Lets the keyboard act on the current row where none is selected, as after Tab and F6.

    Its menu opens there, too: Qt names the middle of the view, where another row may be or none.
    `view` has the policy `CustomContextMenu`.
    """

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view
        view.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Select the row before a key of it is looked up; ask for the menu of it."""
        kind = event.type()
        if kind is QEvent.Type.ShortcutOverride:
            assert isinstance(event, QKeyEvent)  # noqa: S101
            if event.key() in _ON_ROWS:
                self._select()
        elif kind is QEvent.Type.ContextMenu:
            assert isinstance(event, QContextMenuEvent)  # noqa: S101
            is_by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
            if is_by_key and self._view.currentIndex().isValid():
                self._select()
                self._view.customContextMenuRequested.emit(self._place())
                return True
        return False

    def _select(self) -> None:
        chosen = self._view.selectionModel()
        if not chosen.hasSelection() and chosen.currentIndex().isValid():
            flags = chosen.SelectionFlag.Select | chosen.SelectionFlag.Rows
            chosen.select(chosen.currentIndex(), flags)

    def _place(self) -> QPoint:
        """In the current row, as far as it is seen."""
        current = self._view.currentIndex()
        self._view.scrollTo(current)
        row = self._view.visualRect(current)
        middle = self._view.viewport().rect().center()
        return QPoint(min(max(row.left(), 0) + _AWAY, middle.x()), row.center().y())

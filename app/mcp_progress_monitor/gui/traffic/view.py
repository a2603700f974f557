"""The table of the traffic: follows the newest row until the user looks at an older one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QElapsedTimer,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QHeaderView,
    QTableView,
    QToolButton,
    QWidget,
)

from mcp_progress_monitor.gui.common.row_painting import cells_in_sight
from mcp_progress_monitor.gui.common.tables import RowHover, paint_empty
from mcp_progress_monitor.gui.theme import (
    ACTIVE,
    SELECTED,
    UNDER_MOUSE,
    Appearance,
    Tone,
    monospaced,
)
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.columns import TrafficColumns
from mcp_progress_monitor.gui.traffic.delegate import TrafficDelegate

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QItemSelectionRange, QPersistentModelIndex
    from PySide6.QtGui import QFocusEvent, QMouseEvent, QPaintEvent, QShowEvent

    from mcp_progress_monitor.gui.traffic.delegate import RowLook
    from mcp_progress_monitor.gui.traffic.model import TrafficModel

_UPWARDS: Final = frozenset({Qt.Key.Key_Up, Qt.Key.Key_PageUp, Qt.Key.Key_Home})

_ROWS_AT_ONCE: Final = 4
"""New rows that are painted in one turn of the event loop: about 3 ms of work."""
_PAUSE_MS: Final = 300  # after so long without new rows the next are shown at once
_FLOOD_ROWS: Final = 500  # so many new rows in one batch are a flood
_FLOOD_MS: Final = 500

COPIED_AT_MOST: Final = 5_000
"""Rows copied at once: 5,000 rows take about 0.2 s to read and describe."""


class TrafficView(QTableView):
    """Rows of equal height without widgets; keeps its position while old rows are dropped.

    While it `is_following`, each batch scrolls to the newest row. Scrolling up or selecting a row
    stops that; the `jump` button, the End key or scrolling to the end restart it.
    """

    place_chosen = Signal(object)  # the place of the current row; see `TrafficModel.place`
    copy_requested = Signal()

    def __init__(
        self, model: TrafficModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._appearance = appearance
        self._is_following = True
        self._is_moving = False
        self._is_choosing_again = False
        self._is_pressed = False
        self._is_choice_held = False
        self._keeps_row = False
        self._new = 0
        self._anchor: int | None = None
        self._place: int | None = None
        self._delegate = TrafficDelegate(model, appearance, self)
        self._hover = RowHover(self, is_painted=False)
        self._jump = QToolButton(self)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self._target = 0  # the number of rows when the turn began; 0 before that
        self._is_flood = False
        self._since_end = QElapsedTimer()
        self.setItemDelegate(self._delegate)
        self._set_up_table()
        self._use_font()
        self.setModel(model)
        # The header would ask all rows whether the whole column is selected, at every paint: with
        # ten million selected that took minutes.
        titles = self.horizontalHeader()
        titles.setSelectionModel(QItemSelectionModel(model, titles))
        self._columns = TrafficColumns(self, self._delegate.width_of, model.longest_server)
        self._sources = 0
        self._set_up_jump()
        self._connect()

    @property
    def is_following(self) -> bool:
        return self._is_following

    @property
    def appearance(self) -> Appearance:
        """The colours in use."""
        return self._appearance

    @property
    def columns(self) -> TrafficColumns:
        """The columns, with their visibility and widths."""
        return self._columns

    @property
    def jump(self) -> QToolButton:
        """Goes to the newest row; the pane places it where it covers no row.

        Visible only while the newest row is not followed.
        """
        return self._jump

    def selected_rows(self) -> list[int]:
        """Return the selected rows in order, at most `COPIED_AT_MOST` of them."""
        rows: list[int] = []
        for selected in sorted(self._selection(), key=_top):
            room = COPIED_AT_MOST - len(rows)
            rows.extend(range(selected.top(), min(selected.bottom() + 1, selected.top() + room)))
        return rows

    def selected_count(self) -> int:
        """Return the number of selected rows."""
        return sum(selected.height() for selected in self._selection())

    def selected_spans(self) -> list[tuple[int, int]]:
        """Return the first and the last row of each stretch of selected rows, in order."""
        return sorted((each.top(), each.bottom()) for each in self._selection())

    def choose(self, row: int) -> None:
        """Make `row` the current one and scroll to it."""
        self._stop_following()
        index = self._model.index(row, TrafficColumn.SUMMARY)
        self.setCurrentIndex(index)
        self.scrollTo(
            self._model.index(row, TrafficColumn.TIME),
            QAbstractItemView.ScrollHint.PositionAtCenter,
        )

    @Slot()
    def follow(self) -> None:
        self._is_following = True
        self._new = 0
        self._show_jump()
        self._to_end()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the font or palette."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange):
            self._use_font()
            self._disconnect_rows()
            self._connect_rows()
            self._columns.fit()
        elif event.type() is QEvent.Type.PaletteChange:
            self._appearance.follow(QGuiApplication.palette())
            self._jump.setIcon(self._appearance.icon("follow", Tone.ACCENT))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint whole rows: Qt would paint each cell separately."""
        rows = self._rows_at(event.rect())
        look_of = self._looks()
        painter = QPainter(self.viewport())
        region = event.region()
        for row in rows:
            place = QRect(QPoint(0, self.rowViewportPosition(row)), self._row_size())
            if region.intersects(place):
                self._delegate.paint_row(painter, place, row, look_of(row))
        self._paint_focus(painter, look_of)
        painter.end()
        if not self._model.rowCount():
            is_filtered = bool(self._model.timeline.end)
            paint_empty(self, "No message matches the filter" if is_filtered else "No messages yet")

    def _looks(self) -> Callable[[int], RowLook]:
        cells = tuple(cells_in_sight(self.horizontalHeader(), self.viewport().width()))
        plain = self._delegate.look(cells, 0)
        hovered = self._delegate.look(cells, UNDER_MOUSE)
        selected = self._delegate.look(cells, SELECTED | (ACTIVE if self.hasFocus() else 0))
        hovered_row = self._hover.row
        selection = self.selectionModel()
        has_any = selection.hasSelection()

        def look_of(row: int) -> RowLook:
            is_selected = has_any and selection.isSelected(self._model.index(row, 0))
            if is_selected:
                return selected
            return hovered if row == hovered_row else plain

        return look_of

    def _row_size(self) -> QSize:
        return QSize(self.viewport().width(), self._delegate.row_height())

    def _follow_soon(self, count: int) -> None:
        """Go to the newest of so many rows once their pixmaps are painted, a few at a time.

        Few rows, and any after a pause, are shown at once; but a view full of new rows ten times a
        second takes 15 ms each time. In a flood nobody can read each row: it is shown twice a
        second.
        """
        self._is_flood = count >= _FLOOD_ROWS
        is_pause = not self._since_end.isValid() or self._since_end.elapsed() >= _PAUSE_MS
        if (is_pause and not self._is_flood) or count <= _ROWS_AT_ONCE:
            self._to_end()
            return
        self.executeDelayedItemsLayout()  # updates the scroll bar for the new rows
        if not self._turn.isActive():
            self._target = 0
            self._turn.start(self._rest_ms())

    def _rest_ms(self) -> int:
        """How long the visible rows stay."""
        if not (self._is_flood and self._since_end.isValid()):
            return 0
        return max(0, _FLOOD_MS - self._since_end.elapsed())

    @Slot()
    def _on_turn(self) -> None:
        """Paint the pixmaps of the next few rows; scroll once all are painted.

        Rows that arrive meanwhile wait for the next turn: else these would never be seen.
        """
        if not self._is_following:
            return
        look_of, size, made = self._looks(), self._row_size(), 0
        count = self._model.rowCount()
        end = self._target = min(self._target or count, count)
        first = max(0, end - self.viewport().height() // max(1, size.height()) - 1)
        for row in range(first, end):
            made += self._delegate.prepare_row(self.viewport(), size, row, look_of(row))
            if made == _ROWS_AT_ONCE:
                self._turn.start(0)
                return
        self._to_row(end - 1)
        if end < count:
            self._target = 0
            self._turn.start(self._rest_ms())

    def _rows_at(self, area: QRect) -> range:
        first, last = self.rowAt(area.top()), self.rowAt(area.bottom())
        if first < 0:
            return range(0)
        return range(first, last + 1 if last >= 0 else self._model.rowCount())

    def _paint_focus(self, painter: QPainter, look_of: Callable[[int], RowLook]) -> None:
        """Frame the current cell; the whole view while no row is selected."""
        current = self.currentIndex()
        if self._is_framed():
            painter.setPen(self._appearance.colour(Tone.ACCENT))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
        elif self.hasFocus():
            painter.setPen(self._appearance.colour(Tone.TEXT))
            painter.drawRect(self.visualRect(current).adjusted(0, 0, -1, -1))

    def _is_framed(self) -> bool:
        return self.hasFocus() and not self.currentIndex().isValid()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Move the rows, but not the frame around them."""
        super().scrollContentsBy(dx, dy)
        if self._is_framed():
            self.viewport().update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Do not select a row: Qt would take the first one, however far away."""
        QAbstractScrollArea.focusInEvent(self, event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Remove the frame."""
        super().focusOutEvent(event)
        self.viewport().update()

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Begin at the newest visible row if none is selected yet."""
        if self.currentIndex().isValid():
            return super().moveCursor(action, modifiers)
        rows = self._rows_at(self.viewport().rect())
        return self._model.index(rows[-1], TrafficColumn.SUMMARY) if rows else QModelIndex()

    def scrollTo(
        self,
        index: QModelIndex | QPersistentModelIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        """Scroll to a row, without resuming to follow the end."""
        was_moving, self._is_moving = self._is_moving, True
        super().scrollTo(index, hint)
        self._is_moving = was_moving

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Keep the pressed row in place."""
        self._is_pressed = True
        if self.indexAt(event.position().toPoint()).isValid():
            self._stop_following()
        # Qt makes a row current, then selects the one under the mouse. If details take room in
        # between, it would select another row than they show.
        self._is_choice_held = True
        before = self.currentIndex().row()
        super().mousePressEvent(event)
        self._is_choice_held = False
        current = self.currentIndex()
        if current.isValid() and current.row() != before:
            self.place_chosen.emit(self._model.place(current.row()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let rows move under the mouse again."""
        super().mouseReleaseEvent(event)
        self._is_pressed = False
        if self._keeps_row:
            self._settle.start(0)

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with changes while hidden."""
        super().showEvent(event)
        if self._is_following:
            self._to_end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the width, and keep the visible part of the current row."""
        super().resizeEvent(event)
        self._columns.fit()
        if self._is_following:
            self._settle.start(0)
        elif self.currentIndex().isValid():
            # The details of a first selection take half of the table's room.
            top = self.rowViewportPosition(self.currentIndex().row())
            self._keeps_row = self._keeps_row or 0 <= top < event.oldSize().height()
            if not self._is_pressed:
                self._settle.start(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End follows, going up stops that, Ctrl+C copies."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
            return
        if event.key() == Qt.Key.Key_End:
            self._choose_last()
            self.follow()
            return
        if event.key() in _UPWARDS:
            self._stop_following()
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Do nothing: Qt would decode every row to find one that begins with a typed letter."""

    def currentChanged(
        self,
        current: QModelIndex | QPersistentModelIndex,
        previous: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Stop following at the user's row, but not if Qt leaves a row that is gone."""
        if current.isValid() and not self._is_choosing_again:
            self._stop_following()
        super().currentChanged(current, previous)
        if current.isValid() and current.row() != previous.row() and not self._is_choice_held:
            self.place_chosen.emit(self._model.place(current.row()))

    def _selection(self) -> list[QItemSelectionRange]:
        selection = self.selectionModel().selection()
        return [selection.at(position) for position in range(selection.count())]

    def _set_up_table(self) -> None:
        self.setAccessibleName("Traffic of all servers")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)

    def _set_up_jump(self) -> None:
        self._jump.setAutoRaise(True)
        self._jump.setAccessibleName("Jump to newest")
        self._jump.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._jump.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._jump.setIcon(self._appearance.icon("follow", Tone.ACCENT))
        self._jump.setToolTip("Jump to the newest row and follow new ones (End)")
        self._jump.hide()

    def _connect(self) -> None:
        self._settle.timeout.connect(self._on_settled)
        self._turn.timeout.connect(self._on_turn)
        self._jump.clicked.connect(self.follow)
        self._model.rows_dropping.connect(self._on_rows_dropping)
        self._model.modelAboutToBeReset.connect(self._on_about_to_reset)
        self._model.titles.changed.connect(self._columns.fit)
        self._connect_rows()
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def _connect_rows(self) -> None:
        """Connect after the header: else the scroll bar does not know the last row yet."""
        self._model.rowsRemoved.connect(self._on_rows_removed)
        self._model.rowsInserted.connect(self._on_rows_inserted)
        self._model.modelReset.connect(self._on_model_reset)

    def _disconnect_rows(self) -> None:
        self._model.rowsRemoved.disconnect(self._on_rows_removed)
        self._model.rowsInserted.disconnect(self._on_rows_inserted)
        self._model.modelReset.disconnect(self._on_model_reset)

    def _use_font(self) -> None:
        font = monospaced(QWidget.font(self))
        self._delegate.set_font(font)
        self.viewport().setFont(font)
        self.setVerticalHeader(_rows_of_height(self._delegate.row_height()))

    def _show_jump(self) -> None:
        is_shown = not self._is_following and self._model.rowCount() > 0
        if is_shown:
            words = "Jump to newest"
            if self._new:
                words = "Jump to newest, {count} new".format(count=f"{self._new:,}")
            self._jump.setText(words)
        self._jump.setVisible(is_shown)

    def _stop_following(self) -> None:
        if self._is_following:
            self._is_following = False
            self._new = 0
            self._show_jump()

    def _to_end(self) -> None:
        self._turn.stop()
        self._to_row(self._model.rowCount() - 1)

    def _to_row(self, row: int) -> None:
        """Scroll so that `row` is the last one in sight."""
        self._is_moving = True
        if row == self._model.rowCount() - 1:
            self.scrollToBottom()
        else:
            index = self._model.index(row, TrafficColumn.TIME)
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtBottom)
        self._is_moving = False
        self._since_end.start()

    def _choose_last(self) -> None:
        last = self._model.rowCount() - 1
        if last >= 0:
            self.setCurrentIndex(self._model.index(last, TrafficColumn.SUMMARY))

    def _choose_again(self) -> None:
        row = None if self._place is None else self._model.row_of(self._place)
        if row is None or self.currentIndex().isValid():
            return
        self._place = None
        index = self._model.index(row, TrafficColumn.SUMMARY)
        flags = (
            QItemSelectionModel.SelectionFlag.ClearAndSelect
            | QItemSelectionModel.SelectionFlag.Rows
        )
        self._is_choosing_again = True
        self.selectionModel().setCurrentIndex(index, flags)
        self._is_choosing_again = False
        if not self._is_following:
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    @Slot(object)
    def _on_rows_dropping(self, rows: range) -> None:
        if not self._is_following:
            top = self.verticalScrollBar().value()
            self._anchor = self._model.place(top) if top < self._model.rowCount() else None
        if self.currentIndex().row() in rows:
            # Qt would make another row current, and then another.
            self.selectionModel().setCurrentIndex(
                QModelIndex(), QItemSelectionModel.SelectionFlag.NoUpdate
            )

    @Slot(QModelIndex, int, int)
    def _on_rows_removed(self, _parent: QModelIndex, first: int, last: int) -> None:
        self._target = max(0, self._target - (last + 1 - first))
        if self._anchor is not None:
            self._is_moving = True
            self.verticalScrollBar().setValue(self._model.row_from(self._anchor))
            self._is_moving = False
            self._anchor = None

    @Slot(QModelIndex, int, int)
    def _on_rows_inserted(self, _parent: QModelIndex, first: int, last: int) -> None:
        sources = len(self._model.timeline.columns.sources)
        if sources != self._sources:
            self._sources = sources
            self._columns.fit()
        if not self._is_following:
            self._new += last - first + 1
            self._show_jump()
        elif self.isVisible():
            self._follow_soon(last - first + 1)
        if self._place is not None:
            self._choose_again()

    @Slot()
    def _on_about_to_reset(self) -> None:
        current = self.currentIndex()
        if current.isValid():
            self._place = self._model.place(current.row())

    @Slot()
    def _on_model_reset(self) -> None:
        self._new = 0
        self._choose_again()
        self._show_jump()
        if self._is_following:
            self._settle.start(0)

    @Slot()
    def _on_settled(self) -> None:
        if self._is_following:
            self._to_end()
        elif self._keeps_row and self.currentIndex().isValid():
            self.scrollTo(self._model.index(self.currentIndex().row(), TrafficColumn.TIME))
        self._keeps_row = False

    @Slot(int)
    def _on_scrolled(self, value: int) -> None:
        if self._is_moving:
            return
        is_at_end = value >= self.verticalScrollBar().maximum()
        if is_at_end and not self._is_following:
            self.follow()
        elif not is_at_end:
            self._stop_following()


def _rows_of_height(height: int) -> QHeaderView:
    """A hidden header that gives all rows the same height.

    It is set before the header knows of rows: afterwards Qt would visit each of them, which took
    half a minute for a million. So it stores nothing per row; ten million cost no memory.
    """
    rows = QHeaderView(Qt.Orientation.Vertical)
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    rows.setMinimumSectionSize(height)
    rows.setDefaultSectionSize(height)
    rows.hide()
    return rows


def _top(selected: QItemSelectionRange) -> int:
    return selected.top()

"""The table of Traffic: follows the newest row until the user selects an older one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from PySide6.QtCore import (
    QByteArray,
    QElapsedTimer,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
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
    QMenu,
    QTableView,
    QToolButton,
    QWidget,
)

from mcp_progress_monitor.gui.common.row_painting import cells_in_sight
from mcp_progress_monitor.gui.common.tables import FlatHeader, RowHover, paint_empty
from mcp_progress_monitor.gui.theme import (
    ACTIVE,
    SELECTED,
    UNDER_MOUSE,
    Appearance,
    Tone,
    monospaced,
)
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.delegate import TrafficDelegate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from PySide6.QtCore import QPersistentModelIndex
    from PySide6.QtGui import QAction, QFocusEvent, QMouseEvent, QPaintEvent, QShowEvent

    from mcp_progress_monitor.gui.traffic.delegate import RowLook
    from mcp_progress_monitor.gui.traffic.model import TrafficModel

_Index: TypeAlias = "QModelIndex | QPersistentModelIndex"

FIRST: Final = {
    TrafficColumn.TIME: 12,
    TrafficColumn.DELTA: 8,
    TrafficColumn.DIRECTION: 2,
    TrafficColumn.SERVER: 9,
    TrafficColumn.KIND: 10,
    TrafficColumn.METHOD: 16,
    TrafficColumn.KEY: 12,
    TrafficColumn.SUMMARY: 34,
    TrafficColumn.SIZE: 8,
    TrafficColumn.DURATION: 10,
    TrafficColumn.NUMBER: 9,
}
"""Characters in each column if there is room; the summary takes the remainder as well."""

_MOST_OF_SERVER: Final = 24
_WIDER: Final = ((TrafficColumn.KEY, 24), (TrafficColumn.METHOD, 28))
_EASY_SUMMARY: Final = 70
"""What columns grow to, in characters, where that leaves so many to the summary."""
_OPTIONAL: Final = frozenset({TrafficColumn.NUMBER})  # what is shown only to those who choose it

_STEPS: Final = (
    (TrafficColumn.SIZE, 0),
    (TrafficColumn.DURATION, 8),
    (TrafficColumn.DELTA, 0),
    (TrafficColumn.METHOD, 12),
    (TrafficColumn.KIND, 10),
    (TrafficColumn.SERVER, 8),
    (TrafficColumn.KEY, 9),
    (TrafficColumn.DURATION, 0),
    (TrafficColumn.SUMMARY, 22),
    (TrafficColumn.METHOD, 0),
    (TrafficColumn.SERVER, 0),
    (TrafficColumn.SUMMARY, 12),
)
"""What shrinks first if there is less room, to how many characters; 0 hides the column.

The arrow shows the direction, the kind most of a method, and the details size and delta.
"""


def fitted(
    room: int,
    width_of: Callable[[int], int],
    own: Mapping[TrafficColumn, int],
    hidden: Collection[TrafficColumn],
    shown: Collection[TrafficColumn],
    server: int = 0,
) -> dict[TrafficColumn, int]:
    """The width of every column for `room` pixels, 0 for hidden ones.

    `own` widths are kept as the user made them, `hidden` columns stay away, and of those `shown`
    none is left out. `width_of` is the width of so many characters, `server` how many the longest
    server has.
    """
    left_out = {*hidden, *(_OPTIONAL - set(shown))}
    widest = max(FIRST[TrafficColumn.SERVER], min(server, _MOST_OF_SERVER))
    wanted = {**FIRST, TrafficColumn.SERVER: widest}
    widths = {
        column: 0 if column in left_out else own.get(column, width_of(characters))
        for column, characters in wanted.items()
    }
    for column, characters in _STEPS:
        if sum(widths.values()) <= room:
            break
        is_fixed = column in own or (column in shown and not characters)
        if widths[column] and not is_fixed:
            widths[column] = width_of(characters) if characters else 0
    left = room - sum(widths.values())
    for column, characters in _WIDER:
        more = width_of(characters) - widths[column]
        is_easy = widths[TrafficColumn.SUMMARY] + left - more >= width_of(_EASY_SUMMARY)
        if widths[column] and column not in own and is_easy:
            widths[column] += more
            left -= more
    widths[TrafficColumn.SUMMARY] += max(0, left)
    return widths


class TrafficColumns(QObject):
    """Fits the columns of `view` to its width, except those that the user has resized."""

    def __init__(
        self, view: QTableView, width_of: Callable[[int], int], longest_server: Callable[[], int]
    ) -> None:
        super().__init__(view)
        self._view = view
        self._width_of = width_of
        self._longest_server = longest_server
        self._own: dict[TrafficColumn, int] = {}
        self._hidden: set[TrafficColumn] = set()
        self._shown: set[TrafficColumn] = set()
        self._is_fitting = False
        header = FlatHeader(view)
        view.setHorizontalHeader(header)
        header.setMinimumSectionSize(1)
        header.setSectionsMovable(True)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._on_menu_requested)
        header.sectionResized.connect(self._on_section_resized)

    @Slot()
    def fit(self) -> None:
        """Set every column's width for the current room."""
        if self._is_fitting:
            return
        self._is_fitting = True
        room = self._view.viewport().width()
        server = self._longest_server()
        widths = fitted(room, self._width_of, self._own, self._hidden, self._shown, server)
        for column, width in widths.items():
            self._view.setColumnHidden(column, not width)
            if width:
                self._view.setColumnWidth(column, width)
        self._is_fitting = False

    def state(self) -> dict[str, Any]:
        """The state to save, as JSON values: order of the columns, and the user's widths."""
        header = self._view.horizontalHeader().saveState().toBase64().toStdString()
        return {
            "header": header,
            "widths": {column.name: width for column, width in self._own.items()},
            "hidden": sorted(column.name for column in self._hidden),
            "shown": sorted(column.name for column in self._shown),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore saved state; invalid parts are ignored."""
        header, widths = state.get("header"), state.get("widths")
        if isinstance(header, str):
            self._is_fitting = True
            raw = QByteArray.fromBase64(QByteArray(header.encode(errors="replace")))
            self._view.horizontalHeader().restoreState(raw)
            self._is_fitting = False
        named = widths if isinstance(widths, dict) else {}
        self._own = {
            TrafficColumn[name]: min(width, 4_000)
            for name, width in named.items()
            if name in TrafficColumn.__members__ and isinstance(width, int) and width > 0
        }
        self._hidden = _columns(state.get("hidden")) - {TrafficColumn.SUMMARY}
        self._shown = _columns(state.get("shown"))
        self.fit()

    @Slot(int, int, int)
    def _on_section_resized(self, section: int, _old: int, new: int) -> None:
        if self._is_fitting or not new:
            return
        if section != TrafficColumn.SUMMARY:
            self._own[TrafficColumn(section)] = new
            self.fit()

    @Slot(object)
    def _on_menu_requested(self, point: QPoint) -> None:
        menu = QMenu(self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for column in TrafficColumn:
            title = self._view.model().headerData(column, Qt.Orientation.Horizontal)
            action = menu.addAction(str(title))
            action.setData(int(column))
            action.setCheckable(True)
            action.setChecked(not self._view.isColumnHidden(column))
            action.setEnabled(column is not TrafficColumn.SUMMARY)
        menu.addSeparator()
        menu.addAction("Fit columns to width")
        menu.triggered.connect(self._on_column_chosen)
        menu.popup(self._view.horizontalHeader().mapToGlobal(point))

    @Slot(object)
    def _on_column_chosen(self, action: QAction) -> None:
        if not action.isCheckable():
            self._own.clear()
            self._hidden.clear()
            self._shown.clear()
        else:
            column = TrafficColumn(action.data())
            to, out_of = self._shown, self._hidden
            if not action.isChecked():
                to, out_of = out_of, to
            to.add(column)
            out_of.discard(column)
        self.fit()


def _columns(names: object) -> set[TrafficColumn]:
    found = names if isinstance(names, list) else []
    return {TrafficColumn[name] for name in found if name in TrafficColumn.__members__}


_SIGN: Final = 2  # characters of the sign of folded ticks
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
        self.appearance = appearance
        self.is_following = True
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
        self.jump = QToolButton(self)
        """Visible only while the newest row is not followed; placed by the pane."""
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
        self.columns = TrafficColumns(self, self._delegate.width_of, model.longest_server)
        self._sources = 0
        self._row_slots = (
            (model.rowsRemoved, self._on_rows_removed),
            (model.rowsInserted, self._on_rows_inserted),
            (model.modelReset, self._on_model_reset),
        )
        model.folded_in.connect(self._on_folded_in)
        self._set_up_jump()
        self._connect()

    def selected_rows(self) -> list[int]:
        """The selected rows in order, at most `COPIED_AT_MOST` of them."""
        rows: list[int] = []
        for top, bottom in self.selected_spans():
            rows.extend(range(top, min(bottom + 1, top + COPIED_AT_MOST - len(rows))))
        return rows

    def selected_count(self) -> int:
        return sum(bottom + 1 - top for top, bottom in self.selected_spans())

    def selected_spans(self) -> list[tuple[int, int]]:
        """The first and the last row of each stretch of selected rows, in order."""
        selection = self.selectionModel().selection()
        stretches = (selection.at(position) for position in range(selection.count()))
        return sorted((each.top(), each.bottom()) for each in stretches)

    def choose(self, row: int) -> None:
        """Make `row` the current one and scroll to it."""
        self._stop_following()
        index = self._model.index(row, TrafficColumn.SUMMARY)
        self.setCurrentIndex(index)
        self.scrollTo(
            self._model.index(row, TrafficColumn.TIME),
            QAbstractItemView.ScrollHint.PositionAtCenter,
        )

    def set_open(self, row: int, *, is_open: bool) -> None:
        """Unfold the ticks of a row, or fold them into their first, which is chosen then."""
        place = self._model.place(row)
        self._stop_following()
        self._model.set_open(row, is_open=is_open)
        shown = self._model.row_with(place)
        if shown is not None and shown != self.currentIndex().row():
            self.choose(shown)

    @Slot()
    def follow(self) -> None:
        self.is_following = True
        self._new = 0
        self._show_jump()
        self._to_end()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the font or palette."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange):
            self._use_font()
            for signal, slot in self._row_slots:
                signal.disconnect(slot)
            self._connect_rows()
            self.columns.fit()
        elif event.type() is QEvent.Type.PaletteChange:
            self.appearance.follow(QGuiApplication.palette())

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
        """Return how long the visible rows stay."""
        if not (self._is_flood and self._since_end.isValid()):
            return 0
        return max(0, _FLOOD_MS - self._since_end.elapsed())

    @Slot()
    def _on_turn(self) -> None:
        """Paint the pixmaps of the next few rows; scroll once all are painted.

        Rows that arrive meanwhile wait for the next turn: else these would never be seen.
        """
        if not self.is_following:
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
            painter.setPen(self.appearance.colour(Tone.ACCENT))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
        elif self.hasFocus():
            painter.setPen(self.appearance.colour(Tone.TEXT))
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
        index: _Index,
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
        if self._is_on_fold(event.position().toPoint()):
            self.set_open(current.row(), is_open=bool(self._model.is_folded_at(current.row())))
            current = self.currentIndex()
        if current.isValid() and current.row() != before:
            self.place_chosen.emit(self._model.place(current.row()))

    def _is_on_fold(self, at: QPoint) -> bool:
        """True for the sign before the summary of folded ticks."""
        index = self.indexAt(at)
        if index.column() != TrafficColumn.SUMMARY or self._model.fold_at(index.row()) is None:
            return False
        return at.x() - self.visualRect(index).left() < self._delegate.width_of(_SIGN)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let rows move under the mouse again."""
        super().mouseReleaseEvent(event)
        self._is_pressed = False
        if self._keeps_row:
            self._settle.start(0)

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with changes while hidden."""
        super().showEvent(event)
        if self.is_following:
            self._to_end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the width, and keep the visible part of the current row."""
        super().resizeEvent(event)
        self.columns.fit()
        if self.is_following:
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
            if last := self._model.rowCount():
                self.setCurrentIndex(self._model.index(last - 1, TrafficColumn.SUMMARY))
            self.follow()
            return
        if event.key() in _UPWARDS:
            self._stop_following()
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Do nothing: Qt would decode every row to find one that begins with a typed letter."""

    def currentChanged(self, current: _Index, previous: _Index) -> None:
        """Stop following at the user's row, but not if Qt leaves a row that is gone."""
        if current.isValid() and not self._is_choosing_again:
            self._stop_following()
        super().currentChanged(current, previous)
        if current.isValid() and current.row() != previous.row() and not self._is_choice_held:
            self.place_chosen.emit(self._model.place(current.row()))

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
        self.jump.setAutoRaise(True)
        self.jump.setAccessibleName("Jump to newest")
        self.jump.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.jump.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.jump.setIcon(self.appearance.icon("follow", Tone.ACCENT))
        self.jump.setToolTip("Jump to the newest row and follow new ones (End)")
        self.jump.hide()

    def _connect(self) -> None:
        self._settle.timeout.connect(self._on_settled)
        self._turn.timeout.connect(self._on_turn)
        self.jump.clicked.connect(self.follow)
        self._model.rows_dropping.connect(self._on_rows_dropping)
        self._model.modelAboutToBeReset.connect(self._on_about_to_reset)
        self._model.titles.changed.connect(self.columns.fit)
        self._connect_rows()
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def _connect_rows(self) -> None:
        """Connect after the header: else the scroll bar does not know the last row yet."""
        for signal, slot in self._row_slots:
            signal.connect(slot)

    def _use_font(self) -> None:
        font = monospaced(QWidget.font(self))
        self._delegate.set_font(font)
        self.viewport().setFont(font)
        self.setVerticalHeader(_rows_of_height(self._delegate.row_height()))

    def _show_jump(self) -> None:
        is_shown = not self.is_following and self._model.rowCount() > 0
        if is_shown:
            self.jump.setText("Jump to newest" + (f", {self._new:,} new" if self._new else ""))
        self.jump.setVisible(is_shown)

    def _stop_following(self) -> None:
        if self.is_following:
            self.is_following = False
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

    def _choose_again(self) -> None:
        row = None if self._place is None else self._model.row_with(self._place)
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
        if not self.is_following:
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    @Slot(object)
    def _on_rows_dropping(self, rows: range) -> None:
        if not self.is_following:
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
            self.columns.fit()
        if not self.is_following:
            self._new += last - first + 1
            self._show_jump()
        elif self.isVisible():
            self._follow_soon(last - first + 1)
        if self._place is not None:
            self._choose_again()

    @Slot(object)
    def _on_folded_in(self, count: int) -> None:
        if not self.is_following:
            self._new += count
            self._show_jump()

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
        if self.is_following:
            self._settle.start(0)

    @Slot()
    def _on_settled(self) -> None:
        if self.is_following:
            self._to_end()
        elif self._keeps_row and self.currentIndex().isValid():
            self.scrollTo(self._model.index(self.currentIndex().row(), TrafficColumn.TIME))
        self._keeps_row = False

    @Slot(int)
    def _on_scrolled(self, value: int) -> None:
        if self._is_moving:
            return
        is_at_end = value >= self.verticalScrollBar().maximum()
        if is_at_end and not self.is_following:
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

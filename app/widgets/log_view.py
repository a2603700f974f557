"""The log's table: follows the newest row until the user looks at an older one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableView,
    QToolButton,
    QWidget,
)

from app.models.log import LogColumn, LogModel
from app.widgets.appearance import Appearance, Tone, monospaced
from app.widgets.log_columns import LogColumns
from app.widgets.log_delegate import LogDelegate

if TYPE_CHECKING:
    from PySide6.QtCore import QItemSelectionRange, QPersistentModelIndex

_UPWARDS: Final = frozenset({Qt.Key.Key_Up, Qt.Key.Key_PageUp, Qt.Key.Key_Home})

COPIED_AT_MOST: Final = 5_000
"""Rows copied at one go: 5,000 rows take some 0.2 s to read and describe."""


class LogView(QTableView):
    """Rows of one height without widgets of their own; keeps its place while old rows go.

    `is_following` rows scroll to the newest with each batch. A user who scrolls up stops that;
    its `jump` button, the End key or scrolling to the end start it again.
    """

    place_chosen = Signal(object)
    """The place of the row the user stands on; see `LogModel.place`."""
    copy_requested = Signal()

    def __init__(
        self, model: LogModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._appearance = appearance
        self._is_following = True
        self._is_moving = False
        self._new = 0
        self._anchor: int | None = None
        self._place: int | None = None
        self._delegate = LogDelegate(model, appearance, self)
        self._jump = QToolButton(self)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self.setItemDelegate(self._delegate)
        self._set_up_table()
        self._use_font()
        self.setModel(model)
        # The header would ask all rows whether the whole column is selected, at every paint: with
        # ten million of them selected that took minutes.
        titles = self.horizontalHeader()
        titles.setSelectionModel(QItemSelectionModel(model, titles))
        self._columns = LogColumns(self, self._delegate.width_of)
        self._set_up_jump()
        self._connect()

    @property
    def is_following(self) -> bool:
        """Whether the newest row is kept in sight."""
        return self._is_following

    @property
    def new_count(self) -> int:
        """How many rows came since following stopped."""
        return self._new

    @property
    def columns(self) -> LogColumns:
        """Which columns are shown, and how wide."""
        return self._columns

    @property
    def jump(self) -> QToolButton:
        """Goes to the newest row; for the pane to place where it covers no row.

        Seen only while the newest row is not followed.
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
        """Return how many rows are selected."""
        return sum(selected.height() for selected in self._selection())

    def choose(self, row: int) -> None:
        """Make `row` the current one and bring it into sight."""
        self._stop_following()
        index = self._model.index(row, LogColumn.SUMMARY)
        self.setCurrentIndex(index)
        self.scrollTo(
            self._model.index(row, LogColumn.TIME), QAbstractItemView.ScrollHint.PositionAtCenter
        )

    @Slot()
    def follow(self) -> None:
        """Go to the newest row and stay there."""
        self._is_following = True
        self._new = 0
        self._show_jump()
        self._to_end()

    def changeEvent(self, event: QEvent) -> None:
        """Take another font or palette."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange):
            self._use_font()
            self._columns.fit()
        elif event.type() is QEvent.Type.PaletteChange:
            self._appearance.follow(self.palette())
            self._jump.setIcon(self._appearance.icon("follow", Tone.ACCENT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns to the width."""
        super().resizeEvent(event)
        self._columns.fit()
        if self._is_following:
            self._settle.start(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End follows, going upwards stops that, Ctrl+C copies."""
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
        """Tell which row the user stands on; not when Qt moves on from a row that is gone."""
        super().currentChanged(current, previous)
        if current.isValid() and current.row() != previous.row():
            self.place_chosen.emit(self._model.place(current.row()))

    def _selection(self) -> list[QItemSelectionRange]:
        selection = self.selectionModel().selection()
        return [selection.at(position) for position in range(selection.count())]

    def _set_up_table(self) -> None:
        self.setAccessibleName(self.tr("Log of all messages"))
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
        self._jump.setAccessibleName(self.tr("Jump to newest"))
        self._jump.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._jump.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._jump.setIcon(self._appearance.icon("follow", Tone.ACCENT))
        self._jump.setToolTip(self.tr("Show the newest row and stay there (End)"))
        self._jump.hide()

    def _connect(self) -> None:
        self._settle.timeout.connect(self._on_settled)
        self._jump.clicked.connect(self.follow)
        self._model.rows_dropping.connect(self._on_rows_dropping)
        self._model.rowsRemoved.connect(self._on_rows_removed)
        self._model.rowsInserted.connect(self._on_rows_inserted)
        self._model.modelAboutToBeReset.connect(self._on_about_to_reset)
        self._model.modelReset.connect(self._on_model_reset)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def _use_font(self) -> None:
        font = monospaced(QWidget.font(self))
        self._delegate.set_font(font)
        self.viewport().setFont(font)
        self.setVerticalHeader(_rows_of_height(self._delegate.row_height()))

    def _show_jump(self) -> None:
        is_shown = not self._is_following and self._model.rowCount() > 0
        if is_shown:
            words = self.tr("Jump to newest")
            if self._new:
                words = self.tr("Jump to newest, {count} new").format(count=f"{self._new:,}")
            self._jump.setText(words)
        self._jump.setVisible(is_shown)

    def _stop_following(self) -> None:
        if self._is_following:
            self._is_following = False
            self._new = 0
            self._show_jump()

    def _to_end(self) -> None:
        self._is_moving = True
        self.scrollToBottom()
        self._is_moving = False

    def _choose_last(self) -> None:
        last = self._model.rowCount() - 1
        if last >= 0:
            self.setCurrentIndex(self._model.index(last, LogColumn.SUMMARY))

    def _choose_again(self) -> None:
        """Stand on the row the user stood on before the rows were made anew."""
        row = None if self._place is None else self._model.row_of(self._place)
        if row is None or self.currentIndex().isValid():
            return
        self._place = None
        index = self._model.index(row, LogColumn.SUMMARY)
        flags = (
            QItemSelectionModel.SelectionFlag.ClearAndSelect
            | QItemSelectionModel.SelectionFlag.Rows
        )
        self.selectionModel().setCurrentIndex(index, flags)
        if not self._is_following:
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    @Slot(object)
    def _on_rows_dropping(self, rows: range) -> None:
        if not self._is_following:
            top = self.verticalScrollBar().value()
            self._anchor = self._model.place(top) if top < self._model.rowCount() else None
        if self.currentIndex().row() in rows:
            # Qt would make another row the current one, and another after that.
            self.selectionModel().setCurrentIndex(
                QModelIndex(), QItemSelectionModel.SelectionFlag.NoUpdate
            )

    @Slot(QModelIndex, int, int)
    def _on_rows_removed(self, _parent: QModelIndex, _first: int, _last: int) -> None:
        if self._anchor is not None:
            self._is_moving = True
            self.verticalScrollBar().setValue(self._model.row_from(self._anchor))
            self._is_moving = False
            self._anchor = None

    @Slot(QModelIndex, int, int)
    def _on_rows_inserted(self, _parent: QModelIndex, first: int, last: int) -> None:
        if self._is_following:
            self._to_end()
        else:
            self._new += last - first + 1
            self._show_jump()
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
    """A hidden header that makes all rows of one height.

    It is set before the header knows of rows: afterwards Qt would visit each of them, which took
    half a minute for a million. So it keeps nothing for a row; ten million cost no memory.
    """
    rows = QHeaderView(Qt.Orientation.Vertical)
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    rows.setMinimumSectionSize(height)
    rows.setDefaultSectionSize(height)
    rows.hide()
    return rows


def _top(selected: QItemSelectionRange) -> int:
    return selected.top()

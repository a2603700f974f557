"""The log: every message of every connection in one timeline, and the chosen one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QMimeData, QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QLabel, QSplitter, QVBoxLayout, QWidget

from app.filtering.chosen import LogFilter
from app.filtering.expression import quoted
from app.models.log import LogColumn, LogModel
from app.models.log_copy import as_json, as_raw
from app.text import number
from app.widgets.appearance import GAP, GAP_S, Appearance
from app.widgets.log_details import LogDetails
from app.widgets.log_filter_bar import LogFilterBar
from app.widgets.log_view import COPIED_AT_MOST, LogView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QResizeEvent

    from app.models.log_jobs import JobFinder
    from app.protocol.frame import Frame


_WIDE = 900
"""From this width on, in device-independent pixels, table and details stand side by side."""
_FIRST_SHARES = [600, 400]
"""Of the table and the details, until the user moves the line between them."""
_LEAST_DETAILS = 110
"""Its head and a row or two: less than it would ask for, so that the pane fits a small window."""


class LogPane(QWidget):
    """Filter bar, table and details; speaks to the shell by signals only.

    `jobs` tells which job a message belongs to. Pausing and clearing concern the view alone.
    """

    job_opened = Signal(object)
    """The `JobId` the user wants to see."""
    filter_changed = Signal(object)
    """The `LogFilter` in use."""

    def __init__(
        self,
        model: LogModel,
        jobs: JobFinder,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._bar = LogFilterBar(appearance, self)
        self._view = LogView(model, appearance, self)
        self._details = LogDetails(jobs, appearance, self)
        self._splitter = QSplitter(Qt.Orientation.Vertical, self)
        self._notice = QLabel(self)
        self._is_divided = False
        self._lay_out()
        self._add_actions()
        self._connect()
        self._show_status()

    @property
    def view(self) -> LogView:
        """The table."""
        return self._view

    @property
    def details(self) -> LogDetails:
        """The chosen message in full."""
        return self._details

    @property
    def bar(self) -> LogFilterBar:
        """The filter bar."""
        return self._bar

    def set_filter(self, wanted: LogFilter) -> None:
        """Show only what `wanted` lets through."""
        self._bar.set_filter(wanted)

    @Slot(object)
    def search_for(self, words: str) -> None:
        """Show only messages that hold `words` as one phrase."""
        self._bar.set_filter(self._bar.filter()._replace(text=quoted(words)))

    @Slot(object)
    def follow_frame(self, frame_number: int) -> None:
        """Stand on the frame of that number; what hides it is taken away."""
        row = self._model.row_of_number(frame_number)
        if row is None:
            self._model.show_all()
            self.set_filter(LogFilter())
            row = self._model.row_of_number(frame_number)
        if row is None:
            self._notice.setText(
                self.tr("Message no. {number} is no longer in memory.").format(
                    number=number(frame_number)
                )
            )
            self._notice.show()
            return
        self._notice.hide()
        self._view.choose(row)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the details where there is room: beside the table in a wide pane, else below."""
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE and event.size().width() > 2 * event.size().height()
        wanted = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if self._splitter.orientation() is not wanted:
            self._splitter.setOrientation(wanted)

    def state(self) -> dict[str, Any]:
        """Return what to remember of the pane's look, as JSON values."""
        return {**self._view.columns.state(), "sizes": self._splitter.sizes()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a remembered look; what does not fit is left out."""
        self._view.columns.restore(state)
        sizes = state.get("sizes")
        if isinstance(sizes, list) and all(isinstance(size, int) for size in sizes):
            self._splitter.setSizes(sizes)
            self._is_divided = all(sizes)

    def _lay_out(self) -> None:
        self._notice.setTextFormat(Qt.TextFormat.PlainText)
        self._notice.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        self._notice.hide()
        self._bar.add_button(self._view.jump)
        self._splitter.addWidget(self._view)
        self._splitter.addWidget(self._details)
        self._details.setMinimumHeight(_LEAST_DETAILS)
        self._details.hide()  # the table has the whole room until a message is chosen
        self._splitter.setStretchFactor(0, 3)
        self._splitter.setStretchFactor(1, 2)
        self._splitter.setChildrenCollapsible(True)
        self._splitter.setCollapsible(0, False)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self._bar)
        whole.addWidget(self._notice)
        whole.addWidget(self._splitter, 1)

    def _add_actions(self) -> None:
        self._copy_line = self._action(self.tr("Copy as line"), "Ctrl+C")
        self._copy_json = self._action(self.tr("Copy as JSON"), "Ctrl+Shift+C")
        self._copy_raw = self._action(self.tr("Copy raw bytes"), "Ctrl+Alt+C")
        self._search_key = self._action(self.tr("Search for this token or id"), "")
        self._search_method = self._action(self.tr("Search for this method"), "")
        self._view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def _action(self, text: str, key: str) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self._view.addAction(action)
        return action

    def _connect(self) -> None:
        find = QShortcut(QKeySequence.StandardKey.Find, self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self._bar.focus_search)
        self._copy_line.triggered.connect(self._on_copy_line)
        self._copy_json.triggered.connect(self._on_copy_json)
        self._copy_raw.triggered.connect(self._on_copy_raw)
        self._search_key.triggered.connect(self._on_search_key)
        self._search_method.triggered.connect(self._on_search_method)
        self._view.copy_requested.connect(self._on_copy_line)
        self._view.place_chosen.connect(self._on_place_chosen)
        self._details.job_opened.connect(self.job_opened)
        self._details.search_requested.connect(self.search_for)
        self._bar.filter_changed.connect(self._on_filter_changed)
        self._bar.paused_changed.connect(self._on_paused_changed)
        self._bar.clear_requested.connect(self._on_clear_requested)
        self._bar.show_all_requested.connect(self._on_show_all_requested)
        self._model.waiting_changed.connect(self._on_counts_changed)
        self._model.search_changed.connect(self._on_counts_changed)
        self._model.rowsInserted.connect(self._on_rows_changed)
        self._model.rowsRemoved.connect(self._on_rows_changed)
        self._model.modelReset.connect(self._on_model_reset)

    def _show_status(self) -> None:
        self._bar.set_status(", ".join(self._status_words()))
        self._bar.set_hidden(self._model.hidden)

    def _status_words(self) -> Iterator[str]:
        rows = number(self._model.rowCount())
        yield self.tr("{count} rows").format(count=rows)
        if self._model.unsearched:
            yield self.tr("{count} to search").format(count=number(self._model.unsearched))
        if self._model.is_paused:
            yield self.tr("paused, {count} waiting").format(count=number(self._model.waiting))
        if self._model.hidden:
            yield self.tr("{count} cleared").format(count=number(self._model.hidden))
        if self._model.dropped:
            yield self.tr("{count} older gone").format(count=number(self._model.dropped))

    def _chosen(self) -> list[Frame]:
        """The frames of the selected rows, and a word to the user where there are too many."""
        rows = self._view.selected_rows()
        count = self._view.selected_count()
        if count > len(rows):
            self._notice.setText(
                self.tr("Copied the first {copied} of {count} rows.").format(
                    copied=number(COPIED_AT_MOST), count=number(count)
                )
            )
        self._notice.setVisible(count > len(rows))
        return [frame for row in rows if (frame := self._model.frame(row)) is not None]

    def _search_cell(self, column: LogColumn) -> None:
        words = self._model.text(self._view.currentIndex().row(), column)
        if words:
            self.search_for(words)

    @Slot()
    def _on_copy_line(self) -> None:
        self._chosen()
        rows = self._view.selected_rows()
        QGuiApplication.clipboard().setText("\n".join(self._model.line(row) for row in rows))

    @Slot()
    def _on_copy_json(self) -> None:
        QGuiApplication.clipboard().setText(as_json(self._chosen()))

    @Slot()
    def _on_copy_raw(self) -> None:
        raw, text = as_raw(self._chosen())
        data = QMimeData()
        data.setText(text)
        data.setData("application/octet-stream", raw)
        QGuiApplication.clipboard().setMimeData(data)

    @Slot()
    def _on_search_key(self) -> None:
        self._search_cell(LogColumn.KEY)

    @Slot()
    def _on_search_method(self) -> None:
        self._search_cell(LogColumn.METHOD)

    @Slot(object)
    def _on_place_chosen(self, place: int) -> None:
        row = self._model.row_of(place)
        frame = None if row is None else self._model.frame(row)
        if frame is not None and frame is not self._details.frame:
            self._details.show_frame(frame, "" if row is None else self._model.mark_of(row))
            is_first = self._details.isHidden() and not self._is_divided
            self._details.show()
            if is_first:
                self._splitter.setSizes(_FIRST_SHARES)

    @Slot(object)
    def _on_filter_changed(self, wanted: LogFilter) -> None:
        self._model.set_filter(wanted)
        self.filter_changed.emit(wanted)
        self._show_status()

    @Slot(bool)
    def _on_paused_changed(self, paused: bool) -> None:
        self._model.set_paused(paused)
        self._show_status()

    @Slot()
    def _on_clear_requested(self) -> None:
        self._model.clear_view()

    @Slot()
    def _on_show_all_requested(self) -> None:
        self._model.show_all()

    @Slot(object)
    def _on_counts_changed(self, _count: int) -> None:
        self._show_status()

    @Slot(QModelIndex, int, int)
    def _on_rows_changed(self, _parent: QModelIndex, _first: int, _last: int) -> None:
        self._show_status()

    @Slot()
    def _on_model_reset(self) -> None:
        self._show_status()

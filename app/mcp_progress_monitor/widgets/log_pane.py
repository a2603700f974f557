"""The log: every message of every connection in one timeline, and the chosen one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLabel, QSplitter, QVBoxLayout, QWidget

from mcp_progress_monitor.filtering.chosen import LogFilter
from mcp_progress_monitor.models.log import LogColumn, LogModel
from mcp_progress_monitor.models.log_notes import LogNotes
from mcp_progress_monitor.text import number
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance
from mcp_progress_monitor.widgets.log_actions import JUMPS, MARKS, LogActions
from mcp_progress_monitor.widgets.log_commands import LogCommands
from mcp_progress_monitor.widgets.log_filter_bar import LogFilterBar
from mcp_progress_monitor.widgets.log_view import LogView
from mcp_progress_monitor.widgets.tab_order import order_tabs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.filtering.completion import Completion
    from mcp_progress_monitor.models.log_jobs import JobFinder
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.widgets.json_tree import FilterWish
    from mcp_progress_monitor.widgets.log_details import LogDetails


_WIDE = 900
"""From this width on, in device-independent pixels, table and details stand side by side."""
_FIRST_SHARES = [600, 400]
"""Of the table and the details, until the user moves the line between them."""
_LEAST_DETAILS = 110
"""Its head and a row or two: less than it would ask for, so that the pane fits a small window."""


class LogPane(QWidget):
    """Filter bar, table and details; speaks to the shell by signals only.

    `jobs` tells which job a message belongs to, `notes` are the marks and notes on messages, in
    memory alone unless they were given. Pausing and clearing concern the view alone.
    """

    job_opened = Signal(object)
    """The `JobId` the user wants to see."""
    filter_changed = Signal(object)
    """The `LogFilter` in use."""
    snippet_requested = Signal(object)
    """The number of the request to be copied as a Python snippet."""
    export_requested = Signal()

    def __init__(
        self,
        model: LogModel,
        jobs: JobFinder,
        appearance: Appearance,
        parent: QWidget | None = None,
        notes: LogNotes | None = None,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._notes = LogNotes(parent=self) if notes is None else notes
        self._bar = LogFilterBar(self._complete, appearance, self)
        self._view = LogView(model, appearance, self)
        self._jobs = jobs
        self._appearance = appearance
        self._made_details: LogDetails | None = None
        self._actions = LogActions(self._view, self, appearance)
        self._commands = LogCommands(model, self._view, self._notes, jobs, self._actions)
        self._splitter = QSplitter(Qt.Orientation.Vertical, self)
        self._notice = QLabel(self)
        self._is_divided = False
        model.set_notes(self._notes)
        self._lay_out()
        self._connect_bar()
        self._connect()
        self._show_status()

    @property
    def view(self) -> LogView:
        """The table."""
        return self._view

    @property
    def details(self) -> LogDetails:
        """The chosen message in full; made at its first use."""
        return self._made_details or self.make_details()

    @property
    def bar(self) -> LogFilterBar:
        """The filter bar."""
        return self._bar

    @property
    def actions_(self) -> LogActions:
        """What can be done with a row."""
        return self._actions

    @property
    def notes(self) -> LogNotes:
        """The marks and notes on messages."""
        return self._notes

    def make_details(self) -> LogDetails:
        """Make the details, hidden yet; nothing is done where they are made."""
        if self._made_details is not None:
            return self._made_details
        from mcp_progress_monitor.widgets.log_details import (
            LogDetails,  # late: no start waits for it
        )

        details = self._made_details = LogDetails(self._jobs, self._notes, self._appearance, self)
        details.add_buttons(self._actions.buttons((*JUMPS, *MARKS), details))
        details.setMinimumHeight(_LEAST_DETAILS)
        details.hide()
        self._splitter.replaceWidget(1, details)
        self._place.deleteLater()
        self._splitter.setStretchFactor(1, 2)
        details.job_opened.connect(self.job_opened)
        details.search_requested.connect(self.search_for)
        details.filter_requested.connect(self._on_value_chosen)
        order_tabs(self)  # made late, they would come behind the window's last control
        return details

    def set_filter(self, wanted: LogFilter) -> None:
        """Show only what `wanted` lets through."""
        self._bar.set_filter(wanted)

    @Slot(object)
    def search_for(self, words: str) -> None:
        """Show only messages that hold `words` as one phrase."""
        from mcp_progress_monitor.filtering.terms import text_term  # late: no start waits for it

        self._set_text(text_term(words))

    @Slot(object)
    def follow_job(self, job: JobId) -> None:
        """Show only the messages of a job."""
        from mcp_progress_monitor.models.log_terms import job_term  # late: no start waits for it

        self._set_text(job_term(job))

    @Slot(object)
    def follow_frame(self, frame_number: int) -> None:
        """Stand on the frame of that number; what hides it is taken away."""
        row = self._model.row_of_number(frame_number)
        if row is None:
            self._model.show_all()
            self.set_filter(LogFilter())
            row = self._model.row_of_number(frame_number)
        if row is None:
            self._say(
                self.tr("Message no. {number} is not in the log any more.").format(
                    number=number(frame_number)
                )
            )
            return
        self._say("")
        self._view.choose(row)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the details where there is room: beside the table in a wide pane, else below."""
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE and event.size().width() > 2 * event.size().height()
        wanted = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if self._splitter.orientation() is not wanted:
            self._splitter.setOrientation(wanted)

    def state(self) -> dict[str, Any]:
        """Return what to remember of the pane, as JSON values."""
        return {
            **self._view.columns.state(),
            "sizes": self._splitter.sizes(),
            "recent": list(self._bar.recent.texts),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what was remembered; what does not fit is left out."""
        self._view.columns.restore(state)
        self._bar.recent.restore(state.get("recent"))
        sizes = state.get("sizes")
        if isinstance(sizes, list) and all(isinstance(size, int) for size in sizes):
            self._splitter.setSizes(sizes)
            self._is_divided = all(sizes)

    def _lay_out(self) -> None:
        self._notice.setTextFormat(Qt.TextFormat.PlainText)
        self._notice.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        self._notice.hide()
        self._bar.add_button(self._view.jump)
        self._view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._splitter.addWidget(self._view)
        self._place = QWidget(self)  # of the details
        self._splitter.addWidget(self._place)
        self._place.hide()  # the table has the whole room until a message is chosen
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

    def _connect_bar(self) -> None:
        find = QShortcut(QKeySequence.StandardKey.Find, self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self._bar.focus_search)
        self._bar.filter_changed.connect(self._on_filter_changed)
        self._bar.paused_changed.connect(self._on_paused_changed)
        self._bar.clear_requested.connect(self._on_clear_requested)
        self._bar.show_all_requested.connect(self._on_show_all_requested)

    def _connect(self) -> None:
        self._view.customContextMenuRequested.connect(self._on_menu_requested)
        self._view.copy_requested.connect(self._commands.copy_lines)
        self._view.place_chosen.connect(self._on_place_chosen)
        self._commands.term_wanted.connect(self._on_term_wanted)
        self._commands.filter_wanted.connect(self._set_text)
        self._commands.place_wanted.connect(self._on_place_wanted)
        self._commands.job_wanted.connect(self.job_opened)
        self._commands.said.connect(self._say)
        self._commands.snippet_requested.connect(self.snippet_requested)
        self._commands.export_requested.connect(self.export_requested)
        self._model.waiting_changed.connect(self._on_counts_changed)
        self._model.search_changed.connect(self._on_counts_changed)
        self._model.rowsInserted.connect(self._on_rows_changed)
        self._model.rowsRemoved.connect(self._on_rows_changed)
        self._model.modelReset.connect(self._on_model_reset)

    def _complete(self, text: str, cursor: int) -> Completion:
        from mcp_progress_monitor.filtering.completion import (
            complete,  # late: no start waits for it
        )

        return complete(text, cursor, self._model.timeline)

    @Slot(object)
    def _set_text(self, text: str) -> None:
        self.set_filter(self._bar.filter()._replace(text=text))

    @Slot(object)
    def _say(self, words: str) -> None:
        """Tell the user something below the filter, until there is something else to tell."""
        self._notice.setText(words)
        self._notice.setVisible(bool(words))

    def _show_status(self) -> None:
        self._bar.set_status(*self._status_words())
        self._bar.set_hidden(self._model.hidden)

    def _status_words(self) -> Iterator[str]:
        rows = number(self._model.rowCount())
        yield self.tr("{count} rows").format(count=rows)
        if self._model.unsearched:
            yield self.tr("{count} to search").format(count=number(self._model.unsearched))
        if self._model.undecided:
            yield self.tr("pattern given up on {count} texts: too slow").format(
                count=number(self._model.undecided)
            )
        if self._model.is_paused:
            yield self.tr("paused, {count} waiting").format(count=number(self._model.waiting))
        if self._model.hidden:
            yield self.tr("{count} cleared").format(count=number(self._model.hidden))
        if self._model.dropped:
            words = (
                self.tr("{count} older no longer in memory")
                if self._model.is_closed
                else self.tr("{count} older gone")
            )
            yield words.format(count=number(self._model.dropped))

    def _show_place(self, place: int) -> None:
        row = self._model.row_of(place)
        delta = "" if row is None else self._model.text(row, LogColumn.DELTA)
        mark = "" if row is None else self._model.mark_of(row)
        if not self.details.show_place(self._model.timeline, place, delta=delta, mark=mark):
            return
        self._commands.stand_on(place)
        is_first = self.details.isHidden() and not self._is_divided
        self.details.show()
        if is_first:
            self._splitter.setSizes(_FIRST_SHARES)

    @Slot(object)
    def _on_place_chosen(self, place: int) -> None:
        if place != self.details.place:
            self._say("")
            self._show_place(place)

    @Slot(object)
    def _on_place_wanted(self, place: int) -> None:
        row = self._model.row_of(place)
        if row is not None:
            self._view.choose(row)
            return
        self._show_place(place)
        self._say(
            self.tr(
                "Message no. {number} is not among the rows of now; the details show it."
            ).format(number=number(self._model.timeline.number(place)))
        )

    @Slot(object)
    def _on_menu_requested(self, at: QPoint) -> None:
        self._commands.show_menu(self._view.viewport().mapToGlobal(at))

    @Slot(object)
    def _on_value_chosen(self, wish: FilterWish) -> None:
        from mcp_progress_monitor.models.log_terms import value_term  # late: no start waits for it

        term = value_term(wish.keys, wish.value)
        if term:
            self._bar.add_term(term, is_excluded=wish.is_excluded)
        else:
            self._say(self.tr("This value cannot be written in a filter."))

    @Slot(object, bool)
    def _on_term_wanted(self, term: str, is_excluded: bool) -> None:
        self._bar.add_term(term, is_excluded=is_excluded)

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

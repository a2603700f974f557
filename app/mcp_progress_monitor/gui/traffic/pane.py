"""The Traffic pane: filter bar, every message in one timeline, and the selected one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import QSplitter, QToolButton, QWidget

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.formatting import count, number
from mcp_progress_monitor.gui.common.controls import ElidedLabel, plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.tables import RowKeys
from mcp_progress_monitor.gui.theme import GAP, Appearance
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.commands import JUMPS, MARKS, SHOW_JOB
from mcp_progress_monitor.gui.traffic.controller import TrafficController
from mcp_progress_monitor.gui.traffic.filter_bar import TrafficFilterBar
from mcp_progress_monitor.gui.traffic.model import TrafficNotes
from mcp_progress_monitor.gui.traffic.view import TrafficView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent

    from mcp_progress_monitor.filtering.completion import Completion
    from mcp_progress_monitor.gui.common.commands import CommandAction, Commands
    from mcp_progress_monitor.gui.common.json_view import FilterRequest
    from mcp_progress_monitor.gui.followed import JobsFollowed
    from mcp_progress_monitor.gui.traffic.details import MessageDetails
    from mcp_progress_monitor.gui.traffic.model import TrafficModel
    from mcp_progress_monitor.tracker.snapshot import JobId

_WIDE = 900  # from this width on, in device-independent pixels, table and details are side by side
_FIRST_SHARES = [600, 400]  # initial sizes of the table and the details
_LEAST_DETAILS = 110
"""Its header and a row or two: less than its hint, so that the pane fits a small window."""


class TrafficPane(QWidget):
    """Filter bar, table and details.

    `jobs` finds the job of a message, `notes` are the marks and notes on messages, kept in memory
    unless they are given. Pausing and clearing affect only the view.
    """

    filter_changed = Signal(object)
    """The `TrafficFilter` in use."""

    def __init__(
        self,
        model: TrafficModel,
        jobs: JobsFollowed,
        appearance: Appearance,
        commands: Commands,
        parent: QWidget | None = None,
        notes: TrafficNotes | None = None,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self.notes = TrafficNotes(parent=self) if notes is None else notes
        self.bar = TrafficFilterBar(self._complete, appearance, self)
        self.view = TrafficView(model, appearance, self)
        self._jobs = jobs
        self._appearance = appearance
        self._made_details: MessageDetails | None = None
        self.controller: Final = TrafficController(
            self, model, self.view, self.bar, self.notes, jobs, commands
        )
        self._splitter = QSplitter(Qt.Orientation.Vertical, self)
        self._notice = ElidedLabel(self)
        self._is_divided = False
        model.set_notes(self.notes)
        self._lay_out()
        self._connect_bar()
        self._connect()
        self._show_status()

    @property
    def details(self) -> MessageDetails:
        """The selected message in full; created on first use."""
        return self._made_details or self.make_details()

    def make_details(self) -> MessageDetails:
        """Create the details, still hidden and empty."""
        if self._made_details is not None:
            return self._made_details
        from mcp_progress_monitor.gui.traffic.details import MessageDetails

        details = self._made_details = MessageDetails(
            self._jobs, self.notes, self._appearance, self, titles=self._model.titles
        )
        actions = self.controller.actions
        details.add_buttons([_button(actions[each], details) for each in (*JUMPS, *MARKS)])
        details.tell_key(actions[SHOW_JOB])
        details.setMinimumHeight(_LEAST_DETAILS)
        details.hide()
        self._splitter.replaceWidget(1, details)
        self._place.deleteLater()
        self._splitter.setStretchFactor(1, 2)
        details.job_opened.connect(self.controller.job_wanted)
        details.search_requested.connect(self.search_for)
        details.filter_requested.connect(self._on_value_chosen)
        order_tabs(self)  # created late, they would be last in the Tab order
        return details

    def wanted_for_export(self) -> TrafficFilter:
        """The filter in use, narrowed to the selected messages where there are several."""
        wanted, model = self.bar.filter(), self._model
        spans = self.view.selected_spans()
        if len(spans) < 2 and all(model.last_place(b) == model.place(a) for a, b in spans):
            return wanted
        from mcp_progress_monitor.gui.traffic.filtering import rows_term  # late: not at startup

        chosen = " or ".join(f"({rows_term(model, first, last)})" for first, last in spans)
        return wanted._replace(text=f"({wanted.text}) and ({chosen})" if wanted.text else chosen)

    def set_filter(self, wanted: TrafficFilter) -> None:
        """Show only what `wanted` matches."""
        self.bar.set_filter(wanted)

    @Slot(object)
    def search_for(self, text: str) -> None:
        """Show only messages that contain `text` as one phrase."""
        from mcp_progress_monitor.filtering.language import text_term  # late: not needed at startup

        self._set_text(text_term(text))

    @Slot(object)
    def follow_job(self, job: JobId) -> None:
        from mcp_progress_monitor.gui.traffic.filtering import (
            job_term,  # late: not needed at startup
        )

        self._set_text(job_term(job))

    @Slot(object)
    def follow_frame(self, frame_number: int) -> None:
        """Select the frame with that number, removing filters that hide it."""
        row = self._model.row_of_number(frame_number)
        if row is None:
            self._model.show_all()
            self.set_filter(TrafficFilter())
            row = self._model.row_of_number(frame_number)
        if row is None:
            self._show_note(f"Message no. {number(frame_number)} is no longer in Traffic.")
            return
        self._show_note("")
        self.view.choose(row)

    @property
    def notice(self) -> str:
        return self._notice.text()

    def add_notice(self, text: str) -> None:
        """Show a text below the filter until another message is selected."""
        self._show_note(" ".join(filter(None, (self._notice.text(), text))))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc leads back: from the details or the filter to the rows, from those to all rows."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif not self.view.hasFocus():
            self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif self.bar.filter().text:
            self._set_text("")
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the details where there is room: beside the table in a wide pane, else below."""
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE and event.size().width() > 2 * event.size().height()
        wanted = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if self._splitter.orientation() is not wanted:
            self._splitter.setOrientation(wanted)

    def state(self) -> dict[str, Any]:
        """Return the state to save, as JSON values."""
        return {
            **self.view.columns.state(),
            "sizes": self._splitter.sizes(),
            "recent": list(self.bar.recent.texts),
            "kept": list(self.bar.recent.kept),
            "folded": self.bar.kinds.folds_ticks,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore saved state; invalid parts are ignored."""
        self.view.columns.restore(state)
        self.bar.recent.restore(state.get("recent"), state.get("kept"))
        self.bar.kinds.set_folded(is_folded=state.get("folded") is not False)
        sizes = state.get("sizes")
        if isinstance(sizes, list) and all(isinstance(size, int) for size in sizes):
            self._splitter.setSizes(sizes)
            self._is_divided = all(sizes)

    def _lay_out(self) -> None:
        self._notice.hide()
        self.bar.add_button(self.view.jump)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        RowKeys(self.view)
        self._splitter.addWidget(self.view)
        self._place = QWidget(self)  # of the details
        self._splitter.addWidget(self._place)
        self._place.hide()  # the table has the whole room until a message is selected
        self._splitter.setStretchFactor(0, 3)
        self._splitter.setStretchFactor(1, 2)
        self._splitter.setChildrenCollapsible(True)
        self._splitter.setCollapsible(0, False)
        # In one line: a text that wraps would make the pane demand more height than it has.
        notice = in_row(self._notice, margins=(GAP, 0, GAP, 0))
        in_column(self.bar, notice, (self._splitter, 1), of=self, margins=0, spacing=0)

    def _connect_bar(self) -> None:
        self.bar.filter_changed.connect(self._on_filter_changed)
        self.bar.paused_changed.connect(self._on_paused_changed)
        self.bar.kinds.fold_changed.connect(self._model.set_folded)
        self.bar.clear_requested.connect(self._model.clear_view)
        self.bar.show_all_requested.connect(self._model.show_all)

    def _connect(self) -> None:
        self.view.customContextMenuRequested.connect(self.controller.show_menu)
        self.view.selectionModel().selectionChanged.connect(self._show_status)
        self.view.activated.connect(self._on_activated)
        self.view.copy_requested.connect(self.controller.copy_lines)
        self.view.place_chosen.connect(self._on_place_chosen)
        self.controller.place_wanted.connect(self._on_place_wanted)
        self.controller.number_wanted.connect(self.follow_frame)
        self.controller.said.connect(self._show_note)
        self._model.waiting_changed.connect(self._show_status)
        self._model.search_changed.connect(self._show_status)
        self._model.rowsInserted.connect(self._on_rows_changed)
        self._model.rowsRemoved.connect(self._on_rows_changed)
        self._model.folded_in.connect(self._on_folded_in)
        self._model.modelReset.connect(self._show_status)

    def _complete(self, text: str, cursor: int) -> Completion:
        from mcp_progress_monitor.filtering.completion import (
            complete,  # late: not needed at startup
        )

        return complete(text, cursor, self._model.timeline)

    def _set_text(self, text: str) -> None:
        self.set_filter(self.bar.filter()._replace(text=text))

    @Slot(object)
    def _show_note(self, text: str) -> None:
        """Show a text below the filter until the next one."""
        self._notice.set_text(text)
        self._notice.setToolTip(plain_tip(text))
        self._notice.setVisible(bool(text))

    @Slot()
    def _show_status(self) -> None:
        self.bar.set_status(*self._status_texts())
        self.bar.set_hidden(self._model.hidden)

    def _status_texts(self) -> Iterator[str]:
        selected = self.view.selected_count()
        if selected > 1:  # this first: what comes later is left out where there is no room
            spans = self.view.selected_spans()
            first, last = spans[0][0], spans[-1][1]
            yield f"{number(selected)} selected, {self._model.between_s(first, last):,.3f} s"
        rows, shown, total = self._model.rowCount(), self._model.shown, self._model.total
        if shown > rows:
            of_all = "" if shown == total else f"{number(shown)} of "
            yield f"{of_all}{count(total, 'message')} in {count(rows, 'row')}"
        else:
            of_all = "" if rows == total else f"{number(rows)} of "
            yield f"{of_all}{count(total, 'row')}"
        if self._model.unsearched:
            yield f"{number(self._model.unsearched)} to search"
        if self._model.undecided:
            yield f"pattern too slow: {number(self._model.undecided)} texts skipped"
        if self._model.is_paused:
            yield f"paused, {number(self._model.waiting)} waiting"
        if self._model.hidden:
            yield f"{number(self._model.hidden)} cleared"
        timeline = self._model.timeline
        if timeline.dropped:
            text = "{count} older not in memory" if timeline.is_closed else "{count} older dropped"
            yield text.format(count=number(timeline.dropped))

    def _show_place(self, place: int) -> None:
        row = self._model.row_of(place)
        delta = "" if row is None else self._model.text(row, TrafficColumn.DELTA)
        mark = "" if row is None else self._model.mark_of(row)
        found = () if row is None else self._model.findings_of(row)
        timeline = self._model.timeline
        if not self.details.show_place(timeline, place, delta=delta, mark=mark, findings=found):
            return
        self.controller.stand_on(place)
        is_first = self.details.isHidden() and not self._is_divided
        self.details.show()
        if is_first:
            self._splitter.setSizes(_FIRST_SHARES)
            self.view.scrollTo(self.view.currentIndex())  # which may be out of sight now

    @Slot(QModelIndex)
    def _on_activated(self, _index: QModelIndex) -> None:
        """Go on to what the row holds, from where Esc leads back."""
        self.details.focus()

    @Slot(object)
    def _on_place_chosen(self, place: int) -> None:
        if place != self.details.place:
            self._show_note("")
            self._show_place(place)

    @Slot(object)
    def _on_place_wanted(self, place: int) -> None:
        row = self._model.reveal(place)
        if row is not None:
            self.view.choose(row)
            return
        self._show_place(place)
        self._show_note(
            f"Message no. {number(self._model.timeline.number(place))} is not among the "
            "visible rows; the details show it."
        )

    @Slot(object)
    def _on_value_chosen(self, request: FilterRequest) -> None:
        from mcp_progress_monitor.gui.traffic.filtering import (
            value_term,  # late: not needed at startup
        )

        term = value_term(request.keys, request.value)
        if term:
            self.bar.add_term(term, is_excluded=request.is_excluded)
        else:
            self._show_note("This value cannot be used in a filter.")

    @Slot(object)
    def _on_filter_changed(self, wanted: TrafficFilter) -> None:
        self._model.set_filter(wanted)
        self.filter_changed.emit(wanted)
        self._show_status()

    @Slot(bool)
    def _on_paused_changed(self, paused: bool) -> None:
        self._model.set_paused(paused)
        self._show_status()

    @Slot(QModelIndex, int, int)
    def _on_rows_changed(self, _parent: QModelIndex, _first: int, _last: int) -> None:
        if not self.isHidden():  # as behind another tab
            self._show_status()

    @Slot(object)
    def _on_folded_in(self, _count: int) -> None:
        if not self.isHidden():
            self._show_status()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with changes while hidden."""
        super().showEvent(event)
        self._show_status()


def _button(action: CommandAction, parent: QWidget) -> QToolButton:
    button = QToolButton(parent)
    button.setDefaultAction(action)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.setAccessibleName(action.text())
    return button

"""Carries out the commands on the current message and the selected rows of Traffic."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QMimeData, QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui.common.commands import CommandActions, carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.traffic import commands as on_messages
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.commands import (
    JUMPS,
    MESSAGE_COMMANDS,
    MESSAGE_MENU,
    MessageRow,
)
from mcp_progress_monitor.gui.traffic.related import Jump, job_at, target
from mcp_progress_monitor.gui.traffic.view import COPIED_AT_MOST
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.followed import JobsFollowed
    from mcp_progress_monitor.gui.traffic.filter_bar import TrafficFilterBar
    from mcp_progress_monitor.gui.traffic.model import TrafficModel, TrafficNotes
    from mcp_progress_monitor.gui.traffic.view import TrafficView
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

COPIED_BYTES: Final = 64_000_000  # bytes copied at once, unless a single message has more
_NO_JOB: Final = "This message does not belong to a job."
_NOT_THERE: Final = {
    Jump.REQUEST: "The request of this message is not in Traffic.",
    Jump.REPLY: "Traffic has no reply to this request.",
    Jump.PREVIOUS: "This is the first message of its exchange.",
    Jump.NEXT: "This is the last message of its exchange.",
}


class TrafficController(QObject):
    """Acts on the selected rows and the message at `place`.

    By key, commands say what they miss: which of them apply is computed only for the menu.
    """

    job_wanted = Signal(object)  # the `JobId` to be shown
    edit_wanted = Signal(object)  # the `JobId` to edit and re-issue
    place_wanted = Signal(object)  # the place to select
    number_wanted = Signal(object)  # the number of the message to select
    said = Signal(object)  # a text for the user; empty to remove it
    snippet_requested = Signal(object)  # the number of the request to copy as a program

    def __init__(
        self,
        pane: QWidget,
        model: TrafficModel,
        view: TrafficView,
        bar: TrafficFilterBar,
        notes: TrafficNotes,
        jobs: JobsFollowed,
        commands: Commands,
    ) -> None:
        super().__init__(view)
        self._model = model
        self._view = view
        self._bar = bar
        self._notes = notes
        self._jobs = jobs
        self._commands = commands
        self.place: int | None = None
        self.actions: Final = CommandActions(
            MESSAGE_COMMANDS, commands, view, view.appearance, self._chosen_row, pane=pane
        )
        self._menu = QMenu(view)
        self._menu.aboutToHide.connect(self._on_menu_hiding)
        commands.join(self)

    def stand_on(self, place: int) -> None:
        """Make the message at `place` the current one."""
        self.place = place
        self._offer_jumps()

    @Slot(object)
    def show_menu(self, at: QPoint) -> None:
        """Show the commands on the current message as a menu at a point of the view."""
        self.actions.fill(self._menu, MESSAGE_MENU)
        self._menu.popup(self._view.viewport().mapToGlobal(at))

    @Slot()
    def _on_menu_hiding(self) -> None:
        for command in MESSAGE_COMMANDS:
            self.actions[command].setEnabled(self._commands.is_offered(command))
        self._offer_jumps()

    def _offer_jumps(self) -> None:
        exchange = 0 if self.place is None else self._model.timeline.exchange(self.place)
        for jump in JUMPS:
            self.actions[jump].offer([MessageRow(exchange)])

    def _frame(self) -> Frame | None:
        """The current message; of a large one only enough to see that it is large."""
        return None if self.place is None else self._model.timeline.frame(self.place, OVERSIZED + 1)

    def _chosen_row(self) -> tuple[MessageRow]:
        return (self._row(),)

    def _row(self) -> MessageRow:
        """Look up what the commands need to know of the current message and cell."""
        from mcp_progress_monitor.gui.traffic.filtering import (  # late: not needed at startup
            cell_term,
            request_term,
            task_term,
            token_term,
        )

        frame, place, timeline = self._frame(), self.place, self._model.timeline
        is_pair = self._view.selected_count() == 2
        if frame is None or place is None:
            return MessageRow(is_pair=is_pair)
        index = self._view.currentIndex()
        return MessageRow(
            timeline.exchange(place),
            cell_term(timeline, frame, place, index.column()) if index.isValid() else "",
            token_term(timeline, frame, place),
            request_term(timeline, place),
            task_term(frame),
            self._job_of(frame, place),
            is_pair,
            self._model.is_folded_at(index.row()) if index.isValid() else None,
        )

    def _job_of(self, frame: Frame, place: int) -> JobSnapshot | None:
        envelope = None
        if frame.channel in (Channel.SENT, Channel.RECEIVED) and len(frame.raw) <= OVERSIZED:
            envelope = decode(frame.raw, is_complete=frame.is_complete)
        return job_at(self._model.timeline, place, frame, envelope, self._jobs)

    @carries_out(on_messages.FOLLOW_TOKEN, "token", "This message has no progress token.")
    @carries_out(
        on_messages.FOLLOW_REQUEST, "request", "This message does not belong to a request."
    )
    @carries_out(on_messages.FOLLOW_TASK, "task", "This message does not belong to a task.")
    def _follow(self, what: str, none: str) -> None:
        self._set_filter(getattr(self._row(), what), none)

    @carries_out(on_messages.FOLLOW_JOB)
    def _follow_job(self) -> None:
        from mcp_progress_monitor.gui.traffic.filtering import job_term

        job = self._row().job
        self._set_filter("" if job is None else job_term(job.id), _NO_JOB)

    def _set_filter(self, text: str, none: str) -> None:
        """Filter by `text`, or say `none`, which is missing."""
        self.said.emit("" if text else none)
        if text:
            self._bar.set_filter(self._bar.filter()._replace(text=text))

    @carries_out(on_messages.FILTER, False)  # whether it is excluded
    @carries_out(on_messages.EXCLUDE, True)
    def _narrow(self, is_excluded: bool) -> None:
        term = self._row().value
        none = "This cell has no value to filter by. Choose a value in the tree."
        self.said.emit("" if term else none)
        if term:
            self._bar.add_term(term, is_excluded=is_excluded)

    @carries_out(on_messages.UNFOLD)
    def _toggle_fold(self) -> None:
        row = self._view.currentIndex().row()
        is_folded = self._model.is_folded_at(row) if row >= 0 else None
        self.said.emit("This message is not folded." if is_folded is None else "")
        if is_folded is not None:
            self._view.set_open(row, is_open=is_folded)

    @carries_out(on_messages.SHOW_JOB)
    def _show_job(self) -> None:
        job = self._row().job
        self.said.emit(_NO_JOB if job is None else "")
        if job is not None:
            self.job_wanted.emit(job.id)

    @carries_out(on_messages.EDIT)
    def _edit(self) -> None:
        row = self._row()
        self.said.emit(_NO_JOB if row.job is None else "")
        if row.job is not None and row.is_reissuable:
            self.edit_wanted.emit(row.job.id)

    @carries_out(on_messages.GO_TO)
    def _ask_for_number(self) -> None:
        """Ask for the number of a message, which is shown even if the filter hides it."""
        timeline = self._model.timeline
        is_empty = timeline.first == timeline.end
        self.said.emit("There are no messages yet." if is_empty else "")
        if is_empty:
            return
        least, most = timeline.number(timeline.first), timeline.number(timeline.end - 1)
        from PySide6.QtWidgets import QInputDialog  # late: seldom needed

        dialog = QInputDialog(self._view)
        dialog.setWindowTitle("Go to message")
        dialog.setLabelText(f"Number of the message, {number(least)} to {number(most)}:")
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(least, most)
        dialog.setIntValue(self._number())
        dialog.intValueSelected.connect(self._on_number_chosen)
        open_dialog(dialog)

    @Slot(int)
    def _on_number_chosen(self, chosen: int) -> None:
        self.number_wanted.emit(chosen)

    @carries_out(on_messages.COMPARE)
    def _compare(self) -> None:
        from mcp_progress_monitor.gui.traffic.details import (
            MessagesDialog,  # late: rarely used
            as_json,
            facts_of,
        )

        timeline, rows = self._model.timeline, self._view.selected_rows()
        places = [self._model.place(row) for row in rows[:2]]
        frames = [timeline.frame(place) for place in places]
        first, second = frames if len(rows) == 2 else (None, None)
        if first is None or second is None:
            self.said.emit("Select two messages to compare them.")
            return
        self.said.emit("")
        titles = self._model.titles
        facts = (
            facts_of(timeline, titles, places[0], first),
            facts_of(timeline, titles, places[1], second),
        )
        texts = as_json([first]), as_json([second])
        dialog = MessagesDialog(facts, texts, self._view.appearance, self._view)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.show()

    @carries_out(on_messages.JUMP_REQUEST, Jump.REQUEST)
    @carries_out(on_messages.JUMP_REPLY, Jump.REPLY)
    @carries_out(on_messages.JUMP_PREVIOUS, Jump.PREVIOUS)
    @carries_out(on_messages.JUMP_NEXT, Jump.NEXT)
    def _jump(self, jump: Jump) -> None:
        place = None
        if self.place is not None:
            place = target(self._model.timeline, self.place, jump)
        self._go_to(place, _NOT_THERE[jump])

    def _go_to(self, place: int | None, none: str) -> None:
        self.said.emit(none if place is None else "")
        if place is not None:
            self.place_wanted.emit(place)

    def _number(self) -> int:
        return -1 if self.place is None else self._model.timeline.number(self.place)

    @carries_out(on_messages.MARK)
    def _mark(self) -> None:
        self.said.emit("")
        timeline, model = self._model.timeline, self._model
        numbers = [timeline.number(model.place(row)) for row in self._view.selected_rows()]
        if not numbers and self._frame() is not None:
            numbers = [self._number()]
        if numbers:
            self._notes.toggle(numbers)

    @carries_out(on_messages.NOTE)
    def _edit_note(self) -> None:
        from mcp_progress_monitor.gui.traffic.details import NoteEditor

        self.said.emit("")
        if self._frame() is None:
            return
        editor = NoteEditor(self._number(), self._notes.note(self._number()), self._view)
        editor.saved.connect(self._notes.set_note)
        editor.show()

    @carries_out(on_messages.NEXT_MARK)
    def _go_to_next_mark(self) -> None:
        self._go_to_mark(self._notes.after(self._number()))

    @carries_out(on_messages.PREVIOUS_MARK)
    def _go_to_previous_mark(self) -> None:
        self._go_to_mark(self._notes.before(self._number()))

    def _go_to_mark(self, frame_number: int | None) -> None:
        if frame_number is None:
            key = self.actions.key_of(on_messages.MARK)
            how = f" Press {key} to mark a message." if key else ""
            self.said.emit(f"No more marks.{how}")
            return
        gone = f"Marked message {number(frame_number)} is no longer in Traffic."
        self._go_to(self._model.timeline.place_of(frame_number), gone)

    def _chosen(self) -> list[Frame]:
        """The frames of the selected rows, with those folded into them, up to the limits."""
        model, timeline = self._model, self._model.timeline
        rows = self._view.selected_rows()
        places = sorted(itertools.chain.from_iterable(map(model.places, rows)))
        frames: list[Frame] = []
        room = COPIED_BYTES
        for place in places[:COPIED_AT_MOST]:
            room -= timeline.size(place)
            if room < 0 and frames:
                break
            frame = timeline.frame(place)
            if frame is not None:
                frames.append(frame)
        self._say_copied(len(frames), len(places) + self._view.selected_count() - len(rows))
        return frames

    def _say_copied(self, copied: int, count: int) -> None:
        text = f"Copied the first {number(copied)} of {number(count)} rows."
        self.said.emit(text if count > copied else "")

    @carries_out(on_messages.COPY_VALUE)
    def _copy_value(self) -> None:
        self.said.emit("")
        index = self._view.currentIndex()
        if index.isValid():
            row, column = index.row(), index.column()
            whole = self._model.tip(row, column) if column == TrafficColumn.METHOD else ""
            QGuiApplication.clipboard().setText(whole or self._model.text(row, column))

    @carries_out(on_messages.COPY_LINE)
    @Slot()
    def copy_lines(self) -> None:
        rows = self._view.selected_rows()
        self._say_copied(len(rows), self._view.selected_count())
        QGuiApplication.clipboard().setText("\n".join(self._model.line(row) for row in rows))

    @carries_out(on_messages.COPY_JSON)
    def _copy_json(self) -> None:
        from mcp_progress_monitor.gui.traffic.details import as_json  # late: not needed at startup

        QGuiApplication.clipboard().setText(as_json(self._chosen()))

    @carries_out(on_messages.COPY_RAW)
    def _copy_raw(self) -> None:
        from mcp_progress_monitor.gui.traffic.details import as_raw  # late: not needed at startup

        raw, text = as_raw(self._chosen())
        data = QMimeData()
        data.setText(text)
        data.setData("application/octet-stream", raw)
        QGuiApplication.clipboard().setMimeData(data)

    @carries_out(on_messages.COPY_PYTHON)
    def _copy_python(self) -> None:
        """Copy the message's request as a Python program."""
        request = self._row().exchange
        self.said.emit("" if request else "This message does not belong to a request.")
        if request:
            self.snippet_requested.emit(request)

"""Does what is wanted of the message one stands on: filters, jumps, marks, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QMimeData, QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from mcp_progress_monitor.models.log_jobs import job_at
from mcp_progress_monitor.models.log_jumps import Jump, target
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode
from mcp_progress_monitor.text import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QPoint

    from mcp_progress_monitor.models.log import LogModel
    from mcp_progress_monitor.models.log_jobs import JobFinder
    from mcp_progress_monitor.models.log_notes import LogNotes
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot
    from mcp_progress_monitor.widgets.log_actions import LogActions
    from mcp_progress_monitor.widgets.log_view import LogView

COPIED_BYTES: Final = 64_000_000
"""Bytes copied at one go, unless one message alone has more."""


class LogCommands(QObject):
    """Acts on the selected rows, and on the message that `place` says.

    What concerns all of the pane is asked for by signals.
    """

    term_wanted = Signal(object, bool)
    """A comparison to narrow the filter by, and whether it is to be left out."""
    filter_wanted = Signal(object)
    """The text of a filter in place of the one in force."""
    place_wanted = Signal(object)
    """The place to stand on."""
    job_wanted = Signal(object)
    """The `JobId` to be shown."""
    said = Signal(object)
    """Words for the user; empty when there is nothing more to say."""
    snippet_requested = Signal(object)
    export_requested = Signal()

    def __init__(
        self,
        model: LogModel,
        view: LogView,
        notes: LogNotes,
        jobs: JobFinder,
        actions: LogActions,
    ) -> None:
        super().__init__(view)
        self._model = model
        self._view = view
        self._notes = notes
        self._jobs = jobs
        self._actions = actions
        self.place: int | None = None
        self._does: dict[str, Callable[[], None]] = {
            "filter": self._filter,
            "exclude": self._exclude,
            "show_job": self._show_job,
            "mark": self._mark,
            "note": self._edit_note,
            "next_mark": self._go_to_next_mark,
            "previous_mark": self._go_to_previous_mark,
            "copy_line": self.copy_lines,
            "copy_json": self._copy_json,
            "copy_raw": self._copy_raw,
            "copy_python": self._copy_python,
            "export": self.export_requested.emit,
        }
        actions.wanted.connect(self._on_wanted)

    def stand_on(self, place: int) -> None:
        """Take the message at `place` for the one in question."""
        self.place = place
        is_exchange = bool(self._model.timeline.exchange(place))
        for jump in Jump:
            self._actions.offer(f"jump_{jump.value}", is_offered=is_exchange)

    def show_menu(self, at: QPoint) -> None:
        """Show what can be done with the message in question, at a point of the screen."""
        for name in ("token", "request", "task", "job"):
            self._actions.offer(name, is_offered=bool(self._followed(name)))
        is_term = bool(self._cell_term())
        self._actions.offer("filter", is_offered=is_term)
        self._actions.offer("exclude", is_offered=is_term)
        self._actions.offer("show_job", is_offered=self._job() is not None)
        self._actions.show_menu(at)

    def copy_lines(self) -> None:
        """Copy the selected rows, a line each."""
        rows = self._view.selected_rows()
        self._say_copied(len(rows))
        QGuiApplication.clipboard().setText("\n".join(self._model.line(row) for row in rows))

    @Slot(object)
    def _on_wanted(self, name: str) -> None:
        self.said.emit("")
        if name in self._does:
            self._does[name]()
        elif name.startswith("jump_"):
            self._jump(Jump(name.removeprefix("jump_")))
        else:
            self._follow(name)

    def _frame(self) -> Frame | None:
        """The message in question; of a large one only so much that it is seen to be large."""
        return None if self.place is None else self._model.timeline.frame(self.place, OVERSIZED + 1)

    def _followed(self, what: str) -> str:
        from mcp_progress_monitor.models.log_terms import (  # late: no start waits for it
            job_term,
            request_term,
            task_term,
            token_term,
        )

        frame, place = self._frame(), self.place
        if frame is None or place is None:
            return ""
        if what == "token":
            return token_term(self._model.timeline, frame, place)
        if what == "request":
            return request_term(self._model.timeline, place)
        if what == "task":
            return task_term(frame)
        job = self._job()
        return "" if job is None else job_term(job.id)

    def _follow(self, what: str) -> None:
        text = self._followed(what)
        if text:
            self.filter_wanted.emit(text)
            return
        none = {
            "token": self.tr("This message has no progress token."),
            "request": self.tr("This message belongs to no request."),
            "task": self.tr("This message is about no task."),
        }
        self.said.emit(none.get(what, self.tr("This message belongs to no job.")))

    def _job(self) -> JobSnapshot | None:
        frame, place = self._frame(), self.place
        if frame is None or place is None:
            return None
        envelope = None
        if frame.channel in (Channel.SENT, Channel.RECEIVED) and len(frame.raw) <= OVERSIZED:
            envelope = decode(frame.raw, is_complete=frame.is_complete)
        return job_at(self._model.timeline, place, frame, envelope, self._jobs)

    def _show_job(self) -> None:
        job = self._job()
        if job is None:
            self.said.emit(self.tr("This message belongs to no job."))
        else:
            self.job_wanted.emit(job.id)

    def _cell_term(self) -> str:
        from mcp_progress_monitor.models.log_terms import cell_term  # late: no start waits for it

        index, place = self._view.currentIndex(), self.place
        frame = self._frame()
        if not index.isValid() or frame is None or place is None:
            return ""
        return cell_term(self._model.timeline, frame, place, index.column())

    def _filter(self) -> None:
        self._narrow(is_excluded=False)

    def _exclude(self) -> None:
        self._narrow(is_excluded=True)

    def _narrow(self, *, is_excluded: bool) -> None:
        term = self._cell_term()
        if term:
            self.term_wanted.emit(term, is_excluded)
        else:
            self.said.emit(
                self.tr("There is nothing in this cell to filter by. Values are in the tree.")
            )

    def _jump(self, jump: Jump) -> None:
        place = None
        if self.place is not None:
            place = target(self._model.timeline, self.place, jump)
        if place is not None:
            self.place_wanted.emit(place)
            return
        none = {
            Jump.REQUEST: self.tr("No request of this message is in the log."),
            Jump.REPLY: self.tr("No reply to this request is in the log."),
            Jump.PREVIOUS: self.tr("No message of this exchange comes before this one."),
            Jump.NEXT: self.tr("No message of this exchange comes after this one."),
        }
        self.said.emit(none[jump])

    def _number(self) -> int:
        return -1 if self.place is None else self._model.timeline.number(self.place)

    def _mark(self) -> None:
        timeline, model = self._model.timeline, self._model
        numbers = [timeline.number(model.place(row)) for row in self._view.selected_rows()]
        if not numbers and self._frame() is not None:
            numbers = [self._number()]
        if numbers:
            self._notes.toggle(numbers)

    def _edit_note(self) -> None:
        from mcp_progress_monitor.widgets.note_editor import (
            NoteEditor,  # late: no start waits for it
        )

        if self._frame() is None:
            return
        editor = NoteEditor(self._number(), self._notes.note(self._number()), self._view)
        editor.saved.connect(self._notes.set_note)
        editor.show()

    def _go_to_next_mark(self) -> None:
        self._go_to_mark(self._notes.after(self._number()))

    def _go_to_previous_mark(self) -> None:
        self._go_to_mark(self._notes.before(self._number()))

    def _go_to_mark(self, frame_number: int | None) -> None:
        if frame_number is None:
            self.said.emit(self.tr("There is no further mark. Ctrl+M marks a message."))
            return
        place = self._model.timeline.place_of(frame_number)
        if place is None:
            self.said.emit(
                self.tr("The marked message no. {number} is not in the log any more.").format(
                    number=number(frame_number)
                )
            )
        else:
            self.place_wanted.emit(place)

    def _chosen(self) -> list[Frame]:
        """The frames of the selected rows, as many as are copied."""
        rows = self._view.selected_rows()
        frames: list[Frame] = []
        room = COPIED_BYTES
        for row in rows:
            room -= self._model.timeline.size(self._model.place(row))
            if room < 0 and frames:
                break
            frame = self._model.timeline.frame(self._model.place(row))
            if frame is not None:
                frames.append(frame)
        self._say_copied(len(frames))
        return frames

    def _say_copied(self, copied: int) -> None:
        count = self._view.selected_count()
        if count > copied:
            self.said.emit(
                self.tr("Copied the first {copied} of {count} rows.").format(
                    copied=number(copied), count=number(count)
                )
            )

    def _copy_json(self) -> None:
        from mcp_progress_monitor.models.log_copy import as_json  # late: no start waits for it

        QGuiApplication.clipboard().setText(as_json(self._chosen()))

    def _copy_raw(self) -> None:
        from mcp_progress_monitor.models.log_copy import as_raw  # late: no start waits for it

        raw, text = as_raw(self._chosen())
        data = QMimeData()
        data.setText(text)
        data.setData("application/octet-stream", raw)
        QGuiApplication.clipboard().setMimeData(data)

    def _copy_python(self) -> None:
        """Repeat the request that the message belongs to."""
        request = 0 if self.place is None else self._model.timeline.exchange(self.place)
        if request:
            self.snippet_requested.emit(request)
        else:
            self.said.emit(self.tr("This message belongs to no request."))

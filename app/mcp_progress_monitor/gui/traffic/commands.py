"""The actions on a message: filter, jump, mark, copy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QMimeData, QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.traffic.related import Jump, job_at, target
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from PySide6.QtCore import QPoint

    from mcp_progress_monitor.gui.followed import JobsFollowed
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.gui.traffic.model import TrafficModel, TrafficNotes
    from mcp_progress_monitor.gui.traffic.view import TrafficView
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


class _Offer(NamedTuple):
    """An action; if `is_wide` its key works in all of the pane, else only in the table."""

    name: str
    label: str
    key: str = ""
    icon: str = ""
    is_wide: bool = False


_OFFERS: Final = (
    (
        _Offer("filter", "Filter by this value", "Ctrl+Return", "filter"),
        _Offer("exclude", "Exclude this value", "Ctrl+Shift+Return"),
    ),
    (
        _Offer("token", "Follow this token", "Ctrl+T"),
        _Offer("request", "Follow this request", "Ctrl+Shift+T"),
        _Offer("task", "Follow this task"),
        _Offer("job", "Follow this job"),
    ),
    (
        _Offer("show_job", "Show in job", "Ctrl+J", "jobs", True),
        _Offer("edit", "Edit and re-issue…", "", "new-call"),
        _Offer("go_to", "Go to message…", "Ctrl+G", "", True),
        _Offer("jump_request", "Jump to request", "Alt+Home", "sent", True),
        _Offer("jump_reply", "Jump to reply", "Alt+End", "received", True),
        _Offer("jump_previous", "Jump to previous in exchange", "Alt+Up", "previous", True),
        _Offer("jump_next", "Jump to next in exchange", "Alt+Down", "next", True),
    ),
    (
        _Offer("mark", "Mark", "Ctrl+M", "mark", True),
        _Offer("note", "Note…", "Ctrl+Shift+M", "note", True),
        _Offer("next_mark", "Next mark", "F2", "", True),
        _Offer("previous_mark", "Previous mark", "Shift+F2", "", True),
    ),
    (
        _Offer("compare", "Compare two messages…"),
        _Offer("copy_value", "Copy this value"),
        _Offer("copy_line", "Copy as line", "Ctrl+C", "copy"),
        _Offer("copy_json", "Copy as JSON", "Ctrl+Shift+C", "json"),
        _Offer("copy_raw", "Copy raw bytes", "Ctrl+Alt+C"),
        _Offer("copy_python", "Copy as Python snippet"),
        _Offer("export", "Export…", "", "save"),
    ),
)
LOOKED_UP: Final = (
    *("filter", "exclude", "token", "request", "task", "job", "show_job", "edit", "compare"),
)
"""Actions whose availability is computed only for the menu; by key, they report what is missing."""
JUMPS: Final = ("jump_request", "jump_reply", "jump_previous", "jump_next")
MARKS: Final = ("mark", "note")


class TrafficActions(QObject):
    """The actions by name; emits the triggered one and enables those that apply."""

    wanted = Signal(object)  # the name of the triggered action

    def __init__(self, table: QWidget, pane: QWidget, appearance: Appearance) -> None:
        super().__init__(pane)
        self._appearance = appearance
        self._group = QActionGroup(self)
        self._group.setExclusionPolicy(QActionGroup.ExclusionPolicy.None_)
        self._actions: dict[str, QAction] = {}
        self._icons: dict[str, str] = {}
        self._menu = QMenu(table)
        for section in _OFFERS:
            for offer in section:
                self._add(offer, pane if offer.is_wide else table)
            self._menu.addSeparator()
        self._group.triggered.connect(self._on_triggered)
        self._menu.aboutToHide.connect(self._on_menu_hiding)
        appearance.changed.connect(self._use_icons)
        self._use_icons()

    def action(self, name: str) -> QAction:
        return self._actions[name]

    def offer(self, name: str, *, is_offered: bool) -> None:
        self._actions[name].setEnabled(is_offered)

    def show_menu(self, at: QPoint) -> None:
        """Show all actions as a menu at a point of the screen."""
        self._menu.popup(at)

    def buttons(self, names: Collection[str], parent: QWidget) -> list[QToolButton]:
        made = []
        for name in names:
            button = QToolButton(parent)
            button.setDefaultAction(self._actions[name])
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.setAccessibleName(self._actions[name].text())
            made.append(button)
        return made

    def _add(self, offer: _Offer, place: QWidget) -> None:
        text = offer.label
        action = QAction(text, self._group)
        action.setObjectName(f"traffic.{offer.name}")
        action.setData(offer.name)
        key = QKeySequence(offer.key)
        action.setShortcut(key)
        is_wide = offer.is_wide
        contexts = Qt.ShortcutContext
        action.setShortcutContext(
            contexts.WidgetWithChildrenShortcut if is_wide else contexts.WidgetShortcut
        )
        native = key.toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(plain_tip(f"{text} ({native})" if native else text))
        place.addAction(action)
        self._menu.addAction(action)
        self._actions[offer.name] = action
        if offer.icon:
            self._icons[offer.name] = offer.icon

    @Slot()
    def _use_icons(self) -> None:
        for name, icon in self._icons.items():
            self._actions[name].setIcon(self._appearance.icon(icon))

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        self.wanted.emit(action.data())

    @Slot()
    def _on_menu_hiding(self) -> None:
        for name in LOOKED_UP:
            self._actions[name].setEnabled(True)


COPIED_BYTES: Final = 64_000_000  # bytes copied at once, unless a single message has more


class TrafficCommands(QObject):
    """Carries out actions on the selected rows and the message at `place`.

    Actions on the whole pane are requested by signals.
    """

    term_wanted = Signal(object, bool)
    """A comparison to add to the filter, and whether to exclude it."""
    filter_wanted = Signal(object)  # the text of a new filter
    place_wanted = Signal(object)  # the place to select
    job_wanted = Signal(object)  # the `JobId` to be shown
    edit_wanted = Signal(object)  # the `JobId` to edit and re-issue
    number_wanted = Signal(object)  # the number of the message to select
    said = Signal(object)  # a text for the user; empty to remove it
    snippet_requested = Signal(object)
    export_requested = Signal()

    def __init__(
        self,
        model: TrafficModel,
        view: TrafficView,
        notes: TrafficNotes,
        jobs: JobsFollowed,
        actions: TrafficActions,
    ) -> None:
        super().__init__(view)
        self._model = model
        self._view = view
        self._notes = notes
        self._jobs = jobs
        self._actions = actions
        self.place: int | None = None
        self._does: dict[str, Callable[[], None]] = {
            "filter": partial(self._narrow, is_excluded=False),
            "exclude": partial(self._narrow, is_excluded=True),
            "show_job": self._show_job,
            "edit": self._edit,
            "go_to": self._ask_for_number,
            "compare": self._compare,
            "copy_value": self._copy_value,
            "mark": self._mark,
            "note": self._edit_note,
            "next_mark": lambda: self._go_to_mark(notes.after(self._number())),
            "previous_mark": lambda: self._go_to_mark(notes.before(self._number())),
            "copy_line": self.copy_lines,
            "copy_json": self._copy_json,
            "copy_raw": self._copy_raw,
            "copy_python": self._copy_python,
            "export": self.export_requested.emit,
        }
        actions.wanted.connect(self._on_wanted)

    def stand_on(self, place: int) -> None:
        """Make the message at `place` the current one."""
        self.place = place
        is_exchange = bool(self._model.timeline.exchange(place))
        for jump in Jump:
            self._actions.offer(f"jump_{jump.value}", is_offered=is_exchange)

    def show_menu(self, at: QPoint) -> None:
        """Show the actions on the current message as a menu at a point of the screen."""
        for name in ("token", "request", "task", "job"):
            self._actions.offer(name, is_offered=bool(self._followed(name)))
        is_term = bool(self._cell_term())
        self._actions.offer("filter", is_offered=is_term)
        self._actions.offer("exclude", is_offered=is_term)
        job = self._job()
        self._actions.offer("show_job", is_offered=job is not None)
        self._actions.offer("edit", is_offered=job is not None and job.is_reissuable)
        self._actions.offer("compare", is_offered=self._view.selected_count() == 2)
        self._actions.show_menu(at)

    def copy_lines(self) -> None:
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
        """The current message; of a large one only enough to see that it is large."""
        return None if self.place is None else self._model.timeline.frame(self.place, OVERSIZED + 1)

    def _followed(self, what: str) -> str:
        from mcp_progress_monitor.gui.traffic.filtering import (
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
            "token": "This message has no progress token.",
            "request": "This message does not belong to a request.",
            "task": "This message does not belong to a task.",
        }
        self.said.emit(none.get(what, "This message does not belong to a job."))

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
            self.said.emit("This message does not belong to a job.")
        else:
            self.job_wanted.emit(job.id)

    def _edit(self) -> None:
        job = self._job()
        if job is None:
            self.said.emit("This message does not belong to a job.")
        elif job.is_reissuable:
            self.edit_wanted.emit(job.id)

    def _ask_for_number(self) -> None:
        """Ask for the number of a message, which is shown even if the filter hides it."""
        timeline = self._model.timeline
        if timeline.first == timeline.end:
            self.said.emit("There are no messages yet.")
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
        titles = self._model.titles
        facts = (
            facts_of(timeline, titles, places[0], first),
            facts_of(timeline, titles, places[1], second),
        )
        texts = as_json([first]), as_json([second])
        dialog = MessagesDialog(facts, texts, self._view.appearance, self._view)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.show()

    def _copy_value(self) -> None:
        index = self._view.currentIndex()
        if index.isValid():
            QGuiApplication.clipboard().setText(self._model.text(index.row(), index.column()))

    def _cell_term(self) -> str:
        from mcp_progress_monitor.gui.traffic.filtering import (
            cell_term,  # late: not needed at startup
        )

        index, place = self._view.currentIndex(), self.place
        frame = self._frame()
        if not index.isValid() or frame is None or place is None:
            return ""
        return cell_term(self._model.timeline, frame, place, index.column())

    def _narrow(self, *, is_excluded: bool) -> None:
        term = self._cell_term()
        if term:
            self.term_wanted.emit(term, is_excluded)
        else:
            self.said.emit("This cell has no value to filter by. Choose a value in the tree.")

    def _jump(self, jump: Jump) -> None:
        place = None
        if self.place is not None:
            place = target(self._model.timeline, self.place, jump)
        if place is not None:
            self.place_wanted.emit(place)
            return
        none = {
            Jump.REQUEST: "The request of this message is not in Traffic.",
            Jump.REPLY: "Traffic has no reply to this request.",
            Jump.PREVIOUS: "This is the first message of its exchange.",
            Jump.NEXT: "This is the last message of its exchange.",
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
        from mcp_progress_monitor.gui.traffic.details import NoteEditor

        if self._frame() is None:
            return
        editor = NoteEditor(self._number(), self._notes.note(self._number()), self._view)
        editor.saved.connect(self._notes.set_note)
        editor.show()

    def _go_to_mark(self, frame_number: int | None) -> None:
        if frame_number is None:
            self.said.emit("No more marks. Press Ctrl+M to mark a message.")
            return
        place = self._model.timeline.place_of(frame_number)
        if place is None:
            self.said.emit(f"Marked message {number(frame_number)} is no longer in Traffic.")
        else:
            self.place_wanted.emit(place)

    def _chosen(self) -> list[Frame]:
        """The frames of the selected rows, up to the copying limit."""
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
            self.said.emit(f"Copied the first {number(copied)} of {number(count)} rows.")

    def _copy_json(self) -> None:
        from mcp_progress_monitor.gui.traffic.details import as_json  # late: not needed at startup

        QGuiApplication.clipboard().setText(as_json(self._chosen()))

    def _copy_raw(self) -> None:
        from mcp_progress_monitor.gui.traffic.details import as_raw  # late: not needed at startup

        raw, text = as_raw(self._chosen())
        data = QMimeData()
        data.setText(text)
        data.setData("application/octet-stream", raw)
        QGuiApplication.clipboard().setMimeData(data)

    def _copy_python(self) -> None:
        """Copy the message's request as a Python program."""
        request = 0 if self.place is None else self._model.timeline.exchange(self.place)
        if request:
            self.snippet_requested.emit(request)
        else:
            self.said.emit("This message does not belong to a request.")

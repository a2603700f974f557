"""One message in full: facts, note and job, the tree with its search, the exact bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QTabWidget, QVBoxLayout, QWidget

from mcp_progress_monitor.models.json_text import pretty
from mcp_progress_monitor.models.log_facts import facts_of
from mcp_progress_monitor.models.log_jobs import job_at
from mcp_progress_monitor.models.message_reading import Message, read_message
from mcp_progress_monitor.protocol.jsonrpc import Elided
from mcp_progress_monitor.text import one_line, size, visible
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.widgets.json_tree import JsonTree
from mcp_progress_monitor.widgets.raw_view import RawView
from mcp_progress_monitor.widgets.schema_field import plain_label, set_text_colour
from mcp_progress_monitor.widgets.tree_search import TreeSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.models.log_jobs import JobFinder
    from mcp_progress_monitor.models.log_notes import LogNotes
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import JobId

RAW_SHOWN: Final = 2_000_000
"""Bytes of one message in the raw view; copying takes all of them."""
_PROBLEMS_SHOWN: Final = 400
_NOTE_SHOWN: Final = 1_000
_TREE, _RAW, _VALUE = range(3)


class LogDetails(QWidget):
    """Shows one frame: its first bytes at once, all of a large one's tree in slices."""

    job_opened = Signal(object)
    """The `JobId` the user wants to see."""
    search_requested = Signal(object)
    """Words to search the log for."""
    filter_requested = Signal(object)
    """A `FilterWish` of the tree's."""

    def __init__(
        self,
        jobs: JobFinder,
        notes: LogNotes,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._notes = notes
        self._appearance = appearance
        self._mark = ""
        self._timeline: Timeline | None = None
        self._place = -1
        self._frame: Frame | None = None
        self._message: Message | None = None
        self._job: JobId | None = None
        self._reading: Slices[Message] | None = None
        self._slices = QTimer(self)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._on_slice_due)
        self._head = self._label()
        self._note = self._label()
        self._problems = self._label()
        self._cut = self._label()
        self._open_job = QPushButton(self)
        self._tree = JsonTree(self)
        self._raw = RawView(appearance, self)
        self._value = RawView(appearance, self)
        self._tabs = QTabWidget(self)
        self._search = TreeSearch(self._tree, appearance, self)
        self._lay_out()
        self._connect()
        self.clear()

    @property
    def frame(self) -> Frame | None:
        """The frame in view, with `RAW_SHOWN` of its bytes at most."""
        return self._frame

    @property
    def place(self) -> int:
        """The place of the frame in view; -1 when there is none."""
        return self._place

    @property
    def message(self) -> Message | None:
        """What the frame holds, None while it is being read."""
        return self._message

    def add_buttons(self, buttons: Sequence[QWidget]) -> None:
        """Place the pane's buttons beside that of the job."""
        for button in buttons:
            self._top.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)

    def clear(self) -> None:
        """Say that no message is chosen."""
        self._show(None, self.tr("Choose a row to see the whole message."))

    def show_place(
        self, timeline: Timeline, place: int, *, delta: str = "", mark: str = ""
    ) -> bool:
        """Show the frame at `place`; False when it is gone, and what was shown stays.

        `delta` is the time since the row before, in words; `mark` says which rule is broken.
        """
        frame = timeline.frame(place, RAW_SHOWN)
        if frame is None:
            return False
        self._timeline, self._place, self._mark = timeline, place, mark
        self._show(frame, facts_of(timeline, place, frame, delta))
        return True

    def _show(self, frame: Frame | None, facts: str) -> None:
        self._frame = frame
        self._message = None
        self._job = None
        self._reading = None
        self._open_job.hide()
        self._show_problems(())
        self._tree.clear()
        self._search.begin()
        self._tabs.setTabVisible(_VALUE, False)
        self._tabs.setVisible(frame is not None)
        self._raw.show_bytes(b"" if frame is None else frame.raw)
        self._head.setText(facts)
        self._show_note()
        self._show_cut()
        if frame is not None:
            self._begin_reading(frame)

    def _begin_reading(self, frame: Frame) -> None:
        """Read at once what is small; a large message is fetched when the first bytes are seen."""
        self._show_job(None)
        if self._is_cut(frame):
            self._slices.start()
        else:
            self._reading = read_message(frame)
            self._read_slice()

    def _is_cut(self, frame: Frame) -> bool:
        return self._timeline is not None and self._timeline.size(self._place) > len(frame.raw)

    def _label(self) -> QLabel:
        label = plain_label(self)
        label.setContentsMargins(GAP, 0, GAP, GAP_S)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    def _lay_out(self) -> None:
        self._head.setContentsMargins(0, 0, 0, 0)
        self._open_job.setToolTip(self.tr("Show the job that this message belongs to (Ctrl+J)"))
        self._tree.offer_filters()
        self._tabs.setDocumentMode(True)
        self._tabs.setAccessibleName(self.tr("Message in full"))
        raw = QWidget(self)
        column = QVBoxLayout(raw)
        column.setContentsMargins(0, GAP_S, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._cut)
        column.addWidget(self._raw, 1)
        self._tabs.addTab(self._tree, self.tr("Tree"))
        self._tabs.addTab(raw, self.tr("Raw"))
        self._tabs.addTab(self._value, self.tr("Value"))
        self._tabs.setCornerWidget(self._search)
        self._top = QHBoxLayout()
        self._top.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        self._top.setSpacing(GAP_S)
        self._top.addWidget(self._head, 1)
        self._top.addWidget(self._open_job, 0, Qt.AlignmentFlag.AlignTop)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(self._top)
        whole.addWidget(self._note)
        whole.addWidget(self._problems)
        whole.addWidget(self._tabs, 1)

    def _connect(self) -> None:
        self._open_job.clicked.connect(self.open_job)
        self._tree.value_opened.connect(self._on_value_opened)
        self._tree.search_requested.connect(self.search_requested)
        self._tree.filter_requested.connect(self.filter_requested)
        self._tabs.currentChanged.connect(self._on_tab_changed)
        self._notes.changed.connect(self._on_notes_changed)
        self._appearance.changed.connect(self._on_appearance_changed)

    def _read_slice(self) -> None:
        reading = self._reading or self._reading_of_whole()
        if reading is None:
            self._slices.stop()
            return
        self._reading = reading
        try:
            next(reading)
        except StopIteration as stop:
            self._reading = None
            self._slices.stop()
            self._show_message(stop.value)
        else:
            self._slices.start()

    def _reading_of_whole(self) -> Slices[Message] | None:
        """Get all of a large message; its bytes are held only while they are read."""
        if self._timeline is None or self._frame is None or self._message is not None:
            return None
        whole = self._timeline.frame(self._place)
        is_same = whole is not None and whole.number == self._frame.number
        return read_message(whole) if whole is not None and is_same else None

    def _show_message(self, message: Message) -> None:
        self._message = message
        self._show_problems(message.problems)
        self._tabs.setTabEnabled(_TREE, message.is_json)
        if message.is_json:
            self._tree.show_value(message.value)
            self._search.begin()
        else:
            self._tabs.setCurrentIndex(_RAW)
        self._show_job(message)

    def _show_problems(self, problems: Sequence[str]) -> None:
        """Say why the message is marked, and what else is wrong with its form."""
        others = [problem for problem in problems if problem not in self._mark]
        words = self.tr("Not in order: {problems}").format(
            problems="; ".join(filter(None, [self._mark, *others]))
        )
        self._problems.setText(one_line(words, _PROBLEMS_SHOWN))
        set_text_colour(self._problems, self._appearance, Tone.WARNING)
        self._problems.setVisible(bool(self._mark or others))

    def _show_note(self) -> None:
        number = 0 if self._frame is None else self._frame.number
        note = self._notes.note(number)
        is_marked = self._notes.is_marked(number)
        words = [self.tr("Marked")] if is_marked else []
        if note:
            words.append(
                self.tr("Note: {note}").format(
                    note=visible(note[:_NOTE_SHOWN], keep_line_ends=True)
                )
            )
        self._note.setText(". ".join(words))
        set_text_colour(self._note, self._appearance, Tone.ACCENT)
        self._note.setVisible(bool(words))

    def _show_cut(self) -> None:
        is_cut = self._frame is not None and self._is_cut(self._frame)
        self._cut.setVisible(is_cut)
        if is_cut and self._timeline is not None:
            self._cut.setText(
                self.tr(
                    "The first {shown} of {size}. Copy raw bytes (Ctrl+Alt+C in the table) takes "
                    "all of them"
                ).format(shown=size(RAW_SHOWN), size=size(self._timeline.size(self._place)))
            )

    def _show_job(self, message: Message | None) -> None:
        if self._frame is None or self._timeline is None or self._job is not None:
            return
        envelope = None if message is None else message.envelope
        job = job_at(self._timeline, self._place, self._frame, envelope, self._jobs)
        if job is not None:
            self._job = job.id
            self._open_job.setText(self.tr("Job: {name}").format(name=_escaped(job.name)))
            self._open_job.show()

    @Slot()
    def open_job(self) -> None:
        """Ask for the job of the message in view, if it has one."""
        if self._job is not None:
            self.job_opened.emit(self._job)

    @Slot()
    def _on_slice_due(self) -> None:
        self._read_slice()

    @Slot()
    def _on_notes_changed(self) -> None:
        self._show_note()

    @Slot(int)
    def _on_tab_changed(self, at: int) -> None:
        self._search.setEnabled(at == _TREE)

    @Slot()
    def _on_appearance_changed(self) -> None:
        set_text_colour(self._problems, self._appearance, Tone.WARNING)
        set_text_colour(self._note, self._appearance, Tone.ACCENT)

    @Slot(object)
    def _on_value_opened(self, value: Any) -> None:
        if isinstance(value, Elided):
            self._tabs.setCurrentIndex(_RAW)
            return
        text = value if isinstance(value, str) else pretty(value)
        self._value.show_bytes(text.encode(errors="surrogatepass"), keep_lines=True)
        self._tabs.setTabVisible(_VALUE, True)
        self._tabs.setCurrentIndex(_VALUE)


def _escaped(name: str) -> str:
    """A server's words on a button: no mnemonic is made of an ampersand."""
    return one_line(name, 60).replace("&", "&&")

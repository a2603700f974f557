"""One message in full: facts, note and job, the tree, the exact bytes; as text to copy."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QTabWidget,
    QWidget,
)

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding, texts
from mcp_progress_monitor.formatting import duration, number, one_line, size, visible
from mcp_progress_monitor.gui.common.commands import CommandAction, KeyAction, KeyTip
from mcp_progress_monitor.gui.common.controls import (
    ElidedLabel,
    plain_label,
    plain_tip,
    set_text_colour,
    typed_text,
)
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.differences import DifferencesView
from mcp_progress_monitor.gui.common.json_view import JsonTree, TreeSearch
from mcp_progress_monitor.gui.common.labels import ServerTitles
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column
from mcp_progress_monitor.gui.common.raw_view import RawView
from mcp_progress_monitor.gui.page_commands import SAVE_NOTE
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.gui.traffic.related import job_at
from mcp_progress_monitor.protocol.frames import Channel, server_name
from mcp_progress_monitor.protocol.jsonrpc import (
    OVERSIZED,
    Elided,
    Envelope,
    Kind,
    classify,
    decode,
)
from mcp_progress_monitor.protocol.lenient_json import (
    NotJsonError,
    TooDeepError,
    read_value,
    span_of,
)
from mcp_progress_monitor.protocol.messages import PROGRESS_TOKEN
from mcp_progress_monitor.protocol.outline import outlined
from mcp_progress_monitor.wording.content import pretty
from mcp_progress_monitor.wording.jobs import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.gui.followed import JobsFollowed
    from mcp_progress_monitor.gui.traffic.model import TrafficNotes
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.lenient_json import LenientJson
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import JobId


class Message(NamedTuple):
    """`value` is the complete JSON value; None, and `is_json` False, for other bytes.

    `envelope` classifies it; None for stderr and connection events.
    """

    value: Any
    is_json: bool
    envelope: Envelope | None


def read_message(frame: Frame) -> Slices[Message]:
    """Read `frame`, pausing by yielding None every few milliseconds; never raises."""
    if frame.channel is Channel.STDERR or not frame.raw.strip():
        return Message(None, is_json=False, envelope=None)
    try:
        reading = yield from _reading(frame.raw)
    except NotJsonError:
        return _unreadable(frame)
    if frame.channel is Channel.EVENT:
        return Message(reading.value, is_json=True, envelope=None)
    envelope = classify(reading.value, reading.findings)
    return Message(reading.value, is_json=True, envelope=envelope)


def _reading(raw: bytes) -> Slices[LenientJson]:
    if len(raw) <= OVERSIZED:
        try:
            return read_value(raw)
        except TooDeepError:
            pass
    return (yield from outlined(raw))


def _unreadable(frame: Frame) -> Message:
    if len(frame.raw) > OVERSIZED:
        envelope = Envelope(Kind.GARBAGE, findings=(Finding(rules.LONG_NOT_JSON),))
    else:
        envelope = decode(frame.raw, is_complete=frame.is_complete)
    return Message(None, is_json=False, envelope=envelope)


_WAYS = {
    Channel.SENT: "sent to {server}",
    Channel.RECEIVED: "received from {server}",
    Channel.STDERR: "standard error of {server}",
    Channel.EVENT: "connection of {server}",
}


def facts_of(
    timeline: Timeline, titles: ServerTitles, place: int, frame: Frame, delta: str = ""
) -> str:
    """Number, time, time since the row before (`delta`, in words), direction, size, duration."""
    return ", ".join(_facts(timeline, titles, place, frame, delta))


def _facts(
    timeline: Timeline, titles: ServerTitles, place: int, frame: Frame, delta: str
) -> Iterator[str]:
    yield f"no. {number(frame.number)}"
    yield f"{moment(frame.when)} ({delta}\u00a0s)" if delta else moment(frame.when)
    yield _WAYS[frame.channel].format(server=titles.text(server_name(frame.connection)))
    yield f"{number(timeline.size(place))} bytes"
    took = timeline.duration_s(place)
    if took is not None:
        yield f"took {duration(took)}"
    if frame.part is not None:
        yield f"part {number(frame.part.index)} of a batch of {number(frame.part.count)}"


def as_json(frames: Iterable[Frame]) -> str:
    """Return messages as indented JSON, one after the other; other bytes as received."""
    return "\n".join(_json(frame) for frame in frames)


def as_raw(frames: Iterable[Frame]) -> tuple[bytes, str]:
    r"""Return the exact bytes, one message a line, and the same as text.

    In the text, bytes that are no UTF-8 are written as escapes such as `\xff`.
    """
    raw = b"\n".join(frame.raw for frame in frames)
    return raw, raw.decode(errors="backslashreplace")


def _json(frame: Frame) -> str:
    if frame.channel is Channel.STDERR or len(frame.raw) > OVERSIZED:
        return as_raw([frame])[1]
    try:
        return pretty(read_value(frame.raw).value)
    except (NotJsonError, TooDeepError):
        return as_raw([frame])[1]


LONGEST: Final = 10_000  # characters of a note


class NoteEditor(QDialog):
    """A note editor beside Traffic; several may be open."""

    saved = Signal(object, object)  # the message's number, and the text; empty to remove the note

    def __init__(self, frame_number: int, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._number = frame_number
        self._edit = QPlainTextEdit(self, tabChangesFocus=True)
        self._edit.setPlainText(text)
        self._buttons = DialogButtons(self)
        self._room = QLabel(self, textFormat=Qt.TextFormat.PlainText)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = f"Note on message no. {number(frame_number)}"
        self.setWindowTitle(title)
        self._edit.setAccessibleName(title)
        self._lay_out()
        self._on_text_changed()

    def _lay_out(self) -> None:
        kinds = QDialogButtonBox.StandardButton
        self._save = self._buttons.addButton(kinds.Save)
        self._buttons.addButton(kinds.Cancel).setToolTip("Discard the changes (Esc)")
        self._buttons.accepted.connect(self._on_accepted)
        self._buttons.rejected.connect(self.close)
        KeyAction(SAVE_NOTE, self, self._on_accepted, self._save)
        self._edit.textChanged.connect(self._on_text_changed)
        in_column((self._edit, 1), self._room, self._buttons, of=self, spacing=GAP)
        fit_to_screen(self, QSize(380, 200))
        self._edit.setFocus()

    def _text(self) -> str:
        return typed_text(self._edit.document()).strip()

    @Slot()
    def _on_text_changed(self) -> None:
        beyond = len(self._text()) - LONGEST
        self._save.setEnabled(beyond <= 0)
        self._room.setVisible(beyond > 0)
        self._room.setText(f"{number(max(0, beyond))} characters too many")

    @Slot()
    def _on_accepted(self) -> None:
        if self._save.isEnabled():
            self.saved.emit(self._number, self._text())
            self.close()


RAW_SHOWN: Final = 2_000_000  # bytes of one message in the raw view; copying uses all of them
_FINDINGS_SHOWN: Final = 400
_NOTE_SHOWN: Final = 1_000
_TREE, _RAW, _VALUE = range(3)
_LEVELS: Final = 3
"""Levels on which a member at fault is looked for: that of a message, `params`, and `_meta`."""
_LOOKED_AT: Final = 1_000  # members on one of these levels


def place_of_fault(value: Any, findings: Iterable[Finding]) -> tuple[int, ...]:
    """The positions of the first member at fault, as for `JsonTree.go_to`; none without one."""
    for finding in findings:
        name = PROGRESS_TOKEN if finding.member == "token" else finding.member
        level: list[tuple[tuple[int, ...], Any]] = [((), value)]
        for _ in range(_LEVELS if name else 0):
            members = [
                ((*place, position), key, member)
                for place, each in level
                if isinstance(each, dict)
                for position, (key, member) in enumerate(itertools.islice(each.items(), _LOOKED_AT))
            ][:_LOOKED_AT]
            found = next((place for place, key, _ in members if key == name), None)
            if found is not None:
                return found
            level = [(place, member) for place, _, member in members]
    return ()


class MessageDetails(QWidget):
    """Shows one frame: its first bytes at once, a large tree in slices."""

    job_opened = Signal(object)  # the `JobId` the user wants to see
    search_requested = Signal(object)  # text to search Traffic for
    filter_requested = Signal(object)  # a `FilterRequest` of the tree

    def __init__(
        self,
        jobs: JobsFollowed,
        notes: TrafficNotes,
        appearance: Appearance,
        parent: QWidget | None = None,
        *,
        titles: ServerTitles | None = None,
    ) -> None:
        super().__init__(parent)
        self._titles = titles or ServerTitles(self)
        self._jobs = jobs
        self._notes = notes
        self._appearance = appearance
        self._mark = ""
        self._findings: tuple[Finding, ...] = ()
        self._timeline: Timeline | None = None
        self.place = -1
        """The place of the shown frame; -1 without one."""
        self.frame: Frame | None = None
        """The shown frame, with at most `RAW_SHOWN` of its bytes."""
        self.message: Message | None = None
        """The decoded frame; None while it is being read."""
        self._job: JobId | None = None
        self._reading: Slices[Message] | None = None
        self._slices = QTimer(self, interval=0)
        self._slices.timeout.connect(self._read_slice)
        self._head = ElidedLabel(self)
        self._note = plain_label(self)
        self._finding = ElidedLabel(self)
        self._cut = plain_label(self)
        self._open_job = QPushButton(self)
        self._tree = JsonTree(self)
        self._raw = RawView(appearance, self)
        self._value = RawView(appearance, self)
        self._tabs = QTabWidget(self, documentMode=True)
        self._search = TreeSearch(self._tree, appearance, self)
        self._lay_out()
        self._connect()
        set_text_colour(self._note, self._appearance, Tone.ACCENT)
        for label in self._finding.findChildren(QLabel):
            set_text_colour(label, self._appearance, Tone.WARNING)
        self.clear()

    def add_buttons(self, buttons: Sequence[QWidget]) -> None:
        for button in buttons:
            self._top.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)

    def focus(self) -> None:
        """Focus the content of the message."""
        shown = self._tabs.currentWidget()
        view = shown if shown in (self._tree, self._value) else self._raw
        view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if view is self._tree and not self._tree.currentIndex().isValid():
            self._tree.go_to((0,))

    def clear(self) -> None:
        """Show that no message is selected."""
        self._show(None, "Select a row to see the full message.")

    def show_place(
        self,
        timeline: Timeline,
        place: int,
        *,
        delta: str = "",
        mark: str = "",
        findings: tuple[Finding, ...] = (),
    ) -> bool:
        """Show the frame at `place`; False, without a change, if it is gone.

        `delta` is the time since the previous row, as text; `mark` is the violated rule, and
        `findings` are those that are still known.
        """
        frame = timeline.frame(place, RAW_SHOWN)
        if frame is None:
            return False
        self._timeline, self.place, self._mark = timeline, place, mark
        self._findings = findings
        self._show(frame, facts_of(timeline, self._titles, place, frame, delta))
        return True

    def _show(self, frame: Frame | None, facts: str) -> None:
        self.frame = frame
        self.message = None
        self._job = None
        self._reading = None
        self._open_job.hide()
        self._show_findings(())
        self._tree.clear()
        self._search.begin()
        self._tabs.setTabVisible(_VALUE, False)
        self._tabs.setVisible(frame is not None)
        self._raw.show_bytes(b"" if frame is None else frame.raw)
        _say(self._head, facts)
        self._show_note()
        self._show_cut()
        if frame is not None:
            self._begin_reading(frame)

    def _begin_reading(self, frame: Frame) -> None:
        """Read small messages at once; fetch a large one after its first bytes are shown."""
        self._show_job(None)
        if self._is_cut(frame):
            self._slices.start()
        else:
            self._reading = read_message(frame)
            self._read_slice()

    def _is_cut(self, frame: Frame) -> bool:
        return self._timeline is not None and self._timeline.size(self.place) > len(frame.raw)

    def _lay_out(self) -> None:
        self._note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._cut.setContentsMargins(GAP, 0, GAP, GAP_S)
        self._open_job.setAccessibleName("Show the job")
        self._tree.offer_filters()
        self._tabs.setAccessibleName("Full message")
        raw = QWidget(self)
        in_column(self._cut, (self._raw, 1), of=raw, margins=(0, GAP_S, 0, 0), spacing=0)
        self._tabs.addTab(self._tree, "Tree")
        self._tabs.addTab(raw, "Raw")
        self._tabs.addTab(self._value, "Value")
        self._tabs.setCornerWidget(self._search)
        self._top = QHBoxLayout()
        self._top.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        self._top.setSpacing(GAP_S)
        self._top.addWidget(self._head, 1)
        self._top.addWidget(self._open_job, 0, Qt.AlignmentFlag.AlignTop)
        below = in_column(self._note, self._finding, margins=(GAP, 0, GAP, 0), spacing=0)
        in_column(self._top, below, (self._tabs, 1), of=self, margins=0, spacing=0)

    def _connect(self) -> None:
        self._open_job.clicked.connect(self.open_job)
        self._tree.value_opened.connect(self._on_value_opened)
        self._tree.search_requested.connect(self.search_requested)
        self._tree.filter_requested.connect(self.filter_requested)
        self._tree.bytes_requested.connect(self._on_bytes_requested)
        self._tabs.currentChanged.connect(self._on_tab_changed)
        self._notes.changed.connect(self._show_note)

    @Slot()
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
        """Read all of a large message; its bytes are held only meanwhile."""
        if self._timeline is None or self.frame is None or self.message is not None:
            return None
        whole = self._timeline.frame(self.place)
        is_same = whole is not None and whole.number == self.frame.number
        return read_message(whole) if whole is not None and is_same else None

    def _show_message(self, message: Message) -> None:
        self.message = message
        self._show_findings(() if message.envelope is None else message.envelope.findings)
        self._tabs.setTabEnabled(_TREE, message.is_json)
        if message.is_json:
            self._tree.show_value(message.value)
            self._search.begin()
            found = () if message.envelope is None else message.envelope.findings
            fault = place_of_fault(message.value, (*self._findings, *found))
            if fault:
                self._tree.go_to(fault)
        else:
            self._tabs.setCurrentIndex(_RAW)
        self._show_job(message)

    def _show_findings(self, found: tuple[Finding, ...]) -> None:
        """Show why the message is marked, and errors in its form."""
        others = texts(each for each in found if each not in self._findings)
        text = f"Finding: {'; '.join(filter(None, [self._mark, *others]))}"
        _say(self._finding, one_line(text, _FINDINGS_SHOWN))
        self._finding.setVisible(bool(self._mark or others))

    @Slot()
    def _show_note(self) -> None:
        number = 0 if self.frame is None else self.frame.number
        note = self._notes.note(number)
        is_marked = self._notes.is_marked(number)
        parts = ["Marked"] if is_marked else []
        if note:
            parts.append(f"Note: {visible(note[:_NOTE_SHOWN], keep_line_ends=True)}")
        self._note.setText(". ".join(parts))
        self._note.setVisible(bool(parts))

    def _show_cut(self) -> None:
        is_cut = self.frame is not None and self._is_cut(self.frame)
        self._cut.setVisible(is_cut)
        if is_cut and self._timeline is not None:
            self._cut.setText(
                f"Showing the first {size(RAW_SHOWN)} of "
                f"{size(self._timeline.size(self.place))}. “Copy raw bytes” in the menu of the "
                "row copies all of them"
            )

    def tell_key(self, show_job: CommandAction) -> None:
        """Let the button of the job say the key of the command that does the same."""
        KeyTip(self._open_job, show_job, "Show the job that this message belongs to")

    def _show_job(self, message: Message | None) -> None:
        if self.frame is None or self._timeline is None or self._job is not None:
            return
        envelope = None if message is None else message.envelope
        job = job_at(self._timeline, self.place, self.frame, envelope, self._jobs)
        if job is not None:
            self._job = job.id
            self._open_job.setText(f"Job: {one_line(job.name, 60).replace('&', '&&')}")
            self._open_job.show()

    @Slot()
    def open_job(self) -> None:
        """Request to show the job of the message, if it has one."""
        if self._job is not None:
            self.job_opened.emit(self._job)

    @Slot(object)
    def _on_bytes_requested(self, keys: Sequence[str | int]) -> None:
        """Select the bytes of a value in the raw view."""
        if self.frame is None:
            return
        self._tabs.setCurrentIndex(_RAW)
        start, end = span_of(self.frame.raw, keys) or (0, 0)
        self._raw.show_span(start, end)

    @Slot(int)
    def _on_tab_changed(self, at: int) -> None:
        self._search.setEnabled(at == _TREE)

    @Slot(object)
    def _on_value_opened(self, value: Any) -> None:
        if isinstance(value, Elided):
            self._tabs.setCurrentIndex(_RAW)
            return
        text = value if isinstance(value, str) else pretty(value)
        self._value.show_bytes(text.encode(errors="surrogatepass"), keep_lines=True)
        self._tabs.setTabVisible(_VALUE, True)
        self._tabs.setCurrentIndex(_VALUE)


def _say(line: ElidedLabel, text: str) -> None:
    """Show a text in one line, and all of it in the tool tip."""
    line.set_text(text)
    line.setToolTip(plain_tip(text))


_SIZE: Final = QSize(760, 560)


class MessagesDialog(QDialog):
    """The differences of two messages, each with what is known of it above."""

    def __init__(
        self,
        facts: tuple[str, str],
        texts: tuple[str, str],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        """`facts` say which messages they are, `texts` are their JSON."""
        super().__init__(parent)
        self.setWindowTitle("Compare messages")
        self.text = DifferencesView(*texts, appearance, self)
        buttons = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        column = in_column(of=self)
        column.setSpacing(GAP)
        for sign, text in zip("-+", facts, strict=True):
            column.addWidget(plain_label(self, f"{sign} {text}"))
        column.addWidget(self.text, 1)
        column.addWidget(buttons)
        fit_to_screen(self, _SIZE)
        self.text.setFocus()

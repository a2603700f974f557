"""One message in full: as a tree, as exact bytes, and the job it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.models.json_text import pretty
from app.models.log_jobs import job_of_frame
from app.models.message_reading import Message, read_message
from app.protocol.frame import Channel, server_name
from app.protocol.jsonrpc import Elided
from app.text import clock, number, one_line
from app.widgets.appearance import GAP, GAP_S, Appearance, Tone
from app.widgets.json_tree import JsonTree
from app.widgets.raw_view import RawView
from app.widgets.schema_field import set_text_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.models.log_jobs import JobFinder
    from app.protocol.frame import Frame
    from app.protocol.outline import Slices
    from app.tracker.snapshot import JobId

_PROBLEMS_SHOWN: Final = 400


class LogDetails(QWidget):
    """Shows one frame; a large one is read in slices, its raw bytes are there at once."""

    job_opened = Signal(object)
    """The `JobId` the user wants to see."""
    search_requested = Signal(object)
    """Words to search the log for."""

    def __init__(
        self, jobs: JobFinder, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._appearance = appearance
        self._mark = ""
        self._frame: Frame | None = None
        self._message: Message | None = None
        self._job: JobId | None = None
        self._reading: Slices[Message] | None = None
        self._slices = QTimer(self)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._on_slice_due)
        self._head = self._label()
        self._problems = self._label()
        self._open_job = QPushButton(self)
        self._tree = JsonTree(self)
        self._raw = RawView(appearance, self)
        self._value = RawView(appearance, self)
        self._tabs = QTabWidget(self)
        self._lay_out()
        self._connect()
        self.show_frame(None)

    @property
    def frame(self) -> Frame | None:
        """The frame in view."""
        return self._frame

    @property
    def message(self) -> Message | None:
        """What the frame holds, None while it is being read."""
        return self._message

    def show_frame(self, frame: Frame | None, mark: str = "") -> None:
        """Show `frame`, or that none is chosen; `mark` says which rule it breaks."""
        self._frame = frame
        self._mark = mark
        self._message = None
        self._job = None
        self._reading = None if frame is None else read_message(frame)
        self._open_job.hide()
        self._show_problems(())
        self._tree.clear()
        self._tabs.setTabVisible(2, False)
        self._tabs.setVisible(frame is not None)
        self._raw.show_bytes(b"" if frame is None else frame.raw)
        self._head.setText(self._heading(frame))
        self._read_slice()

    def _heading(self, frame: Frame | None) -> str:
        if frame is None:
            return self.tr("Choose a row to see the whole message.")
        ways = {
            Channel.SENT: self.tr("sent to {server}"),
            Channel.RECEIVED: self.tr("received from {server}"),
            Channel.STDERR: self.tr("standard error of {server}"),
            Channel.EVENT: self.tr("connection of {server}"),
        }
        way = ways[frame.channel].format(server=one_line(server_name(frame.connection), 80))
        words = self.tr("{time}, {way}, {size} bytes, no. {number}").format(
            time=clock(frame.when),
            way=way,
            size=number(len(frame.raw)),
            number=number(frame.number),
        )
        if frame.part is not None:
            part = self.tr("part {index} of a batch of {count}").format(
                index=number(frame.part.index), count=number(frame.part.count)
            )
            words = f"{words}, {part}"
        return words

    def _label(self) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    def _lay_out(self) -> None:
        self._open_job.setToolTip(self.tr("Show the job that this message belongs to"))
        self._tabs.setDocumentMode(True)
        self._tabs.setAccessibleName(self.tr("Message in full"))
        self._tabs.addTab(self._tree, self.tr("Tree"))
        self._tabs.addTab(self._raw, self.tr("Raw"))
        self._tabs.addTab(self._value, self.tr("Value"))
        head = QHBoxLayout()
        head.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        head.addWidget(self._head, 1)
        head.addWidget(self._open_job)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(head)
        self._problems.setContentsMargins(GAP, 0, GAP, GAP_S)
        whole.addWidget(self._problems)
        whole.addWidget(self._tabs, 1)

    def _connect(self) -> None:
        self._open_job.clicked.connect(self._on_job_clicked)
        self._tree.value_opened.connect(self._on_value_opened)
        self._tree.search_requested.connect(self.search_requested)

    def _read_slice(self) -> None:
        if self._reading is None:
            self._slices.stop()
            return
        try:
            next(self._reading)
        except StopIteration as stop:
            self._reading = None
            self._slices.stop()
            self._show_message(stop.value)
        else:
            self._slices.start()

    def _show_message(self, message: Message) -> None:
        self._message = message
        self._show_problems(message.problems)
        self._tabs.setTabEnabled(0, message.is_json)
        if message.is_json:
            self._tree.show_value(message.value)
        else:
            self._tabs.setCurrentIndex(1)
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

    def _show_job(self, message: Message) -> None:
        if self._frame is None or message.envelope is None:
            return
        job = job_of_frame(self._frame, message.envelope, self._jobs)
        if job is not None:
            self._job = job.id
            self._open_job.setText(self.tr("Job: {name}").format(name=_escaped(job.name)))
            self._open_job.show()

    @Slot()
    def _on_slice_due(self) -> None:
        self._read_slice()

    @Slot()
    def _on_job_clicked(self) -> None:
        if self._job is not None:
            self.job_opened.emit(self._job)

    @Slot(object)
    def _on_value_opened(self, value: Any) -> None:
        if isinstance(value, Elided):
            self._tabs.setCurrentIndex(1)
            return
        text = value if isinstance(value, str) else pretty(value)
        self._value.show_bytes(text.encode(errors="surrogatepass"), keep_lines=True)
        self._tabs.setTabVisible(2, True)
        self._tabs.setCurrentIndex(2)


def _escaped(name: str) -> str:
    """A server's words on a button: no mnemonic is made of an ampersand."""
    return one_line(name, 60).replace("&", "&&")

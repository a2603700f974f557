"""The head of a job's pane: what it is, the large bar, every number, and how it fared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.models import job_texts, stream_texts
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.widgets.appearance import (
    GAP,
    GAP_L,
    Appearance,
    Tone,
    state_icon,
    tone_of,
)
from mcp_progress_monitor.widgets.bar_painter import BarPainter
from mcp_progress_monitor.widgets.job_clocks import JobClocks
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.row_actions import CANCEL, PICK_UP, RESUME, offered

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_ICON: Final = 22
_BAR: Final = 14
_LARGE: Final = 1.25
_STREAM_TONES: Final = {True: Tone.WARNING, False: Tone.MUTED}


class JobHeader(QWidget):
    """Shows one snapshot; all of it is plain, selectable text."""

    cancel_clicked = Signal()
    resume_clicked = Signal()
    pick_up_clicked = Signal()
    reissue_clicked = Signal()
    report_clicked = Signal()
    ticks_clicked = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._job: JobSnapshot | None = None
        self._is_read_only = False
        self._icon = QLabel(self)
        self._name = self._label(self.tr("Name of the job"), size=_LARGE)
        self._state = self._label(self.tr("State"), size=_LARGE)
        self._ids = self._label(self.tr("Server, token and ids"))
        self._amount = self._label(self.tr("Progress"), size=_LARGE)
        self._numbers = self._label(self.tr("Numbers"))
        self._message = self._label(self.tr("Message"))
        self._message.setWordWrap(True)
        self._stream = self._label(self.tr("Stream"))
        self._stream.setWordWrap(True)
        self._bar = _LargeBar(appearance, self)
        self.clocks = JobClocks(appearance, self)
        self._cancel = self._button(self.tr("Cancel"), self.tr("Cancel this job (Ctrl+.)"))
        self._resume = self._button(
            self.tr("Resume"), self.tr("Go on with this job where it stopped (Ctrl+R)")
        )
        self._pick_up = self._button(
            self.tr("Pick up"), self.tr("Go on with this task, left at its server (Ctrl+Alt+P)")
        )
        self._reissue = self._button(
            self.tr("Re-issue"),
            self.tr("Send the whole request again, from the start (Ctrl+Shift+R)"),
        )
        self._save = self._button(self.tr("Save"), self.tr("Save a report, or the ticks"))
        self._save.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._save.setMenu(self._made_save_menu())
        self._cancel.clicked.connect(self.cancel_clicked)
        self._resume.clicked.connect(self.resume_clicked)
        self._pick_up.clicked.connect(self.pick_up_clicked)
        self._reissue.clicked.connect(self.reissue_clicked)
        # These give way in a narrow pane, and are read in their tips then.
        self._cut_off = (self._name, self._ids)
        self._lay_out()
        appearance.changed.connect(self._on_appearance_changed)

    def show_job(self, job: JobSnapshot) -> None:
        """Show `job` as it is now."""
        self._job = job
        tone = tone_of(job)
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(self._appearance.pixmap(state_icon(job.state), tone, _ICON, ratio))
        self._icon.setAccessibleName(job_texts.state_word(job.state))
        self._put(self._name, job_texts.name(job))
        self._put(self._state, job_texts.full_state(job), tone)
        self._put(self._ids, _ids(job), Tone.MUTED)
        self._put(self._amount, job_texts.amount(job))
        self._put(self._numbers, _numbers(job), Tone.MUTED)
        is_bad = job.failure is not None and job.state is not JobState.RESUMABLE
        self._put(self._message, _words(job), tone if is_bad else Tone.TEXT)
        self._show_stream(job)
        self._bar.show_job(job)
        self._ticks.setEnabled(job.tick_count > 0)
        self._offer(job)

    def _show_stream(self, job: JobSnapshot) -> None:
        words = stream_texts.note(job)
        is_broken = job.stream is not None and job.stream.is_broken
        self._put(self._stream, words[:1].upper() + words[1:], _STREAM_TONES[is_broken])
        self._stream.setVisible(bool(words))

    def set_read_only(self) -> None:
        """Offer no buttons from now on."""
        self._is_read_only = True
        self._reissue.hide()

    def _offer(self, job: JobSnapshot) -> None:
        actions = [] if self._is_read_only else offered(job)
        self._cancel.setVisible(CANCEL in actions)
        self._resume.setVisible(RESUME in actions)
        self._pick_up.setVisible(PICK_UP in actions)
        self._cancel.setIcon(self._appearance.icon("cancel"))
        self._resume.setIcon(self._appearance.icon("resume"))
        self._pick_up.setIcon(self._appearance.icon("resume"))
        self._reissue.setIcon(self._appearance.icon("again"))
        self._save.setIcon(self._appearance.icon("save"))

    def _label(self, name: str, *, size: float = 1.0) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAccessibleName(name)
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        label.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        label.setMinimumWidth(1)
        if size != 1.0:
            font = label.font()
            font.setPointSizeF(font.pointSizeF() * size)
            font.setWeight(font.Weight.DemiBold)
            label.setFont(font)
        return label

    def _button(self, words: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(words)
        button.setToolTip(plain_tip(tip))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def _made_save_menu(self) -> QMenu:
        menu = QMenu(self._save)
        report = menu.addAction(self.tr("Save &report…"))
        report.triggered.connect(self.report_clicked)
        self._ticks = menu.addAction(self.tr("Save &ticks as CSV…"))
        self._ticks.triggered.connect(self.ticks_clicked)
        return menu

    def _lay_out(self) -> None:
        for label in self._cut_off:
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(self._icon)
        head.addWidget(self._name, 1)
        head.addWidget(self._state)
        head.addSpacing(GAP)
        head.addWidget(self._cancel)
        head.addWidget(self._resume)
        head.addWidget(self._pick_up)
        head.addWidget(self._reissue)
        head.addWidget(self._save)
        bar = QHBoxLayout()
        bar.setSpacing(GAP_L)
        bar.addWidget(self._bar, 1)
        bar.addWidget(self._amount)
        below = QHBoxLayout()
        below.setSpacing(GAP_L)
        below.addWidget(self._ids, 1)
        below.addWidget(self._numbers)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP_L, GAP, GAP_L, GAP)
        layout.setSpacing(GAP // 2)
        layout.addLayout(head)
        layout.addLayout(bar)
        layout.addLayout(below)
        layout.addWidget(self.clocks)
        layout.addWidget(self._stream)
        layout.addWidget(self._message)

    def _put(self, label: QLabel, words: str, tone: Tone = Tone.TEXT) -> None:
        """Set a label's text and colour, only where they are other ones: ten times a second."""
        if label.text() != words:
            label.setText(words)
            label.setToolTip(plain_tip(words) if label in self._cut_off else "")
        colour = self._appearance.colour(tone)
        if label.palette().color(QPalette.ColorRole.WindowText) != colour:
            palette = label.palette()
            palette.setColor(QPalette.ColorRole.WindowText, colour)
            label.setPalette(palette)

    @Slot()
    def _on_appearance_changed(self) -> None:
        if self._job is not None:
            self.show_job(self._job)


class _LargeBar(QWidget):
    """One large bar."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._painter = BarPainter(appearance)
        self._job: JobSnapshot | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(80)

    def show_job(self, job: JobSnapshot) -> None:
        """Show the bar of `job`."""
        self._job = job
        self.setAccessibleName(f"{self.tr('Progress')} {job_texts.amount(job)}")
        self.update()

    def sizeHint(self) -> QSize:
        """As high as a line of text, nearly."""
        return QSize(240, max(_BAR, self.fontMetrics().height() - 2))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the bar."""
        if self._job is not None:
            self._painter.paint(QPainter(self), QRectF(self.rect()), self._job)


def _ids(job: JobSnapshot) -> str:
    token = job_texts.token(job)
    named = token if job.token is None else job_texts.tr("token {}").format(token)
    is_sent = job.request_id is not None
    request = job_texts.tr("id {}").format(job_texts.wire(job.request_id)) if is_sent else ""
    started = job_texts.tr("started {}").format(job_texts.moment(job.started_when))
    where = job_texts.line(job.connection if is_sent else job.server)
    parts = (where, job_texts.line(job.method), named, request, started)
    return " · ".join(part for part in parts if part)


def _numbers(job: JobSnapshot) -> str:
    parts = (
        job_texts.count(job) if job.fraction is not None else "",
        job_texts.ticks(job),
        job_texts.attempts(job),
        job_texts.saved(job) if job.state is JobState.RESUMABLE else "",
        job_texts.next_attempt(job),
        job_texts.rate(job),
        job_texts.time_left(job),
        job_texts.elapsed(job),
        job_texts.last_tick(job) if job.silent_s >= job_texts.SILENT_AFTER_S else "",
    )
    return " · ".join(part for part in parts if part)


def _words(job: JobSnapshot) -> str:
    """The failure in its own words and whose they are, else the newest message."""
    if job.failure is None or job.state is JobState.RESUMABLE:
        return job_texts.message(job)
    if job.failure.is_wanted:
        return job_texts.message(job)
    is_theirs = job.failure.where == "server"
    whose = job_texts.tr("The server says") if is_theirs else job_texts.tr("Here")
    code = "" if job.failure.code is None else f" ({job_texts.wire(job.failure.code)})"
    return f"{whose}{code}: {job_texts.message(job)}"

"""The header of a job's pane: its title, the large bar, its figures, and its time limits."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.gui.common.commands import CommandActions, CommandButton, CommandMenu
from mcp_progress_monitor.gui.common.controls import plain_tip, set_text_colour
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import (
    CANCEL,
    CLOCK_COMMANDS,
    IDLE_CLOCK,
    PICK_UP,
    REISSUE,
    REPORT,
    RESUME,
    TICKS,
    TOTAL_CLOCK,
    ClockCommands,
)
from mcp_progress_monitor.gui.jobs.delegate import BarPainter
from mcp_progress_monitor.gui.jobs.row import JobRow
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone, smaller, state_icon
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording import watched as watched_texts

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_LEAST_TEXT: Final = 48


class JobClocks(QWidget):
    """Both time limits in one line, while its `button` is pressed.

    Both are hidden for a job that is over or recorded.
    """

    def __init__(
        self, actions: CommandActions, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        """`actions` are those of the shown job."""
        super().__init__(parent)
        self._appearance = appearance
        self.button: Final = QToolButton(parent)
        self.button.setCheckable(True)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setIcon(appearance.icon("state-timed-out"))
        self.button.setAccessibleName("Time limits")
        self.button.toggled.connect(self.setVisible)
        self.idle = ClockLine(IDLE_CLOCK, actions, appearance, self)
        self.total = ClockLine(TOTAL_CLOCK, actions, appearance, self)
        self.note = QLabel(self)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        in_row(self.idle, self.total, (self.note, 1), of=self, margins=0, spacing=GAP_L)
        self.button.hide()
        self.hide()

    def show_job(self, job: JobSnapshot) -> None:
        """Show how much time is left."""
        clocks = job.clocks
        self.button.setVisible(clocks is not None)
        self.setVisible(clocks is not None and self.button.isChecked())
        if clocks is None:
            return
        self.button.setText(job_texts.nearest_limit(clocks))
        lefts = ("idle", clocks.idle_left_s), ("total", clocks.total_left_s)
        limits = [job_texts.limit_left(*each) for each in lefts]
        self.button.setToolTip(plain_tip("\n".join(("Show or hide the time limits", *limits))))
        self.idle.show_left(job, clocks.idle_left_s)
        self.total.show_left(job, clocks.total_left_s)
        text = "paused while a question is open" if clocks.is_suspended else ""
        self.note.setText(text)
        self.note.setToolTip(plain_tip(text))


class ClockLine(QWidget):
    """One time limit: what is left, and buttons to extend it or turn it off and on."""

    def __init__(
        self,
        commands: ClockCommands,
        actions: CommandActions,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._limit = commands.limit
        self._appearance = appearance
        self.label = QLabel(self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setAccessibleDescription(f"{commands.limit.value} timeout")
        self.label.setMinimumWidth(_LEAST_TEXT)  # its tool tip has the whole text
        self.one = CommandButton(commands.one, actions, self, "+1 min")
        self.ten = CommandButton(commands.ten, actions, self, "+10 min")
        self.off = CommandButton(commands.off, actions, self, "Off")
        row = in_row(self.label, of=self, margins=0, spacing=GAP_S)
        row.addSpacing(GAP - GAP_S)
        for button in (self.one, self.ten, self.off):
            row.addWidget(button)

    def show_left(self, job: JobSnapshot, left_s: float | None) -> None:
        """Show what is left of the limit of `job`."""
        text = job_texts.limit_left(self._limit.value, left_s)
        if self.label.text() != text:
            self.label.setText(text)
            self.label.setToolTip(plain_tip(text))
        is_near = left_s is not None and left_s < job_texts.NEAR_S
        set_text_colour(self.label, self._appearance, Tone.WARNING if is_near else Tone.MUTED)
        for button in (self.one, self.ten, self.off):
            button.show_for(job)


_BUTTONS: Final = (CANCEL, RESUME, PICK_UP)
_NARROW: Final = 70
"""Digits; in a narrower pane the buttons have no words."""
_ICON: Final = 20
_EYE: Final = 16
_BAR: Final = 14
_LARGE: Final = 1.1
_STREAM_TONES: Final = {True: Tone.WARNING, False: Tone.MUTED}


class JobHeader(QWidget):
    """Shows the row of one job as plain, selectable text."""

    def __init__(
        self, appearance: Appearance, actions: CommandActions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._actions = actions
        self._row: JobRow | None = None
        self._icon = QLabel(self)
        self._name = self._label("Job name", size=_LARGE)
        self._state = self._label("State", size=_LARGE)
        self._eye = QLabel(self)
        self._eye.setAccessibleName("Watched")
        self._eye.hide()
        self._amount = self._label("Progress", size=_LARGE)
        self._numbers = self._label("Numbers")
        self._message = self._label("Message")
        self._stream = self._label("Stream")
        self._bar = _LargeBar(appearance, self)
        self._on_clocks = CommandActions(
            CLOCK_COMMANDS, actions.commands, self, appearance, self._shown, id_of=attrgetter("id")
        )
        self.clocks = JobClocks(self._on_clocks, appearance, self)
        self._save: QToolButton | None = None
        self.buttons: Final = {each.id: CommandButton(each, actions, self) for each in _BUTTONS}
        # Cut in a narrow pane, where their tool tips have the whole text.
        self._cut_off = (self._name, self._message, self._stream)
        self._lay_out()
        appearance.changed.connect(self._on_appearance_changed)

    def show_row(self, row: JobRow) -> None:
        """Show the current state of a job."""
        self._row, job, tone = row, row.job, row.tone
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(self._appearance.pixmap(state_icon(job.state), tone, _ICON, ratio))
        self._icon.setAccessibleName(job.state.value)
        self._put(self._name, row.cell(Column.JOB).name)
        self._put(self._state, job_texts.full_state(job), tone)
        self._eye.setVisible(job.watched_client is not None)
        if job.watched_client is not None:
            self._eye.setPixmap(self._appearance.pixmap("watched", Tone.ACCENT, _EYE, ratio))
            self._eye.setToolTip(plain_tip(watched_texts.why_read_only(job.watched_client)))
        amount = job_texts.amount(job)
        self._put(self._amount, amount)
        self._put(self._numbers, _numbers(job), Tone.MUTED)
        self._numbers.setToolTip(plain_tip(job_texts.exact(job)))
        is_bad = job.failure is not None and job.state is not JobState.RESUMABLE
        self._put(self._message, _text(job), tone if is_bad else Tone.TEXT)
        self._show_stream(job)
        self._bar.show_job(job, amount)
        self._on_clocks.refresh()
        self.clocks.show_job(job)
        for button in self.buttons.values():
            button.show_for(job)

    def _show_stream(self, job: JobSnapshot) -> None:
        text = job_texts.stream_note(job)
        is_broken = job.stream is not None and job.stream.is_broken
        self._put(self._stream, text[:1].upper() + text[1:], _STREAM_TONES[is_broken])
        self._stream.setVisible(bool(text))

    def _label(self, name: str, *, size: float = 1.0) -> QLabel:
        label = _CutLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAccessibleDescription(name)
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the buttons' texts in a narrow pane: icons and tool tips remain."""
        super().resizeEvent(event)
        is_narrow = event.size().width() < self.fontMetrics().horizontalAdvance("0") * _NARROW
        style = Qt.ToolButtonStyle
        wanted = style.ToolButtonIconOnly if is_narrow else style.ToolButtonTextBesideIcon
        found = (*self.buttons.values(), self._save)
        for button in (each for each in found if each is not None):
            button.setToolButtonStyle(wanted)

    def add_corner(self, tabs: QTabWidget) -> None:
        """Put *Re-issue* and *Save* beside the tabs of the pane, after them in the tab order."""
        corner = QWidget(tabs)
        again = self.buttons[REISSUE.id] = CommandButton(REISSUE, self._actions, corner)
        self._save = self._make_save_button(corner)
        in_row(again, self._save, of=corner, margins=(0, 0, GAP, 0), spacing=GAP_S)
        tabs.setCornerWidget(corner)

    def _make_save_button(self, parent: QWidget) -> QToolButton:
        button = QToolButton(parent)
        button.setText("Save")
        button.setIcon(self._appearance.icon("save"))
        button.setToolTip("Save a report or the ticks")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = CommandMenu((REPORT, TICKS), self._actions, button, self._shown)
        button.setMenu(menu)
        return button

    def _shown(self) -> list[JobSnapshot]:
        return [] if self._row is None else [self._row.job]

    def _lay_out(self) -> None:
        """One line with the essentials, and one with details; others only if there is a need."""
        self._numbers.setFont(smaller(self._numbers.font()))
        self._message.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        parts = (self._icon, self._name, self._state, self._bar, self._amount)
        head = _row(*parts, *self.buttons.values(), self.clocks.button)
        head.setStretchFactor(self._bar, 1)
        middle = _row(self._eye, self._message, self._numbers)
        middle.setStretchFactor(self._message, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        layout.setSpacing(2)
        for row in (head, middle):
            layout.addLayout(row)
        layout.addWidget(self.clocks)
        layout.addWidget(self._stream)

    def _put(self, label: QLabel, text: str, tone: Tone = Tone.TEXT) -> None:
        """Set a label's text and colour if they changed: called ten times a second."""
        if label.text() != text:
            label.setText(text)
            label.setToolTip(plain_tip(text) if label in self._cut_off else "")
        set_text_colour(label, self._appearance, tone)

    @Slot()
    def _on_appearance_changed(self) -> None:
        if self._row is not None:
            self.show_row(JobRow(self._row.job, self._row.badge))


class _CutLabel(QLabel):
    """One line of plain text; elided if it does not fit."""

    def paintEvent(self, event: QPaintEvent) -> None:
        room = self.contentsRect()
        if self.fontMetrics().horizontalAdvance(self.text()) <= room.width():
            super().paintEvent(event)
            return
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        QPainter(self).drawText(room, int(Qt.AlignmentFlag.AlignVCenter), text)


def _row(*parts: QWidget) -> QHBoxLayout:
    return in_row(*parts, spacing=GAP)


class _LargeBar(QWidget):
    """A large progress bar."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._painter = BarPainter(appearance)
        self._job: JobSnapshot | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(60)

    def show_job(self, job: JobSnapshot, amount: str) -> None:
        self._job = job
        self.setAccessibleName(f"Progress {amount}")
        self.update()

    def sizeHint(self) -> QSize:
        """Slightly less high than a line of text."""
        return QSize(240, max(_BAR, self.fontMetrics().height() - 2))

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._job is not None:
            self._painter.paint(QPainter(self), QRectF(self.rect()), self._job)


def request_line(job: JobSnapshot) -> str:
    """The client, connection, method, token and id of a job's request, and its time."""
    token = job_texts.token(job)
    named = token if job.token is None else f"token {token}"
    is_sent = job.request_id is not None
    request = f"id {job_texts.wire(job.request_id)}" if is_sent else ""
    started = f"started {job_texts.moment(job.started_when)}"
    where = job_texts.line(job.connection if is_sent else job.server)
    client = "" if job.watched_client is None else f"{job_texts.line(job.watched_client)}, watched"
    client = client or job_texts.begun_by(job)
    trace = "" if job.traceparent is None else f"trace {job.traceparent[3:11]}…"
    parts = (client, where, job_texts.line(job.method), named, request, trace, started)
    return " · ".join(part for part in parts if part)


def _numbers(job: JobSnapshot) -> str:
    client, count, spent = job.watched_client, job_texts.rounded_count(job), job_texts.elapsed(job)
    is_said = job.failure is None and job_texts.is_count_said(job)
    parts = (
        job_texts.begun_by(job) if client is None else f"watched in {job_texts.line(client)}",
        "" if job.fraction is None or is_said else count,
        job_texts.ticks(job),
        job_texts.attempts(job),
        job_texts.saved(job) if job.state is JobState.RESUMABLE else "",
        job_texts.next_attempt(job),
        job_texts.time_left(job),
        job_texts.rounded_rate(job),
        f"{spent} so far" if spent and not job.state.is_over else spent,
        job_texts.last_tick(job) if job.silent_s >= job_texts.SILENT_AFTER_S else "",
    )
    return " · ".join(part for part in parts if part)


def _text(job: JobSnapshot) -> str:
    """The failure with its source, else the newest message."""
    if job.failure is None or job.state is JobState.RESUMABLE:
        return job_texts.message(job)
    if job.failure.is_wanted:
        return job_texts.message(job)
    is_theirs = job.failure.where == "server"
    whose = "Server error" if is_theirs else "Local error"
    code = "" if job.failure.code is None else f" ({job_texts.wire(job.failure.code)})"
    return f"{whose}{code}: {job_texts.message(job)}"

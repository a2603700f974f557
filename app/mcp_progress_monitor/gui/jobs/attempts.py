"""The attempts of a job, and its resume token, hidden until the user shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import CommandActions, CommandCheck
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.common.tables import PlainTable
from mcp_progress_monitor.gui.jobs.commands import AUTOMATIC
from mcp_progress_monitor.gui.jobs.history import FIRST_FRAME, PlainTableModel
from mcp_progress_monitor.gui.theme import GAP, GAP_S
from mcp_progress_monitor.gui.user_settings import LimitSettings
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording.jobs import line, moment

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import AttemptSnapshot, JobDetail, JobId

TITLES: Final = ("#", "Made by", "Started", "Ended", "Ticks", "Outcome", "Details")
TEXT_COLUMNS: Final = (1, 2, 3, 5, 6)
_MADE_BY: Final = 1


def row(attempt: AttemptSnapshot) -> tuple[str, ...]:
    """The texts of one attempt, in the order of `TITLES`."""
    return (
        formatting.number(attempt.number),
        "here" if attempt.client is None else line(attempt.client),
        moment(attempt.started_when),
        _ended(attempt),
        _ticks(attempt),
        _outcome(attempt),
        line(attempt.detail),
    )


def _is_resuming(attempt: AttemptSnapshot) -> bool:
    outcome = attempt.outcome
    return not outcome.is_over if isinstance(outcome, JobState) else outcome == "running"


def _ticks(attempt: AttemptSnapshot) -> str:
    """The number of ticks; attempts of earlier runs of the program were not counted."""
    is_counted = attempt.request is not None or attempt.tick_count > 0
    return formatting.number(attempt.tick_count) if is_counted else ""


def _ended(attempt: AttemptSnapshot) -> str:
    if attempt.ended_when is not None:
        return moment(attempt.ended_when)
    return "" if _is_resuming(attempt) else "unknown"


def _outcome(attempt: AttemptSnapshot) -> str:
    if isinstance(attempt.outcome, JobState):
        return attempt.outcome.value
    text = line(attempt.outcome)
    return text[:1].upper() + text[1:]


_SHOWN: Final = 2_000  # characters of a token; the whole token can be copied


class AttemptsSection(QWidget):
    """One row for each request of the chain, oldest first, above the resume token."""

    frame_followed = Signal(object)  # the number of the frame that was an attempt's request
    limit_changed = Signal(int)  # the limit of automatic attempts for jobs started from now on

    def __init__(self, actions: CommandActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._job: JobId | None = None
        self._token: str | None = None
        columns = TEXT_COLUMNS
        self.model = PlainTableModel(TITLES, self, text_columns=columns)
        self.table = PlainTable(self.model, "Attempts", self, empty="This job was not resumed")
        self.table.setToolTip("Show the request in Traffic (Enter)")
        self.table.activated.connect(self._on_activated)
        header = self.table.horizontalHeader()
        header.setStretchLastSection(True)
        header.setResizeContentsPrecision(0)  # only rows in sight
        self.model.modelReset.connect(self._fit_columns)
        self.model.rowsInserted.connect(self._fit_columns)
        self.automatic = CommandCheck(AUTOMATIC, actions, self)
        self.limit = QSpinBox(self)
        attempts = LimitSettings.attempts
        self.limit.setRange(attempts.least, attempts.most)
        self.limit.setValue(attempts.default)
        self.limit.setPrefix("≤ ")
        self.limit.setKeyboardTracking(False)
        self.limit.setAccessibleName(attempts.title)
        why = actions.commands.why_read_only
        self.limit.setEnabled(not why)
        self.limit.setToolTip(plain_tip(why or attempts.tip))
        self.limit.valueChanged.connect(self.limit_changed)
        self.token = QLineEdit(self)
        self.token.setReadOnly(True)
        self.token.setAccessibleName("Resume token")
        self.token.setPlaceholderText("hidden: anyone who has it can resume the job")
        self.show_token = QPushButton("Sho&w token", self)
        self.show_token.setCheckable(True)
        self.show_token.setToolTip("Show or hide the resume token")
        self.show_token.toggled.connect(self._on_show_toggled)
        self.copy_token = QPushButton("Cop&y token", self)
        self.copy_token.setToolTip("Copy the resume token")
        self.copy_token.clicked.connect(self._on_copy)
        self._token_row = self._make_token_row()
        self._lay_out()

    def show_detail(self, detail: JobDetail) -> None:
        """Show the attempts of a job; another job's token is hidden again."""
        job = detail.snapshot
        rows = [row(attempt) for attempt in detail.attempts]
        self.model.show_rows(rows, [attempt.request for attempt in detail.attempts])
        is_shared = any(attempt.client is not None for attempt in detail.attempts)
        self.table.setColumnHidden(_MADE_BY, not is_shared)
        self.automatic.show_for(job)
        if job.id != self._job:
            self._job = job.id
            self.show_token.setChecked(False)
        if detail.resume_token != self._token:
            self._token = detail.resume_token
            self._put_token()
        self._token_row.setVisible(self._token is not None)

    def _make_token_row(self) -> QWidget:
        row = QWidget(self)
        label = QLabel("Resume token", row)
        layout = QHBoxLayout(row)
        layout.setContentsMargins(GAP, GAP_S, GAP, 0)
        layout.addWidget(label)
        layout.addWidget(self.token, 1)
        layout.addWidget(self.show_token)
        layout.addWidget(self.copy_token)
        return row

    def _lay_out(self) -> None:
        below = in_row(
            self.automatic, self.limit, 0, margins=(GAP, GAP_S, GAP, GAP_S), spacing=2 * GAP
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._token_row)  # a separate line: beside it, pages would be too wide
        layout.addLayout(below)

    def _put_token(self) -> None:
        is_shown = self.show_token.isChecked() and self._token is not None
        self.token.setText(formatting.one_line(self._token or "", _SHOWN) if is_shown else "")
        self.token.setCursorPosition(0)

    @Slot()
    def _fit_columns(self) -> None:
        """Fit every column to its text, except the last, which takes the rest."""
        for column in range(self.model.columnCount() - 1):
            self.table.resizeColumnToContents(column)
            self.table.setColumnWidth(column, self.table.columnWidth(column) + GAP)

    @Slot(bool)
    def _on_show_toggled(self, is_shown: bool) -> None:
        text = "Hide toke&n" if is_shown else "Sho&w token"
        self.show_token.setText(text)
        self._put_token()

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._token or "")

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        frame = index.data(FIRST_FRAME)
        if frame is not None:
            self.frame_followed.emit(frame)

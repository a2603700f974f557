"""Follows the newest job, and says what is out of sight: new jobs, and those that need the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from mcp_progress_monitor import text
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.scrolling import scroll_to_end

if TYPE_CHECKING:
    from mcp_progress_monitor.models.filters import JobFilter
    from mcp_progress_monitor.models.jobs import JobsModel
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.widgets.job_table import JobTable


class JobFollower(QWidget):
    """A line below the table of jobs, there while it has something to say.

    In order of start the newest job is kept in sight, until the user scrolls away from it or
    chooses a job that would have to go. Hidden by a filter, jobs are not out of sight: the groups
    at the side count them.
    """

    job_wanted = Signal(object)
    """`JobId` that needs the user and is to be brought into sight."""

    def __init__(
        self, jobs: JobsModel, shown: JobFilter, table: JobTable, appearance: Appearance
    ) -> None:
        super().__init__(table.parentWidget())
        self._jobs = jobs
        self._shown = shown
        self._table = table
        self._appearance = appearance
        self._is_following = False
        self._is_moving = False
        self._new: set[JobId] = set()
        self._waiting: list[JobId] = []
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self.needs_you = self._button(self.tr("Show the next job that needs you"))
        self.newest = self._button(self.tr("Show the newest job and stay there"))
        self._lay_out()
        self._connect()
        self._recolour()
        self.hide()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Look again when the table has more or less room."""
        if event.type() is QEvent.Type.Resize:
            self._turn.start(0)
        return False

    def _button(self, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setAutoRaise(True)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setToolTip(plain_tip(tip))
        button.hide()
        return button

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        row.setSpacing(GAP)
        row.addWidget(self.needs_you)
        row.addStretch(1)
        row.addWidget(self.newest)

    def _connect(self) -> None:
        self._turn.timeout.connect(self._on_turn)
        self.needs_you.clicked.connect(self._on_needs_you_clicked)
        self.newest.clicked.connect(self._on_newest_clicked)
        self._jobs.rowsInserted.connect(self._on_jobs_added)
        self._jobs.modelReset.connect(self._on_reset)
        self._jobs.groups_changed.connect(self._look_soon)
        bar = self._table.verticalScrollBar()
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._look_soon)
        self._table.viewport().installEventFilter(self)
        self._appearance.changed.connect(self._recolour)

    @Slot()
    def _look_soon(self) -> None:
        self._turn.start(0)

    @Slot(QModelIndex, int, int)
    def _on_jobs_added(self, _parent: QModelIndex, first: int, last: int) -> None:
        added = (self._jobs.job_at(row) for row in range(first, last + 1))
        self._new.update(job for job in added if job is not None)
        self._turn.start(0)

    @Slot()
    def _on_reset(self) -> None:
        """Begin at the top of other jobs: if they do not fit, the user goes to their end."""
        self._new.clear()
        self._is_following = False
        self._turn.start(0)

    @Slot(int)
    def _on_scrolled(self, value: int) -> None:
        if not self._is_moving:
            self._is_following = value >= self._table.verticalScrollBar().maximum()
        self._turn.start(0)

    @Slot()
    def _on_turn(self) -> None:
        """Follow, then see what is out of sight all the same."""
        if not self._table.isVisible():
            return  # there will be a turn when it has its size
        self._table.executeDelayedItemsLayout()
        if self._table.verticalScrollBar().maximum() == 0:
            self._is_following = True
        if self._is_following and self._jobs.is_in_order_of_start:
            self._is_moving = True
            scroll_to_end(self._table)
            self._is_moving = False
        sight = self._table.rows_in_sight()
        # What lies above was scrolled past on the way to a newer one.
        least = sight.stop if self._jobs.is_in_order_of_start else 0
        self._new = {job for job in self._new if self._is_out_of_sight(job, sight, least)}
        needing = self._jobs.jobs_in(JobState.NEEDS_YOU)
        self._waiting = [job for job in needing if self._is_out_of_sight(job, sight)]
        self._show()

    def _is_out_of_sight(self, job: JobId, sight: range, least: int = 0) -> bool:
        # By rows: Qt looks through all of them for the place of one that is not in sight.
        row = self._shown.index_of(job).row()
        return row >= least and row not in sight

    def _show(self) -> None:
        for button, count, one, many in (
            # Fewer than the sidebar counts: those in view are not among them.
            (
                self.needs_you,
                len(self._waiting),
                "1 job out of view needs you",
                "{} jobs out of view need you",
            ),
            (self.newest, len(self._new), "1 new job out of view", "{} new jobs out of view"),
        ):
            words = self.tr(one) if count == 1 else self.tr(many).format(text.number(count))
            if button.text() != words:
                button.setText(words)
            button.setVisible(count > 0)
        self.setVisible(bool(self._waiting or self._new))

    @Slot()
    def _on_needs_you_clicked(self) -> None:
        self._table.setFocus()  # the button goes, and would hand it on to the next control
        for job in self._waiting[:1]:
            self.job_wanted.emit(job)

    @Slot()
    def _on_newest_clicked(self) -> None:
        """Go there even if the chosen job goes out of sight: it is asked for."""
        self._table.setFocus()
        index = self._shown.index_of(max(self._new, default=0))
        if self._jobs.is_in_order_of_start:
            self._is_following = True
            self._table.scrollToBottom()
        elif index.isValid():
            self._table.scrollTo(index)

    @Slot()
    def _recolour(self) -> None:
        self.needs_you.setIcon(self._appearance.icon("state-needs-you", Tone.WARNING))
        self.newest.setIcon(self._appearance.icon("follow", Tone.ACCENT))

"""The job list: sortable, filterable, with its actions; follows the newest job."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import Command, CommandActions, Commands
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.common.tables import RowKeys, scroll_to_end
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import (
    JOB_COMMANDS,
    JOB_MENU,
    OPEN,
    ROW_BUTTONS,
    is_answerable,
)
from mcp_progress_monitor.gui.jobs.model import ROW
from mcp_progress_monitor.gui.jobs.table import JobTable
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QShowEvent

    from mcp_progress_monitor.gui.jobs.filter_model import JobFilter
    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot


_SCROLLED_MS: Final = 100
"""How long after a step of scrolling jobs out of sight are counted: there are thirty a second."""


class JobFollower(QWidget):
    """A line below the job list that offers jobs outside the view.

    If sorted by start, the newest job is kept in sight, until the user scrolls away from it or
    selects a job that would leave the view. Jobs hidden by a filter do not count: the groups at the
    side count them.
    """

    job_requested = Signal(object)
    """`JobId` that needs the user and is to be brought into sight."""
    needing_changed = Signal()

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
        self.needing: list[JobId] = []  # the jobs that need the user, in view or not
        self._needing_is_stale = True
        self._rows_are_stale = True
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self.needs_you = self._button("Go to the next job that needs you")
        self.newest = self._button("Jump to the newest job and follow new ones")
        self._lay_out()
        self._connect()
        self.needs_you.setIcon(appearance.icon("state-needs-you", Tone.WARNING))
        self.newest.setIcon(appearance.icon("follow", Tone.ACCENT))
        self.hide()

    def _button(self, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setAutoRaise(True)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setToolTip(plain_tip(tip))
        button.hide()
        return button

    def _lay_out(self) -> None:
        in_row(
            self.needs_you, 1, self.newest, of=self, margins=(GAP, GAP_S, GAP, GAP_S), spacing=GAP
        )

    def _connect(self) -> None:
        self._turn.timeout.connect(self._on_turn)
        self.needs_you.clicked.connect(self._on_needs_you_clicked)
        self.newest.clicked.connect(self._on_newest_clicked)
        self._jobs.rowsInserted.connect(self._on_jobs_added)
        self._jobs.modelReset.connect(self._on_reset)
        self._jobs.groups_changed.connect(self._on_jobs_changed)
        self._jobs.layoutChanged.connect(self._on_jobs_changed)
        bar = self._table.verticalScrollBar()
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._look_soon)
        self._table.resized.connect(self._look_soon)

    @Slot()
    def _look_soon(self) -> None:
        """Look again at all jobs, not only at those that come into sight."""
        self._rows_are_stale = True
        self._turn.start(0)

    @Slot()
    def _on_jobs_changed(self) -> None:
        self._needing_is_stale = True
        self._look_soon()

    @Slot(QModelIndex, int, int)
    def _on_jobs_added(self, _parent: QModelIndex, first: int, last: int) -> None:
        added = (self._jobs.job_at(row) for row in range(first, last + 1))
        self._new.update(job for job in added if job is not None)
        self._needing_is_stale = True
        self._look_soon()

    @Slot()
    def _on_reset(self) -> None:
        """Begin at the top of the new jobs."""
        self._new.clear()
        self._is_following = False
        self._needing_is_stale = True
        self._look_soon()

    @Slot(int)
    def _on_scrolled(self, value: int) -> None:
        if not self._is_moving:
            self._is_following = value >= self._table.verticalScrollBar().maximum()
        if not self._turn.isActive():
            self._turn.start(_SCROLLED_MS)

    @Slot()
    def _on_turn(self) -> None:
        """Follow, then see what is out of sight all the same."""
        self._find_needing()
        if not self._table.isVisible():
            return  # called again once it has its size
        self._table.executeDelayedItemsLayout()
        if self._table.verticalScrollBar().maximum() == 0:
            self._is_following = True
        if self._is_following and self._jobs.is_in_order_of_start:
            self._is_moving = True
            scroll_to_end(self._table)
            self._is_moving = False
        sight = self._table.rows_in_sight()
        self._forget_seen(sight)
        self._waiting = [job for job in self.needing if self._is_out_of_sight(job, sight)]
        self._show()

    def _forget_seen(self, sight: range) -> None:
        """Forget the new jobs in sight, and those above: a scroll to a newer one passed them."""
        if self._jobs.is_in_order_of_start or self._rows_are_stale:
            least = sight.stop if self._jobs.is_in_order_of_start else 0
            self._new = {job for job in self._new if self._is_out_of_sight(job, sight, least)}
            self._rows_are_stale = False
        else:
            # Not all of them for each step of scrolling: of a thousand, that took 0.5 ms.
            self._new.difference_update(map(self._shown.shown_at, sight))

    def _find_needing(self) -> None:
        """Go through all jobs, but not for each step of scrolling."""
        if not self._needing_is_stale:
            return
        self._needing_is_stale = False
        needing = self._jobs.jobs_in(JobState.NEEDS_YOU)
        if needing != self.needing:
            self.needing = needing
            self.needing_changed.emit()

    def _is_out_of_sight(self, job: JobId, sight: range, least: int = 0) -> bool:
        # By rows: Qt searches all of them for one that is not in sight.
        row = self._shown.row_of(job)
        return row >= least and row not in sight

    def _show(self) -> None:
        for button, count, one, many in (
            # Fewer than the sidebar counts: those in view are not included.
            (
                self.needs_you,
                len(self._waiting),
                "1 job out of view needs you",
                "{} jobs out of view need you",
            ),
            (self.newest, len(self._new), "1 new job out of view", "{} new jobs out of view"),
        ):
            text = one if count == 1 else many.format(formatting.number(count))
            if button.text() != text:
                button.setText(text)
            button.setVisible(count > 0)
        self.setVisible(bool(self._waiting or self._new))

    @Slot()
    def _on_needs_you_clicked(self) -> None:
        self._table.setFocus()  # the button disappears: keep its focus here
        for job in self._waiting[:1]:
            self.job_requested.emit(job)

    @Slot()
    def _on_newest_clicked(self) -> None:
        """Scroll there even if the selected job leaves the view: the user asked for it."""
        self._table.setFocus()
        index = self._shown.index_of(max(self._new, default=0))
        if self._jobs.is_in_order_of_start:
            self._is_following = True
            self._table.scrollToBottom()
        elif index.isValid():
            self._table.scrollTo(index)


_SECOND_MS: Final = 1000


class JobList(QWidget):
    """One row for each job that `shown` accepts, with the commands on the selection."""

    selection_changed = Signal(object)  # `tuple[JobId, ...]`, the current one first

    def __init__(
        self,
        jobs: JobsModel,
        shown: JobFilter,
        appearance: Appearance,
        commands: Commands,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._shown = shown
        self._appearance = appearance
        buttons = tuple(filter(commands.is_offered, ROW_BUTTONS))
        self.table = JobTable(jobs, shown, appearance, buttons, self)
        self.follower = JobFollower(jobs, shown, self.table, appearance)
        self.commands: Final = CommandActions(
            JOB_COMMANDS,
            commands,
            self.table,
            appearance,
            self._chosen,
            self._waiting,
            attrgetter("id"),
        )
        self._menu = QMenu(self)
        self._second = QTimer(self)
        self._second.setInterval(_SECOND_MS)
        self._second.setTimerType(Qt.TimerType.PreciseTimer)  # clocks that skip no second
        self._second.timeout.connect(self._on_second)
        self._set_up_table()
        in_column(self.table, self.follower, of=self, margins=0, spacing=0)
        self.setFocusProxy(self.table)
        self.commands.refresh()

    # For the shell

    def selected(self) -> tuple[JobId, ...]:
        """The selected jobs in the order of the rows, the current one first."""
        selection = self.table.selectionModel()
        rows = sorted(selection.selectedRows(), key=QModelIndex.row)
        jobs = [self._shown.job_at(index) for index in rows]
        current = self._shown.job_at(selection.currentIndex())
        ordered = ([current] if current in jobs else []) + [job for job in jobs if job != current]
        return tuple(job for job in ordered if job is not None)

    @Slot(object)
    def select(self, job: JobId) -> bool:
        """Select only `job` and scroll to it; False if it is filtered out."""
        index = self._shown.index_of(job)
        if not index.isValid():
            return False
        flags = QItemSelectionModel.SelectionFlag
        self.table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.table.scrollTo(index)
        return True

    def save_layout(self) -> QByteArray:
        return self.table.save_header()

    def restore_layout(self, state: QByteArray) -> bool:
        """Apply a saved layout; False if it does not fit these columns."""
        return self.table.restore_header(state)

    # Construction

    def _set_up_table(self) -> None:
        self.table.setAccessibleName("Jobs")
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        RowKeys(self.table)
        self.table.customContextMenuRequested.connect(self._on_menu_requested)
        self.table.doubleClicked.connect(self._on_double_clicked)
        self.table.viewportEntered.connect(self._on_left_rows)
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.table.selectionModel().currentChanged.connect(self._on_selection_changed)
        self.table.delegate.button_clicked.connect(self._on_button_clicked)
        self._jobs.groups_changed.connect(self._on_groups_changed)
        self.follower.job_requested.connect(self.select)
        self.follower.needing_changed.connect(self.commands.refresh)

    # Commands

    def _chosen(self) -> list[JobSnapshot]:
        """Snapshots of the selected jobs, the current one first."""
        return [job for job in map(self._jobs.snapshot, self.selected()) if job is not None]

    def _waiting(self) -> list[JobSnapshot]:
        """The oldest job that waits for the user, if any does."""
        for job in map(self._jobs.snapshot, sorted(self.follower.needing)):
            if job is not None and is_answerable(job):
                return [job]
        return []

    @Slot(QModelIndex)
    def _on_double_clicked(self, index: QModelIndex) -> None:
        row = index.data(ROW)
        if row is not None and index.column() != Column.ACTIONS:
            self.commands.run(OPEN, [row.job])

    @Slot(object, object)
    def _on_button_clicked(self, job: JobSnapshot, command: Command) -> None:
        self.commands.run(command, [job])

    @Slot()
    def _on_selection_changed(self) -> None:
        self.commands.refresh()
        self.selection_changed.emit(self.selected())

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        if self.selected():
            self.commands.fill(self._menu, JOB_MENU)
            self._menu.popup(self.table.viewport().mapToGlobal(place))

    # Time and appearance

    @Slot()
    def _on_second(self) -> None:
        self._jobs.tick([self._shown.mapToSource(index).row() for index in self.table.in_sight()])
        self.commands.refresh()
        self._keep_time()

    @Slot()
    def _on_groups_changed(self) -> None:
        self.commands.refresh()
        self._keep_time()

    def _keep_time(self) -> None:
        is_wanted = self.isVisible() and self._jobs.is_anything_running
        if is_wanted != self._second.isActive():
            if is_wanted:
                self._second.start()
            else:
                self._second.stop()
        self.table.set_narrowed(self._shown.is_narrowing and self._jobs.rowCount() > 0)

    @Slot()
    def _on_left_rows(self) -> None:
        self.table.delegate.hover(None)

    def showEvent(self, event: QShowEvent) -> None:
        """Update the rows every second again."""
        super().showEvent(event)
        self.table.prepare()
        self._keep_time()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop updates: a hidden list costs nothing."""
        super().hideEvent(event)
        self._second.stop()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._appearance.follow(QGuiApplication.palette())

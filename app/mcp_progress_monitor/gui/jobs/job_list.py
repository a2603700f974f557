"""The job list: sortable, filterable, with its actions; follows the newest job."""

from __future__ import annotations

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
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.common.tables import RowKeys, scroll_to_end
from mcp_progress_monitor.gui.jobs.actions import (
    ANSWER,
    CANCEL,
    PICK_UP,
    RESUME,
    RESUME_HERE,
    JobActions,
    RowAction,
    has_broken_stream,
    is_answerable,
    is_cancellable,
    is_kept,
    is_removable,
    is_resumable,
    may_be_picked_up,
    may_resume_automatically,
)
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.table import JobTable
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import SignalInstance
    from PySide6.QtGui import QAction, QHideEvent, QShowEvent

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
        self._recolour()
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
        self._appearance.changed.connect(self._recolour)

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

    @Slot()
    def _recolour(self) -> None:
        self.needs_you.setIcon(self._appearance.icon("state-needs-you", Tone.WARNING))
        self.newest.setIcon(self._appearance.icon("follow", Tone.ACCENT))


_SECOND_MS: Final = 1000
_MENU: Final = (
    ("open", "answer"),
    ("cancel", "resume", "pick-up", "automatic", "reconnect"),
    ("reissue", "edit", "follow", "compare", "findings"),
    ("request", "result", "token", "command", "curl", "snippet"),
    ("report", "ticks"),
    ("remove", "forget"),
)


class JobList(QWidget):
    """One row for each job that `shown` accepts, with actions on the selection.

    It decides nothing: every action is a signal to the shell.
    """

    cancel_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection that can be cancelled."""
    reconnect_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection whose HTTP streams can be reconnected."""
    answer_requested = Signal(object)  # `JobId` that waits for the user, or is a question itself
    job_opened = Signal(object)  # `JobId`: double click or Enter
    resume_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection that can be resumed."""
    pick_up_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection that are tasks left at their servers."""
    automatic_requested = Signal(object, bool)
    """`tuple[JobId, ...]`, and whether they are to be resumed automatically."""
    reissue_requested = Signal(object)
    """`tuple[JobId, ...]` whose requests are to be sent again, from the start."""
    edit_requested = Signal(object)  # the `JobId` to edit and re-issue
    follow_requested = Signal(object)  # `JobId` whose messages are to be shown in Traffic
    compare_requested = Signal(object)  # `tuple[JobId, JobId]`, the earlier one first
    findings_requested = Signal(object)  # `JobId` whose findings are to be listed
    forget_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection that have a saved resume token."""
    copy_requested = Signal(object, str)  # `JobId` and what of it: request, result or token
    call_copy_requested = Signal(object, str)
    """`JobId`, and what its call is to be copied as: command or curl."""
    snippet_requested = Signal(object)  # the frame number of the request to write as a program
    report_requested = Signal(object)  # the `JobId` to save a report of
    ticks_requested = Signal(object)  # `JobId` whose ticks are to be saved
    remove_requested = Signal(object)
    """`tuple[JobId, ...]`: those of the selection that are over, with nothing saved."""
    selection_changed = Signal(object)  # `tuple[JobId, ...]`, the current one first

    def __init__(
        self,
        jobs: JobsModel,
        shown: JobFilter,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._shown = shown
        self._appearance = appearance
        self.table = JobTable(jobs, shown, appearance, self)
        self.follower = JobFollower(jobs, shown, self.table, appearance)
        self._actions = JobActions(self.table, appearance)
        self._connect_actions()
        self._menu = QMenu(self)
        self._second = QTimer(self)
        self._second.setInterval(_SECOND_MS)
        self._second.setTimerType(Qt.TimerType.PreciseTimer)  # clocks that skip no second
        self._second.timeout.connect(self._on_second)
        self._set_up_table()
        in_column(self.table, self.follower, of=self, margins=0, spacing=0)
        self.setFocusProxy(self.table)
        self._enable()

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

    def action(self, key: str) -> QAction:
        """An action of `job_actions`, for tool bars and menus.

        It is enabled if it applies to the selection.
        """
        return self._actions[key]

    def set_read_only(self, why: str) -> None:
        """Disable every action that needs a server; `why` becomes the tool tip."""
        self._actions.set_read_only(why)
        self.table.delegate.set_read_only()
        self._enable()

    def save_layout(self) -> QByteArray:
        return self.table.save_header()

    def restore_layout(self, state: QByteArray) -> bool:
        """Apply a saved layout; False if it does not fit these columns."""
        return self.table.restore_header(state)

    # Construction

    def _connect_actions(self) -> None:
        do = self._actions
        do["open"].triggered.connect(self._on_open)
        do["answer"].triggered.connect(self._on_answer)
        do["cancel"].triggered.connect(self._on_cancel)
        do["reconnect"].triggered.connect(self._on_reconnect)
        do["resume"].triggered.connect(self._on_resume)
        do["pick-up"].triggered.connect(self._on_pick_up)
        do["automatic"].triggered.connect(self._on_automatic)
        do["reissue"].triggered.connect(self._on_reissue)
        do["edit"].triggered.connect(self._on_edit)
        do["follow"].triggered.connect(self._on_follow)
        do["compare"].triggered.connect(self._on_compare)
        do["findings"].triggered.connect(self._on_findings)
        do["request"].triggered.connect(self._on_copy_request)
        do["result"].triggered.connect(self._on_copy_result)
        do["token"].triggered.connect(self._on_copy_token)
        do["command"].triggered.connect(self._on_copy_command)
        do["curl"].triggered.connect(self._on_copy_curl)
        do["snippet"].triggered.connect(self._on_copy_snippet)
        do["report"].triggered.connect(self._on_report)
        do["ticks"].triggered.connect(self._on_ticks)
        do["remove"].triggered.connect(self._on_remove)
        do["forget"].triggered.connect(self._on_forget)

    def _set_up_table(self) -> None:
        self.table.setAccessibleName("Jobs")
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        RowKeys(self.table)
        self.table.customContextMenuRequested.connect(self._on_menu_requested)
        self.table.doubleClicked.connect(self._on_double_clicked)
        self.table.viewportEntered.connect(self._on_left_rows)
        self.table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.table.selectionModel().currentChanged.connect(self._on_selection_changed)
        self.table.delegate.action_clicked.connect(self._on_action_clicked)
        self._jobs.groups_changed.connect(self._on_groups_changed)
        self.follower.job_requested.connect(self.select)
        self.follower.needing_changed.connect(self._enable)

    # Actions on rows

    def _chosen(self) -> list[JobSnapshot]:
        """Snapshots of the selected jobs, the current one first."""
        return [job for job in map(self._jobs.snapshot, self.selected()) if job is not None]

    def _those(self, can_work: Callable[[JobSnapshot], bool]) -> tuple[JobId, ...]:
        return tuple(job.id for job in self._chosen() if can_work(job))

    @Slot()
    def _on_open(self) -> None:
        for job in self.selected()[:1]:
            self.job_opened.emit(job)

    @Slot(QModelIndex)
    def _on_double_clicked(self, index: QModelIndex) -> None:
        job = self._shown.job_at(index)
        if job is not None and index.column() != Column.ACTIONS:
            self.job_opened.emit(job)

    @Slot()
    def _on_answer(self) -> None:
        waiting = self._those(is_answerable) or self._first_waiting()
        for job in waiting[:1]:
            self.answer_requested.emit(job)

    def _first_waiting(self) -> tuple[JobId, ...]:
        """The oldest job that waits for the user, if any does."""
        for job in map(self._jobs.snapshot, sorted(self.follower.needing)):
            if job is not None and is_answerable(job):
                return (job.id,)
        return ()

    @Slot()
    def _on_cancel(self) -> None:
        _emit_any(self.cancel_requested, self._those(is_cancellable))

    @Slot()
    def _on_reconnect(self) -> None:
        _emit_any(self.reconnect_requested, self._those(has_broken_stream))

    @Slot()
    def _on_resume(self) -> None:
        _emit_any(self.resume_requested, self._those(is_resumable))

    @Slot()
    def _on_pick_up(self) -> None:
        _emit_any(self.pick_up_requested, self._those(may_be_picked_up))

    @Slot(bool)
    def _on_automatic(self, is_wanted: bool) -> None:
        jobs = self._those(may_resume_automatically)
        if jobs:
            self.automatic_requested.emit(jobs, is_wanted)

    @Slot()
    def _on_reissue(self) -> None:
        _emit_any(self.reissue_requested, self._those(_is_reissuable))

    @Slot()
    def _on_edit(self) -> None:
        for job in self.selected()[:1]:
            self.edit_requested.emit(job)

    @Slot()
    def _on_follow(self) -> None:
        for job in self.selected()[:1]:
            self.follow_requested.emit(job)

    @Slot()
    def _on_compare(self) -> None:
        chosen = sorted(self.selected())
        if len(chosen) == 2:
            self.compare_requested.emit(tuple(chosen))

    @Slot()
    def _on_findings(self) -> None:
        for job in self.selected()[:1]:
            self.findings_requested.emit(job)

    @Slot()
    def _on_copy_request(self) -> None:
        self._copy("request")

    @Slot()
    def _on_copy_result(self) -> None:
        self._copy("result")

    @Slot()
    def _on_copy_token(self) -> None:
        self._copy("token")

    @Slot()
    def _on_copy_command(self) -> None:
        self._copy_call("command")

    @Slot()
    def _on_copy_curl(self) -> None:
        self._copy_call("curl")

    def _copy_call(self, form: str) -> None:
        for job in self.selected()[:1]:
            self.call_copy_requested.emit(job, form)

    @Slot()
    def _on_copy_snippet(self) -> None:
        for job in self._chosen()[:1]:
            self.snippet_requested.emit(job.request)

    def _copy(self, what: str) -> None:
        for job in self.selected()[:1]:
            self.copy_requested.emit(job, what)

    @Slot()
    def _on_report(self) -> None:
        for job in self.selected()[:1]:
            self.report_requested.emit(job)

    @Slot()
    def _on_ticks(self) -> None:
        for job in self.selected()[:1]:
            self.ticks_requested.emit(job)

    @Slot()
    def _on_remove(self) -> None:
        _emit_any(self.remove_requested, self._those(is_removable))
        self._on_forget()

    @Slot()
    def _on_forget(self) -> None:
        _emit_any(self.forget_requested, self._those(is_kept))

    @Slot(object, object)
    def _on_action_clicked(self, job: JobId, action: RowAction) -> None:
        if action.key == ANSWER.key:
            self.answer_requested.emit(job)
            return
        request = {
            CANCEL.key: self.cancel_requested,
            RESUME.key: self.resume_requested,
            RESUME_HERE.key: self.resume_requested,
            PICK_UP.key: self.pick_up_requested,
        }
        request[action.key].emit((job,))

    @Slot()
    def _on_selection_changed(self) -> None:
        self._enable()
        self.selection_changed.emit(self.selected())

    # Menus

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        if not self.selected():
            return
        self._fill_menu()
        self._menu.popup(self.table.viewport().mapToGlobal(place))

    def _fill_menu(self) -> None:
        self._enable()
        self._menu.clear()
        others = set() if self._those(is_answerable) else {ANSWER.key}  # another job's question
        for group in _MENU:
            keys = [key for key in group if self._actions.can_ever_work(key) and key not in others]
            self._menu.addActions([self._actions[key] for key in keys])
            self._menu.addSeparator()

    @Slot()
    def _enable(self) -> None:
        self._actions.enable(self._chosen(), is_any_waiting=bool(self._first_waiting()))

    # Time and appearance

    @Slot()
    def _on_second(self) -> None:
        self._jobs.tick([self._shown.mapToSource(index).row() for index in self.table.in_sight()])
        self._enable()
        self._keep_time()

    @Slot()
    def _on_groups_changed(self) -> None:
        self._enable()
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


def _is_reissuable(job: JobSnapshot) -> bool:
    return job.is_reissuable


def _emit_any(request: SignalInstance, jobs: tuple[JobId, ...]) -> None:
    if jobs:
        request.emit(jobs)

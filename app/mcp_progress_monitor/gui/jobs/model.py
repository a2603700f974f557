"""The jobs as a table: one row each, snapshots made only for visible rows."""

from __future__ import annotations

import itertools
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
    Slot,
)

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.gui.common.labels import Badge
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.row import SETTLED_AFTER_S, JobRow
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Jobs


def runs(rows: Iterable[int]) -> list[tuple[int, int]]:
    """Contiguous runs (first, last) of distinct `rows`, in ascending order."""
    found: list[tuple[int, int]] = []
    for row in sorted(set(rows)):
        if found and row == found[-1][1] + 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found


ROW: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of the `JobRow`, rebuilt first if it is outdated: for rows about to be painted."""

_SETTLE_MS: Final = round(SETTLED_AFTER_S * 1000)
_SETTLED_AT_ONCE: Final = 50
"""Jobs that are checked in one turn of the event loop: about 3 ms of work."""

SORTED_EACH_SECOND: Final = 500
"""Where more jobs change, it is done every other second: reading a thousand takes 50 ms."""

_ROWWISE: Final = 64
"""Of more changed rows, all between are announced: to find the runs of a thousand takes 0.3 ms."""

_Index = QModelIndex | QPersistentModelIndex
_state_of = attrgetter("state._value_")


class JobsModel(QAbstractTableModel):
    """Rows are jobs in order of start, or sorted by a column; columns are `Column`.

    A server request follows directly after the job it belongs to, in order of arrival, however the
    jobs are sorted.

    A change marks a row as outdated; its snapshot is rebuilt before the row is painted (by
    `JobTable`), sorted or copied. So a thousand running jobs cost no more than the twenty visible
    ones. Sorting is done here, in one pass over keys, and not in a proxy, which would ask for data
    twice a comparison.
    """

    groups_changed = Signal()
    """A job was added, removed or changed its state: filters and counts are outdated."""
    states_read = Signal(object)
    """`list[JobId]` of jobs that were added or changed their state; never empty."""
    second_passed = Signal()  # the snapshots of running jobs are outdated, in rows and other views

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: Jobs | None = None
        self._order: list[JobId] = []
        self._rows: dict[JobId, int] = {}
        self._snapshots: dict[JobId, JobSnapshot] = {}
        self._made: dict[JobId, JobRow] = {}
        self._outdated: set[JobId] = set()
        self._timed: set[JobId] = set()
        self._young: set[JobId] = set()
        self._settling: list[JobId] = []
        self._parents: dict[JobId, JobId] = {}
        self._listed: dict[JobId, JobId] | None = None
        self._sorting: tuple[Column, bool] | None = None
        self._badges: Mapping[JobId, Badge] | None = None
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._on_settled)
        self._moved: dict[JobId, None] = {}
        """Jobs that are new or changed their state, which is yet to be read."""
        self._moved_turn = QTimer(self)
        self._moved_turn.setSingleShot(True)
        self._moved_turn.timeout.connect(self._on_moved_turn)
        self._to_resort: list[JobId] = []
        self._is_sort_due = True
        self._sort_turn = QTimer(self)
        self._sort_turn.setSingleShot(True)
        self._sort_turn.timeout.connect(self._on_sorting)

    # Source of the jobs

    def set_source(self, source: Jobs) -> None:
        """Show all jobs of `source` from now on."""
        self.beginResetModel()
        self._source = source
        self._order, self._rows, self._settling, self._moved = [], {}, [], {}
        self._made.clear()
        for jobs in (self._outdated, self._timed, self._young, self._snapshots, self._parents):
            jobs.clear()
        self._listed = None
        self._append(source.ids())
        self._read_moved(len(self._moved))
        self.endResetModel()
        self._resort()
        self.groups_changed.emit()

    @property
    def source(self) -> Jobs | None:
        """The source of snapshots; None before `set_source`."""
        return self._source

    @Slot(object)
    def apply(self, changes: ChangeSet) -> None:
        """Apply changes of the jobs (`Feed.jobs_changed`)."""
        if changes.removed:
            self._remove(changes.removed)
        added = [job for job in changes.added if job not in self._rows]
        if added:
            first = len(self._order)
            self.beginInsertRows(QModelIndex(), first, first + len(added) - 1)
            self._append(added)
            self.endInsertRows()
        known = [job for job in changes.progressed if job in self._rows]
        self._outdated.update(known)
        self._moved |= dict.fromkeys(changes.moved.difference(added))
        read = self._read_moved()
        self._announce([self._rows[job] for job in known])
        if read or changes.removed:
            self._note_groups()
        if read:
            self.states_read.emit(read)

    def close(self) -> None:
        """Read all states now: later there may be no view any more."""
        while self._moved:
            self._on_moved_turn()
        for timer in (self._moved_turn, self._settle, self._sort_turn):
            timer.stop()

    def hide(self, jobs: Collection[JobId]) -> None:
        """Hide the rows of `jobs`, which the source still has: they may be shown again."""
        self.apply(ChangeSet(removed=tuple(jobs)))

    def show_again(self, jobs: Iterable[JobId]) -> None:
        """Show rows of hidden `jobs` again, if the source still has them."""
        there = () if self._source is None else self._source.ids()
        self.apply(ChangeSet(added=tuple(sorted(set(jobs).intersection(there)))))

    def set_badges(self, badges: Mapping[JobId, Badge]) -> None:
        """Set the number of findings of each job."""
        before, self._badges = self._badges or {}, badges
        differing = {job for job, _ in before.items() ^ badges.items()}
        self._announce([self._rows[job] for job in differing if job in self._rows], Column.JOB)

    def badge(self, snapshot: JobSnapshot) -> Badge | None:
        """The findings on a job; for one of an earlier run, those that were saved."""
        if self._badges is not None and snapshot.request > 0:
            return self._badges.get(snapshot.id)
        if not snapshot.marks:
            return None
        late = rules.TICK_LATE_IN_BATCH.kind
        is_harmless = all(mark.key == late for mark in snapshot.marks)
        return Badge(len(snapshot.marks), Level.NOTE if is_harmless else Level.WARNING)

    def tick(self, visible: Collection[int]) -> None:
        """Advance by a second: repaint the elapsed times and ETAs of `visible` rows.

        Other rows are rebuilt when they come into sight.
        """
        self._outdated |= self._timed
        if self._sorting is not None:
            outdated = [job for job in self._outdated if job in self._rows]
            self._is_sort_due = len(outdated) <= SORTED_EACH_SECOND or not self._is_sort_due
            if self._is_sort_due:
                self._to_resort = outdated
                self._on_sorting()
        self._announce([row for row in visible if self.job_at(row) in self._timed])
        self.second_passed.emit()

    @property
    def is_in_order_of_start(self) -> bool:
        """True if the newest job is the last row, apart from server requests."""
        return self._sorting is None

    def jobs_in(self, state: JobState) -> list[JobId]:
        """The settled jobs in `state`, in order of their rows; server requests do not count."""
        return [
            job
            for job in self._order
            if self.settled_state(job) is state and self.parent_of(job) is None
        ]

    @property
    def is_anything_running(self) -> bool:
        """True if any job's snapshot changes as time passes."""
        return bool(self._timed)

    def job_at(self, row: int) -> JobId | None:
        """The job of a row; None beyond the end."""
        return self._order[row] if 0 <= row < len(self._order) else None

    def row_of(self, job: JobId) -> int | None:
        """The row of a job; None if it is not shown."""
        return self._rows.get(job)

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """The job's snapshot for views, rebuilt if outdated."""
        if job in self._outdated or job not in self._snapshots:
            self._outdated.discard(job)
            made = self._source.snapshot(job) if self._source else None
            if made is not None:
                self._snapshots[job] = made
        return self._snapshots.get(job)

    def row(self, job: JobId) -> JobRow | None:
        """The row of a job, rebuilt if outdated."""
        self.snapshot(job)
        return self.known(job)

    def known(self, job: JobId | None) -> JobRow | None:
        """The row of the job's newest existing snapshot, for painting: makes none."""
        snapshot = None if job is None else self._snapshots.get(job)
        if snapshot is None:
            return None
        made, badge = self._made.get(snapshot.id), self.badge(snapshot)
        if made is None or made.job is not snapshot or made.badge != badge:
            made = self._made[snapshot.id] = JobRow(snapshot, badge)
        return made

    def settled_state(self, job: JobId) -> JobState | None:
        """The job's state for filters and counts; None while it is too new to show."""
        known = self._snapshots.get(job)
        return None if known is None or job in self._young else known.state

    def parent_of(self, job: JobId) -> JobId | None:
        """The listed job on whose behalf a server asks this one; None if there is none."""
        return self._listed_parents().get(job)

    def _listed_parents(self) -> Mapping[JobId, JobId]:
        """The parents that are listed, by server request; found once for each batch."""
        if self._listed is None:
            rows = self._rows
            # A parent job is older: a row is never below itself.
            self._listed = {
                job: parent
                for job, parent in self._parents.items()
                if parent < job and parent in rows
            }
        return self._listed

    @property
    def has_requests(self) -> bool:
        """True if any job is a server's request on behalf of another."""
        return bool(self._parents)

    def is_folded(self, job: JobId) -> bool:
        """True for a server's request that the row of its job stands for.

        Not once that job is over: an open question must not be hidden with it.
        """
        parent = self.parent_of(job)
        return parent is not None and not self._is_left_behind(job, parent)

    def folded(self) -> list[JobId]:
        """The jobs for which rows of others stand."""
        return [job for job in self._parents if self.is_folded(job)]

    def _is_left_behind(self, job: JobId, parent: JobId) -> bool:
        own, of_parent = self.settled_state(job), self.settled_state(parent)
        is_open = own is not None and not own.is_over
        return is_open and of_parent is not None and of_parent.is_over

    def grouping_state(self, job: JobId) -> JobState | None:
        """The state that groups a row: that of the parent job for a server request.

        Unless the parent is over: an open question must not be hidden with it.
        """
        own, parent = self.settled_state(job), self.parent_of(job)
        if parent is None or own is None:
            return own
        return own if self._is_left_behind(job, parent) else self.settled_state(parent)

    def count_by_state(self) -> Mapping[JobState, int]:
        """The number of settled jobs in each state; server requests do not count."""
        apart = self._young | self._parents.keys()
        of_jobs = (known for job, known in self._snapshots.items() if job not in apart)
        # By value: hashing an enumeration's member is slow, and there may be ten thousand.
        counts = Counter({JobState(v): n for v, n in Counter(map(_state_of, of_jobs)).items()})
        counts.update(self._states_left_behind())
        return counts

    @property
    def job_count(self) -> int:
        """The number of jobs, without server requests."""
        return len(self._order) - len(self._listed_parents())

    # Called by Qt

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of columns, including hidden ones."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Titles of the columns, aligned as the columns."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        about = COLUMNS[Column(section)]
        if role == Qt.ItemDataRole.DisplayRole:
            return about.title()
        if role == Qt.ItemDataRole.AccessibleTextRole and section == Column.ACTIONS:
            return "Actions"
        if role == Qt.ItemDataRole.TextAlignmentRole and about.is_number:
            return int(_RIGHT)
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, or the snapshot: numbers are never converted to C integers."""
        if role not in _ANSWERED or not index.isValid():
            return None
        job = self.job_at(index.row())
        row = None if job is None else self.row(job)
        if row is None or role == ROW:
            return row
        snapshot = row.job
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == Column.JOB:
            return row.spoken
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == Column.ACTIONS:
            return ", ".join(command.title_for(snapshot) for command in row.buttons)
        column = COLUMNS[Column(index.column())]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_RIGHT if column.is_number else _LEFT)
        return column.text(snapshot)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column and keep the rows sorted; -1 returns to the order of start."""
        descending = order is Qt.SortOrder.DescendingOrder
        self._sorting = (Column(column), descending) if 0 <= column < len(COLUMNS) else None
        if self._sorting is not None:
            for job in self._order:
                self.snapshot(job)
        self._resort()

    # Bookkeeping

    def _append(self, jobs: Sequence[JobId]) -> None:
        """Add rows of jobs whose states are yet to be read."""
        self._rows.update(zip(jobs, itertools.count(len(self._order)), strict=False))
        self._order += jobs
        parents = {} if self._source is None else self._source.parents_of(jobs)
        self._parents.update(parents)
        self._listed = None  # they may be parents
        self._young.update(jobs)
        self._moved |= dict.fromkeys(jobs)
        if self._young and not self._settle.isActive():
            self._settle.start(_SETTLE_MS)

    def _read_moved(self, most: int = _SETTLED_AT_ONCE) -> list[JobId]:
        """Read the states of some jobs, others in the next turns: a thousand took 24 ms."""
        first = list(itertools.islice(self._moved, most))
        for job in first:
            del self._moved[job]
        read = [job for job in first if job in self._rows]
        for job in read:
            self._take_state(job)
        if self._moved:
            self._moved_turn.start(0)
        return read

    @Slot()
    def _on_moved_turn(self) -> None:
        read = self._read_moved()
        self._announce([self._rows[job] for job in read])
        if read:
            self.states_read.emit(read)
        self._note_groups()

    def _note_groups(self) -> None:
        """Sort and count again, once all states are read."""
        if not self._moved:
            self._resort()
            self.groups_changed.emit()

    def _take_state(self, job: JobId) -> None:
        if job not in self._rows:
            return
        self._outdated.add(job)
        snapshot = self.snapshot(job)
        if snapshot is not None and snapshot.parent is not None:
            self._parents[job] = snapshot.parent
            self._listed = None
        if snapshot is None or snapshot.state.is_over:
            self._timed.discard(job)
            self._young.discard(job)
        if snapshot is None or not _is_timed(snapshot):
            return
        self._timed.add(job)
        if snapshot.elapsed_s >= SETTLED_AFTER_S or snapshot.state is not JobState.RUNNING:
            self._young.discard(job)

    def _remove(self, jobs: Iterable[JobId]) -> None:
        gone = {job: self._rows[job] for job in jobs if job in self._rows}
        for first, last in reversed(runs(gone.values())):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._order[first : last + 1]
            self.endRemoveRows()
        if not gone:
            return
        for job in gone:
            self._snapshots.pop(job, None)
            self._made.pop(job, None)
            self._parents.pop(job, None)
        self._listed = None
        for jobs_of_a_kind in (self._outdated, self._timed, self._young):
            jobs_of_a_kind.difference_update(gone)
        self._rows = {job: row for row, job in enumerate(self._order)}

    def _announce(self, rows: Collection[int], last_column: int = len(COLUMNS) - 1) -> None:
        if not rows:
            return
        for first, last in runs(rows) if len(rows) <= _ROWWISE else [(min(rows), max(rows))]:
            self.dataChanged.emit(self.index(first, 0), self.index(last, last_column))

    @Slot()
    def _on_sorting(self) -> None:
        """Rebuild outdated snapshots, a few at a time, then sort: a thousand at once took 40 ms."""
        waiting = self._to_resort
        for job in waiting[:_SETTLED_AT_ONCE]:
            self.snapshot(job)
        del waiting[:_SETTLED_AT_ONCE]
        if waiting:
            self._sort_turn.start(0)
        else:
            self._resort()

    def _resort(self) -> None:
        """Sort by existing snapshots: those of changed rows may be a second old."""
        wanted = self._sorted()
        if wanted == self._order:
            return
        # Without a hint: PySide 6.11.3 crashes on an empty list of parents (measured).
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        jobs = [self.job_at(index.row()) for index in before]
        self._order = wanted
        self._rows = {job: row for row, job in enumerate(wanted)}
        after = [
            QModelIndex() if job is None else self.index(self._rows[job], index.column())
            for index, job in zip(before, jobs, strict=True)
        ]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _states_left_behind(self) -> Iterator[JobState]:
        """The states of open server requests whose job is over, and of those without one."""
        listed = self._listed_parents()
        for job in self._parents:
            own, parent = self.settled_state(job), listed.get(job)
            if own is None or (own.is_over and parent is not None):
                continue
            of_parent = None if parent is None else self.settled_state(parent)
            if parent is None or (of_parent is not None and of_parent.is_over):
                yield own

    def _sorted(self) -> list[JobId]:
        order = self._by_column()
        if not self._parents:
            return order
        below: dict[JobId, list[JobId]] = {}
        listed = self._listed_parents()
        for job in sorted(listed):
            top = listed[job]
            while top in listed:
                top = listed[top]
            below.setdefault(top, []).append(job)
        tops = (job for job in order if job not in listed)
        return [each for top in tops for each in (top, *below.get(top, ()))]

    def _by_column(self) -> list[JobId]:
        by_start = sorted(self._order)
        if self._sorting is None:
            return by_start
        column, descending = self._sorting
        key, snapshots = COLUMNS[column].key, self._snapshots
        keys = {job: key(snapshots[job]) for job in by_start if job in snapshots}
        known = [job for job in by_start if keys.get(job) is not None]
        unknown = [job for job in by_start if keys.get(job) is None]
        # Unknown values are last in both directions; equal ones stay in order of start.
        return sorted(known, key=keys.__getitem__, reverse=descending) + unknown

    @Slot()
    def _on_settled(self) -> None:
        """Check the new jobs again, a few at a time: a thousand of them took 40 ms."""
        left = self._settling or list(self._young)
        waiting = [job for job in left[:_SETTLED_AT_ONCE] if job in self._rows]
        self._settling = left[_SETTLED_AT_ONCE:]
        for job in waiting:
            self._take_state(job)
        self._announce([self._rows[job] for job in waiting])
        if self._settling:
            self._settle.start(0)
            return
        self.groups_changed.emit()
        if self._young:
            self._settle.start(_SETTLE_MS)


def _is_timed(job: JobSnapshot) -> bool:
    """Return whether the snapshot changes with time: a resumable job shows the age of its token."""
    return not job.state.is_over or job.state is JobState.RESUMABLE


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_ANSWERED = frozenset(
    {
        int(Qt.ItemDataRole.DisplayRole),
        int(Qt.ItemDataRole.TextAlignmentRole),
        int(Qt.ItemDataRole.AccessibleTextRole),
        ROW,
    }
)

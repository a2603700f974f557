"""Filters the jobs by group of states and by text, and counts the jobs of each group."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    QTimer,
    Slot,
)

from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.tracker.snapshot import JobId

_Index = QModelIndex | QPersistentModelIndex


class JobGroup(enum.Enum):
    """The status filters in display order. Besides ALL, each job is in exactly one.

    A server request is listed under its job and not counted separately.
    """

    ALL = "All"
    RUNNING = "Running"
    NEEDS_YOU = "Needs you"
    STALLED = "Stalled"
    RESUMABLE = "Resumable"
    FINISHED = "Finished"
    FAILED = "Failed"


GROUP_OF_STATE: Final = {
    JobState.RUNNING: JobGroup.RUNNING,
    JobState.CANCELLING: JobGroup.RUNNING,
    JobState.NEEDS_YOU: JobGroup.NEEDS_YOU,
    JobState.STALLED: JobGroup.STALLED,
    JobState.RESUMABLE: JobGroup.RESUMABLE,
    JobState.DONE: JobGroup.FINISHED,
    JobState.CANCELLED: JobGroup.FINISHED,
    JobState.FAILED: JobGroup.FAILED,
    JobState.TIMED_OUT: JobGroup.FAILED,
    JobState.LOST: JobGroup.FAILED,
}

_FLAGS: Final = (
    Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
)

_ORDER: Final = {group: place for place, group in enumerate(JobGroup)}
_ALWAYS_SHOWN: Final = frozenset({JobGroup.ALL, JobGroup.RUNNING, JobGroup.NEEDS_YOU})

COUNT: Final = int(Qt.ItemDataRole.UserRole) + 1
GROUP: Final = int(Qt.ItemDataRole.UserRole) + 2
"""Roles of `GroupsModel`: the number of jobs, and the `JobGroup`."""


class JobFilter(QSortFilterProxyModel):
    """Shows the jobs of a group whose constant texts contain all words of a search.

    Requests of a server are folded into the row of the job that they are for.
    Sorting is delegated to `JobsModel`. Progress never triggers filtering.
    """

    def __init__(self, jobs: JobsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._group = JobGroup.ALL
        self._terms: tuple[str, ...] = ()
        self._text_cache: dict[JobId, str] = {}
        self._folded: list[JobId] = []
        self._found_below: set[JobId | None] = set()
        self.setDynamicSortFilter(False)
        self.setSourceModel(jobs)
        jobs.groups_changed.connect(self._on_groups_changed)
        jobs.modelReset.connect(self._on_jobs_gone)
        jobs.rowsRemoved.connect(self._on_jobs_gone)

    @property
    def group(self) -> JobGroup:
        """The active group."""
        return self._group

    def set_group(self, group: JobGroup) -> None:
        """Show only the jobs of `group`."""
        self.beginFilterChange()
        self._group = group
        self.endFilterChange(self.Direction.Rows)

    def set_text(self, text: str) -> None:
        """Show only jobs that contain every word of `text`: name, arguments, server, ids."""
        self.beginFilterChange()
        self._terms = tuple(text.casefold().split())
        self._find_below()
        self.endFilterChange(self.Direction.Rows)

    @property
    def is_narrowing(self) -> bool:
        """True if a filter is active."""
        return self._group is not JobGroup.ALL or bool(self._terms)

    @property
    def _is_partial(self) -> bool:
        """True if rows of the jobs may be left out."""
        return self.is_narrowing or self._jobs.has_requests

    def job_at(self, index: _Index) -> JobId | None:
        """The job at one of this proxy's indexes."""
        return self._jobs.job_at(self.mapToSource(index).row())

    def shown_at(self, row: int) -> JobId | None:
        """The job of one of this proxy's rows; None beyond the end."""
        # Ten times faster than through an index and `data`: painting asks for every row.
        source = self.mapToSource(self.index(row, 0)).row() if self._is_partial else row
        return self._jobs.job_at(source)

    @property
    def jobs(self) -> JobsModel:
        """All jobs, shown or not."""
        return self._jobs

    def index_of(self, job: JobId) -> QModelIndex:
        """The first column of the row that shows a job; invalid if it is filtered out."""
        parent = self._jobs.parent_of(job) if self._jobs.is_folded(job) else None
        row = self._jobs.row_of(job if parent is None else parent)
        return QModelIndex() if row is None else self.mapFromSource(self._jobs.index(row, 0))

    def row_of(self, job: JobId) -> int:
        """The row of a job in this proxy; -1 if it is filtered out."""
        if self._is_partial:
            return self.index_of(job).row()
        row = self._jobs.row_of(job)  # a thousand times faster than mapFromSource
        return -1 if row is None else row

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """The same for all jobs: a layout asks for those of every row, and Qt would ask twice."""
        return _FLAGS if index.isValid() else Qt.ItemFlag.NoItemFlags

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort the source model; this proxy keeps its order."""
        self._jobs.sort(column, order)

    def filterAcceptsRow(self, source_row: int, _source_parent: _Index) -> bool:
        """Return whether the job of a source row is shown."""
        job = self._jobs.job_at(source_row)
        if job is None:
            return False
        is_shown = self._is_in_group(job) and self._matches_search(job)
        return is_shown and not self._jobs.is_folded(job)

    def _is_in_group(self, job: JobId) -> bool:
        if self._group is JobGroup.ALL:
            return True
        state = self._jobs.grouping_state(job)
        return state is not None and GROUP_OF_STATE[state] is self._group

    def _matches_search(self, job: JobId) -> bool:
        """Return whether the job matches, or what is folded into it, or the job it is for."""
        if not self._terms or self._matches(job) or job in self._found_below:
            return True
        parent = self._jobs.parent_of(job)
        return parent is not None and self._matches(parent)

    def _find_below(self) -> None:
        """Find the jobs of which a folded request matches."""
        found = (job for job in self._folded if self._terms and self._matches(job))
        self._found_below = {self._jobs.parent_of(job) for job in found}

    def _matches(self, job: JobId) -> bool:
        text = self._text_cache.get(job)
        if text is None:
            text = self._text_cache[job] = self._search_text(job)
        return all(word in text for word in self._terms)

    def _search_text(self, job: JobId) -> str:
        snapshot = self._jobs.snapshot(job)
        if snapshot is None:
            return ""
        ids = (job_texts.token(snapshot), job_texts.wire(snapshot.request_id))
        server = (snapshot.server, snapshot.connection, snapshot.watched_client or "")
        names = (snapshot.name, snapshot.method, snapshot.summary, *server)
        return "\n".join((*names, *ids)).casefold()

    @Slot()
    def _on_jobs_gone(self) -> None:
        self._text_cache.clear()

    @Slot()
    def _on_groups_changed(self) -> None:
        before, self._folded = self._folded, self._jobs.folded()
        changed = set(before).symmetric_difference(self._folded)
        if self.is_narrowing or any(map(self._is_shown_wrongly, changed)):
            self._find_below()
            self.beginFilterChange()
            self.endFilterChange(self.Direction.Rows)

    def _is_shown_wrongly(self, job: JobId) -> bool:
        """False for a new request, which has no row from the first: to filter all takes 30 ms."""
        row = self._jobs.row_of(job)
        is_shown = row is not None and self.mapFromSource(self._jobs.index(row, 0)).isValid()
        return row is not None and is_shown is self._jobs.is_folded(job)


class GroupsModel(QAbstractListModel):
    """One row for each `JobGroup` with jobs, and for the first three, with the number of jobs."""

    def __init__(self, jobs: JobsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._groups = [group for group in JobGroup if group in _ALWAYS_SHOWN]
        self._kept = JobGroup.ALL
        self._leaving = QTimer(self, singleShot=True, interval=0)
        self._leaving.timeout.connect(self._show_groups)
        self._counts: dict[JobGroup, int] = {}
        jobs.groups_changed.connect(self._on_groups_changed)
        self._on_groups_changed()

    def count(self, group: JobGroup) -> int:
        """The number of jobs in `group`."""
        return self._counts.get(group, 0)

    def keep(self, group: JobGroup) -> int:
        """Keep the row of `group` while it has no jobs, instead of the one kept before.

        Returns its row. The other is removed later: it may be the current one.
        """
        self._kept = group
        if group not in self._groups:
            self._insert(group)
        self._leaving.start()
        return self._groups.index(group)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._groups)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        group = self._groups[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return group.value
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{group.value}, {self.count(group)}"
        return {COUNT: self.count(group), GROUP: group}.get(role)

    @Slot()
    def _on_groups_changed(self) -> None:
        counts = _by_group(self._jobs.count_by_state())
        counts[JobGroup.ALL] = self._jobs.job_count
        if counts != self._counts:
            self._counts = counts
            self._show_groups()
            self.dataChanged.emit(self.index(0), self.index(len(self._groups) - 1))

    @Slot()
    def _show_groups(self) -> None:
        """Add and remove rows, one at a time."""
        for group in JobGroup:
            is_wanted = group in _ALWAYS_SHOWN or group is self._kept or self.count(group) > 0
            if is_wanted and group not in self._groups:
                self._insert(group)
            elif group in self._groups and not is_wanted:
                row = self._groups.index(group)
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._groups[row]
                self.endRemoveRows()

    def _insert(self, group: JobGroup) -> None:
        row = sum(_ORDER[shown] < _ORDER[group] for shown in self._groups)
        self.beginInsertRows(QModelIndex(), row, row)
        self._groups.insert(row, group)
        self.endInsertRows()


def _by_group(by_state: Mapping[JobState, int]) -> dict[JobGroup, int]:
    counts = dict.fromkeys(JobGroup, 0)
    for state, count in by_state.items():
        counts[GROUP_OF_STATE[state]] += count
    return counts

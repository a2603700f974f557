"""The grace period of cancels: from the request to the other side's reaction, or its silence."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.tracker import endings
from mcp_progress_monitor.tracker.snapshot import JobId, JobState

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.tracker.endings import JobEnding
    from mcp_progress_monitor.tracker.job import Job
    from mcp_progress_monitor.tracker.rows import PendingChanges, Rows

_NEVER: Final = float("inf")


class PendingCancels:
    """Jobs with unconfirmed cancels, by the time at which silence confirms them."""

    def __init__(
        self,
        rows: Rows,
        grace_s: float,
        finish: Callable[[Job, JobEnding, float, PendingChanges], None],
        is_behind: Callable[[str], bool],
    ) -> None:
        """Cancels of the jobs in `rows`; `finish` ends a job whose grace period has passed.

        On a connection for which `is_behind` is true, silence is not known yet: received data is
        still to be read.
        """
        self._is_behind = is_behind
        self.grace_s = grace_s
        self.due_at = _NEVER  # when the next cancel is due, for the tracker's loop to compare with
        self._rows = rows
        self._finish = finish
        self._due: list[tuple[float, JobId]] = []

    def begin(self, job: Job, at: float, reason: str | None, changes: PendingChanges) -> None:
        """Begin or renew the wait for a cancel's confirmation."""
        if job.state is not JobState.CANCELLING:
            changes.move(job)
        due_at = at + (self.grace_s if job.cancel_grace_s is None else job.cancel_grace_s)
        job.cancel(at, reason, due_at)
        heapq.heappush(self._due, (due_at, job.id))
        self.due_at = self._due[0][0]

    def lapse(self, now: float, changes: PendingChanges) -> float:
        """End every cancel whose grace period has passed; returns when the next is due.

        Each ends at its own deadline, however late that is noticed.
        """
        later: list[tuple[float, JobId]] = []
        while self._due and self._due[0][0] <= now:
            due_at, place = heapq.heappop(self._due)
            job = self._rows.by_id.get(place)
            if job is None or not job.is_resuming or job.cancel_due_at != due_at:
                continue  # ended, answered, or the cancel was renewed
            if self._is_behind(job.request.connection):
                later.append((due_at, place))
                continue
            changes.lapsed.append(job.id)
            self._finish(job, endings.of_silence(job.task, job.cancel_reason), due_at, changes)
        self.review()
        for each in later:  # checked again with the next facts of their connection
            heapq.heappush(self._due, each)
        return self.due_at

    def review(self) -> None:
        """Check all cancels again: more of a connection that was behind has been read."""
        self.due_at = self._due[0][0] if self._due else _NEVER


def state_of(job: Job) -> str:
    """The state of a job's cancel, as in `JobSnapshot.cancel_state`."""
    if job.state is JobState.CANCELLING:
        return "sent" if job.is_cancel_sent else "requested"
    if job.cancel_at is None and not job.is_cancel_sent:
        return ""
    if job.answer is not None and job.answer.result is not None:
        return "ignored" if job.is_cancel_sent else "requested"
    if job.state in _SILENT:
        is_confirmed = job.answer is not None
        return "confirmed" if is_confirmed else "sent" if job.is_cancel_sent else "requested"
    return "confirmed" if job.state in _HEEDED else "ignored"


_SILENT: Final = frozenset({JobState.TIMED_OUT, JobState.LOST})
"""No reply is expected any more: only a late one can tell."""
_HEEDED: Final = frozenset({JobState.CANCELLED, JobState.RESUMABLE})

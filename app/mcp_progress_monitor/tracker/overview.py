"""The jobs as everybody reads them, live or from a recording: a tracker and the time it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Tracker


class Overview:
    """What windows, exports and the command line ask of jobs; changes nothing."""

    def __init__(self, tracker: Tracker, now: Callable[[], float]) -> None:
        """Read `tracker` at the monotonic time that `now` tells."""
        self._tracker = tracker
        self._now_of = now

    @property
    def is_ended(self) -> bool:
        """Whether nothing will come any more, as of a recording that was read to its end."""
        return False

    @property
    def dropped_jobs(self) -> int:
        """How many ended jobs have left the list to stay within bounds, not by the user."""
        return self._tracker.dropped_count

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """A job now; None when there is none of that id, or no more."""
        return self._tracker.snapshot(job, self._now_of())

    def detail(self, job: JobId) -> JobDetail | None:
        """The longer story of a job; None when there is none of that id, or no more."""
        return self._tracker.detail(job, self._now_of())

    def jobs(self) -> Sequence[JobId]:
        """All jobs in the order of their start."""
        return self._tracker.jobs()

    def unattached_ticks(self, connection: str) -> int:
        """How many of a connection's ticks had a token that belongs to no job."""
        return self._tracker.unattached_ticks(connection)

    def job_of(self, request: int) -> JobId | None:
        """The job that a request belongs to, by the number of its frame."""
        return self._tracker.job_of(request)

    def requests_of(self, job: JobId) -> frozenset[int]:
        """The numbers of the frames of all requests of a job."""
        return self._tracker.requests_of(job)

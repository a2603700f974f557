"""All rows of the job list and the tables that find them, within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.tracker.job import Job
    from app.tracker.snapshot import JobId

ENDED_KEPT: Final = 10_000
"""Ended jobs that stay until the user removes them; beyond, the oldest go."""
BYTES_KEPT: Final = 256 * 2**20
"""Bytes of replies that ended jobs hold; beyond, the oldest of them go."""
FRESH_KEPT: Final = 500
"""Ended jobs whose whole course is kept; older ones keep an outline."""


class Rows:
    """Jobs by id, the running ones by request, the ended ones by request and in order of end.

    Both tables by request name a job once and only while it has a row: nothing grows with the
    number of calls.
    """

    def __init__(self, ended_kept: int = ENDED_KEPT, bytes_kept: int = BYTES_KEPT) -> None:
        """Keep `ended_kept` ended jobs, and `bytes_kept` bytes of their replies."""
        self.by_id: dict[JobId, Job] = {}
        self.running: dict[int | None, Job] = {}
        self.ended: dict[int, Job] = {}
        self.dropped = 0
        self._fresh: dict[JobId, Job] = {}
        self._ended_kept = ended_kept
        self._bytes_kept = bytes_kept
        self._bytes = 0

    def add(self, job: Job) -> None:
        """Take a new, running job."""
        self.by_id[job.id] = job
        self.running[job.request.number] = job

    def of_request(self, request: int | None) -> Job | None:
        """The job of a request's number, running or ended."""
        job = self.running.get(request)
        return job if job is not None or request is None else self.ended.get(request)

    def end(self, job: Job) -> list[JobId]:
        """Move a job among the ended ones; the ids of those that had to go for it, oldest first."""
        del self.running[job.request.number]
        self.ended[job.request.number] = job
        self._bytes += _weight(job)
        self._fresh[job.id] = job
        if len(self._fresh) > FRESH_KEPT:
            self._fresh.pop(next(iter(self._fresh))).condense()
        return self._trim()

    def keep_answer(self, job: Job) -> list[JobId]:
        """Account for the reply that an ended job was given late."""
        self._bytes += _weight(job)
        return self._trim()

    def _trim(self) -> list[JobId]:
        """Remove the oldest ended jobs beyond the bounds; the newest always stays."""
        removed = []
        while len(self.ended) > 1 and self._is_full():
            oldest = next(iter(self.ended.values()))
            removed.append(oldest.id)
            self._forget(oldest)
        self.dropped += len(removed)
        return removed

    def _is_full(self) -> bool:
        """Whether the ended jobs are beyond a bound."""
        return len(self.ended) > self._ended_kept or self._bytes > self._bytes_kept

    def remove(self, jobs: Iterable[JobId]) -> list[JobId]:
        """Remove those of `jobs` that exist and are over; their ids."""
        removed = []
        for job in map(self.by_id.get, jobs):
            if job is not None and job.request.number in self.ended:
                removed.append(job.id)
                self._forget(job)
        return removed

    def _forget(self, job: Job) -> None:
        """Take an ended job out of every table."""
        del self.by_id[job.id]
        del self.ended[job.request.number]
        self._fresh.pop(job.id, None)
        self._bytes -= _weight(job)


def _weight(job: Job) -> int:
    """The bytes of the reply that the job holds."""
    return 0 if job.answer is None else job.answer.size

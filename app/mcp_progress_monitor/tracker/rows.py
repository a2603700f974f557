"""All rows of the job list and the tables that find them, within bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.protocol.facts import RequestMade
    from mcp_progress_monitor.tracker.job import Job
    from mcp_progress_monitor.tracker.snapshot import JobId

ENDED_KEPT: Final = 10_000
"""Ended jobs that stay until the user removes them; beyond, the oldest go."""
ASKED_KEPT: Final = 500
"""Requests of servers that have ended, among these: a server may ask a thousand a second. Ten
thousand rows of them cost the window 70 ms a batch (measured), and drove out the user's own jobs.
"""
RESTING_KEPT: Final = 20_000
"""Resumable jobs in the list; beyond, the oldest leave it, but not the disk."""
BYTES_KEPT: Final = 256 * 2**20
"""Bytes of replies that jobs hold; beyond, the oldest ended ones go."""
FRESH_KEPT: Final = 500
"""Ended jobs whose whole course is kept; older ones keep an outline."""


class Rows:
    """Jobs by id; by request the running ones, the ended ones, and those that can be resumed.

    The latter two in order of their end. The tables by request name a job once and only while it
    has a row: nothing grows with the number of calls. `_earlier` finds a job by the requests of
    attempts before the newest.
    """

    def __init__(
        self,
        ended_kept: int = ENDED_KEPT,
        bytes_kept: int = BYTES_KEPT,
        resting_kept: int = RESTING_KEPT,
        running_kept: float = math.inf,
        asked_kept: int = ASKED_KEPT,
    ) -> None:
        """Keep `ended_kept` ended jobs, `resting_kept` resumable ones, and so many bytes.

        Of requests that servers made, `asked_kept` of those that have ended.

        Jobs that run are kept, however many, unless `running_kept` says otherwise.
        """
        self.by_id: dict[JobId, Job] = {}
        self.running: dict[int | None, Job] = {}
        """To be changed by the methods here alone."""
        self._sides: dict[tuple[str, Side], dict[int | None, Job]] = {}
        """The same by connection and sender."""
        self._side_of: dict[int | None, tuple[str, Side]] = {}
        self.ended: dict[int, Job] = {}
        self.resting: dict[int, Job] = {}
        self.dropped = 0
        self.on_forgotten: Callable[[Job], None] = _ignore
        """Called with each job that loses its row."""
        self._earlier: dict[int, Job] = {}
        self._fresh: dict[JobId, Job] = {}
        self._asked: dict[int, Job] = {}
        self._asked_kept = asked_kept
        self._ended_kept = ended_kept
        self._resting_kept = resting_kept
        self._running_kept = running_kept
        self._bytes_kept = bytes_kept
        self._bytes = 0

    def add(self, job: Job) -> list[Job]:
        """Take a new, running job; those that had to go for it."""
        self.by_id[job.id] = job
        self.enter(job, job.request)
        if len(self.running) <= self._running_kept:
            return []
        oldest = self._leave(next(iter(self.running)))
        self.dropped += 1
        self._let_go(oldest)
        return [oldest]

    def enter(self, job: Job, request: RequestMade) -> None:
        """Find a job as a running one by its newest request."""
        side = request.connection, request.sender
        self.running[request.number] = job
        self._side_of[request.number] = side
        self._sides.setdefault(side, {})[request.number] = job

    def _leave(self, number: int | None) -> Job:
        side = self._side_of.pop(number)
        of_side = self._sides[side]
        del of_side[number]
        if not of_side:
            del self._sides[side]
        return self.running.pop(number)

    def running_of(self, connection: str, sender: Side) -> Iterable[Job]:
        """The running jobs that one side of a connection asked for, oldest first."""
        return self._sides.get((connection, sender), {}).values()

    def of_request(self, request: int | None) -> Job | None:
        """The job of a request's number, running or ended."""
        job = self.running.get(request)
        if job is not None or request is None:
            return job
        return self.ended.get(request) or self.resting.get(request) or self._earlier.get(request)

    def end(self, job: Job) -> list[Job]:
        """Move a job out of the running ones; those that had to go for it, oldest first."""
        number = job.request.number
        self._leave(number)
        (self.resting if job.state is JobState.RESUMABLE else self.ended)[number] = job
        if number in self.ended and job.request.sender is Side.SERVER:
            self._asked[number] = job
        self._bytes += _weight(job)
        self._fresh[job.id] = job
        if len(self._fresh) > FRESH_KEPT:
            self._fresh.pop(next(iter(self._fresh))).condense()
        return self._trim()

    def keep_answer(self, job: Job) -> list[Job]:
        """Account for the reply that an ended job was given late."""
        self._bytes += _weight(job)
        return self._trim()

    def wake(self, job: Job, request: RequestMade | None = None) -> None:
        """Let a job that was over run again, with a new `request` if there is one."""
        number = job.request.number
        self._bytes -= _weight(job)
        (self.resting if number in self.resting else self.ended).pop(number)
        self._asked.pop(number, None)
        self._fresh.pop(job.id, None)
        self.enter(job, request or job.request)
        if request is not None:
            self._keep_earlier(job, number)

    def go_on(self, job: Job, request: RequestMade, forgotten: int | None) -> None:
        """Let a running job go on with a further request; find it no more by `forgotten`."""
        number = job.request.number
        self._leave(number)
        self.enter(job, request)
        self._earlier[number] = job
        if forgotten is not None:
            self._earlier.pop(forgotten, None)

    def _keep_earlier(self, job: Job, number: int) -> None:
        """Find the job by its last request, too, and no more by one that it has forgotten."""
        self._earlier[number] = job
        forgotten = job.chain.forgotten() if job.chain is not None else None
        if forgotten is not None:
            self._earlier.pop(forgotten, None)

    def _trim(self) -> list[Job]:
        """Remove the oldest jobs beyond the bounds; the newest always stays."""
        removed = []
        while len(self._asked) > self._asked_kept:
            removed.append(self._drop(next(iter(self._asked.values()))))
        while len(self.ended) > 1 and self._is_full():
            removed.append(self._drop(next(iter(self.ended.values()))))
        while len(self.resting) > 1 and self._is_resting_full():
            removed.append(self._drop(next(iter(self.resting.values()))))
        self.dropped += len(removed)
        return removed

    def _is_full(self) -> bool:
        """Whether the ended jobs are beyond a bound."""
        return len(self.ended) > self._ended_kept or self._bytes > self._bytes_kept

    def _is_resting_full(self) -> bool:
        return len(self.resting) > self._resting_kept or self._bytes > self._bytes_kept

    def _drop(self, job: Job) -> Job:
        self._forget(job)
        return job

    def remove(self, jobs: Iterable[JobId], *, with_resting: bool = False) -> list[Job]:
        """Remove those of `jobs` that exist and are over, and return them.

        Those that can be resumed stay, unless `with_resting`.
        """
        removed = []
        for job in map(self.by_id.get, jobs):
            if job is None:
                continue
            number = job.request.number
            if number in self.ended or (with_resting and number in self.resting):
                removed.append(self._drop(job))
        return removed

    def _forget(self, job: Job) -> None:
        """Take a job that is over out of every table."""
        number = job.request.number
        (self.resting if number in self.resting else self.ended).pop(number)
        self._asked.pop(number, None)
        self._let_go(job)
        self._bytes -= _weight(job)

    def _let_go(self, job: Job) -> None:
        del self.by_id[job.id]
        for attempt in () if job.chain is None else job.chain.attempts:
            self._earlier.pop(attempt.request or 0, None)
        for request in () if job.asked is None else job.asked.requests:
            self._earlier.pop(request, None)
        self._earlier.pop(job.first.number, None)
        self._fresh.pop(job.id, None)
        self.on_forgotten(job)


def _ignore(_job: Job) -> None:
    """What is done with jobs that lose their row until someone wants to know."""


def _weight(job: Job) -> int:
    """The bytes of the reply that the job holds."""
    return 0 if job.answer is None else job.answer.size

"""All rows of the job list and the tables that find them, within bounds, and their changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestMade, Side
from mcp_progress_monitor.protocol.frames import LazyRun, PlainTick, fact_of
from mcp_progress_monitor.tracker.snapshot import ChainStep, ChangeSet, JobId, JobState
from mcp_progress_monitor.tracker.usual import UsualTimes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.tracker.job import Job

Tick: TypeAlias = tuple[JobId | None, int, ProgressReceived]  # an entry of `Changes.ticks`


class TickLog(LazyRun[Tick]):
    """The entries for ticks, in order, which are created when read: in a window that never happens.

    `jobs` has the job of each, `counts` how many ticks each of these had after the last.
    """

    __slots__ = ("counts", "jobs", "ticks")

    def __init__(self, ticks: Sequence[PlainTick], jobs: Sequence[Job | None]) -> None:
        self._made = None
        self.ticks = ticks
        self.jobs = jobs
        self.counts = {job.id: job.tick_count for job in set(jobs) if job is not None}

    def __len__(self) -> int:
        return len(self.ticks)

    def _item(self, index: int) -> Tick:
        return self._all()[index]

    def _items(self) -> list[Tick]:
        counts, items = self.counts.copy(), list[Tick]()
        for job, tick in zip(reversed(self.jobs), reversed(self.ticks), strict=True):
            if job is None:
                items.append((None, 0, fact_of(tick)))
                continue
            count = counts[job.id]
            counts[job.id] = count - 1
            items.append((job.id, count, fact_of(tick)))
        return items[::-1]


class PendingChanges:
    """The changes to jobs, until they are frozen into `Changes`."""

    def __init__(self) -> None:
        self.added: list[JobId] = []
        self.removed: list[JobId] = []
        self.progressed: set[JobId] = set()
        self.moved: set[JobId] = set()
        self.steps: list[ChainStep] = []
        self.marked: dict[int, tuple[Finding, ...]] = {}
        self.lapsed: list[JobId] = []

    def move(self, job: Job) -> None:
        self.moved.add(job.id)
        self.progressed.add(job.id)

    def freeze(self, ticks: Sequence[PlainTick] = (), jobs: Sequence[Job | None] = ()) -> ChangeSet:
        """The finished record, with ticks and the job of each; a removed job is only removed."""
        log: Sequence[Tick] = ()
        if ticks:
            log = ticked = TickLog(ticks, jobs)
            self.progressed.update(ticked.counts)
        gone, new = set(self.removed), set(self.added)
        added = tuple(job for job in self.added if job not in gone)
        removed = tuple(job for job in self.removed if job not in new)
        self.progressed -= gone
        self.moved -= gone
        progressed, moved = frozenset(self.progressed), frozenset(self.moved)
        steps, lapsed = tuple(self.steps), tuple(self.lapsed)
        return ChangeSet(added, removed, progressed, moved, log, steps, self.marked, lapsed)


ENDED_KEPT: Final = 10_000
"""Ended jobs that stay until the user removes them; beyond that, the oldest are dropped."""
REQUESTED_KEPT: Final = 500
"""Ended requests of servers among these: a server may send a thousand a second.

Ten thousand rows of them cost the window 70 ms a batch (measured), and displaced the user's own
jobs.
"""
RESTING_KEPT: Final = 20_000
"""Resumable jobs in the list; beyond that, the oldest leave it, but not the disk."""
BYTES_KEPT: Final = 256 * 2**20
"""Bytes of replies that jobs hold; beyond that, the oldest ended jobs are dropped."""
FRESH_KEPT: Final = 500  # ended jobs whose whole history is kept; older ones keep an outline


class RowLimits(NamedTuple):
    """How many jobs keep their rows: ended ones also by the bytes of their replies.

    `requested` is for ended ones of servers. Running jobs are all kept, unless `running` says
    otherwise.
    """

    ended: int = ENDED_KEPT
    bytes: int = BYTES_KEPT
    resting: int = RESTING_KEPT
    running: float = math.inf
    requested: int = REQUESTED_KEPT


class Rows:
    """All jobs by id; the running ones by request, the ended and the resumable ones.

    The latter two in order of their end. The tables by request name a job once, and only while it
    has a row: nothing grows with the number of calls. `_earlier` finds a job by the requests of
    attempts before the newest.
    """

    def __init__(self, limits: RowLimits, forget: Callable[[Job], None]) -> None:
        """Keep jobs within `limits`; `forget` is called with each that loses its row."""
        self._limits = limits
        self._forget_elsewhere = forget
        self.by_id: dict[JobId, Job] = {}
        self.running: dict[int | None, Job] = {}  # changed only by methods of this class
        self._sides: dict[tuple[str, Side], dict[int | None, Job]] = {}
        """The same by connection and sender."""
        self._side_of: dict[int | None, tuple[str, Side]] = {}
        self.ended: dict[int, Job] = {}
        self.resting: dict[int, Job] = {}
        self.dropped = 0
        self._earlier: dict[int, Job] = {}
        self._fresh: dict[JobId, Job] = {}
        self._requested: dict[int, Job] = {}
        self._bytes = 0
        self.usual: Final = UsualTimes()

    def add(self, job: Job) -> list[Job]:
        """Add a new, running job; returns those that were dropped for it."""
        self.by_id[job.id] = job
        self.enter(job, job.request)
        if len(self.running) <= self._limits.running:
            return []
        oldest = self._leave(next(iter(self.running)))
        self.dropped += 1
        self._release(oldest)
        return [oldest]

    def enter(self, job: Job, request: RequestMade) -> None:
        """Enter a job as running under its newest request."""
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
        """The running jobs that one side of a connection requested, oldest first."""
        return self._sides.get((connection, sender), {}).values()

    def of_request(self, request: int | None) -> Job | None:
        job = self.running.get(request)
        if job is not None or request is None:
            return job
        return self.ended.get(request) or self.resting.get(request) or self._earlier.get(request)

    def end(self, job: Job) -> list[Job]:
        """Move a job out of the running ones; returns those dropped for it, oldest first."""
        number = job.request.number
        self._leave(number)
        (self.resting if job.state is JobState.RESUMABLE else self.ended)[number] = job
        if number in self.ended and job.request.sender is Side.SERVER:
            self._requested[number] = job
        self._bytes += _weight(job)
        self.usual.add(job)
        self._fresh[job.id] = job
        if len(self._fresh) > FRESH_KEPT:
            self._fresh.pop(next(iter(self._fresh))).condense()
        return self._trim()

    def keep_answer(self, job: Job) -> list[Job]:
        """Count the bytes of a late reply to an ended job."""
        self._bytes += _weight(job)
        return self._trim()

    def wake(self, job: Job, request: RequestMade | None = None) -> None:
        """Let an ended job run again, with a new `request` if there is one."""
        number = job.request.number
        self._bytes -= _weight(job)
        (self.resting if number in self.resting else self.ended).pop(number)
        self._requested.pop(number, None)
        self._fresh.pop(job.id, None)
        self.enter(job, request or job.request)
        if request is not None:
            self._keep_earlier(job, number)

    def go_on(self, job: Job, request: RequestMade, forgotten: int | None) -> None:
        """Continue a running job with another request, and drop `forgotten`."""
        number = job.request.number
        self._leave(number)
        self.enter(job, request)
        self._earlier[number] = job
        if forgotten is not None:
            self._earlier.pop(forgotten, None)

    def _keep_earlier(self, job: Job, number: int) -> None:
        """Keep the job's last request as an earlier one, and drop one that it has forgotten."""
        self._earlier[number] = job
        forgotten = job.chain.forgotten() if job.chain is not None else None
        if forgotten is not None:
            self._earlier.pop(forgotten, None)

    def _trim(self) -> list[Job]:
        """Remove the oldest jobs beyond the bounds; the newest always stays."""
        removed = []
        while len(self._requested) > self._limits.requested:
            removed.append(self._drop(next(iter(self._requested.values()))))
        while len(self.ended) > 1 and self._is_full():
            removed.append(self._drop(next(iter(self.ended.values()))))
        while len(self.resting) > 1 and self._is_resting_full():
            removed.append(self._drop(next(iter(self.resting.values()))))
        self.dropped += len(removed)
        return removed

    def _is_full(self) -> bool:
        return len(self.ended) > self._limits.ended or self._bytes > self._limits.bytes

    def _is_resting_full(self) -> bool:
        return len(self.resting) > self._limits.resting or self._bytes > self._limits.bytes

    def _drop(self, job: Job) -> Job:
        self._forget(job)
        return job

    def remove(self, jobs: Iterable[JobId], *, with_resting: bool = False) -> list[Job]:
        """Remove and return those of `jobs` that exist and have ended.

        Resumable ones stay, unless `with_resting`.
        """
        removed = []
        for job in map(self.by_id.get, jobs):
            if job is None:
                continue
            number = job.request.number
            if number in self.ended or (with_resting and number in self.resting):
                removed.append(self._drop(job))
        return removed

    def drop(self, jobs: Iterable[JobId]) -> list[Job]:
        found = [self.by_id.get(job) for job in jobs]
        dropped = [j for j in found if j is not None and self.running.get(j.request.number) is j]
        for job in dropped:
            self._leave(job.request.number)
            self._release(job)
        return dropped

    def _forget(self, job: Job) -> None:
        """Remove an ended job from every table."""
        number = job.request.number
        (self.resting if number in self.resting else self.ended).pop(number)
        self._requested.pop(number, None)
        self._release(job)
        self._bytes -= _weight(job)

    def _release(self, job: Job) -> None:
        del self.by_id[job.id]
        for attempt in () if job.chain is None else job.chain.attempts:
            self._earlier.pop(attempt.request or 0, None)
        for request in () if job.questions is None else job.questions.requests:
            self._earlier.pop(request, None)
        self._earlier.pop(job.first.number, None)
        self._fresh.pop(job.id, None)
        self._forget_elsewhere(job)


def _weight(job: Job) -> int:
    return 0 if job.answer is None else job.answer.size

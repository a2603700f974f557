"""The reducer: facts in, changed jobs out. The one place that knows which jobs there are.

The loop in `Tracker.apply` is the program's hottest: several hundred progress facts a chunk,
hundreds of thousands a second. A well-formed tick costs a dictionary look-up, comparisons and
assignments there; everything else is judged in `Job.take`, at a few microseconds.
"""

from __future__ import annotations

import collections
import operator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from app.protocol.facts import (
    ConnectionClosed,
    Fact,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    Standing,
)
from app.text import duration
from app.tracker import endings, marks, naming
from app.tracker.job import Job
from app.tracker.picture import detail_of, snapshot_of
from app.tracker.rows import Rows
from app.tracker.snapshot import Changes, JobDetail, JobId, JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.tracker.endings import Ending

CANCEL_GRACE_S: Final = 5.0
"""Silence after a cancel that counts as its confirmation."""
_LOOKS_LEAST: Final = 64
_CONNECTIONS_KEPT: Final = 1000

_Tick: TypeAlias = tuple[JobId | None, int, ProgressReceived]


class _Delta:
    """The changes of one call, as they gather."""

    def __init__(self) -> None:
        self.added: list[JobId] = []
        self.removed: list[JobId] = []
        self.progressed: set[JobId] = set()
        self.moved: set[JobId] = set()

    def move(self, job: Job) -> None:
        """Note that the job's state changed."""
        self.moved.add(job.id)
        self.progressed.add(job.id)

    def freeze(self, ticks: Sequence[_Tick] = ()) -> Changes:
        """The finished record; a job that is gone is named as removed only."""
        ticked = set(map(operator.itemgetter(0), ticks))  # in C: there may be thousands
        self.progressed.update(job for job in ticked if job is not None)
        gone, new = set(self.removed), set(self.added)
        added = tuple(job for job in self.added if job not in gone)
        removed = tuple(job for job in self.removed if job not in new)
        progressed, moved = frozenset(self.progressed - gone), frozenset(self.moved - gone)
        return Changes(added, removed, progressed, moved, ticks)


class Tracker:
    """All jobs of the program, derived from facts alone. Time is passed in, monotonic seconds."""

    def __init__(self, rows: Rows | None = None) -> None:
        """Begin with no jobs; `rows` sets other bounds than the usual ones."""
        self._rows = Rows() if rows is None else rows
        self._newest = 0
        self._unattached: collections.OrderedDict[str, int] = collections.OrderedDict()
        self._handlers: dict[type, Callable[[Any, _Delta], None]] = {
            RequestMade: self._on_request_made,
            RequestAnswered: self._on_request_answered,
            RequestCancelled: self._on_request_cancelled,
            ConnectionClosed: self._on_connection_closed,
        }

    def apply(self, facts: Sequence[Fact], now: float) -> Changes:
        """Take facts in wire order; what they changed. Never raises for what they say."""
        delta = _Delta()
        ticks: list[_Tick] = []
        emit = ticks.append
        running = self._rows.running
        active = Standing.ACTIVE
        looks = max(_LOOKS_LEAST, len(facts) // 8)
        for fact in facts:
            if type(fact) is not ProgressReceived:
                self._handle(fact, delta)
                continue
            _, _, at, _, _, _, request, standing, progress, total, message, problems = fact
            job = running.get(request)
            if (
                job is None
                or problems
                or standing is not active
                or progress is None
                or not job.progress < progress <= job.limit
                or total != job.total
            ):
                emit(self._take(fact, delta))
                continue
            job.progress = progress
            job.last = fact
            job.tick_count = count = job.tick_count + 1
            job.ticks.append(fact)
            emit((job.id, count, fact))
            if message != job.message and message is not None:
                job.message = message
                if looks:
                    looks -= 1
                    job.look(at)
            if at >= job.sample_at and job.sample(at):
                delta.moved.add(job.id)
        return delta.freeze(ticks)

    def _take(self, fact: ProgressReceived, delta: _Delta) -> _Tick:
        """Take a tick that is not plain."""
        job = self._rows.of_request(fact.request)
        if job is None:
            self._count_unattached(fact.connection)
            return None, 0, fact
        state = job.state
        job.take(fact)
        if job.state is not state:
            delta.move(job)
        return job.id, job.tick_count, fact

    def _count_unattached(self, connection: str) -> None:
        """Count a tick that belongs to no job, for the newest connections that had some."""
        self._unattached[connection] = self._unattached.pop(connection, 0) + 1
        if len(self._unattached) > _CONNECTIONS_KEPT:
            self._unattached.popitem(last=False)

    def unattached_ticks(self, connection: str) -> int:
        """How many of a connection's ticks had a token that belongs to no job."""
        return self._unattached.get(connection, 0)

    def _handle(self, fact: Fact, delta: _Delta) -> None:
        """Take any fact but progress; those that concern no job pass by."""
        handler = self._handlers.get(type(fact))
        if handler is not None:
            handler(fact, delta)

    def _on_request_made(self, fact: RequestMade, delta: _Delta) -> None:
        """Begin a job, if the request is one."""
        if not naming.is_job(fact) or self._rows.of_request(fact.number) is not None:
            return
        self._newest += 1
        self._rows.add(Job(self._newest, fact))
        delta.added.append(self._newest)

    def _on_request_answered(self, fact: RequestAnswered, delta: _Delta) -> None:
        """End the job of a reply, or keep a late reply with the job it belongs to."""
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        for problem in fact.problems:
            job.marks.note(marks.IRREGULAR_REPLY, problem, fact.number)
        delta.progressed.add(job.id)
        if job.state.is_over:
            self._take_late_answer(job, fact, delta)
            return
        job.answer = fact
        self._end(job, _ending_of(job, fact), fact.at, delta)

    def _take_late_answer(self, job: Job, fact: RequestAnswered, delta: _Delta) -> None:
        """Keep a reply to a job that is over, unless it has one; mark it either way."""
        if job.answer is not None:
            words = "A further reply came to a request that was already answered"
            job.marks.note(marks.DUPLICATE_REPLY, words, fact.number)
            return
        job.answer = fact
        delta.removed.extend(self._rows.keep_answer(job))
        if fact.result is not None or job.state is not JobState.CANCELLED:
            late = duration(fact.at - (job.ended_at or fact.at))
            words = f"The reply came {late} after the job's end ({job.state.value})"
            job.marks.note(marks.LATE_RESULT, words, fact.number)

    def _on_request_cancelled(self, fact: RequestCancelled, delta: _Delta) -> None:
        """Wait for what becomes of a cancelled job."""
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        if not job.state.is_over:
            self._cancel(job, fact.at, fact.reason, delta)
        elif fact.standing is Standing.ANSWERED:
            words = "The request had been answered when it was cancelled"
            job.marks.note(marks.CANCEL_TOO_LATE, words, fact.number)
            delta.progressed.add(job.id)

    def _cancel(self, job: Job, at: float, reason: str | None, delta: _Delta) -> None:
        """Begin or renew the wait for a cancel's confirmation."""
        if job.state is not JobState.CANCELLING:
            delta.move(job)
        job.cancel(at, reason)

    def _on_connection_closed(self, fact: ConnectionClosed, delta: _Delta) -> None:
        """Lose every job that still waits on the connection, and tell each why."""
        waiting = [
            j for j in self._rows.running.values() if j.request.connection == fact.connection
        ]
        for job in waiting:
            self._end(job, endings.of_close(fact), fact.at, delta)

    def _end(self, job: Job, ending: Ending, at: float, delta: _Delta) -> None:
        """End a job."""
        if ending.mark is not None:
            words = "" if ending.failure is None else ending.failure.message
            source = job.request if job.answer is None else job.answer
            job.marks.note(ending.mark, words, source.number)
        job.end(ending, at)
        delta.move(job)
        delta.removed.extend(self._rows.end(job))

    def tick(self, now: float) -> Changes:
        """Let time pass, about once a second: stalls, and cancels that met with silence.

        Every running job is among `progressed`: its elapsed time, rate and ETA have changed.
        """
        delta = _Delta()
        delta.progressed.update(job.id for job in self._rows.running.values())
        for job in list(self._rows.running.values()):
            if job.stall_if_silent(now):
                delta.move(job)
            elif job.is_cancel_due(now, CANCEL_GRACE_S):
                self._end(job, endings.of_cancel(None, job.cancel_reason), now, delta)
        return delta.freeze()

    def note_cancel_requested(self, job: JobId, now: float) -> Changes:
        """Show at once that a cancel was asked for, before it is sent."""
        delta = _Delta()
        known = self._running(job)
        if known is not None:
            self._cancel(known, now, None, delta)
        return delta.freeze()

    def note_timeout(self, job: JobId, now: float, text: str) -> Changes:
        """End a job that ran out of time; `text` says what was outstanding and since when."""
        delta = _Delta()
        known = self._running(job)
        if known is not None:
            self._end(known, endings.of_timeout(text), now, delta)
        return delta.freeze()

    def _running(self, job: JobId) -> Job | None:
        """A job that is not over."""
        known = self._rows.by_id.get(job)
        return None if known is None or known.state.is_over else known

    def remove(self, jobs: Iterable[JobId]) -> Changes:
        """Forget those of `jobs` that are over."""
        return Changes(removed=tuple(self._rows.remove(jobs)))

    def snapshot(self, job: JobId, now: float) -> JobSnapshot | None:
        """A picture of a job; None when there is no such job (any more)."""
        known = self._rows.by_id.get(job)
        return None if known is None else snapshot_of(known, now)

    def detail(self, job: JobId, now: float) -> JobDetail | None:
        """The longer story of a job; None when there is no such job (any more)."""
        known = self._rows.by_id.get(job)
        return None if known is None else detail_of(known, now)

    def jobs(self) -> Sequence[JobId]:
        """All jobs in order of their start."""
        return tuple(self._rows.by_id)

    def job_of(self, request: int) -> JobId | None:
        """The job that the request in frame `request` began."""
        job = self._rows.of_request(request)
        return None if job is None else job.id

    @property
    def open_count(self) -> int:
        """How many requests are tracked as running: the size of the table of open jobs."""
        return len(self._rows.running)

    @property
    def dropped_count(self) -> int:
        """How many ended jobs were removed to stay within bounds, not by the user."""
        return self._rows.dropped


def _ending_of(job: Job, answer: RequestAnswered) -> Ending:
    """What a reply makes of a job that is not over.

    A result that came before the cancel went out (its standing is active) ends the job as usual.
    """
    if job.state is not JobState.CANCELLING:
        return endings.of_answer(answer)
    if answer.error is None and answer.standing is Standing.ACTIVE:
        return endings.of_answer(answer)
    return endings.of_cancel(answer, job.cancel_reason)

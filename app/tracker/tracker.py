"""The reducer: facts in, changed jobs out. The one place that knows which jobs there are.

The loop in `Tracker.apply` is the program's hottest: several hundred progress facts a chunk,
hundreds of thousands a second. A well-formed tick costs a dictionary look-up, comparisons and
assignments there; everything else is judged in `Job.take`, at a few microseconds.
"""

from __future__ import annotations

import collections
import heapq
from typing import TYPE_CHECKING, Any, Final

from app.protocol.facts import (
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    Fact,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    Side,
    Standing,
)
from app.protocol.frame import server_name
from app.text import duration
from app.tracker import endings, marks, naming
from app.tracker.chains import Chains
from app.tracker.delta import Delta
from app.tracker.irregular import irregularities
from app.tracker.job import Job
from app.tracker.picture import detail_of, snapshot_of
from app.tracker.rows import Rows
from app.tracker.snapshot import Changes, JobDetail, JobId, JobSnapshot, JobState
from app.tracker.verdicts import is_usable, stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.tracker.chain import Restored
    from app.tracker.delta import Tick
    from app.tracker.endings import Ending
    from app.tracker.verdicts import Verdict

CANCEL_GRACE_S: Final = 5.0
"""Silence after a cancel that counts as its confirmation, unless a tracker is told otherwise."""
_LOOKS: Final = 8
"""Messages of one moment that are compared with the phase under way: a flood has hundreds."""
_NEVER: Final = float("inf")
_CONNECTIONS_KEPT: Final = 1000
_PLAIN_KEPT: Final = 1000
"""Open requests that are no jobs but may become one when they turn out to be resumable."""


class Tracker:
    """All jobs of the program, derived from facts alone. Time is passed in, monotonic seconds."""

    def __init__(
        self,
        rows: Rows | None = None,
        key_of: Callable[[str], str] = server_name,
        *,
        saves: bool = False,
        cancel_grace_s: float = CANCEL_GRACE_S,
    ) -> None:
        """Begin with no jobs; `rows` sets other bounds than the usual ones.

        For `key_of`, which tells a connection's server, and `saves` see `Chains`. Silence of
        `cancel_grace_s` after a cancel counts as its confirmation.
        """
        self.cancel_grace_s = cancel_grace_s
        self._rows = Rows() if rows is None else rows
        self.chains = Chains(self._rows, key_of, saves=saves)
        """The jobs that can be resumed: what happens to them outside the facts is noted there."""
        self._newest = 0
        self._plain: dict[int, RequestMade] = {}
        self._unattached: collections.OrderedDict[str, int] = collections.OrderedDict()
        self._looks = 0
        self._looked_at = _NEVER
        self._due: list[tuple[float, JobId]] = []
        self._due_at = _NEVER
        self.chains.on_late_answer = self._learn_late
        self._handlers: dict[type, Callable[[Any, Delta], None]] = {
            RequestMade: self._on_request_made,
            RequestAnswered: self._on_request_answered,
            RequestCancelled: self._on_request_cancelled,
            ConnectionClosed: self._on_connection_closed,
            CancelRequested: self._on_cancel_requested,
            CallTimedOut: self._on_timed_out,
        }

    def apply(self, facts: Sequence[Fact], now: float) -> Changes:
        """Take facts in wire order; what they changed. Never raises for what they say.

        What they make of the jobs depends on the facts alone: not on `now`, nor on how they are
        divided among calls, so that a recording gives the same jobs again.
        """
        delta = Delta()
        ticks: list[Tick] = []
        emit = ticks.append
        running = self._rows.running
        active = Standing.ACTIVE
        due_at = self._due_at
        for fact in facts:
            if type(fact) is not ProgressReceived:
                self._handle(fact, delta)
                due_at = self._due_at
                continue
            _, _, at, _, _, _, request, standing, progress, total, message, problems = fact
            if at >= due_at:
                due_at = self._lapse(at, delta)
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
                if self._looks or at != self._looked_at:
                    self._look(job, at)
            if at >= job.sample_at and job.sample(at):
                delta.moved.add(job.id)
        return delta.freeze(ticks)

    def _look(self, job: Job, at: float) -> None:
        """Compare a job's newest message with its phase: one of the first that came at `at`."""
        if at != self._looked_at:
            self._looked_at, self._looks = at, _LOOKS
        self._looks -= 1
        job.look(at)

    def _take(self, fact: ProgressReceived, delta: Delta) -> Tick:
        """Take a tick that is not plain."""
        job = self._rows.of_request(fact.request)
        if job is None:
            self._count_unattached(fact.connection)
            self._mark(delta, fact, irregularities(fact))
            return None, 0, fact
        if fact.request != job.request.number:
            job.take_stale(fact)
            self._mark(delta, fact, job.marks.words_of(fact.number))
            return job.id, job.tick_count, fact
        state = job.state
        job.take(fact)
        self._mark(delta, fact, job.marks.words_of(fact.number))
        if job.state is not state:
            delta.move(job)
        return job.id, job.tick_count, fact

    @staticmethod
    def _mark(delta: Delta, fact: Fact, words: str) -> None:
        """Say of a message what is wrong with it, if anything is."""
        if words:
            delta.marked[fact.number] = words

    def _count_unattached(self, connection: str) -> None:
        """Count a tick that belongs to no job, for the newest connections that had some."""
        self._unattached[connection] = self._unattached.pop(connection, 0) + 1
        if len(self._unattached) > _CONNECTIONS_KEPT:
            self._unattached.popitem(last=False)

    def unattached_ticks(self, connection: str) -> int:
        """How many of a connection's ticks had a token that belongs to no job."""
        return self._unattached.get(connection, 0)

    def _handle(self, fact: Fact, delta: Delta) -> None:
        """Take any fact but progress; those that concern no job pass by."""
        if fact.at >= self._due_at:
            self._lapse(fact.at, delta)
        self._mark(delta, fact, irregularities(fact))
        handler = self._handlers.get(type(fact))
        if handler is not None:
            handler(fact, delta)

    def _on_request_made(self, fact: RequestMade, delta: Delta) -> None:
        """Begin a job or go on with one, if the request is for that."""
        if self._rows.of_request(fact.number) is not None:
            return
        if fact.resume_token is not None and self.chains.take_request(fact, delta):
            return
        if naming.is_job(fact):
            self._begin(fact, delta)
        elif fact.sender is Side.CLIENT:
            self._plain[fact.number] = fact
            if len(self._plain) > _PLAIN_KEPT:
                del self._plain[next(iter(self._plain))]

    def _begin(self, fact: RequestMade, delta: Delta) -> Job:
        self._newest += 1
        job = Job(self._newest, fact)
        dropped = self._rows.add(job)
        delta.added.append(job.id)
        self.chains.leave(dropped, delta)
        rival = self.chains.rival_of(fact)
        if rival is not None and not rival.state.is_over:
            words = f"The resume token is in use by the request of frame {rival.request.number}"
            job.marks.note(marks.RESUMED_TWICE, words, fact.number)
        return job

    def restore(self, found: Iterable[Restored], now: float, wall: float) -> Changes:
        """Make rows of chains that were found on disk."""
        changes = self.chains.restore(found, self._newest, now, wall)
        self._newest = max(self._newest, *changes.added, 0)
        return changes

    def _on_request_answered(self, fact: RequestAnswered, delta: Delta) -> None:
        """End the job of a reply, or keep a late reply with the job it belongs to."""
        job = self._rows.of_request(fact.request) or self._begin_late(fact, delta)
        if job is None:
            return
        for problem in fact.problems:
            is_of_token = "nextResumeToken" in problem
            key = marks.RESUME_TOKEN if is_of_token else marks.IRREGULAR_REPLY
            job.marks.note(key, problem, fact.number)
        delta.progressed.add(job.id)
        if job.state.is_over or job.is_settling or fact.request != job.request.number:
            self._take_late_answer(job, fact, delta)
            return
        job.answer = fact
        self._finish(job, _ending_of(job, fact), fact.at, delta)

    def _begin_late(self, fact: RequestAnswered, delta: Delta) -> Job | None:
        """A request that was no job becomes one when its result can be gone on with."""
        request = self._plain.pop(fact.request or 0, None)
        if request is None or fact.result is None or not is_usable(fact.next_resume_token):
            return None
        return self._begin(request, delta)

    def _take_late_answer(self, job: Job, fact: RequestAnswered, delta: Delta) -> None:
        """Keep a reply to a job that is over, unless it has one; mark it either way."""
        if job.answer is not None or fact.request != job.request.number:
            words = "A further reply came to a request that was already answered"
            job.marks.note(marks.DUPLICATE_REPLY, words, fact.number)
            return
        job.answer = fact
        state, ended_at = job.over_state, job.over_at
        if fact.result is not None or state is not JobState.CANCELLED:
            late = duration(fact.at - (ended_at or fact.at))
            words = f"The reply came {late} after the job's end ({state.value})"
            job.marks.note(marks.LATE_RESULT, words, fact.number)
        if not job.is_settling:  # else it is accounted for, and learned of, once that is saved
            self.chains.leave(self._rows.keep_answer(job), delta)
            self._learn_late(job, fact, delta)

    def _learn_late(self, job: Job, fact: RequestAnswered, delta: Delta) -> None:
        """Let a late result bring a resumable job forward: its token is the newest there is."""
        is_new = job.chain is None and is_usable(fact.next_resume_token)
        is_idle = job.chain is not None and job.chain.can_resume
        if fact.result is None or job.id not in self._rows.by_id or not (is_new or is_idle):
            return
        ending = endings.of_answer(fact)
        verdict = self.chains.judge(job, fact, ending)
        if verdict is not None:
            self._rows.wake(job)
            job.wake()
            self.chains.end(job, verdict, fact.at, delta)

    def _on_request_cancelled(self, fact: RequestCancelled, delta: Delta) -> None:
        """Wait for what becomes of a cancelled job."""
        self._plain.pop(fact.request or 0, None)
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        if not (job.state.is_over or job.is_settling):
            self._cancel(job, fact.at, fact.reason, delta)
        elif fact.standing is Standing.ANSWERED:
            words = "The request had been answered when it was cancelled"
            job.marks.note(marks.CANCEL_TOO_LATE, words, fact.number)
            delta.progressed.add(job.id)

    def _cancel(self, job: Job, at: float, reason: str | None, delta: Delta) -> None:
        """Begin or renew the wait for a cancel's confirmation."""
        if job.state is not JobState.CANCELLING:
            delta.move(job)
        grace_s = self.cancel_grace_s if job.cancel_grace_s is None else job.cancel_grace_s
        job.cancel(at, reason, at + grace_s)
        heapq.heappush(self._due, (at + grace_s, job.id))
        self._due_at = self._due[0][0]

    def _lapse(self, now: float, delta: Delta) -> float:
        """End every cancel that has met with silence for the grace time; when the next is due.

        Each ends at its own deadline, whenever that is noticed.
        """
        while self._due and self._due[0][0] <= now:
            due_at, place = heapq.heappop(self._due)
            job = self._running(place)
            if job is None or job.cancel_due_at != due_at:
                continue  # it is over, or the cancel was renewed
            delta.lapsed.append(job.id)
            self._finish(job, endings.of_cancel(None, job.cancel_reason), due_at, delta)
        self._due_at = self._due[0][0] if self._due else _NEVER
        return self._due_at

    def _on_cancel_requested(self, fact: CancelRequested, delta: Delta) -> None:
        """Wait for what becomes of a job whose server is about to be told of the cancel."""
        job = self._waiting(fact.request)
        if job is not None:
            job.cancel_grace_s = fact.grace_s
            self._cancel(job, fact.at, fact.reason, delta)

    def _on_timed_out(self, fact: CallTimedOut, delta: Delta) -> None:
        """End a job that ran out of time."""
        job = self._waiting(fact.request)
        if job is not None:
            self._finish(job, endings.of_timeout(fact.text), fact.at, delta)

    def _on_connection_closed(self, fact: ConnectionClosed, delta: Delta) -> None:
        """Lose every job that still waits on the connection, and tell each why."""
        for number in [n for n, r in self._plain.items() if r.connection == fact.connection]:
            del self._plain[number]
        waiting = [
            job
            for job in self._rows.running.values()
            if job.request.connection == fact.connection and not job.is_settling
        ]
        for job in waiting:
            self._finish(job, endings.of_close(fact), fact.at, delta)

    def _finish(self, job: Job, ending: Ending, at: float, delta: Delta) -> None:
        """End a job, or an attempt of one that can be resumed."""
        verdict = self._verdict(job, ending)
        ending = ending if verdict is None else verdict.ending
        if ending.mark is not None:
            words = "" if ending.failure is None else ending.failure.message
            source = job.request if job.answer is None else job.answer
            job.marks.note(ending.mark, words, source.number)
        if verdict is not None:
            self.chains.end(job, verdict, at, delta)
            return
        job.end(ending, at)
        delta.move(job)
        self.chains.leave(self._rows.end(job), delta)

    def _verdict(self, job: Job, ending: Ending) -> Verdict | None:
        """What the end of an attempt means for the job's chain; None when there is none."""
        if job.answer is not None:
            return self.chains.judge(job, job.answer, ending)
        return None if job.chain is None else stopped(ending)

    def tick(self, now: float) -> Changes:
        """Let time pass, about once a second: stalls, and cancels that met with silence.

        Every running job is among `progressed`: its elapsed time, rate and ETA have changed.
        """
        delta = Delta()
        delta.progressed.update(job.id for job in self._rows.running.values())
        for job in self._rows.running.values():
            if job.stall_if_silent(now):
                delta.move(job)
        self._lapse(now, delta)
        return delta.freeze()

    def note_cancel_requested(self, job: JobId) -> Changes:
        """Show at once that a cancel was asked for. The fact of it follows and has the effect."""
        delta = Delta()
        known = self._running(job)
        if known is not None and known.state is not JobState.CANCELLING:
            known.state = JobState.CANCELLING
            delta.move(known)
        return delta.freeze()

    def _waiting(self, request: int) -> Job | None:
        """The job that waits for the reply to a request."""
        known = self._rows.running.get(request)
        return known if known is not None and not known.is_settling else None

    def _running(self, job: JobId) -> Job | None:
        """A job that is not over."""
        known = self._rows.by_id.get(job)
        is_going_on = known is not None and not (known.state.is_over or known.is_settling)
        return known if is_going_on else None

    def remove(self, jobs: Iterable[JobId]) -> Changes:
        """Forget those of `jobs` that are over and cannot be resumed."""
        return Changes(removed=tuple(job.id for job in self._rows.remove(jobs)))

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

    def requests_of(self, job: JobId) -> frozenset[int]:
        """The numbers of the frames of all requests of a job, as far as it remembers them.

        Empty when there is no such job, or none of its requests is of this run of the program.
        """
        known = self._rows.by_id.get(job)
        if known is None:
            return frozenset()
        attempts = () if known.chain is None else known.chain.attempts
        numbers = (known.first.number, known.request.number, *(each.request for each in attempts))
        return frozenset(number for number in numbers if number is not None and number > 0)

    @property
    def open_count(self) -> int:
        """How many requests are tracked as running: the size of the table of open jobs."""
        return len(self._rows.running)

    @property
    def plain_count(self) -> int:
        """How many open requests that are no jobs are remembered; bounded."""
        return len(self._plain)

    @property
    def dropped_count(self) -> int:
        """How many ended jobs were removed to stay within bounds, not by the user."""
        return self._rows.dropped


def _ending_of(job: Job, answer: RequestAnswered) -> Ending:
    """What a reply makes of a job that is not over.

    A result that came before the cancel went out (its standing is active) ends the job as usual.
    """
    if job.cancel_at is None:
        return endings.of_answer(answer)
    if answer.error is None and answer.standing is Standing.ACTIVE:
        return endings.of_answer(answer)
    return endings.of_cancel(answer, job.cancel_reason)

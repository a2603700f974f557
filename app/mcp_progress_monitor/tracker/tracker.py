"""The reducer: facts in, changed jobs out. The one place that knows which jobs there are.

The loop in `Tracker.apply` is the program's hottest: several hundred progress facts a chunk,
hundreds of thousands a second. A well-formed tick costs a dictionary look-up, comparisons and
assignments there; everything else is judged in `Job.take`, at a few microseconds.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    Fact,
    OutputChecked,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    Side,
    Standing,
    StreamBroken,
    StreamResumed,
    TaskStated,
)
from mcp_progress_monitor.protocol.frame import server_name
from mcp_progress_monitor.protocol.runs import TickRun, fact_of
from mcp_progress_monitor.tracker import endings, marks, naming, rising
from mcp_progress_monitor.tracker.cancels import Cancels
from mcp_progress_monitor.tracker.chains import Chains
from mcp_progress_monitor.tracker.delta import Delta, TickLog
from mcp_progress_monitor.tracker.irregular import irregularities
from mcp_progress_monitor.tracker.job import Job
from mcp_progress_monitor.tracker.picture import detail_of, snapshot_of
from mcp_progress_monitor.tracker.plain import PlainRequests
from mcp_progress_monitor.tracker.questions import Questions
from mcp_progress_monitor.tracker.replies import Replies
from mcp_progress_monitor.tracker.restoring import job_of_task
from mcp_progress_monitor.tracker.rows import Rows
from mcp_progress_monitor.tracker.snapshot import Changes, JobDetail, JobId, JobSnapshot, JobState
from mcp_progress_monitor.tracker.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.tracker.chain import Restored
    from mcp_progress_monitor.tracker.delta import Tick
    from mcp_progress_monitor.tracker.restoring import RestoredTask

CANCEL_GRACE_S: Final = 5.0
"""Silence after a cancel that counts as its confirmation, unless a tracker is told otherwise."""
_LOOKS: Final = 8
"""Messages of one moment that are compared with the phase under way: a flood has hundreds."""
_NEVER: Final = float("inf")
_CONNECTIONS_KEPT: Final = 1000


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
        self.cancel_grace_s: Final = cancel_grace_s
        self._rows = Rows() if rows is None else rows
        self.chains = Chains(self._rows, key_of, saves=saves)
        """The jobs that can be resumed: what happens to them outside the facts is noted there."""
        self._plain = PlainRequests()
        self._replies = Replies(self._rows, self.chains, self._plain, self._begin)
        self._cancels = Cancels(self._rows, cancel_grace_s, self._replies.finish)
        replies = self._replies
        self._tasks = Tasks(self._rows, key_of, replies.finish, replies.keep_answer, saves=saves)
        self._questions = Questions(self._rows, self._tasks.of)
        self._replies.connect(self._questions)
        self._tasks.connect(self._questions, self._cancels)
        self._rows.on_forgotten = self._forget
        self._newest = 0
        self._unattached: collections.OrderedDict[str, int] = collections.OrderedDict()
        self._looks = 0
        self._looked_at = _NEVER
        self.chains.on_late_answer = self._replies.learn_late
        self._handlers: dict[type, Callable[[Any, Delta], None]] = {
            RequestMade: self._on_request_made,
            RequestAnswered: self._replies.take,
            RequestCancelled: self._on_request_cancelled,
            ConnectionClosed: self._on_connection_closed,
            CancelRequested: self._on_cancel_requested,
            CallTimedOut: self._on_timed_out,
            OutputChecked: self._on_output_checked,
            CallEnded: self._on_call_ended,
            TaskStated: self._on_task_stated,
            StreamBroken: self._on_stream,
            StreamResumed: self._on_stream,
        }

    def apply(self, facts: Sequence[Fact], now: float) -> Changes:
        """Take facts in wire order; what they changed. Never raises for what they say.

        What they make of the jobs depends on the facts alone: not on `now`, nor on how they are
        divided among calls, so that a recording gives the same jobs again.
        """
        return self._apply_run(facts) if type(facts) is TickRun else self._apply_each(facts)

    def _apply_each(self, facts: Sequence[Fact]) -> Changes:
        delta = Delta()
        ticks: list[Tick] = []
        emit = ticks.append
        running = self._rows.running
        active = Standing.ACTIVE
        due_at = self._cancels.due_at
        for fact in facts:
            if type(fact) is not ProgressReceived:
                self._handle(fact, delta)
                due_at = self._cancels.due_at
                continue
            _, _, at, _, _, _, request, standing, progress, total, message, problems = fact
            if at >= due_at:
                due_at = self._cancels.lapse(at, delta)
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

    def _apply_run(self, run: TickRun) -> Changes:
        """Take ticks that are plain as far as they tell themselves: as `apply` does, in a third."""
        delta = Delta()
        if run.at >= self._cancels.due_at:
            self._cancels.lapse(run.at, delta)
        job = self._rows.running.get(run.requests[0])
        if job is None or not rising.is_rising(job, run):
            return delta.freeze(self._take_run(run, delta))
        first = job.tick_count + 1
        if rising.take(job, run):
            delta.moved.add(job.id)
        return delta.freeze(TickLog(run, [job.id] * len(run), range(first, first + len(run))))

    def _take_run(self, run: TickRun, delta: Delta) -> TickLog:
        jobs: list[JobId | None] = []
        counts: list[int] = []
        emit, emit_count = jobs.append, counts.append
        running, at = self._rows.running, run.at
        for tick in run.ticks:
            _, _, _, request, progress, total, message = tick
            job = running.get(request)
            if job is None or not job.progress < progress <= job.limit or total != job.total:
                place, count, _ = self._take(fact_of(tick), delta)
                emit(place)
                emit_count(count)
                continue
            job.progress = progress
            job.last = tick
            job.tick_count = count = job.tick_count + 1
            job.ticks.append(tick)
            emit(job.id)
            emit_count(count)
            if message != job.message and message is not None:
                job.message = message
                if self._looks or at != self._looked_at:
                    self._look(job, at)
            if at >= job.sample_at and job.sample(at):
                delta.moved.add(job.id)
        return TickLog(run, jobs, counts)

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
        said = delta.marked.get(fact.number, "") if words else ""
        if words not in said:
            delta.marked[fact.number] = f"{said}; {words}" if said else words

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
        if fact.at >= self._cancels.due_at:
            self._cancels.lapse(fact.at, delta)
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
        if self._questions.take_retry(fact, delta):
            return
        self._tasks.take_request(fact, delta)
        if naming.is_job(fact):
            job = self._begin(fact, delta)
            if fact.sender is Side.SERVER:
                self._questions.adopt(job, delta)
        elif fact.sender is Side.CLIENT:
            self._plain.add(fact)

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

    def restore_tasks(self, found: Iterable[RestoredTask], now: float, wall: float) -> Changes:
        """Make running rows of tasks that were found on disk; nobody hears of them yet."""
        delta = Delta()
        for restored in found:
            self._newest += 1
            job = job_of_task(self._newest, restored, now - wall)
            self.chains.leave(self._rows.add(job), delta)
            if job.task is not None:
                self._tasks.enter(job, job.task, restored.key)
            delta.added.append(job.id)
        return delta.freeze()

    def note_task_saved(self, job: JobId) -> Changes:
        """Show the task that a job has become: it is on disk, or cannot be."""
        is_news = self._tasks.note_saved(job)
        return Changes(progressed=frozenset({job}) if is_news else frozenset())

    def task_job(self, connection: str, task: str) -> JobId | None:
        """The job whose task has that id at a connection's server; None when there is none."""
        job = self._tasks.of(connection, task)
        return None if job is None else job.id

    def _on_task_stated(self, fact: TaskStated, delta: Delta) -> None:
        """Let a task's state show on its job; one that was begun elsewhere becomes a job."""
        job = self._tasks.find(fact)
        asked = self._plain.answered
        is_new = fact.how == "get" and bool(fact.task.status)
        if job is None and is_new and asked is not None and asked.number == fact.asked:
            job = self._begin(asked, delta)
        if job is not None:
            self._tasks.take(fact, job, delta)
            self._mark(delta, fact, job.marks.words_of(fact.number))

    def _on_request_cancelled(self, fact: RequestCancelled, delta: Delta) -> None:
        """Wait for what becomes of a cancelled job."""
        self._plain.drop(fact.request)
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        delta.progressed.add(job.id)
        if fact.standing is Standing.ANSWERED:
            words = "The request had been answered when it was cancelled"
            job.marks.note(marks.CANCEL_TOO_LATE, words, fact.number)
            return
        job.is_cancel_sent = True
        if job.is_going_on and fact.sender is Side.SERVER is job.request.sender:
            self._replies.finish(job, endings.of_cancel(None, fact.reason), fact.at, delta)
        elif job.is_going_on:
            self._cancels.begin(job, fact.at, fact.reason, delta)

    def _on_cancel_requested(self, fact: CancelRequested, delta: Delta) -> None:
        """Wait for what becomes of a job whose server is about to be told of the cancel."""
        job = self._waiting(fact.request)
        if job is not None:
            job.cancel_grace_s = fact.grace_s
            self._cancels.begin(job, fact.at, fact.reason, delta)
            if job.asked is not None and job.asked.reply is not None:  # no request is open
                self._replies.finish(job, endings.of_cancel(None, fact.reason), fact.at, delta)

    def _on_call_ended(self, fact: CallEnded, delta: Delta) -> None:
        """End a job that this side goes on with no more."""
        self._plain.drop(fact.request)
        job = self._waiting(fact.request)
        if job is not None:
            self._replies.finish(job, endings.of_call_ended(fact), fact.at, delta)

    def _on_stream(self, fact: StreamBroken | StreamResumed, delta: Delta) -> None:
        """Tell a job what became of the stream of one of its requests."""
        job = self._rows.of_request(fact.request)
        if job is not None:
            job.take_stream(fact)
            delta.progressed.add(job.id)

    def _on_timed_out(self, fact: CallTimedOut, delta: Delta) -> None:
        """End a job that ran out of time."""
        job = self._waiting(fact.request)
        if job is not None:
            self._replies.finish(job, endings.of_timeout(fact.text), fact.at, delta)

    def _on_output_checked(self, fact: OutputChecked, delta: Delta) -> None:
        """Mark the job of a result that breaks its tool's output schema."""
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        for problem in fact.problems:
            words = f"The result breaks the tool's output schema: {problem}"
            job.marks.note(marks.OUTPUT, words, fact.number)
        for part in fact.unchecked:
            words = f"The result was not checked completely by the tool's output schema: {part}"
            job.marks.note(marks.OUTPUT_UNCHECKED, words, fact.number)
        delta.move(job)

    def _on_connection_closed(self, fact: ConnectionClosed, delta: Delta) -> None:
        """Lose every job that still waits on the connection, and tell each why."""
        self._plain.drop_connection(fact.connection)
        waiting = [
            job
            for job in self._rows.running.values()
            if job.request.connection == fact.connection and not job.is_settling
        ]
        self._tasks.lose(waiting)
        for job in waiting:
            self._replies.finish(job, endings.of_close(fact, job.task), fact.at, delta)

    def _forget(self, job: Job) -> None:
        """Let go of a job that has no row any more."""
        self._tasks.leave(job)
        self._questions.forget(job)

    def tick(self, now: float) -> Changes:
        """Let time pass, about once a second: stalls, and cancels that met with silence.

        Every running job is among `progressed`: its elapsed time, rate and ETA have changed.
        """
        delta = Delta()
        delta.progressed.update(job.id for job in self._rows.running.values())
        for job in self._rows.running.values():
            if job.stall_if_silent(now):
                delta.move(job)
        self._cancels.lapse(now, delta)
        for job in self._tasks.expired(now):
            self._replies.finish(job, endings.of_expired_task(), now, delta)
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
        rounds = () if known.asked is None else known.asked.requests
        earlier = (*rounds, *(each.request for each in attempts))
        numbers = (known.first.number, known.request.number, *earlier)
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

"""The reducer: facts in, changed jobs out. The one place that knows all jobs."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    ConnectionNegotiated,
    Fact,
    NotificationReceived,
    OutputChecked,
    PartReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    StreamBroken,
    StreamResumed,
    TaskStated,
)
from mcp_progress_monitor.protocol.frames import fact_of, server_name
from mcp_progress_monitor.protocol.messages import META
from mcp_progress_monitor.tracker import endings, requests
from mcp_progress_monitor.tracker.cancel_grace import PendingCancels
from mcp_progress_monitor.tracker.chains import Chains, RestoredTask, job_of_task
from mcp_progress_monitor.tracker.job import Job
from mcp_progress_monitor.tracker.questions import QuestionReducer
from mcp_progress_monitor.tracker.replies import Replies
from mcp_progress_monitor.tracker.requests import PlainRequests
from mcp_progress_monitor.tracker.rows import PendingChanges, RowLimits, Rows
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail, JobId, JobSnapshot, JobState
from mcp_progress_monitor.tracker.snapshot_builder import detail_of, snapshot_of
from mcp_progress_monitor.tracker.tasks import TaskIndex, TaskReducer
from mcp_progress_monitor.tracker.violations import violations_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.frames import FactRun, PlainTick
    from mcp_progress_monitor.tracker.chain import Restored
    from mcp_progress_monitor.tracker.job import JobClock

CANCEL_GRACE_S: Final = 5.0  # default silence after a cancel that counts as its confirmation
_LOOKS: Final = 8
"""Messages of one moment that are compared with the current phase: a flood has hundreds."""
_NEVER: Final = float("inf")
_CONNECTIONS_KEPT: Final = 1000
_COMPARED: Final = 200


def _nobody(_connection: str) -> None:
    """No connection is watched."""


def _never_behind(_connection: str) -> bool:
    """Everything received was read."""
    return False


def _no_clock(_request: RequestMade) -> None:
    """Nobody waits for the reply, as in a recording."""


class Tracker:
    """All jobs of the program, derived only from facts. Time is passed in, monotonic seconds."""

    def __init__(
        self,
        limits: RowLimits = RowLimits(),  # noqa: B008  # a value that nothing changes
        key_of: Callable[[str], str] = server_name,
        client_of: Callable[[str], str | None] = _nobody,
        is_behind: Callable[[str], bool] = _never_behind,
        clock_of: Callable[[RequestMade], JobClock | None] = _no_clock,
        *,
        saves: bool = False,
        cancel_grace_s: float = CANCEL_GRACE_S,
    ) -> None:
        """Begin with no jobs, and keep them within `limits`.

        For `key_of`, which identifies a connection's server, and `saves` see `Chains`. Silence of
        `cancel_grace_s` after a cancel counts as its confirmation. `client_of` returns the client
        of a connection that is only watched, and None for one of ours; `is_behind` whether more of
        a connection was received than was read (see `apply_behind`), `clock_of` the clock of the
        call that a request is made for.
        """
        self._clock_of = clock_of
        self._client_of = client_of
        self.cancel_grace_s: Final = cancel_grace_s
        self._rows = Rows(limits, self._forget)
        self.chains = Chains(self._rows, key_of, client_of, saves=saves)
        """The resumable jobs: events other than facts are reported there."""
        self._plain = PlainRequests()
        self._task_index = TaskIndex(key_of)
        self._questions = QuestionReducer(self._rows, self._task_index.of)
        self._replies = Replies(self._rows, self.chains, self._plain, self._questions, self._begin)
        self._cancels = PendingCancels(self._rows, cancel_grace_s, self._replies.finish, is_behind)
        self._tasks = TaskReducer(
            self._rows,
            self._task_index,
            self._questions,
            self._cancels,
            self._replies.finish,
            self._replies.keep_answer,
            lambda connection: saves and client_of(connection) is None,
        )
        self._newest = 0
        self._unattached: collections.OrderedDict[str, int] = collections.OrderedDict()
        self._looks = 0
        self._looked_at = _NEVER
        self._handlers: dict[type, Callable[[Any, PendingChanges], None]] = {
            RequestMade: self._on_request_made,
            ConnectionNegotiated: self._replies.note_opening,
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
            PartReceived: self._on_part,
        }

    def apply(self, facts: FactRun, now: float) -> ChangeSet:
        """Apply facts in wire order; returns the changes. Never raises for their content.

        The jobs depend only on the facts: not on `now`, nor on how the facts are divided among
        calls, so that a recording gives the same jobs again.
        """
        changes = PendingChanges()
        ticks: list[PlainTick] = []
        jobs: list[Job | None] = []
        for some, other in facts.pieces():
            if some:
                ticks += some
                self._take_ticks(some, jobs, changes)
            if other is None:
                continue
            if other.at >= self._cancels.due_at:
                self._cancels.lapse(other.at, changes)
            if type(other) is ProgressReceived:
                ticks.append(other)
                jobs.append(self._take(other, changes))
            elif type(other) is not NotificationReceived or other.findings:
                self._handle(other, changes)
        return changes.freeze(ticks, jobs)

    def apply_behind(self, facts: FactRun, now: float) -> ChangeSet:
        """Apply facts of a connection that may be behind the others, as `apply` does."""
        self._cancels.review()
        return self.apply(facts, now)

    def _take_ticks(
        self, ticks: Sequence[PlainTick], jobs: list[Job | None], changes: PendingChanges
    ) -> None:
        """Apply plain ticks, and add the job of each to `jobs`: this runs for every message."""
        running, due_at = self._rows.running, self._cancels.due_at
        for tick in ticks:
            _, (_, at, _), _, request, progress, total, message = tick
            if at >= due_at:
                due_at = self._cancels.lapse(at, changes)
            job = running.get(request)
            if job is None:
                jobs.append(self._take(fact_of(tick), changes))
                continue
            jobs.append(job)
            if not job.progress < progress <= job.limit or total != job.total:
                self._take_odd(job, tick, changes)
                continue
            job.progress = progress
            job.last = tick
            job.tick_count += 1
            job.ticks.append(tick)
            if message is not None and message != job.message:
                job.message = message
                if self._looks or at != self._looked_at:
                    self._turn_phase(job, at)
            if at >= job.sample_at and job.sample(at):
                changes.moved.add(job.id)

    def _take_odd(self, job: Job, tick: PlainTick, changes: PendingChanges) -> None:
        """Apply a tick of a running job that does not only rise, within the same total."""
        progress, total = tick[4], tick[5]
        if total != job.total or progress > job.limit or job.progress > job.limit:
            self._take(fact_of(tick), changes)
            return
        state = job.state
        changes.marked[tick[0]] = (job.fall(tick),)
        if job.state is not state:
            changes.move(job)

    def _turn_phase(self, job: Job, at: float) -> None:
        """Compare a job's newest message with its phase; so often at one moment."""
        if at != self._looked_at:
            self._looked_at, self._looks = at, _LOOKS
        self._looks -= 1
        job.turn_phase(at)

    def _take(self, fact: ProgressReceived, changes: PendingChanges) -> Job | None:
        """Apply any tick; returns its job, None if it has none."""
        job = self._rows.of_request(fact.request)
        if job is None:
            self._count_unattached(fact.connection)
            self._mark(changes, fact, violations_of(fact))
            return None
        if fact.request != job.request.number:
            job.take_stale(fact)
            self._mark(changes, fact, job.marks.of_frame(fact.number))
            return job
        state = job.state
        job.take(fact)
        self._mark(changes, fact, job.marks.of_frame(fact.number))
        if job.state is not state:
            changes.move(job)
        return job

    @staticmethod
    def _mark(changes: PendingChanges, fact: Fact, findings: tuple[Finding, ...]) -> None:
        """Add a message's findings to the changes, if there are any."""
        if not findings:
            return
        known = changes.marked.get(fact.number)
        if known is None:
            changes.marked[fact.number] = findings
        else:
            changes.marked[fact.number] = (
                *known,
                *(each for each in findings if each not in known),
            )

    def _count_unattached(self, connection: str) -> None:
        """Count a tick that belongs to no job, for the newest connections that had some."""
        self._unattached[connection] = self._unattached.pop(connection, 0) + 1
        if len(self._unattached) > _CONNECTIONS_KEPT:
            self._unattached.popitem(last=False)

    def unattached_ticks(self, connection: str) -> int:
        """The number of a connection's ticks whose token belongs to no job."""
        return self._unattached.get(connection, 0)

    def _handle(self, fact: Fact, changes: PendingChanges) -> None:
        """Apply any fact but progress; those that concern no job are ignored."""
        self._mark(changes, fact, violations_of(fact))
        handler = self._handlers.get(type(fact))
        if handler is not None:
            handler(fact, changes)
            self._mark_more(fact, changes)

    def _mark_more(self, fact: Fact, changes: PendingChanges) -> None:
        """Add findings that only the message's job reveals: rules not stated yet."""
        job = self._rows.of_request(getattr(fact, "request", fact.number))
        found = () if job is None else job.marks.of_frame(fact.number)
        if found:
            stated = {each.rule.id for each in changes.marked.get(fact.number, ())}
            self._mark(changes, fact, tuple(each for each in found if each.rule.id not in stated))

    def _on_request_made(self, fact: RequestMade, changes: PendingChanges) -> None:
        """Begin or continue a job, if the request is one."""
        if self._rows.of_request(fact.number) is not None:
            return
        self._take_request(fact, changes)
        job = self._rows.of_request(fact.number)
        if job is not None and fact.sender is Side.CLIENT:
            job.clock = self._clock_of(fact)

    def _take_request(self, fact: RequestMade, changes: PendingChanges) -> None:
        if fact.resume_token is not None and self.chains.take_request(fact, changes):
            return
        if self._questions.take_retry(fact, changes):
            return
        self._tasks.take_request(fact, changes)
        if requests.is_job(fact):
            job = self._begin(fact, changes)
            if fact.sender is Side.SERVER:
                self._questions.adopt(job, changes)
        elif fact.sender is Side.CLIENT:
            self._plain.add(fact)

    def _begin(self, fact: RequestMade, changes: PendingChanges) -> Job:
        self._newest += 1
        job = Job(self._newest, fact)
        dropped = self._rows.add(job)
        changes.added.append(job.id)
        self.chains.leave(dropped, changes)
        rival = self.chains.rival_of(fact)
        if rival is not None and not rival.state.is_over:
            job.marks.note(rules.RESUMED_TWICE, fact.number, rival.request.number)
        return job

    def restore(self, found: Iterable[Restored], now: float, wall: float) -> ChangeSet:
        """Create rows for chains found on disk."""
        changes = self.chains.restore(found, self._newest, now, wall)
        self._newest = max(self._newest, *changes.added, 0)
        return changes

    def restore_tasks(self, found: Iterable[RestoredTask], now: float, wall: float) -> ChangeSet:
        """Create running rows for tasks found on disk; nobody follows them yet."""
        changes = PendingChanges()
        for restored in found:
            self._newest += 1
            job = job_of_task(self._newest, restored, now - wall)
            self.chains.leave(self._rows.add(job), changes)
            if job.task is not None:
                self._task_index.enter(job, job.task, restored.key)
            changes.added.append(job.id)
        return changes.freeze()

    def note_task_saved(self, job: JobId) -> ChangeSet:
        """Show a job's task: it was saved, or cannot be."""
        has_changed = self._tasks.note_saved(job)
        return ChangeSet(progressed=frozenset({job}) if has_changed else frozenset())

    def note_task_server(self, job: JobId, key: str) -> None:
        """We will follow the job's task, on a server with the identity `key`."""
        found = self._rows.by_id.get(job)
        if found is not None and found.task is not None:
            self._task_index.enter(found, found.task, key)

    def drop_rows(self, jobs: Iterable[JobId]) -> ChangeSet:
        """Drop the rows of tasks that nobody follows: they have other rows by now."""
        changes = PendingChanges()
        self.chains.leave(self._rows.drop(jobs), changes)
        return changes.freeze()

    def task_job(self, connection: str, task: str) -> JobId | None:
        """The job whose task has that id at a connection's server; None if there is none."""
        job = self._task_index.of(connection, task)
        return None if job is None else job.id

    def _on_task_stated(self, fact: TaskStated, changes: PendingChanges) -> None:
        """Apply a task's state to its job; a task begun elsewhere becomes a job."""
        job = self._tasks.find(fact)
        request = self._plain.answered
        is_new = fact.how == "get" and bool(fact.task.status)
        if job is None and is_new and request is not None and request.number == fact.reply_to:
            job = self._begin(request, changes)
        if job is not None:
            self._tasks.take(fact, job, changes)
            self._mark(changes, fact, job.marks.of_frame(fact.number))

    def _on_request_cancelled(self, fact: RequestCancelled, changes: PendingChanges) -> None:
        self._plain.drop(fact.request)
        self._tasks.note_given_up(fact.request)
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        changes.progressed.add(job.id)
        if fact.standing is RequestStanding.ANSWERED:
            is_task = any(each.rule is rules.CANCEL_OF_TASK for each in fact.findings)
            rule = rules.CANCEL_OF_TASK if is_task else rules.CANCEL_TOO_LATE
            job.marks.note(rule, fact.number)
            return
        job.is_cancel_sent = True
        if job.is_resuming and fact.sender is Side.SERVER is job.request.sender:
            self._replies.finish(job, endings.of_cancel(None, fact.reason), fact.at, changes)
        elif job.is_resuming:
            self._cancels.begin(job, fact.at, fact.reason, changes)

    def _on_cancel_requested(self, fact: CancelRequested, changes: PendingChanges) -> None:
        job = self._waiting(fact.request)
        if job is not None:
            job.cancel_grace_s = fact.grace_s
            self._cancels.begin(job, fact.at, fact.reason, changes)
            if job.questions is not None and job.questions.reply is not None:  # no request is open
                self._replies.finish(job, endings.of_cancel(None, fact.reason), fact.at, changes)

    def _on_call_ended(self, fact: CallEnded, changes: PendingChanges) -> None:
        self._plain.drop(fact.request)
        self._tasks.note_given_up(fact.request)
        job = self._waiting(fact.request)
        if job is not None:
            self._replies.finish(job, endings.of_call_ended(fact), fact.at, changes)

    def _on_stream(self, fact: StreamBroken | StreamResumed, changes: PendingChanges) -> None:
        job = self._rows.of_request(fact.request)
        if job is not None:
            job.take_stream(fact)
            changes.progressed.add(job.id)

    def _on_part(self, fact: PartReceived, changes: PendingChanges) -> None:
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        if job.take_part(fact):
            changes.move(job)
        changes.progressed.add(job.id)

    def _on_timed_out(self, fact: CallTimedOut, changes: PendingChanges) -> None:
        job = self._waiting(fact.request)
        if job is not None:
            self._replies.finish(job, endings.of_timeout(fact.text), fact.at, changes)

    def _on_output_checked(self, fact: OutputChecked, changes: PendingChanges) -> None:
        """Mark the job of a result that violates its tool's output schema."""
        job = self._rows.of_request(fact.request)
        if job is None:
            return
        for violation in fact.violations:
            job.marks.note(rules.OUTPUT, fact.number, violation)
        for part in fact.unchecked:
            job.marks.note(rules.OUTPUT_UNCHECKED, fact.number, part)
        changes.move(job)

    def _on_connection_closed(self, fact: ConnectionClosed, changes: PendingChanges) -> None:
        """End every job that still waits on the connection as lost, with the reason."""
        self._plain.drop_connection(fact.connection)
        waiting = [
            job
            for job in self._rows.running.values()
            if job.request.connection == fact.connection and not job.is_settling
        ]
        self._tasks.lose(waiting)
        for job in waiting:
            self._replies.finish(job, endings.of_close(fact, job.task), fact.at, changes)

    def _forget(self, job: Job) -> None:
        """Release a job that no longer has a row."""
        self._task_index.leave(job)
        self._questions.forget(job)

    def tick(self, now: float) -> ChangeSet:
        """Advance time, about once a second: stalls, and unconfirmed cancels.

        Every running job is among `progressed`: its elapsed time, rate and ETA have changed.
        """
        changes = PendingChanges()
        changes.progressed.update(job.id for job in self._rows.running.values())
        held = self._questions.held_connections
        for job in self._rows.running.values():
            if job.request.connection not in held and job.stall_if_silent(now):
                changes.move(job)
        self._cancels.lapse(now, changes)
        for job in self._tasks.expired(now):
            self._replies.finish(job, endings.of_expired_task(), now, changes)
        return changes.freeze()

    def note_cancel_requested(self, job: JobId) -> ChangeSet:
        """Show immediately that a cancel was requested. Its fact follows and has the effect."""
        changes = PendingChanges()
        known = self._running(job)
        if known is not None and known.state is not JobState.CANCELLING:
            known.state = JobState.CANCELLING
            changes.move(known)
        return changes.freeze()

    def _waiting(self, request: int) -> Job | None:
        known = self._rows.running.get(request)
        return known if known is not None and not known.is_settling else None

    def _running(self, job: JobId) -> Job | None:
        known = self._rows.by_id.get(job)
        is_resuming = known is not None and not (known.state.is_over or known.is_settling)
        return known if is_resuming else None

    def remove(self, jobs: Iterable[JobId]) -> ChangeSet:
        """Remove those of `jobs` that are over and cannot be resumed."""
        return ChangeSet(removed=tuple(job.id for job in self._rows.remove(jobs)))

    def snapshot(self, job: JobId, now: float) -> JobSnapshot | None:
        """A snapshot of a job with its clocks; None if there is no such job."""
        known = self._rows.by_id.get(job)
        if known is None:
            return None
        client = self._client_of(known.request.connection)
        return snapshot_of(known, now, client, self._rows.usual.of(known))

    def detail(self, job: JobId, now: float) -> JobDetail | None:
        """The details of a job; None if there is no such job."""
        known = self._rows.by_id.get(job)
        if known is None:
            return None
        client = self._client_of(known.request.connection)
        return detail_of(known, now, client, self._rows.usual.of(known))

    def set_clock(self, job: JobId, clock: JobClock | None) -> None:
        """Let `clock` count down the limits of a job; None when it is no longer waited for."""
        known = self._rows.by_id.get(job)
        if known is not None:
            known.clock = clock

    def clock_of(self, job: JobId) -> JobClock | None:
        """The clock of a job that is being waited for; None for others."""
        known = self._rows.by_id.get(job)
        return None if known is None else known.clock

    def request_of(self, job: JobId) -> RequestMade | None:
        """The newest request of a job; None if there is no such job."""
        known = self._rows.by_id.get(job)
        return None if known is None else known.request

    def parents_of(self, jobs: Iterable[JobId]) -> dict[JobId, JobId]:
        """The jobs because of which servers asked those of `jobs` that are their requests."""
        found = map(self._rows.by_id.get, jobs)
        return {job.id: job.parent for job in found if job is not None and job.parent is not None}

    def jobs(self) -> Sequence[JobId]:
        return tuple(self._rows.by_id)

    def job_of(self, request: int) -> JobId | None:
        job = self._rows.of_request(request)
        return None if job is None else job.id

    def requests_of(self, job: JobId) -> frozenset[int]:
        """The frame numbers of all remembered requests of a job.

        Empty if there is no such job, or none of its requests is from this run of the program.
        """
        known = self._rows.by_id.get(job)
        if known is None:
            return frozenset()
        attempts = () if known.chain is None else known.chain.attempts
        round_trips = () if known.questions is None else known.questions.requests
        earlier = (*round_trips, *(each.request for each in attempts))
        numbers = (known.first.number, known.request.number, *earlier)
        return frozenset(number for number in numbers if number is not None and number > 0)

    @property
    def running(self) -> frozenset[JobId]:
        """The running jobs."""
        return frozenset(job.id for job in self._rows.running.values())

    @property
    def open_count(self) -> int:
        """The number of requests tracked as running: the size of the table of open jobs."""
        return len(self._rows.running)

    @property
    def plain_count(self) -> int:
        """The number of remembered open requests that are not jobs; bounded."""
        return len(self._plain)

    @property
    def dropped_count(self) -> int:
        """The number of ended jobs that were removed to stay within bounds, not by the user."""
        return self._rows.dropped


class Jobs:
    """Read access to jobs for windows, exports and the command line."""

    def __init__(self, tracker: Tracker, now: Callable[[], float]) -> None:
        self._tracker = tracker
        self._now = now

    @property
    def is_ended(self) -> bool:
        """True if nothing more will arrive, as in a recording that was read to its end."""
        return False

    @property
    def dropped_count(self) -> int:
        """The number of ended jobs that were removed to stay within bounds, not by the user."""
        return self._tracker.dropped_count

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """A job now; None if there is no such job."""
        return self._tracker.snapshot(job, self._now())

    def detail(self, job: JobId) -> JobDetail | None:
        """The details of a job; None if there is no such job."""
        return self._tracker.detail(job, self._now())

    def ids(self) -> Sequence[JobId]:
        return self._tracker.jobs()

    def before(self, job: JobId) -> JobId | None:
        """The newest earlier run of the same request that has ended; None if there is none.

        Only the newest `_COMPARED` jobs before it are looked at.
        """
        ids, asked = self.ids(), self.snapshot(job)
        if asked is None or job not in ids:
            return None
        end = ids.index(job)
        for other in reversed(ids[max(0, end - _COMPARED) : end]):
            found = self.snapshot(other)
            if found is not None and found.state.is_over and _asks_like(found, asked):
                one, two = self.detail(other), self.detail(job)
                if one is not None and two is not None and _arguments(one) == _arguments(two):
                    return other
        return None

    def parents_of(self, jobs: Iterable[JobId]) -> dict[JobId, JobId]:
        """Return the `jobs` that are requests of a server during another job, with that job."""
        return self._tracker.parents_of(jobs)

    def resume_token(self, job: JobId) -> str | None:
        """The newest token that a job can be resumed with; None if there is none."""
        chain = self._tracker.chains.of(job)
        return None if chain is None else chain.token

    def unattached_ticks(self, connection: str) -> int:
        """The number of a connection's ticks whose token belongs to no job."""
        return self._tracker.unattached_ticks(connection)

    def job_of(self, request: int) -> JobId | None:
        return self._tracker.job_of(request)

    def request_of(self, job: JobId) -> RequestMade | None:
        """The newest request of a job; None if there is no such job."""
        return self._tracker.request_of(job)

    def requests_of(self, job: JobId) -> frozenset[int]:
        """The frame numbers of all requests of a job."""
        return self._tracker.requests_of(job)


def _asks_like(job: JobSnapshot, other: JobSnapshot) -> bool:
    kinds = ((each.server, each.sender, each.method, each.name) for each in (job, other))
    return len(set(kinds)) == 1


def _arguments(detail: JobDetail) -> dict[str, Any]:
    return {name: value for name, value in detail.params.items() if name != META}

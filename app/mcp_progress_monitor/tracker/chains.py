"""Resume chains: several requests that are one job, joined by resume tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.facts import RequestMade, Side
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.protocol.messages import META, PROGRESS_TOKEN
from mcp_progress_monitor.tracker import chain, endings, violations
from mcp_progress_monitor.tracker.chain import Chain, Restored, Settling, is_changed_from, is_usable
from mcp_progress_monitor.tracker.endings import TEXT_LIMIT, JobEnding
from mcp_progress_monitor.tracker.job import Job
from mcp_progress_monitor.tracker.job_parts import JobTask
from mcp_progress_monitor.tracker.rows import PendingChanges, Rows
from mcp_progress_monitor.tracker.snapshot import (
    AttemptSnapshot,
    ChainStep,
    ChangeSet,
    Failure,
    JobId,
    JobState,
    TaskStep,
)
from mcp_progress_monitor.tracker.snapshot_builder import attempt_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered, TaskView
    from mcp_progress_monitor.tracker.chain import AttemptOutcome


class RestoredTask(NamedTuple):
    """A task as found on disk, not known to have ended.

    Times are wall seconds. `key` is its server's identity; `began_when` is the time of the reply
    that made it a task.
    """

    server: str
    key: str
    method: str
    params: JsonObject
    created_when: float
    began_when: float
    view: TaskView
    progress: int | float | None = None
    total: int | float | None = None


def job_of_task(job: JobId, restored: RestoredTask, offset: float) -> Job:
    """A running row for a saved task that nobody follows yet; `offset` as in `job_of`.

    It is not entered into any table.
    """
    made = Job(job, _request(job, restored, offset))
    task = made.task = JobTask(restored.view, restored.began_when + offset)
    view = restored.view
    task.status, task.message = view.status, view.message
    task.ttl_ms, task.poll_ms = view.ttl_ms, view.poll_ms
    task.is_followed = False
    made.message = view.message
    _take_progress(made, restored)
    task.steps.append(TaskStep(view.status, view.message, restored.began_when + offset, "saved"))
    return made


def _request(job: JobId, restored: Restored | RestoredTask, offset: float) -> RequestMade:
    """A request of an earlier run of the program: its number is negative, as it is in no log."""
    meta = restored.params.get(META)
    token = meta.get(PROGRESS_TOKEN) if isinstance(meta, dict) else None
    return RequestMade(
        -job,
        f"{restored.server}#0",
        restored.created_when + offset,
        restored.created_when,
        Side.CLIENT,
        None,
        restored.method,
        restored.params,
        token,
        None,
        (),
    )


def job_of(job: JobId, restored: Restored, offset: float) -> Job:
    """A row for a saved chain; `offset` is added to wall times to make monotonic ones."""
    made = Job(job, _request(job, restored, offset))
    _take_progress(made, restored)
    made.message = restored.message
    chain = made.chain = Chain(restored.key)
    chain.id, chain.token, chain.token_when = restored.id, restored.token, restored.updated_when
    chain.note, chain.is_elsewhere = restored.reason, restored.is_elsewhere
    chain.attempt_count = restored.attempt_count
    made.end(_resting_or_refused(restored), restored.updated_when + offset)
    return made


def _resting_or_refused(restored: Restored) -> JobEnding:
    if restored.token is not None:
        return JobEnding(JobState.RESUMABLE)
    return JobEnding(JobState.FAILED, Failure("server", restored.reason, chain.INVALID_PARAMS))


def _take_progress(job: Job, restored: Restored | RestoredTask) -> None:
    if restored.progress is not None:
        job.progress = restored.progress
    job.total = job.known_total = restored.total


class Chains:
    """The resumable jobs, and those being resumed.

    With `saves`, the end of every attempt of a chain is saved first (`Changes.steps`): the job is
    shown as running until `note_saved`. Without, as in a replay, it ends immediately; so it does on
    a connection of another client, whose next attempt may have been recorded already.
    """

    def __init__(
        self,
        rows: Rows,
        key_of: Callable[[str], str] = server_name,
        client_of: Callable[[str], str | None] = lambda _connection: None,
        *,
        saves: bool = False,
    ) -> None:
        """Chains of the jobs in `rows`; `key_of` returns a connection's server identity.

        `client_of` returns the client of a connection that is only watched.
        """
        self._rows = rows
        self._key_of = key_of
        self._client_of = client_of
        self._saves = saves
        self._by_token: dict[tuple[str, str, str], list[Job]] = {}
        self._expected: dict[tuple[str, object], Job] = {}

    @property
    def size(self) -> int:
        """The number of entries in its tables, for tests of their bounds."""
        return sum(map(len, self._by_token.values())) + len(self._expected)

    def of(self, job: JobId) -> Chain | None:
        """A job's chain, read-only; None if it has none."""
        found = self._rows.by_id.get(job)
        return None if found is None else found.chain

    def find(self, key: str, method: str, token: object) -> JobId | None:
        """The job whose newest token this is."""
        if not isinstance(token, str):
            return None
        return next((job.id for job in self._by_token.get((key, method, token), ())), None)

    # From facts

    def take_request(self, fact: RequestMade, changes: PendingChanges) -> bool:
        """Make a request that resumes a job its next attempt; whether it was one."""
        job = self._expected.pop((fact.connection, fact.id), None)
        if job is None:
            job = self._resumed_by(fact)
        chain = None if job is None else job.chain
        if job is None or chain is None or job.state is not JobState.RESUMABLE:
            return False
        is_changed = is_changed_from(job.first, fact)
        chain.attempt_count += 1
        chain.busy, chain.next_attempt_at = "", None
        self._rows.wake(job, fact)
        job.begin_attempt(fact)
        for finding in fact.findings:
            job.marks.add(finding, fact.number, violations.INVALID_REQUEST)
        if is_changed:
            job.marks.note(rules.REQUEST_CHANGED, fact.number)
        changes.move(job)
        return True

    def _resumed_by(self, fact: RequestMade) -> Job | None:
        """The job that stopped with the request's resume token, with equal parameters.

        Among several, prefer one of this connection: another may be its row from an earlier run of
        the program.
        """
        if fact.sender is not Side.CLIENT or not chain.is_usable(fact.resume_token):
            return None
        key = (self._key_of(fact.connection), fact.method, fact.resume_token)
        found = [j for j in self._by_token.get(key, ()) if j.state is JobState.RESUMABLE]
        same = [job for job in found if not is_changed_from(job.first, fact)]
        if same:
            own = (job for job in same if job.request.connection == fact.connection)
            return next(own, same[0])
        return found[0] if len(found) == 1 else None

    def rival_of(self, fact: RequestMade) -> Job | None:
        """The job whose attempt in flight has the same resume token."""
        if not chain.is_usable(fact.resume_token):
            return None
        key = (self._key_of(fact.connection), fact.method, fact.resume_token)
        return next(iter(self._by_token.get(key, ())), None)

    def judge(self, job: Job, answer: RequestAnswered, plain: JobEnding) -> AttemptOutcome | None:
        """The result of a reply for the job's chain; None without a chain."""
        if answer.sender is not Side.SERVER:
            return None
        result = chain.of_answer(answer, plain, in_chain=job.chain is not None)
        token = answer.next_resume_token
        is_error = answer.error is not None or (answer.result or {}).get("isError") is True
        if is_error and token is not None:
            job.marks.note(rules.TOKEN_ON_ERROR, answer.number)
        elif result is not None and job.chain is not None and result.token == job.chain.token:
            job.marks.note(rules.SAME_TOKEN, answer.number)
        return result

    def end(self, job: Job, result: AttemptOutcome, at: float, changes: PendingChanges) -> None:
        """End an attempt: immediately, or once that is saved."""
        job.chain = job.chain or Chain(self._key_of(job.request.connection))
        when = job.request.when + (at - job.request.at)
        client = self._client_of(job.request.connection)
        attempt = attempt_of(job, result.outcome, when, _detail(result))._replace(client=client)
        self._settle(job, Settling(result, at, attempt), changes)

    def _settle(self, job: Job, settling: Settling, changes: PendingChanges) -> None:
        result, _, attempt = settling
        if not self._saves or job.chain is None:
            self._conclude(job, settling, changes)
            return
        changes.steps.append(
            ChainStep(
                job.id,
                job.chain.id,
                job.request.number,
                result.token,
                result.is_complete,
                result.outcome,
                attempt.detail,
                attempt.ended_when or 0.0,
            )
        )
        if attempt.client is not None:
            self._conclude(job, settling, changes)
            return
        job.settle()
        job.chain.settling = settling
        changes.move(job)

    def _conclude(self, job: Job, settling: Settling, changes: PendingChanges) -> None:
        chain = job.chain
        if chain is None:
            return
        chain.settling = None
        self._release(job)
        chain.conclude(settling)
        self._enter(job, chain)
        job.end(settling.result.ending, settling.at)
        changes.move(job)
        self.leave(self._rows.end(job), changes)
        if job.answer is not None and job.answer.at > settling.at:
            self.learn_late(job, job.answer, changes)

    def learn_late(self, job: Job, fact: RequestAnswered, changes: PendingChanges) -> None:
        """Update a resumable job from a late result: its token is the newest."""
        is_new = job.chain is None and is_usable(fact.next_resume_token)
        is_idle = job.chain is not None and job.chain.can_resume
        if fact.result is None or job.id not in self._rows.by_id or not (is_new or is_idle):
            return
        ending = endings.of_answer(fact)
        result = self.judge(job, fact, ending)
        if result is not None:
            self._rows.wake(job)
            job.wake()
            self.end(job, result, fact.at, changes)

    # From the engine

    def restore(self, found: Iterable[Restored], newest: int, now: float, wall: float) -> ChangeSet:
        """Create rows for saved chains, with ids after `newest`."""
        changes = PendingChanges()
        for place, restored in enumerate(found, newest + 1):
            job = job_of(place, restored, now - wall)
            self._rows.by_id[job.id] = job
            self._rows.enter(job, job.request)
            if job.chain is not None:
                self._enter(job, job.chain)
            self.leave(self._rows.end(job), changes)
            changes.added.append(job.id)
        return changes.freeze()

    def note_saved(self, job: JobId, chain: int | None, obstacle: str = "") -> ChangeSet:
        """The step is saved under the id `chain`, or not because of `obstacle`.

        Only now is the job shown in its new state.
        """
        changes = PendingChanges()
        found = self._rows.by_id.get(job)
        if found is None or found.chain is None:
            return changes.freeze()
        found.chain.id, found.chain.obstacle = chain, obstacle
        changes.progressed.add(job)
        if found.chain.settling is not None:
            self._conclude(found, found.chain.settling, changes)
        return changes.freeze()

    def note_busy(self, job: JobId, text: str) -> ChangeSet:
        """Set what is being done before the next attempt; empty if that was given up."""

        def change(chain: Chain) -> None:
            chain.busy = text

        return self._change(job, change)

    def note_automatic(
        self, job: JobId, *, is_automatic: bool, next_attempt_at: float | None = None
    ) -> ChangeSet:
        """Set whether the job is resumed automatically, and when the next attempt is due."""
        found = self._rows.by_id.get(job)
        if found is None or (found.state.is_over and found.state is not JobState.RESUMABLE):
            return ChangeSet()
        found.is_automatic = is_automatic
        if found.chain is not None:
            found.chain.next_attempt_at = next_attempt_at
        return ChangeSet(progressed=frozenset({job}))

    def note_elsewhere(self, job: JobId, *, is_elsewhere: bool) -> ChangeSet:
        def change(chain: Chain) -> None:
            chain.is_elsewhere = is_elsewhere

        return self._change(job, change)

    def note_attempts(self, job: JobId, attempts: Sequence[AttemptSnapshot]) -> ChangeSet:
        """Add attempts from earlier runs of the program."""
        found = self._rows.by_id.get(job)
        is_in_flight = found is not None and not found.state.is_over

        def change(chain: Chain) -> None:
            chain.add_saved(attempts, is_in_flight=is_in_flight)

        return self._change(job, change)

    def note_reason(self, job: JobId, text: str) -> ChangeSet:
        """Set why the job is not being resumed at the moment."""

        def change(chain: Chain) -> None:
            chain.note = text

        return self._change(job, change)

    def note_claimed(self, job: JobId, token: str, attempt_count: int) -> ChangeSet:
        """Update the chain from the disk: another program may have resumed it."""
        found = self._rows.by_id.get(job)

        def change(chain: Chain) -> None:
            if found is not None:
                self._release(found)
                chain.token, chain.attempt_count = token, attempt_count
                chain.is_elsewhere = False
                self._enter(found, chain)

        return self._change(job, change)

    def expect(self, job: JobId, connection: str, request_id: object) -> None:
        """The request with this id, about to be written, is the job's next attempt."""
        found = self._rows.by_id.get(job)
        if found is not None:
            self._expected[connection, request_id] = found

    def expect_no_more(self, connection: str, request_id: object) -> None:
        """The request will never be written."""
        self._expected.pop((connection, request_id), None)

    def note_unsent(
        self, job: JobId, ending: JobEnding, began_when: float, now: float
    ) -> ChangeSet:
        """An attempt that was claimed on disk ended before its request was written."""
        changes = PendingChanges()
        found = self._resting(job)
        if found is None or found.chain is None:
            return changes.freeze()
        found.chain.attempt_count += 1
        result = chain.stopped(ending)
        ended_when = found.request.when + (now - found.request.at)
        attempt = AttemptSnapshot(
            found.chain.attempt_count,
            began_when,
            ended_when,
            result.outcome,
            detail=_detail(result),
        )
        at = found.ended_at or now
        self._rows.wake(found)
        found.wake()
        self._settle(found, Settling(result, at, attempt), changes)
        return changes.freeze()

    def note_gone(self, job: JobId, text: str, *, is_done: bool = False) -> ChangeSet:
        """Another program has completed or forgotten the chain: nothing is left to resume.

        With `is_done`, it completed the work.
        """
        changes = PendingChanges()
        found = self._resting(job)
        if found is None or found.chain is None:
            return changes.freeze()
        self._release(found)
        found.chain.expire()
        found.chain.id, found.chain.note, found.chain.busy = None, text, ""
        at = found.ended_at or 0.0
        self._rows.wake(found)
        failure = None if is_done else Failure("local", text)
        found.end(JobEnding(JobState.DONE if is_done else JobState.FAILED, failure), at)
        changes.move(found)
        self.leave(self._rows.end(found), changes)
        return changes.freeze()

    def forget(self, jobs: Iterable[JobId]) -> ChangeSet:
        """Remove the rows of ended jobs, including resumable ones."""
        changes = PendingChanges()
        self.leave(self._rows.remove(jobs, with_resting=True), changes)
        return changes.freeze()

    def leave(self, dropped: Iterable[Job], changes: PendingChanges) -> None:
        for job in dropped:
            self._release(job)
            changes.removed.append(job.id)

    def _resting(self, job: JobId) -> Job | None:
        """A job that has a token, and no attempt in flight."""
        found = self._rows.by_id.get(job)
        return found if found is not None and found.state is JobState.RESUMABLE else None

    def _change(self, job: JobId, change: Callable[[Chain], None]) -> ChangeSet:
        found = self._rows.by_id.get(job)
        if found is None or found.chain is None:
            return ChangeSet()
        change(found.chain)
        return ChangeSet(progressed=frozenset({job}))

    def _enter(self, job: Job, chain: Chain) -> None:
        """Enter the job into the table of newest tokens."""
        if chain.token is not None:
            self._by_token.setdefault((chain.key, job.first.method, chain.token), []).append(job)

    def _release(self, job: Job) -> None:
        """Remove the job from the table of newest tokens."""
        chain = job.chain
        if chain is None or chain.token is None:
            return
        key = (chain.key, job.first.method, chain.token)
        left = [other for other in self._by_token.pop(key, []) if other is not job]
        if left:
            self._by_token[key] = left


def _detail(result: AttemptOutcome) -> str:
    """Say why an attempt stopped, as text; empty if nothing went wrong."""
    failure = result.ending.failure
    if failure is None:
        return ""
    text = formatting.elide(failure.message, TEXT_LIMIT)
    return f"The server refused the token: {text}" if result.outcome == chain.REFUSED else text

"""Server requests that belong to a job: what a server asks before it continues, in both eras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import RequestAnswered, RequestMade, Side
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.messages import META
from mcp_progress_monitor.protocol.tasks import related_task
from mcp_progress_monitor.tracker import requests, violations
from mcp_progress_monitor.tracker.chain import is_usable
from mcp_progress_monitor.tracker.job_parts import JobQuestions
from mcp_progress_monitor.tracker.snapshot import JobId, JobState

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.tracker.job import Job
    from mcp_progress_monitor.tracker.rows import PendingChanges, Rows

_ANSWERS: Final = ("inputResponses", "requestState")
_OF_ROUND: Final = frozenset({*_ANSWERS, META})
_REVIEWED: Final = frozenset({JobState.RUNNING, JobState.STALLED})


def is_open_round(answer: RequestAnswered) -> bool:
    """Return whether a reply requires input before its request can be completed.

    A reply that also has a resume token is handled by that token: see `chains`.
    """
    kind = (answer.result or {}).get("resultType")
    return kind == "input_required" and not is_usable(answer.next_resume_token)


class QuestionReducer:
    """Determines which jobs wait for the user, and why."""

    def __init__(self, rows: Rows, task_job: Callable[[str, str], Job | None]) -> None:
        """Questions of the jobs in `rows`; `task_job` finds a connection's job by its task."""
        self._rows = rows
        self._task_job = task_job
        self._waiting: dict[JobId, Job] = {}
        self._unclear: dict[JobId, Job] = {}
        """Open questions to the user that any of several jobs may have caused."""

    @property
    def held_connections(self) -> set[str]:
        """The connections on which any running job may wait for the user."""
        return {question.request.connection for question in self._unclear.values()}

    @property
    def size(self) -> int:
        """The number of jobs that wait for another request, for tests of its bounds."""
        return len(self._waiting)

    # Rounds

    def take_reply(self, job: Job, reply: RequestAnswered, changes: PendingChanges) -> None:
        questions = job.questions = job.questions or JobQuestions()
        questions.require(reply)
        self._waiting[job.id] = job
        if not questions.keys and not isinstance(questions.state, str):
            job.marks.note(rules.NOTHING_REQUIRED, reply.number)
        self.review(job, reply.at, changes)

    def take_retry(self, fact: RequestMade, changes: PendingChanges) -> bool:
        """Let a request with the required input continue its job; whether it was one."""
        if not any(name in fact.params for name in _ANSWERS):
            return False
        job = self._retried_by(fact)
        if job is None or job.questions is None:
            return False
        _mark_changes(job, fact)
        for finding in fact.findings:
            job.marks.add(finding, fact.number, violations.INVALID_REQUEST)
        del self._waiting[job.id]
        job.questions.note_answers(as_object(fact.params.get("inputResponses")), fact.at)
        self._rows.go_on(job, fact, job.questions.answer(job.request.number))
        job.begin_round_trip(fact)
        self.review(job, fact.at, changes)
        changes.progressed.add(job.id)
        return True

    def _retried_by(self, fact: RequestMade) -> Job | None:
        """The job that the request continues: the oldest that matches best."""
        waiting = [
            job
            for job in self._waiting.values()
            if job.request.connection == fact.connection
            and (job.request.sender, job.request.method) == (fact.sender, fact.method)
            and _is_of(job, fact)
        ]
        return max(waiting, key=lambda job: _fit(job, fact), default=None)

    # Questions as requests

    def adopt(self, child: Job, changes: PendingChanges) -> None:
        """Put a job that the other side requested under the job that caused it."""
        fact = child.request
        self.review(child, fact.at, changes)
        parent, child.parent_is_unclear = self._cause_of(fact)
        if child.parent_is_unclear and requests.is_question(fact):
            self._unclear[child.id] = child
        if parent is None:
            return
        child.parent = parent.id
        questions = parent.questions = parent.questions or JobQuestions()
        questions.adopt(child.id)
        changes.progressed.add(parent.id)
        if requests.is_question(fact):
            questions.open[fact.number] = requests.question_text(fact.params)
            self.review(parent, fact.at, changes)

    def _cause_of(self, fact: RequestMade) -> tuple[Job | None, bool]:
        """The job on whose behalf the other side asks, and whether that is ambiguous.

        A request does not say what it is for, unless it names a task: no job is shown as needing
        the user if it may be another one.
        """
        task = related_task(fact.params)
        known = None if task is None else self._task_job(fact.connection, task)
        if known is not None and known.is_resuming and known.request.sender is not fact.sender:
            return known, False
        other = Side.SERVER if fact.sender is Side.CLIENT else Side.CLIENT
        running = [job for job in self._rows.running_of(fact.connection, other) if job.is_resuming]
        return (running[0], False) if len(running) == 1 else (None, bool(running))

    # The end of jobs

    def close(self, job: Job, at: float, changes: PendingChanges) -> None:
        """Handle the end of a job: neither it nor its parent waits any more."""
        self._waiting.pop(job.id, None)
        if self._unclear.pop(job.id, None) is not None:
            for each in self._rows.running_of(job.request.connection, Side.CLIENT):
                each.heard_at = max(each.heard_at, at)
        if job.questions is not None and job.questions.reply is not None:
            job.questions.open.pop(job.questions.reply.number, None)
            job.questions.reply = None
        parent = None if job.parent is None else self._rows.by_id.get(job.parent)
        if parent is None or parent.questions is None:
            return
        if job.request.number in parent.questions.open:
            del parent.questions.open[job.request.number]
            if parent.task is not None:
                parent.task.meet()
            changes.progressed.add(parent.id)
            self.review(parent, at, changes)

    def forget(self, job: Job) -> None:
        """Remove a job that no longer has a row from its parent and children."""
        self._waiting.pop(job.id, None)
        self._unclear.pop(job.id, None)
        for child in () if job.questions is None else job.questions.children:
            orphan = self._rows.by_id.get(child)
            if orphan is not None and orphan.parent == job.id:
                orphan.parent, orphan.parent_is_unclear = None, False
        parent = None if job.parent is None else self._rows.by_id.get(job.parent)
        if parent is not None and parent.questions is not None:
            parent.questions.children.pop(job.id, None)

    def review(self, job: Job, at: float, changes: PendingChanges) -> None:
        """Show whether a running job waits for the user. A pending cancel takes precedence."""
        job.heard_at = max(job.heard_at, at)
        if job.needs_user and job.state in _REVIEWED and not job.is_settling:
            job.state = JobState.NEEDS_YOU
            changes.move(job)
        elif job.state is JobState.NEEDS_YOU and not job.needs_user:
            job.state = JobState.RUNNING
            changes.move(job)


def _is_of(job: Job, fact: RequestMade) -> bool:
    """Return whether a request can continue a job: it has its state, or is the same."""
    questions = job.questions
    state = None if questions is None else questions.state
    has_state = state is not None and state == fact.params.get("requestState")
    return has_state or _work(job.request) == _work(fact)


def _fit(job: Job, fact: RequestMade) -> tuple[bool, bool, bool]:
    """Return how well a request matches as the next round of a job: the most important first."""
    questions = job.questions
    if questions is None:
        return False, False, False
    given = as_object(fact.params.get("inputResponses"))
    is_same_state = questions.state == fact.params.get("requestState")
    return is_same_state, _work(job.request) == _work(fact), set(given) <= questions.keys


def _work(request: RequestMade) -> bytes:
    """A request's parameters without those of one round."""
    return canonical({k: v for k, v in request.params.items() if k not in _OF_ROUND})


def _mark_changes(job: Job, fact: RequestMade) -> None:
    """Mark the violations of another round."""
    questions, sent = job.questions, fact.params
    if questions is None:
        return
    changed: list[str] = []
    if questions.state != sent.get("requestState"):
        changed.append("its state is not the one that the server sent")
    if _work(job.request) != _work(fact):
        changed.append("its parameters differ from the original request")
    if changed:
        job.marks.note(rules.ROUND_CHANGED, fact.number, tuple(changed))

"""Tasks: requests whose reply is a task become jobs that continue after the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import RequestAnswered, RequestStanding, Side
from mcp_progress_monitor.protocol.messages import (
    CANCEL_TASK,
    GET_TASK,
    META,
    NEXT_RESUME_TOKEN,
    OF_TASKS,
    TASK_RESULT,
    UPDATE_TASK,
    TaskStatus,
    is_terminal,
)
from mcp_progress_monitor.protocol.tasks import created_task, task_named_by
from mcp_progress_monitor.tracker import endings, violations
from mcp_progress_monitor.tracker.chain import INVALID_PARAMS, is_usable
from mcp_progress_monitor.tracker.job_parts import JobQuestions, JobTask
from mcp_progress_monitor.tracker.snapshot import JobId, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.protocol.facts import RequestMade, TaskStated
    from mcp_progress_monitor.tracker.cancel_grace import PendingCancels
    from mcp_progress_monitor.tracker.endings import JobEnding
    from mcp_progress_monitor.tracker.job import Job
    from mcp_progress_monitor.tracker.questions import QuestionReducer
    from mcp_progress_monitor.tracker.rows import PendingChanges, Rows

_SHOWN: Final = 60


def becomes_task(answer: RequestAnswered, request: RequestMade) -> bool:
    """Return whether a reply leaves the work of an open request to a task.

    A reply that also has a resume token is handled by that token: see `chains`.
    """
    return (
        answer.result is not None
        and answer.standing is RequestStanding.ACTIVE
        and not request.method.startswith(OF_TASKS)
        and not is_usable(answer.next_resume_token)
        and created_task(answer.result) is not None
    )


class TaskIndex:
    """The jobs that have become tasks, by server, the side that made the request, and task id.

    Either side may run tasks for the other, and chooses their ids alone.
    """

    def __init__(self, key_of: Callable[[str], str]) -> None:
        """`key_of` returns a connection's server identity, whatever its name."""
        self.key_of = key_of
        self._by_id: dict[tuple[str, Side, str], Job] = {}

    def of(self, connection: str, task: str, asker: Side = Side.CLIENT) -> Job | None:
        return self._by_id.get((self.key_of(connection), asker, task))

    def enter(self, job: Job, task: JobTask, key: str) -> None:
        self.leave(job)
        job.task = task
        task.key = key
        self._by_id[key, job.request.sender, task.id] = job

    def leave(self, job: Job) -> None:
        if job.task is None:
            return
        key = (job.task.key, job.request.sender, job.task.id)
        if self._by_id.get(key) is job:
            del self._by_id[key]


class TaskReducer:
    """Applies requests and statements about tasks to their jobs."""

    def __init__(
        self,
        rows: Rows,
        index: TaskIndex,
        questions: QuestionReducer,
        cancels: PendingCancels,
        finish: Callable[[Job, JobEnding, float, PendingChanges], None],
        keep_answer: Callable[[Job, PendingChanges], None],
        saves: Callable[[str], bool],
    ) -> None:
        """Tasks of the jobs in `rows`, which `index` finds.

        `finish` ends a job, `keep_answer` accounts for a reply after its end. On connections for
        which `saves` is true, a new task is saved before it is shown: see `note_saved`.
        """
        self._saves = saves
        self._rows = rows
        self._index = index
        self._questions = questions
        self._cancels = cancels
        self._finish = finish
        self._keep_answer = keep_answer
        self._awaiting: dict[int, JobTask] = {}  # by the number of an open request for its result

    # Requests about tasks

    def take_request(self, fact: RequestMade, changes: PendingChanges) -> None:
        name = task_named_by(fact.method, fact.params)
        job = None if name is None else self._index.of(fact.connection, name, fact.sender)
        if job is None or job.task is None:
            return
        changes.progressed.add(job.id)
        job.task.heard_at = fact.at
        if fact.method == TASK_RESULT:
            self._awaiting[fact.number] = job.task
            job.task.awaited_by = fact.number
        elif fact.method == CANCEL_TASK:
            self._take_cancel(job, fact, changes)
        elif fact.method == UPDATE_TASK:
            answers = as_object(fact.params.get("inputResponses"))
            job.task.answer(answers)
            if job.questions is not None:
                job.questions.note_answers(answers, fact.at)
            self._questions.review(job, fact.at, changes)

    def _take_cancel(self, job: Job, fact: RequestMade, changes: PendingChanges) -> None:
        if job.is_resuming:
            job.is_cancel_sent = True
            self._cancels.begin(job, fact.at, None, changes)
            return
        job.marks.note(rules.CANCEL_OF_FINISHED, fact.number)

    # Statements about tasks

    def take(self, fact: TaskStated, job: Job, changes: PendingChanges) -> None:
        """Apply a message's statement about a task to its job."""
        key = self._index.key_of(fact.connection)
        is_begin = fact.how == "created" and fact.standing is RequestStanding.ACTIVE
        if is_begin or job.task is None:
            began_at = fact.at if fact.how == "created" else None
            task = JobTask(fact.task, began_at)
            is_ours = job.request.sender is Side.CLIENT
            task.is_saving = is_ours and is_begin and self._saves(fact.connection)
            self._index.enter(job, task, key)
            _mark_unasked(job, fact)
        changes.progressed.add(job.id)
        self.note_given_up(fact.reply_to)
        for finding in fact.findings:
            job.marks.add(finding, fact.number, violations.TASK)
        if job.task is not None and fact.standing is RequestStanding.ACTIVE:
            self._take(fact, job, job.task, changes)
        elif job.task is not None and not job.is_resuming:
            job.task.take(fact)  # a task made of a request that was given up: only shown

    def find(self, fact: TaskStated) -> Job | None:
        """The job of a statement: by the request that began it, else by its id.

        A server may have used the same id before it was restarted: the creation time has to match,
        too.
        """
        begun = self._rows.of_request(fact.request)
        if begun is not None and (fact.how == "created" or _is_task(begun, fact)):
            return begun
        asker = Side.CLIENT if fact.sender is Side.SERVER else Side.SERVER
        known = self._index.of(fact.connection, fact.task.id, asker)
        return known if known is not None and _is_task(known, fact) else None

    def _take(self, fact: TaskStated, job: Job, task: JobTask, changes: PendingChanges) -> None:
        before = task.status
        has_changed = task.take(fact)
        for reused in task.reused:
            job.marks.note(rules.KEY_REUSED, fact.number, _shown(reused))
        if fact.input_requests:
            job.questions = job.questions or JobQuestions()
            job.questions.note_of_task(fact, task.reused)
        if task.message is not None and (task.is_flat or not job.tick_count):
            job.message = task.message  # progress is not for tasks of the extension
        if fact.how == "cancel":
            self._take_cancel_reply(fact, job, task, changes)
        if not fact.task.status:
            self._take_reply(fact, job, task, changes)
        elif before != fact.task.status and is_terminal(before):
            status = _shown(fact.task.status)
            job.marks.note(rules.STATUS_AFTER_FINAL, fact.number, before, status)
        else:
            self._take_status(fact, job, task, changes, has_changed=has_changed)

    def _take_status(
        self,
        fact: TaskStated,
        job: Job,
        task: JobTask,
        changes: PendingChanges,
        *,
        has_changed: bool,
    ) -> None:
        """Apply a valid status to the job."""
        self._mark_contents(fact, job, task)
        if job.state is JobState.LOST:
            self._find_again(fact, job, changes)
        if job.is_settling or job.state is JobState.RESUMABLE:
            return
        if job.is_resuming:
            self._follow(fact, job)
        if not job.is_resuming:
            self._take_late_status(fact, job, task, changes)
        elif task.is_over:
            self._end(fact, job, task, changes)
        elif has_changed:
            self._questions.review(job, fact.at, changes)

    def _find_again(self, fact: TaskStated, job: Job, changes: PendingChanges) -> None:
        """Continue a task that was considered lost: its server still knows it."""
        self._rows.wake(job)
        job.wake()
        changes.move(job)
        self._follow(fact, job)

    def _follow(self, fact: TaskStated, job: Job) -> None:
        """Follow a task over another connection from now on.

        The request that asks for it there becomes the job's own: later log entries of the job refer
        to it. A task that is followed here does not become another client's again.
        """
        if job.request.connection == fact.connection or job.task is None:
            return
        if self._saves(job.request.connection) and not self._saves(fact.connection):
            return
        self._index.leave(job)
        before = job.request.number
        number = before if fact.reply_to is None else fact.reply_to
        request = job.request._replace(connection=fact.connection, number=number)
        if number != before:
            self._rows.go_on(job, request, None if before == job.first.number else before)
        job.follow(request, fact.at)
        self._index.enter(job, job.task, self._index.key_of(fact.connection))

    def _take_late_status(
        self, fact: TaskStated, job: Job, task: JobTask, changes: PendingChanges
    ) -> None:
        """Handle a status that arrives after the job's end."""
        if not task.is_over:
            status, state = _shown(task.status), job.state.value
            job.marks.note(rules.STATUS_AFTER_END, fact.number, status, state)
        elif job.answer is None and (fact.result is not None or fact.error is not None):
            self._take_result(fact, job, task, changes)

    def _end(self, fact: TaskStated, job: Job, task: JobTask, changes: PendingChanges) -> None:
        """End a job with its task; a result that says more counts as well."""
        reason = None if job.cancel_at is None else job.cancel_reason or "Cancelled"
        ending = endings.of_task(task, reason)
        if task.is_flat and (fact.result is not None or fact.error is not None):
            job.answer = _answer_of(fact, job)
            ended = endings.of_answer(job.answer)
            ending = ended if ending.state in {JobState.DONE, ended.state} else ending
        self._finish(job, ending, fact.at, changes)

    def _mark_contents(self, fact: TaskStated, job: Job, task: JobTask) -> None:
        """Mark members of an extension task that contradict its status, or are missing."""
        has_result, has_error = fact.result is not None, fact.error is not None
        if (has_result or has_error) and not task.is_over:
            job.marks.note(rules.RESULT_TOO_EARLY, fact.number, _shown(task.status))
        elif task.is_flat and fact.how == "get":
            is_completed, is_failed = (
                task.status == status for status in (TaskStatus.COMPLETED, TaskStatus.FAILED)
            )
            if (is_completed and not has_result) or (is_failed and not has_error):
                missing = "result" if is_completed else "error"
                job.marks.note(rules.RESULT_MISSING, fact.number, task.status, missing)

    # Replies without a status

    def _take_reply(
        self, fact: TaskStated, job: Job, task: JobTask, changes: PendingChanges
    ) -> None:
        if fact.how == "result" and fact.result is not None:
            self._take_result(fact, job, task, changes)
        elif fact.error is not None:
            self._take_error(fact, job, task, fact.error, changes)

    def _take_result(
        self, fact: TaskStated, job: Job, task: JobTask, changes: PendingChanges
    ) -> None:
        """Handle the result of the work: it is the job's answer, and may end it."""
        if job.state is JobState.LOST:
            self._find_again(fact, job, changes)
        if job.is_settling:
            return
        if job.answer is not None:
            job.marks.note(rules.DUPLICATE_RESULT, fact.number)
            return
        job.answer = _answer_of(fact, job)
        _mark_resume_token(job, fact)
        ending = endings.of_answer(job.answer)
        if job.is_resuming:
            self._finish(job, ending, fact.at, changes)
        else:
            self._keep_result(fact, job, task, ending, changes)

    def _keep_result(
        self, fact: TaskStated, job: Job, task: JobTask, ending: JobEnding, changes: PendingChanges
    ) -> None:
        """Give an ended job its missing answer; its state follows if that says more."""
        self._keep_answer(job, changes)
        if task.status == TaskStatus.COMPLETED and ending.state is JobState.FAILED:
            job.marks.note(rules.RESULT_IS_ERROR, fact.number)
        is_reported = job.state in {JobState.DONE, JobState.FAILED}
        if is_reported and ending.state is JobState.FAILED:
            job.state, job.failure = ending.state, ending.failure
            changes.move(job)
        elif not is_reported:
            job.marks.note(rules.LATE_RESULT, fact.number, job.state.value)

    def _take_error(
        self,
        fact: TaskStated,
        job: Job,
        task: JobTask,
        error: dict[str, Any],
        changes: PendingChanges,
    ) -> None:
        """Handle an error reply about the task; that to `tasks/result` may be its outcome."""
        failure = endings.failure_of_error(fact.sender, error)
        is_refusal = failure.code == INVALID_PARAMS
        if fact.how == "result" and (task.is_over or not is_refusal):
            self._take_failed_result(fact, job, changes)
            return
        if job.is_resuming or fact.how != "get":
            method = _METHODS.get(fact.how, fact.how)
            job.marks.note(rules.TASK_REFUSED, fact.number, method, failure.message)
        if fact.how == "get" and is_refusal and job.is_resuming:
            ending = endings.of_forgotten_task(task, error, fact.at, job.first.at)
            self._finish(job, ending, fact.at, changes)

    def _take_failed_result(self, fact: TaskStated, job: Job, changes: PendingChanges) -> None:
        if job.is_resuming and job.cancel_at is not None:
            job.answer = _answer_of(fact, job)
            self._finish(job, endings.of_cancel(job.answer, job.cancel_reason), fact.at, changes)
        elif job.task is not None:
            self._take_result(fact, job, job.task, changes)

    def _take_cancel_reply(
        self, fact: TaskStated, job: Job, task: JobTask, changes: PendingChanges
    ) -> None:
        """Handle the reply to `tasks/cancel`: it ends the wait for that, not for the task."""
        if job.state is not JobState.CANCELLING or task.is_over:
            return
        job.cancel_due_at = None
        if fact.error is not None and not fact.task.status:
            job.state = JobState.RUNNING
            changes.move(job)
            self._questions.review(job, fact.at, changes)
        elif fact.task.status and not task.is_flat:
            job.marks.note(rules.STATUS_OF_CANCEL, fact.number, _shown(task.status))

    # Events of jobs

    def note_given_up(self, request: int | None) -> None:
        """A request is no longer open; if it was for a task's result, stop waiting for that."""
        task = None if request is None else self._awaiting.pop(request, None)
        if task is not None and task.awaited_by == request:
            task.awaited_by = None

    def note_saved(self, job: JobId) -> bool:
        """Show a task that was saved, or cannot be; whether it was hidden before."""
        found = self._rows.by_id.get(job)
        if found is None or found.task is None or not found.task.is_saving:
            return False
        found.task.is_saving = False
        return True

    def lose(self, jobs: Iterable[Job]) -> None:
        """The connection of these jobs is closed: nobody follows their tasks."""
        for job in jobs:
            if job.task is not None:
                job.task.is_followed = False
                self.note_given_up(job.task.awaited_by)

    def expired(self, now: float) -> list[Job]:
        """Running jobs whose task nobody follows and whose time to live has expired."""
        return [
            job
            for job in self._rows.running.values()
            if job.task is not None
            and not job.task.is_followed
            and (job.task.expires_at or now + 1) <= now
        ]


_METHODS: Final = {
    "get": GET_TASK,
    "cancel": CANCEL_TASK,
    "update": UPDATE_TASK,
    "result": TASK_RESULT,
}


def _is_task(job: Job, fact: TaskStated) -> bool:
    """Return whether a statement is about a job's task: same id, and created at the same time."""
    task = job.task
    if task is None or task.id != fact.task.id:
        return False
    created = fact.task.created
    is_same_connection = job.request.connection == fact.connection
    return is_same_connection or created is None or task.created in {None, created}


def _mark_unasked(job: Job, fact: TaskStated) -> None:
    if fact.how == "created" and not fact.task.is_flat and "task" not in job.request.params:
        job.marks.note(rules.TASK_UNASKED, fact.number)


def _mark_resume_token(job: Job, fact: TaskStated) -> None:
    token = as_object((fact.result or {}).get(META)).get(NEXT_RESUME_TOKEN)
    if token is not None:
        job.marks.note(rules.TOKEN_OF_TASK, fact.number)


def _answer_of(fact: TaskStated, job: Job) -> RequestAnswered:
    """The outcome of the work, as if it were the reply to the job's request."""
    number, connection, at, when, sender = fact[:5]
    result, error = (None, fact.error) if fact.result is None else (fact.result, None)
    request = job.request
    return RequestAnswered(
        number,
        connection,
        at,
        when,
        sender,
        request.id,
        request.number,
        RequestStanding.ACTIVE,
        result,
        error, None, fact.size, (),
    )  # fmt: skip


def _shown(status: str) -> str:
    return one_line(status, _SHOWN) or "no status"

"""The `--json` events of questions and tasks: what a server asks, how a task stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.cli.event_lines import event_line
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.protocol.facts import RequestAnswered, TaskStated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_progress_monitor.cli.words import Snapshots
    from mcp_progress_monitor.monitor import Update
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.tracker.snapshot import JobId

_INTERIM: Final = "input_required"


def question_line(question: Question, job: JobId | None, seconds: str) -> str:
    """What a server asks; `job` is the call that made it ask."""
    return event_line(
        "question",
        seconds,
        job=as_json(job),
        method=as_json(question.method),
        params=as_json(question.params),
        question=as_json(question.id),
        key=as_json(question.key),
        kind=as_json(question.kind),
        problem=as_json(question.problem or None),
    )


def answered_line(
    question: Question, job: JobId | None, action: str, words: str, seconds: str
) -> str:
    """How a question was answered, and why so."""
    return event_line(
        "answered",
        seconds,
        job=as_json(job),
        question=as_json(question.id),
        action=as_json(action),
        text=as_json(words),
    )


def asking_job(question: Question, book: Snapshots) -> JobId | None:
    """The call that a question belongs to: a request of the server is a job of its own below it."""
    job = None if question.job is None else book.snapshot(question.job)
    if job is None:
        return question.job
    return job.id if job.parent is None else job.parent


class TaskEvents:
    """Tells each change of a task's status or its words, however often they are stated."""

    def __init__(self, book: Snapshots) -> None:
        """Look jobs up in `book`."""
        self._book = book
        self._told: dict[JobId, tuple[str, str | None]] = {}

    def is_task(self, job: JobId | None) -> bool:
        """Whether a task was told of for the job."""
        return job in self._told

    def line(self, fact: TaskStated, update: Update, job: JobId | None, seconds: str) -> str:
        """The event of a statement; empty where it is nobody's, or says nothing new.

        `job` is that of the request which began the task, None when another connection had it.
        """
        job = self._job(fact, update) if job is None else job
        said = fact.task.status, fact.task.message
        if job is None or not fact.task.status or self._told.get(job) == said:
            return ""
        self._told[job] = said
        return event_line(
            "task",
            seconds,
            job=as_json(job),
            taskId=as_json(fact.task.id),
            status=as_json(fact.task.status),
            statusMessage=as_json(fact.task.message),
        )

    def _job(self, fact: TaskStated, update: Update) -> JobId | None:
        """The job whose task it is, among those that the update changed."""
        for job in (*update.changes.added, *update.changes.progressed):
            snapshot = self._book.snapshot(job)
            task = None if snapshot is None else snapshot.task
            if task is not None and task.id == fact.task.id:
                return job
        return None


def interim(facts: Iterable[Fact]) -> Iterator[int]:
    """The numbers of replies after which their call goes on, or that are about a task."""
    for fact in facts:
        if type(fact) is TaskStated or _requires_input(fact):
            yield fact.number


def _requires_input(fact: Fact) -> bool:
    result = fact.result if type(fact) is RequestAnswered else None
    return result is not None and result.get("resultType") == _INTERIM

"""A task in words: what its server says of it, how that was learnt, how long it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import is_left_at_server, line, moment, task_left, tr
from mcp_progress_monitor.protocol.task_state import TaskStatus, is_terminal
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobSnapshot, TaskPicture, TaskStep

TITLES: Final = tuple(
    str(title)
    for title in (
        QT_TRANSLATE_NOOP("Jobs", "Status"),
        QT_TRANSLATE_NOOP("Jobs", "Message"),
        QT_TRANSLATE_NOOP("Jobs", "Since"),
        QT_TRANSLATE_NOOP("Jobs", "Learnt from"),
    )
)
TEXT_COLUMNS: Final = (0, 1, 2, 3)
_STATUSES: Final = {
    TaskStatus.WORKING: QT_TRANSLATE_NOOP("Jobs", "Working"),
    TaskStatus.INPUT_REQUIRED: QT_TRANSLATE_NOOP("Jobs", "Waiting for input"),
    TaskStatus.COMPLETED: QT_TRANSLATE_NOOP("Jobs", "Completed"),
    TaskStatus.FAILED: QT_TRANSLATE_NOOP("Jobs", "Failed"),
    TaskStatus.CANCELLED: QT_TRANSLATE_NOOP("Jobs", "Cancelled"),
}
_WAYS: Final = {
    "created": QT_TRANSLATE_NOOP("Jobs", "the reply that made it a task"),
    "status": QT_TRANSLATE_NOOP("Jobs", "a notification"),
    "get": QT_TRANSLATE_NOOP("Jobs", "tasks/get"),
    "list": QT_TRANSLATE_NOOP("Jobs", "tasks/list"),
    "cancel": QT_TRANSLATE_NOOP("Jobs", "the reply to tasks/cancel"),
    "update": QT_TRANSLATE_NOOP("Jobs", "the reply to tasks/update"),
    "result": QT_TRANSLATE_NOOP("Jobs", "the reply to tasks/result"),
    "saved": QT_TRANSLATE_NOOP("Jobs", "what an earlier run saved"),
}


def status_word(status: str) -> str:
    """A status in the user's language; one that the protocol does not know, as received."""
    known = _STATUSES.get(status)  # type: ignore[call-overload]  # a StrEnum is its word
    return tr(str(known)) if known is not None else line(status) or tr("no status")


def how_word(how: str) -> str:
    """What kind of message told of a state."""
    known = _WAYS.get(how)
    return tr(str(known)) if known is not None else line(how)


def row(step: TaskStep, job: JobSnapshot) -> tuple[str, ...]:
    """The words of one change, in the order of `TITLES`."""
    when = job.started_when + step.at - job.started_at
    return status_word(step.status), line(step.message or ""), moment(when), how_word(step.how)


def standing(job: JobSnapshot, task: TaskPicture) -> str:
    """`"Working · counting files"`, and what became of a cancel that its server was asked for."""
    parts = [status_word(task.status)]
    if job.state is JobState.CANCELLING and not is_terminal(task.status):
        parts.append(tr("asked to stop, still working"))
    if is_left_at_server(job):
        parts.append(tr("left at its server: it is picked up when that is connected"))
    parts.append(line(task.message or ""))
    return " · ".join(part for part in parts if part)


def numbers(detail: JobDetail, task: TaskPicture) -> str:
    """How long it is kept, how often it is asked for, rounds of input: in one line."""
    job = detail.snapshot
    parts = (
        kept(job, task),
        interval(task),
        polls(job, task),
        rounds(detail.rounds),
    )
    return " · ".join(part for part in parts if part)


def kept(job: JobSnapshot, task: TaskPicture) -> str:
    """`"kept 4 min 12 s more"`, by the second; when that ends of a job that is over."""
    left = task_left(job)
    if not left or task.expires_at is None:
        return tr("kept without a known limit")
    if job.state.is_over and task.ttl_left_s:
        when = job.started_when + task.expires_at - job.started_at
        return tr("kept until {}").format(moment(when).partition(".")[0])
    return left


def interval(task: TaskPicture) -> str:
    """How often the server wants to be asked."""
    if task.poll_ms is None:
        return tr("no poll interval stated")
    return tr("to be polled every {}").format(text.duration(min(task.poll_ms, 1e15) / 1000))


def polls(job: JobSnapshot, task: TaskPicture) -> str:
    """`"polled 12 times, the last 2 s ago"`."""
    if not task.poll_count:
        return tr("not polled yet") if not job.state.is_over else tr("never polled")
    often = tr("polled {} times").format(text.number(task.poll_count))
    if task.poll_count == 1:
        often = tr("polled once")
    if task.polled_s is None or job.state.is_over:
        return often
    return f"{often}, {tr('last {}').format(text.ago(task.polled_s))}"


def rounds(count: int) -> str:
    """How often input was required, nothing for never."""
    return text.count(count, tr("round of input"), tr("rounds of input")) if count else ""

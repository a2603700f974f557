"""A task as text: its status, the source of the status, and how long the task is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.facts import TaskStatus, is_terminal
from mcp_progress_monitor.protocol.messages import GET_TASK, LIST_TASKS
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording.jobs import (
    CANCEL_REQUESTED,
    is_left_at_server,
    line,
    moment,
    task_left,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobSnapshot, TaskSnapshot, TaskStep

TITLES: Final = ("Status", "Message", "Since", "Source")
_STATUSES: Final = {
    TaskStatus.WORKING: "Working",
    TaskStatus.INPUT_REQUIRED: "Input required",
    TaskStatus.COMPLETED: "Completed",
    TaskStatus.FAILED: "Failed",
    TaskStatus.CANCELLED: "Cancelled",
}
_SOURCES: Final = {
    "created": "the reply that created it",
    "status": "a notification",
    "get": GET_TASK,
    "list": LIST_TASKS,
    "cancel": "the reply to tasks/cancel",
    "update": "the reply to tasks/update",
    "result": "the reply to tasks/result",
    "saved": "saved by an earlier run",
}


def status_text(status: str) -> str:
    """A status; as received if the protocol does not define it."""
    known = _STATUSES.get(status)  # type: ignore[call-overload]  # a StrEnum is a string
    return known if known is not None else line(status) or "no status"


def status_source(how: str) -> str:
    return _SOURCES.get(how) or line(how)


def row(step: TaskStep, job: JobSnapshot) -> tuple[str, ...]:
    """The texts of one change, in the order of `TITLES`."""
    when = job.started_when + step.at - job.started_at
    return status_text(step.status), line(step.message or ""), moment(when), status_source(step.how)


def standing(job: JobSnapshot, task: TaskSnapshot) -> str:
    """`"Working · counting files"`, and the state of a requested cancel."""
    parts = [status_text(task.status)]
    if job.state is JobState.CANCELLING and not is_terminal(task.status):
        parts.append(CANCEL_REQUESTED)
    if is_left_at_server(job):
        parts.append("left on its server, followed again when the server is connected")
    parts.append(line(task.message or ""))
    return " · ".join(part for part in parts if part)


def numbers(detail: JobDetail, task: TaskSnapshot) -> str:
    """Time to live, polling, and rounds of input, in one line."""
    job = detail.snapshot
    parts = (kept(job, task), interval(task), polls(job, task), round_trips(detail.round_trips))
    return " · ".join(part for part in parts if part)


def kept(job: JobSnapshot, task: TaskSnapshot) -> str:
    """`"kept for 4 min 12 s more"`, or the time of expiry for a job that is over."""
    left = task_left(job)
    if not left or task.expires_at is None:
        return "kept without a known limit"
    if job.state.is_over and task.ttl_left_s:
        when = job.started_when + task.expires_at - job.started_at
        return "kept until {}".format(moment(when).partition(".")[0])
    return left


def interval(task: TaskSnapshot) -> str:
    if task.poll_ms is None:
        return "no poll interval"
    return f"poll every {formatting.duration(min(task.poll_ms, 1e15) / 1000)}"


def polls(job: JobSnapshot, task: TaskSnapshot) -> str:
    """`"polled 12 times, the last 2 s ago"`."""
    if not task.poll_count:
        return "not polled yet" if not job.state.is_over else "never polled"
    is_single = task.poll_count == 1
    often = "polled once" if is_single else f"polled {formatting.number(task.poll_count)} times"
    if task.polled_s is None or job.state.is_over:
        return often
    return f"{often}, last {formatting.ago(task.polled_s)}"


def round_trips(count: int) -> str:
    """`"2 rounds of input"`; empty for none."""
    return formatting.count(count, "round of input", "rounds of input") if count else ""

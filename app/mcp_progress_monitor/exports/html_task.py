"""The task that a job has become, as a section of its report: what was stated of it, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, facts, joined, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobSnapshot, TaskPicture, TaskStep

_TITLES: Final = ("Status", "Message", "After", "Learnt from", "No.")
_WAYS: Final = {
    "created": "the reply that made it a task",
    "status": "a notification",
    "get": "tasks/get",
    "list": "tasks/list",
    "cancel": "the reply to tasks/cancel",
    "update": "the reply to tasks/update",
    "result": "the reply to tasks/result",
    "saved": "what an earlier run saved",
}


def task_course(detail: JobDetail, words: Words) -> Html:
    """What is known of the task, and its course; nothing of a job that is none."""
    job, task = detail.snapshot, detail.snapshot.task
    if task is None:
        return Html("")
    known = facts(_facts(detail, task, words))
    rows = [_row(step, job, words) for step in detail.task_course]
    return joined((known, table(_TITLES, rows, numbers=(2, 4)) if rows else ""))


def _facts(detail: JobDetail, task: TaskPicture, words: Words) -> Iterator[tuple[str, str]]:
    job = detail.snapshot
    yield "Task", words.line(task.id)
    yield "Its status", words.line(task.status) or "none"
    yield "Created", words.line(task.created or "")
    if task.expires_at is not None:
        kept_s = max(task.expires_at - job.started_at, 0.0)
        yield "Kept until", f"{text.duration(kept_s)} after the start"
    if task.poll_ms is not None:
        yield "To be polled every", text.duration(min(task.poll_ms, 1e15) / 1000)
    yield "Polled", text.count(task.poll_count, "time")
    if detail.rounds:
        yield "Rounds of input", text.number(detail.rounds)
    if not task.is_followed and not job.state.is_over:
        yield "Followed", "no: it was left at its server"


def _row(step: TaskStep, job: JobSnapshot, words: Words) -> Sequence[str]:
    after = text.duration(max(step.at - job.started_at, 0.0))
    number = "" if step.number is None else text.number(step.number)
    said = words.line(step.message) if step.message else Html("")
    return (
        words.line(step.status) or "(none)",
        said,
        after,
        _WAYS.get(step.how) or words.line(step.how),
        number,
    )

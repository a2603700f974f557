"""What becomes of tasks, in lines for people: each change of their status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.cli import words
from mcp_progress_monitor.protocol.facts import TaskStated
from mcp_progress_monitor.protocol.task_state import is_terminal
from mcp_progress_monitor.text import one_line
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.cli.words import Label, Snapshots
    from mcp_progress_monitor.monitor import Update
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot, TaskPicture

_NAME = 60


class TaskLines:
    """Remembers what was told of each task, so that looking again and again tells nothing."""

    def __init__(self, book: Snapshots, numbers: Mapping[JobId, Label] | None = None) -> None:
        """`numbers` tell jobs apart, as `cli.words` has it; None where there is but one."""
        self._book = book
        self._numbers = numbers
        self._told: dict[JobId, str] = {}
        self._stubborn: set[JobId] = set()

    def lines(self, update: Update) -> Iterator[str]:
        """What is new, each in a line that is safe to print."""
        stated = {fact.task.id for fact in update.facts if type(fact) is TaskStated}
        for job in sorted({*update.changes.progressed, *update.changes.added}):
            snapshot = self._book.snapshot(job)
            task = None if snapshot is None else snapshot.task
            if snapshot is not None and task is not None and task.is_followed:
                yield from self._of_job(snapshot, task, is_stated=task.id in stated)

    def _of_job(self, job: JobSnapshot, task: TaskPicture, *, is_stated: bool) -> Iterator[str]:
        number = None if self._numbers is None else self._numbers.get(job.id, job.id)
        name = words.name(job, number)
        if self._told.get(job.id) != task.status:
            is_first = job.id not in self._told
            self._told[job.id] = task.status
            of = f"task {one_line(task.id, _NAME)}: " if is_first else "task: "
            yield f"{name}: {of}{_status(task.status)}{_message(task.message)}"
        is_working = job.state is JobState.CANCELLING and not is_terminal(task.status)
        is_asked = is_stated and job.cancel_state == "sent"
        if is_working and is_asked and job.id not in self._stubborn:
            self._stubborn.add(job.id)
            yield f"{name}: {words.ASKED_TO_STOP}"


def _status(status: str) -> str:
    return one_line(status.replace("_", " "), _NAME)


def _message(message: str | None) -> str:
    return f" ({one_line(message)})" if message else ""

"""Chains and tasks that were found on disk, as rows: jobs of an earlier run of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.protocol.facts import RequestMade, Side
from mcp_progress_monitor.tracker import verdicts
from mcp_progress_monitor.tracker.chain import Chain, Restored
from mcp_progress_monitor.tracker.endings import Ending
from mcp_progress_monitor.tracker.job import Job
from mcp_progress_monitor.tracker.snapshot import Failure, JobId, JobState, TaskStep
from mcp_progress_monitor.tracker.task import Task

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.task_state import TaskView


class RestoredTask(NamedTuple):
    """A task as it was found on disk, not known to be over. Times are wall seconds.

    `key` is its server's identity; `began_when` the time of the reply that made it a task.
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
    """A running row for a task from the disk, of which nobody hears yet; `offset` as in `job_of`.

    It is not entered anywhere.
    """
    made = Job(job, _request(job, restored, offset))
    task = made.task = Task(restored.view, restored.began_when + offset)
    view = restored.view
    task.status, task.message = view.status, view.message
    task.ttl_ms, task.poll_ms = view.ttl_ms, view.poll_ms
    task.is_followed = False
    made.message = view.message
    _take_progress(made, restored)
    task.steps.append(TaskStep(view.status, view.message, restored.began_when + offset, "saved"))
    return made


def _request(job: JobId, restored: Restored | RestoredTask, offset: float) -> RequestMade:
    """The request of an earlier run of the program. It is in no log of this one: it is below 0."""
    meta = restored.params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
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
    """A row for a chain from the disk; `offset` is added to wall times to make monotonic ones."""
    made = Job(job, _request(job, restored, offset))
    _take_progress(made, restored)
    made.message = restored.message
    chain = made.chain = Chain(restored.key)
    chain.id, chain.token, chain.token_when = restored.id, restored.token, restored.updated_when
    chain.note, chain.is_elsewhere = restored.reason, restored.is_elsewhere
    chain.attempt_count = restored.attempt_count
    made.end(_resting_or_refused(restored), restored.updated_when + offset)
    return made


def _resting_or_refused(restored: Restored) -> Ending:
    if restored.token is not None:
        return Ending(JobState.RESUMABLE)
    return Ending(JobState.FAILED, Failure("server", restored.reason, verdicts.INVALID_PARAMS))


def _take_progress(job: Job, restored: Restored | RestoredTask) -> None:
    if restored.progress is not None:
        job.progress = restored.progress
    job.total = job.known_total = restored.total

"""A job in a few words for the terminal; all of them safe to print."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mcp_progress_monitor import text
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

Label: TypeAlias = int | str
"""What tells jobs apart for the user: a number, or `t` and the number of a saved task."""
NAME_LENGTH = 40
NUMBERS: Mapping[JobId, Label] = MappingProxyType({})
"""What stands for which job instead of its own number: nothing, unless somebody says so."""
ASKED_TO_STOP = "asked to stop, still working"
_SILENCE_WORTH_TELLING_S = 5.0


class Snapshots(Protocol):
    """Where jobs are looked up; `monitor.Monitor` fits."""

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """The job now."""


def name(job: JobSnapshot, number: Label | None = None) -> str:
    """The tool's name, with a number where several jobs run at once."""
    short = text.one_line(job.name, NAME_LENGTH)
    return short if number is None else f"{short} #{number}"


def amount(job: JobSnapshot) -> str:
    """How far: `632 / 1,000  63.2 %`, `4,812`, or nothing before the first tick."""
    known = text.amount(job.progress, job.total)
    return f"{known}  {text.percent(job.fraction)}" if job.fraction is not None else known


def pace(job: JobSnapshot) -> str:
    """How fast and how long: `12/s  31 s left`; once over, `done in 3.2 s, 812 ticks`.

    Both tell which attempt it is of a job that was resumed.
    """
    if job.state.is_over:
        return _end(job)
    is_wanted = job.state is not JobState.CANCELLING
    parts = [
        f"attempt {job.attempt_count}" if job.attempt_count > 1 else "",
        state(job) if job.state is not JobState.RUNNING else "",
        text.rate(job.rate) if is_wanted and job.rate is not None else "",
        text.time_left(job.eta_s) if is_wanted and job.eta_s is not None else "",
        text.last_tick(job.silent_s) if job.silent_s >= _SILENCE_WORTH_TELLING_S else "",
    ]
    return "  ".join(part for part in parts if part)


def state(job: JobSnapshot) -> str:
    """The state in words; a task that was asked to stop decides itself when it does."""
    if job.state is JobState.CANCELLING and job.task is not None:
        return ASKED_TO_STOP
    return job.state.value


def _end(job: JobSnapshot) -> str:
    """How it ended, or stopped: a resumable job may go on by itself."""
    preposition = "after" if job.state is JobState.RESUMABLE else "in"
    state = f"{job.state.value.lower()} {preposition} {text.duration(job.elapsed_s)}"
    parts = [state, text.count(job.tick_count, "tick")]
    if job.attempt_count > 1:
        parts.append(text.count(job.attempt_count, "attempt"))
    if job.next_attempt_at is not None:
        parts.append(f"attempt {job.attempt_count + 1} follows")
    return ", ".join(parts)


def message(job: JobSnapshot) -> str:
    """The newest message, on one line; that of the task where progress has none."""
    of_task = None if job.task is None else job.task.message
    newest = of_task if job.message is None else job.message
    return "" if newest is None else text.one_line(newest)


def line(job: JobSnapshot, number: Label | None = None) -> str:
    """All of that in one line."""
    parts = (amount(job), pace(job), "" if job.state.is_over else message(job))
    return f"{name(job, number)}: {'  '.join(part for part in parts if part)}"


def log_line(level: object, logger: object, data: Any) -> str:
    """A server's log message: `warning db: slow query`."""
    words = data if isinstance(data, str) else text.summary({"data": data}, 400)
    source = f"{level} {logger}" if isinstance(logger, str) else str(level)
    return f"{text.one_line(source, 60)}: {text.one_line(words, 2000)}"

"""Jobs, tasks and violations as short text for the terminal, safe to print."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.output.stdout import as_json
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import joined, texts
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.facts import Side, TaskStated
from mcp_progress_monitor.protocol.messages import is_terminal
from mcp_progress_monitor.tracker import violations
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.jobs import CANCEL_REQUESTED
from mcp_progress_monitor.wording.statuses import status_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestAnswered
    from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobSnapshot, TaskSnapshot
    from mcp_progress_monitor.tracker.tracker import Jobs

Label: TypeAlias = int | str
"""A job's number for the user: a number, or `t` and the number of a saved task."""
NAME_LENGTH = 40
NUMBERS: Mapping[JobId, Label] = MappingProxyType({})
"""Labels that replace jobs' own numbers; none by default."""
_REPORTED_SILENCE_S = 5.0


def name(job: JobSnapshot, number: Label | None = None) -> str:
    """The tool's name, with a number where several jobs run at once."""
    short = formatting.one_line(job.name, NAME_LENGTH)
    return short if number is None else f"{short} #{number}"


def pace(job: JobSnapshot) -> str:
    """The rate and time left, `12/s  31 s left`; once over, `done in 3.2 s, 812 ticks`.

    Both include the attempt of a resumed job.
    """
    if job.state.is_over:
        return _end(job)
    is_wanted = job.state is not JobState.CANCELLING
    parts = [
        job_texts.attempts(job),
        state(job) if job.state is not JobState.RUNNING else "",
        job_texts.rounded_rate(job) if is_wanted else "",
        job_texts.time_left(job) if is_wanted else "",
        formatting.last_tick(job.silent_s) if job.silent_s >= _REPORTED_SILENCE_S else "",
    ]
    return "  ".join(part for part in parts if part)


def state(job: JobSnapshot) -> str:
    """The state, or that a cancelled task is still running."""
    if job.state is JobState.CANCELLING and job.task is not None:
        return job_texts.CANCEL_REQUESTED
    return job.state.value


def _end(job: JobSnapshot) -> str:
    """Say how it ended, or stopped: a resumable job may be resumed automatically."""
    preposition = "after" if job.state is JobState.RESUMABLE else "in"
    ended = f"{job.state.value.lower()} {preposition} {job_texts.elapsed(job)}"
    parts = (ended, job_texts.ticks(job), job_texts.attempts(job), job_texts.next_attempt(job))
    return ", ".join(part for part in parts if part)


def message(job: JobSnapshot) -> str:
    """The newest progress message, or else the task's, on one line."""
    of_task = None if job.task is None else job.task.message
    newest = of_task if job.message is None else job.message
    return "" if newest is None else formatting.one_line(newest)


def line(job: JobSnapshot, number: Label | None = None) -> str:
    parts = (job_texts.progress(job), pace(job), "" if job.state.is_over else message(job))
    return f"{name(job, number)}: {'  '.join(part for part in parts if part)}"


def log_line(level: object, logger: object, data: Any) -> str:
    """A server's log message: `warning db: slow query`."""
    text = data if isinstance(data, str) else formatting.summary({"data": data}, 400)
    source = f"{level} {logger}" if isinstance(logger, str) else str(level)
    return f"{formatting.one_line(source, 60)}: {formatting.one_line(text, 2000)}"


_KINDS: Final = frozenset(
    {
        rules.NOT_INCREASING.kind,
        rules.ABOVE_TOTAL.kind,
        rules.TOTAL_CHANGED.kind,
        rules.TOTAL_NOT_POSITIVE.kind,
        violations.WRONG_TYPE,
        rules.TICK_AFTER_END.kind,
        rules.NEXT_TOKEN_TYPE.kind,
        rules.TOKEN_ON_ERROR.kind,
        rules.SAME_TOKEN.kind,
        rules.SERVER_ASKS.kind,
        violations.TASK,
        rules.OUTPUT.kind,
        rules.OUTPUT_UNCHECKED.kind,
    }
)
"""Excludes messages that cross our cancel or time limit: those also come from correct servers."""

_OF_REPLIES: Final = (rules.TOKEN_ON_ERROR.kind, rules.SAME_TOKEN.kind, rules.SERVER_ASKS.kind)
"""Violations in a reply that are known only from the whole job."""


class ReplyViolations:
    """Finds the violations in each reply."""

    def __init__(self) -> None:
        self._counts: dict[tuple[JobId, str], int] = {}

    def of(self, fact: RequestAnswered, job: JobSnapshot | None) -> list[str]:
        """The violations in `fact`, the newest reply to a request of `job`."""
        found = [*texts(fact.findings)]
        for mark in () if job is None else job.marks:
            if job is not None and mark.key in _OF_REPLIES:
                if mark.count > self._counts.get((job.id, mark.key), 0):
                    found.append(mark.text)
                self._counts[job.id, mark.key] = mark.count
        return found


class Violations:
    """Reports each kind of violation once per job, so that a flood of them is one line.

    Memory is bounded: a job has few kinds, and progress without a job is reported once.
    """

    def __init__(self, jobs: Jobs, numbers: Mapping[JobId, Label] | None = None) -> None:
        """`numbers` label the jobs; None for a single job."""
        self._source = jobs
        self._numbers = numbers
        self._reported: set[tuple[JobId, str]] = set()
        self._is_stray_reported = False

    def lines(self, changes: ChangeSet) -> Iterator[str]:
        """New violations, each as a line that is safe to print."""
        ticks = changes.ticks if changes.marked else ()
        marked = [
            tick
            for tick in ticks
            if tick[2].sender is Side.SERVER and tick[2].number in changes.marked
        ]
        yield from self._stray([fact for job, _, fact in marked if job is None], changes)
        ticked = {job for job, _, _ in marked if job is not None}
        for job in sorted(ticked | changes.moved):  # a reply moves its job
            yield from self._job_lines(job)

    def _job_lines(self, job: JobId) -> Iterator[str]:
        snapshot = self._source.snapshot(job)
        if snapshot is None:
            return
        number = None if self._numbers is None else self._numbers.get(job, job)
        for mark in snapshot.marks:
            if mark.key in _KINDS and (job, mark.key) not in self._reported:
                self._reported.add((job, mark.key))
                yield f"{name(snapshot, number)}: warning: {one_line(mark.text)}"

    def _stray(self, facts: list[ProgressReceived], changes: ChangeSet) -> Iterator[str]:
        if facts and not self._is_stray_reported:
            self._is_stray_reported = True
            first = facts[0]
            token = "" if first.findings else f": {as_json(first.token)}"
            yield f"warning: {one_line(joined(changes.marked[first.number]) + token)}"


_NAME = 60


class TaskLines:
    """Reports each change of a task's status once, however often it is polled."""

    def __init__(self, jobs: Jobs, numbers: Mapping[JobId, Label] | None = None) -> None:
        """`numbers` label the jobs; None for a single job."""
        self._source = jobs
        self._numbers = numbers
        self._reported: dict[JobId, str] = {}
        self._still_working: set[JobId] = set()

    def lines(self, update: Update) -> Iterator[str]:
        """New statuses, each as a line that is safe to print."""
        stated = {fact.task.id for fact in update.facts if type(fact) is TaskStated}
        for job in sorted({*update.changes.progressed, *update.changes.added}):
            snapshot = self._source.snapshot(job)
            task = None if snapshot is None else snapshot.task
            if snapshot is not None and task is not None and task.is_followed:
                yield from self._job_lines(snapshot, task, is_stated=task.id in stated)

    def _job_lines(self, job: JobSnapshot, task: TaskSnapshot, *, is_stated: bool) -> Iterator[str]:
        number = None if self._numbers is None else self._numbers.get(job.id, job.id)
        title = name(job, number)
        if self._reported.get(job.id) != task.status:
            is_first = job.id not in self._reported
            self._reported[job.id] = task.status
            of = f"task {one_line(task.id, _NAME)}: " if is_first else "task: "
            yield f"{title}: {of}{status_text(task.status).lower()}{_message(task.message)}"
        is_working = job.state is JobState.CANCELLING and not is_terminal(task.status)
        is_asked = is_stated and job.cancel_state == "sent"
        if is_working and is_asked and job.id not in self._still_working:
            self._still_working.add(job.id)
            yield f"{title}: {CANCEL_REQUESTED}"


def _message(message: str | None) -> str:
    return f" ({one_line(message)})" if message else ""

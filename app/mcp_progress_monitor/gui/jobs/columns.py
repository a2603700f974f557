"""The columns of the job list: title, text and sort key of each."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


class Column(enum.IntEnum):
    """The columns; those in `FIRST_SHOWN` are shown by default."""

    JOB = 0
    SERVER = 1
    PROGRESS = 2
    STATUS = 3
    ACTIONS = 4
    STATE = 5
    MESSAGE = 6
    COUNT = 7
    RATE = 8
    TIME_LEFT = 9
    ELAPSED = 10
    LAST_TICK = 11
    TICKS = 12
    STARTED = 13
    TOKEN = 14
    REQUEST = 15
    MARKS = 16
    ATTEMPTS = 17
    SAVED = 18
    ENDED = 19


FIRST_SHOWN: Final = (Column.JOB, Column.PROGRESS, Column.STATUS, Column.ACTIONS)

_URGENCY: Final = {state: place for place, state in enumerate(JobState)}


class ColumnText(NamedTuple):
    """Title, text and sort key of a column. `key` is any comparable, None if unknown."""

    name: str
    text: Callable[[JobSnapshot], str]
    key: Callable[[JobSnapshot], Any]
    is_number: bool = False

    def title(self) -> str:
        """The header's text."""
        return self.name


def _name_key(job: JobSnapshot) -> str:
    return job_texts.name(job).casefold()


def _server_text(job: JobSnapshot) -> str:
    return job_texts.server(job)


def _server_key(job: JobSnapshot) -> str:
    return job.server.casefold()


def _progress_key(job: JobSnapshot) -> tuple[float, float]:
    fraction = -1.0 if job.fraction is None else job.fraction
    return fraction, -math.inf if job.progress is None else job.progress


def _status_key(job: JobSnapshot) -> tuple[int, float]:
    return _URGENCY[job.state], job.elapsed_s


def _status_text(job: JobSnapshot) -> str:
    return " · ".join(filter(None, (job_texts.headline(job), job_texts.status(job))))


def _message_key(job: JobSnapshot) -> str | None:
    return job_texts.message(job).casefold() or None


def _token_key(job: JobSnapshot) -> tuple[str, Any] | None:
    """Numbers by value, before strings; anything else by its text."""
    if job.token is None:
        return None
    if isinstance(job.token, int | float):
        return "", job.token
    return "text", str(job.token)


def _request_text(job: JobSnapshot) -> str:
    return f"{job_texts.line(job.method)} {job_texts.wire(job.request_id)}"


def _marks_text(job: JobSnapshot) -> str:
    return ", ".join(job_texts.line(mark.text) for mark in job.marks)


def _ticks_text(job: JobSnapshot) -> str:
    return formatting.number(job.tick_count)


def _time_left_text(job: JobSnapshot) -> str:
    """The title already says "left"."""
    return job_texts.time_left(job).removesuffix(" left")


def _started_text(job: JobSnapshot) -> str:
    return job_texts.moment(job.started_when)


def _attempts_text(job: JobSnapshot) -> str:
    return formatting.number(job.attempt_count)


def _saved_text(job: JobSnapshot) -> str:
    return "" if job.saved_when is None else job_texts.moment(job.saved_when)


def _ended_text(job: JobSnapshot) -> str:
    if job.ended_at is None:
        return ""
    return job_texts.moment(job.started_when + job.ended_at - job.started_at)


def _no_text(_job: JobSnapshot) -> str:
    return ""


def _start_key(job: JobSnapshot) -> int:
    return job.id


COLUMNS: Final[Mapping[Column, ColumnText]] = {
    Column.JOB: ColumnText("Job", job_texts.name, _name_key),
    Column.SERVER: ColumnText("Server", _server_text, _server_key),
    Column.PROGRESS: ColumnText("Progress", job_texts.amount, _progress_key),
    Column.STATUS: ColumnText("Status", _status_text, _status_key),
    Column.ACTIONS: ColumnText("", _no_text, _start_key),
    Column.STATE: ColumnText("State", job_texts.state, _status_key),
    Column.MESSAGE: ColumnText("Message", job_texts.message, _message_key),
    Column.COUNT: ColumnText("Count", job_texts.count, lambda j: j.progress, is_number=True),
    Column.RATE: ColumnText("Rate", job_texts.rounded_rate, lambda j: j.rate, is_number=True),
    Column.TIME_LEFT: ColumnText(
        "Time left", _time_left_text, lambda j: None if j.state.is_over else j.eta_s, is_number=True
    ),
    Column.ELAPSED: ColumnText("Elapsed", job_texts.elapsed, lambda j: j.elapsed_s, is_number=True),
    Column.LAST_TICK: ColumnText("Last tick", job_texts.last_tick, lambda j: j.last_tick_at),
    Column.TICKS: ColumnText("Ticks", _ticks_text, lambda j: j.tick_count, is_number=True),
    Column.STARTED: ColumnText("Started", _started_text, _start_key),
    Column.TOKEN: ColumnText("Token", job_texts.token, _token_key),
    Column.REQUEST: ColumnText("Request", _request_text, lambda j: j.request),
    Column.MARKS: ColumnText("Findings", _marks_text, lambda j: len(j.marks), is_number=True),
    Column.ATTEMPTS: ColumnText(
        "Attempts", _attempts_text, lambda j: j.attempt_count, is_number=True
    ),
    Column.SAVED: ColumnText("Token saved", _saved_text, lambda j: j.saved_when),
    Column.ENDED: ColumnText("Ended", _ended_text, lambda j: j.ended_at),
}

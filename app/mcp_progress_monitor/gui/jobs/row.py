"""A job's row as a value: what each cell shows, made once for each snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.commands import ROW_BUTTONS
from mcp_progress_monitor.gui.theme import Tone, tone_of
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.watched import why_read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcp_progress_monitor.gui.common.commands import Command
    from mcp_progress_monitor.gui.common.labels import Badge
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

SETTLED_AFTER_S: Final = 0.5
"""A job that ends sooner never shows as running: its row must not flash."""


def is_settling(job: JobSnapshot) -> bool:
    """Return whether the job is so new that its row stays unchanged: it may end unread."""
    is_new = job.state is JobState.RUNNING and job.tick_count == 0
    return is_new and job.elapsed_s < SETTLED_AFTER_S


class JobCell(NamedTuple):
    """The name and the arguments of a job, and its signs."""

    name: str
    summary: str
    state: JobState
    tone: Tone
    is_of_server: bool
    is_below_job: bool
    has_task: bool
    badge: Badge | None


class ServerCell(NamedTuple):
    """The server, above the token or the client of a watched job."""

    server: str
    below: str
    is_watched: bool


class ProgressCell(NamedTuple):
    """The bar with the amount beside it, above the exact count and the newest message."""

    amount: str
    exact: str
    message: str
    tone: Tone
    bar: tuple[object, ...]
    """All that the bar shows."""


class StatusCell(NamedTuple):
    """The state, the rates as a sparkline and the time, above what the state means."""

    state: str
    elapsed: str
    status: str
    tone: Tone
    sparks: tuple[float, ...]


class JobRow:
    """Cells of a job's row: each is made when it is first read, and kept."""

    __slots__ = ("_cells", "badge", "job", "tone")

    def __init__(self, job: JobSnapshot, badge: Badge | None) -> None:
        self.job = job
        self.badge = badge
        self.tone = tone_of(job)
        self._cells: dict[int, Any] = {}

    def cell(self, column: int) -> Any:
        """Return the content of the cell of `column`; cells that look the same are equal."""
        made = self._cells.get(column)
        if made is None:
            make = _MADE.get(column)
            made = (COLUMNS[Column(column)].text(self.job),) if make is None else make(self)
            self._cells[column] = made
        return made

    @property
    def buttons(self) -> tuple[Command, ...]:
        """The commands that have a button in the row."""
        made: tuple[Command, ...] = self.cell(Column.ACTIONS)
        return made

    def tip(self, column: Column) -> str:
        """Return the full text of a cell, in several lines."""
        job = self.job
        parts: tuple[str, ...]
        state = f"{job_texts.state(job)}, {job_texts.amount(job)}".removesuffix(", ")
        match column:
            case Column.PROGRESS:
                said = (job_texts.stream_note(job), job_texts.message(job))
                parts = (job_texts.exact(job), job_texts.percent(job), *said)
            case Column.SERVER:
                client = "" if job.watched_client is None else why_read_only(job.watched_client)
                parts = (job_texts.line(job.connection), job_texts.token(job), client)
            case Column.STATUS:
                about = (job_texts.status(job), job_texts.exact(job))
                parts = (state, *about, job_texts.line(job.resume_note), job_texts.marks(job))
            case Column.JOB:
                about = (job_texts.summary(job), job_texts.cause(job))
                parts = (self.cell(Column.JOB).name, *about, job_texts.marks(job))
            case _:
                parts = (COLUMNS[column].text(job),)
        return "\n".join(filter(None, parts))

    @property
    def spoken(self) -> str:
        """The row in words, for screen readers."""
        found = "" if self.badge is None else self.badge.spoken
        about = (job_texts.spoken(self.job), job_texts.fresh_stream_note(self.job), found)
        return ", ".join(filter(None, about))


def changed_columns(before: JobRow, after: JobRow, columns: Iterable[int]) -> Iterator[int]:
    """Yield the `columns` that look different in two rows of a job."""
    return (column for column in columns if before.cell(column) != after.cell(column))


def _job_cell(row: JobRow) -> JobCell:
    job = row.job
    return JobCell(
        job_texts.name(job),
        job_texts.summary(job),
        job.state,
        row.tone,
        job.sender is Side.SERVER,
        job.parent is not None,
        job.task is not None,
        row.badge,
    )


def _server_cell(row: JobRow) -> ServerCell:
    job = row.job
    if job.watched_client is None:
        return ServerCell(job_texts.server(job), job_texts.token(job), is_watched=False)
    return ServerCell(job_texts.server(job), job_texts.line(job.watched_client), is_watched=True)


def _progress_cell(row: JobRow) -> ProgressCell:
    job = row.job
    is_calm = job.failure is None or job.state is JobState.RESUMABLE
    count = job_texts.rounded_count(job) if is_calm and job.fraction is not None else ""
    tone = Tone.MUTED if is_calm else row.tone
    stream = job_texts.fresh_stream_note(job)
    if stream and job.stream is not None and job.stream.is_broken:
        tone = Tone.WARNING
    is_busy = job.fraction is None and not job.state.is_over and not is_settling(job)
    bar = (job.fraction, job.state, row.tone, job.elapsed_s if is_busy else None)
    message = stream or job_texts.message(job)
    return ProgressCell(job_texts.amount(job), count, message, tone, bar)


def _status_cell(row: JobRow) -> StatusCell:
    job, is_over = row.job, row.job.state.is_over
    is_young = is_settling(job)
    return StatusCell(
        job_texts.state(job),
        "" if is_over or is_young else job_texts.elapsed(job),
        "" if is_young else job_texts.status(job, is_timed=is_over),
        row.tone,
        job.sparks,
    )


def _buttons(row: JobRow) -> tuple[Command, ...]:
    return (
        () if is_settling(row.job) else tuple(each for each in ROW_BUTTONS if each.applies(row.job))
    )


_MADE: Final[Mapping[int, Callable[[JobRow], tuple[object, ...]]]] = {
    Column.JOB: _job_cell,
    Column.SERVER: _server_cell,
    Column.PROGRESS: _progress_cell,
    Column.STATUS: _status_cell,
    Column.ACTIONS: _buttons,
}
"""The cells that are more than the text of their column."""

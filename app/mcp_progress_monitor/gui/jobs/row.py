"""A job's row as a value: what each cell shows, made once for each snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.commands import CANCEL, row_buttons
from mcp_progress_monitor.gui.theme import Tone, tone_of
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.watched import why_read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.gui.common.commands import Command
    from mcp_progress_monitor.gui.common.labels import Badge
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_STEADY: Final = 0.75
"""A rate draws no sparkline if its lower quartile is above this share of the upper one."""
SETTLED_AFTER_S: Final = 0.5
"""A job that ends sooner never shows as running: its row must not flash."""


def is_settling(job: JobSnapshot) -> bool:
    """Return whether the job is so new that its row stays unchanged: it may end unread."""
    is_new = job.state is JobState.RUNNING and job.tick_count == 0
    return is_new and job.elapsed_s < SETTLED_AFTER_S


class JobCell(NamedTuple):
    """The name of a job with its arguments, and its signs, above the server.

    `below` is what else stands there: the client of a watched job, and a token that was chosen.
    """

    name: str
    arguments: str
    server: str
    below: str
    is_watched: bool
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
    """The time left or the state, and rates that vary as a sparkline, above the other figures."""

    headline: str
    status: str
    tone: Tone
    sparks: tuple[float, ...]


class ActionsCell(NamedTuple):
    """The commands that have a button in the row, and if they are shown at all times."""

    buttons: tuple[Command, ...]
    is_due: bool


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
        made: ActionsCell = self.cell(Column.ACTIONS)
        return made.buttons

    def tip(self, column: Column) -> str:
        """Return the full text of a cell, in several lines."""
        job = self.job
        parts: tuple[str, ...]
        state = ", ".join(filter(None, (job_texts.headline(job), job_texts.amount(job))))
        match column:
            case Column.PROGRESS:
                said = (job_texts.stream_note(job), job_texts.message(job))
                parts = (job_texts.exact(job), job_texts.percent(job), *said)
            case Column.SERVER:
                client = "" if job.watched_client is None else why_read_only(job.watched_client)
                parts = (job_texts.line(job.connection), job_texts.token(job), client)
            case Column.STATUS:
                about = (job_texts.status(job), job_texts.exact(job))
                reason = job_texts.message(job) if job_texts.why(job) else job.resume_note
                parts = (state, *about, job_texts.line(reason), job_texts.marks(job))
            case Column.JOB:
                about = (job_texts.summary(job), job_texts.cause(job))
                name = self.cell(Column.JOB).name
                parts = (name, *about, self.tip(Column.SERVER), job_texts.marks(job))
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
    client = job_texts.line(job.watched_client or "")
    about = (job_texts.direction(job), client, job_texts.chosen_token(job))
    return JobCell(
        job_texts.name(job),
        job_texts.line(job.summary),
        job_texts.server(job),
        " · ".join(filter(None, about)),
        job.watched_client is not None,
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
    job, newest = row.job, job_texts.line(row.job.message or "")
    stream = job_texts.fresh_stream_note(job)
    is_explained = bool(job_texts.why(job))  # beside the state: it is not said twice
    message = stream or (newest if is_explained else job_texts.message(job))
    is_calm = is_explained or job.failure is None or job.state is JobState.RESUMABLE
    is_said = message == newest and job_texts.is_count_said(job)
    is_known = job.fraction is not None
    count = job_texts.rounded_count(job) if is_calm and is_known and not is_said else ""
    tone = Tone.MUTED if is_calm else row.tone
    if stream and job.stream is not None and job.stream.is_broken:
        tone = Tone.WARNING
    is_busy = not is_known and not job.state.is_over and not is_settling(job)
    bar = (job.fraction, job.state, row.tone, job.elapsed_s if is_busy else None)
    amount = job_texts.amount(job) if is_known or not is_said else ""
    return ProgressCell(amount, count, message, tone, bar)


def _status_cell(row: JobRow) -> StatusCell:
    job = row.job
    headline = job_texts.headline(job)
    is_named = headline.startswith(job_texts.state(job))
    status = "" if is_settling(job) else job_texts.status(job)
    tone = row.tone if is_named else Tone.TEXT
    return StatusCell(headline, status, tone, job.sparks if _varies(job.sparks) else ())


def _varies(sparks: Sequence[float]) -> bool:
    """Return whether a rate varies for more than a moment: by its quartiles."""
    ordered, count = sorted(sparks), len(sparks)
    return count > 0 and ordered[count // 4] < _STEADY * ordered[3 * count // 4]


def _actions_cell(row: JobRow) -> ActionsCell:
    found = () if is_settling(row.job) else row_buttons(row.job)
    # Those that wait for the user are offered; others only where the user is.
    state = row.job.state
    is_waiting = row.tone is Tone.BAD or state is JobState.RESUMABLE or not state.is_over
    return ActionsCell(found, is_waiting and bool(found) and found[0] is not CANCEL)


_MADE: Final[Mapping[int, Callable[[JobRow], tuple[object, ...]]]] = {
    Column.JOB: _job_cell,
    Column.SERVER: _server_cell,
    Column.PROGRESS: _progress_cell,
    Column.STATUS: _status_cell,
    Column.ACTIONS: _actions_cell,
}
"""The cells that are more than the text of their column."""

"""Progress as bars on a terminal's standard error. Loaded only for a terminal."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import anyio
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mcp_progress_monitor.cli.output import job_text
from mcp_progress_monitor.cli.output.job_text import NUMBERS, Label
from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobSnapshot, JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.tracker.tracker import Jobs


_INTERVAL_S = 0.1
_BAR_WIDTH = 24
STYLES = {
    JobState.DONE: "green",
    JobState.FAILED: "red",
    JobState.LOST: "red",
    JobState.TIMED_OUT: "red",
    JobState.CANCELLED: "yellow",
    JobState.STALLED: "yellow",
    JobState.CANCELLING: "yellow",
    JobState.RESUMABLE: "yellow",
}
"""The state is also written out; colour only helps to find it."""


class BarMeter:
    """A bar for every job, drawn at most ten times a second, the first change immediately.

    Of more jobs than the terminal has lines, running ones are drawn and the rest counted.
    """

    def __init__(
        self, jobs: Jobs, console: Console | None = None, numbers: Mapping[JobId, Label] = NUMBERS
    ) -> None:
        """Draw on `console`, standard error by default; `numbers` replace jobs' own numbers."""
        self._numbers = numbers
        self._source = jobs
        self._console = console or Console(stderr=True, highlight=False)
        self._jobs: list[JobId] = []
        self._drawn_at = 0.0
        self._asides = 0
        self._live = self._started()

    def on_changes(self, changes: ChangeSet) -> None:
        """Draw immediately, or with the next animation frame if the last one is recent."""
        # A job that was saved by an earlier program changes without ever being added.
        known = {*self._jobs, *changes.added}
        resumed = sorted(job for job in changes.progressed if job not in known)
        self._jobs.extend(job for job in (*changes.added, *resumed) if self._is_ours(job))
        if self._jobs and time.monotonic() - self._drawn_at >= _INTERVAL_S:
            self._draw()

    async def animate(self) -> None:
        """Draw ten times a second, since rates, times left and busy bars change with time."""
        while True:
            await anyio.sleep(_INTERVAL_S)
            if self._jobs:
                self._draw()

    def say(self, line: str) -> None:
        """Print a line above the bars; the caller has escaped it."""
        self._console.print(Text(line), soft_wrap=True)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Hide the bars while something else is written to the same terminal."""
        self._asides += 1
        if self._asides == 1:
            self._live.transient = True
            self._live.stop()
        try:
            yield
        finally:
            self._asides -= 1
            if not self._asides:
                self._live = self._started()

    def close(self) -> None:
        if self._jobs:
            self._live.update(self._table())
        self._live.stop()

    def _started(self) -> Live:
        live = Live(
            Table.grid(),
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        live.start()
        return live

    def _is_ours(self, job: JobId) -> bool:
        snapshot = self._source.snapshot(job)
        return snapshot is not None and snapshot.sender is Side.CLIENT

    def _draw(self) -> None:
        if self._asides:
            return
        self._drawn_at = time.monotonic()
        self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        for _ in range(4):
            table.add_column(no_wrap=True)
        # Numbers keep their digits; the message takes what is left.
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        shown = self._shown()
        width = self._console.size.width
        for job in shown:
            number = self._numbers.get(job.id, job.id) if len(self._jobs) > 1 else None
            table.add_row(*_cells(job, width, number))
        if len(shown) < len(self._jobs):
            table.add_row(Text(f"… and {len(self._jobs) - len(shown):,} more"))
        return table

    def _shown(self) -> list[JobSnapshot]:
        """The jobs there is room for, running ones first, in the order of their start."""
        found = [job for job in map(self._source.snapshot, self._jobs) if job is not None]
        room = max(self._console.size.height - 2, 1)
        if len(found) > room:
            found.sort(key=lambda job: job.state.is_over)
        return sorted(found[:room], key=lambda job: job.id)


def _cells(
    job: JobSnapshot, terminal_width: int, number: Label | None
) -> tuple[Text | ProgressBar, ...]:
    style = STYLES.get(job.state, "")
    name = elide(job_text.name(job, number), max(terminal_width // 4, 8))
    return (
        Text(name),
        _bar(job, style, min(max(terminal_width // 6, 6), _BAR_WIDTH)),
        Text(job_texts.progress(job)),
        Text(job_text.pace(job), style),
        Text(job_text.message(job), "dim"),
    )


def _bar(job: JobSnapshot, style: str, width: int) -> ProgressBar:
    """The bar: the known fraction, or a moving bar; empty or full once the job is over."""
    is_busy = job.fraction is None and not job.state.is_over
    completed = job.fraction if job.fraction is not None else float(job.state is JobState.DONE)
    return ProgressBar(
        total=1.0,
        completed=completed,
        width=width,
        pulse=is_busy,
        complete_style=style or "cyan",
        finished_style=style or "cyan",
    )

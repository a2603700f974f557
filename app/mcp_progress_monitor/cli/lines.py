"""Progress as lines of text, for standard error that is no terminal."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.cli import words
from mcp_progress_monitor.cli.words import NUMBERS
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_progress_monitor.cli.output import Output
    from mcp_progress_monitor.cli.words import Label, Snapshots
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId, JobSnapshot

_BETWEEN_LINES_S = 1.0


class LineMeter:
    """One line per change of a job: the first at once, then one a second, and always the last.

    The last of each attempt, for a job that is resumed.
    """

    def __init__(
        self,
        errors: Output,
        book: Snapshots,
        *,
        is_numbered: bool,
        numbers: Mapping[JobId, Label] = NUMBERS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to `errors`; `is_numbered` adds a number to the job's name.

        That is its own unless `numbers` has another one.
        """
        self._clock = clock
        self._errors = errors
        self._book = book
        self._is_numbered = is_numbered
        self._numbers = numbers
        self._due: dict[JobId, float] = {}
        self._waiting: set[JobId] = set()
        self._over: dict[JobId, int] = {}
        self._asides = 0
        self._told: dict[JobId, tuple[object, ...]] = {}

    def on_changes(self, changes: Changes) -> None:
        """Write what is due of the jobs that changed."""
        self._waiting |= changes.progressed
        self._write_due()

    async def animate(self) -> None:
        """Write the changes that had to wait, once their second is over."""
        while True:
            await anyio.sleep(_BETWEEN_LINES_S / 4)
            self._write_due()

    def say(self, line: str) -> None:
        """Write any other line; the caller has made it safe."""
        self._errors.text(f"{line}\n")

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Make room for output of another kind; what is due meanwhile is written afterwards."""
        self._asides += 1
        try:
            yield
        finally:
            self._asides -= 1
            self._write_due()

    def close(self) -> None:
        """Nothing is left to write: the end of a job is never held back."""

    def _write_due(self) -> None:
        if self._asides:
            return
        now = self._clock()
        for job in sorted(self._waiting):
            snapshot = self._book.snapshot(job)
            if snapshot is None or not self._is_news(snapshot):
                self._waiting.discard(job)
            elif snapshot.state.is_over or now >= self._due.get(job, 0.0):
                self._waiting.discard(job)
                self._due[job] = now + _BETWEEN_LINES_S
                self._write(snapshot)

    def _is_news(self, job: JobSnapshot) -> bool:
        """Whether it is a job of ours, the end of whose newest attempt was not told.

        A saved job that rests and is new here was stopped before our time.
        """
        is_old = job.state is JobState.RESUMABLE and job.id not in self._due
        is_told = self._over.get(job.id) == job.attempt_count
        return job.sender is Side.CLIENT and not is_old and not is_told

    def _write(self, job: JobSnapshot) -> None:
        if job.state.is_over:
            self._over[job.id] = job.attempt_count
        if (job.tick_count or job.task or job.state.is_over) and self._is_other(job):
            number = self._numbers.get(job.id, job.id) if self._is_numbered else None
            self.say(words.line(job, number))

    def _is_other(self, job: JobSnapshot) -> bool:
        """Whether a line would say something else than the last one of this job.

        A task that is looked at again and again may have nothing to tell.
        """
        so_far = job.attempt_count, job.tick_count, words.amount(job)
        said = (*so_far, job.state, words.message(job))
        is_other = self._told.get(job.id) != said
        self._told[job.id] = said
        return is_other

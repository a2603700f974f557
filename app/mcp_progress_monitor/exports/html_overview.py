"""All jobs of a session at a glance: how each stands, and what was irregular about any."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, facts, render, table_parts
from mcp_progress_monitor.exports.html_state import amount, job_bar, state_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_ROWS: Final = 2_000
_TITLES: Final = ("Job", "State", "Progress", "", "Took", "Ticks", "Server", "Last words")
_IRREGULAR: Final = ("Job", "What", "Times", "First in message")


class Overview:
    """Makes the tables of `jobs`; those of `told` are linked with what is told of them.

    With `is_last`, nothing follows: what runs is not known to have gone on.
    """

    def __init__(
        self,
        jobs: Sequence[JobSnapshot],
        told: Collection[JobId],
        words: Words,
        *,
        is_last: bool,
    ) -> None:
        self._jobs = jobs
        self._told = frozenset(told)
        self._words = words
        self._is_last = is_last

    def parts(self) -> Iterator[Html]:
        """The tables, some rows at a time."""
        if not self._jobs:
            yield render("muted_line", "There are no jobs.")
            return
        states = collections.Counter(job.state for job in self._jobs)
        yield facts((state.value, text.number(count)) for state, count in states.items())
        yield from table_parts(_TITLES, map(self._row, self._jobs[:_ROWS]), numbers=(4, 5))
        gone = len(self._jobs) - _ROWS
        if gone > 0:
            yield render("note", f"{text.count(gone, 'more job')} left out.")
        yield from self._irregular()

    def _row(self, job: JobSnapshot) -> Sequence[str]:
        words = self._words
        said = job.message if job.failure is None else job.failure.message
        return (
            self._name(job),
            state_words(job, is_last=self._is_last),
            job_bar(job),
            amount(job),
            text.duration(job.elapsed_s),
            text.number(job.tick_count),
            words.line(job.server, 60),
            words.line((said or "").partition("\n")[0], 120),
        )

    def _irregular(self) -> Iterator[Html]:
        marked = ((job, mark) for job in self._jobs for mark in job.marks)
        rows = [
            (
                self._name(job),
                self._words.line(mark.text),
                text.number(mark.count),
                text.number(mark.first),
            )
            for job, mark in itertools.islice(marked, _ROWS)
        ]
        if rows:
            yield render("heading", "Problems and warnings", None)
            yield from table_parts(_IRREGULAR, rows, numbers=(2, 3))

    def _name(self, job: JobSnapshot) -> Html:
        name = self._words.line(job.name, 80)
        return render("job_name", job.id, name, job.id in self._told)

"""The changes of one call of the tracker, as they gather."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeAlias

from mcp_progress_monitor.protocol.facts import ProgressReceived
from mcp_progress_monitor.protocol.runs import Run
from mcp_progress_monitor.tracker.snapshot import Changes, JobId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.tracker.job import Job
    from mcp_progress_monitor.tracker.snapshot import ChainStep

Tick: TypeAlias = tuple[JobId | None, int, ProgressReceived]
"""An entry of `Changes.ticks`."""


class TickLog(Run[Tick]):
    """The entries for the ticks of a run, in order: `jobs` and `counts` have two of their columns.

    They are made when somebody looks, which in a window nobody does.
    """

    __slots__ = ("counts", "jobs", "run")

    def __init__(
        self, run: Sequence[ProgressReceived], jobs: Sequence[JobId | None], counts: Sequence[int]
    ) -> None:
        super().__init__()
        self.run = run
        self.jobs = jobs
        self.counts = counts

    def __len__(self) -> int:
        """How many ticks there are."""
        return len(self.run)

    def _item(self, index: int) -> Tick:
        return self.jobs[index], self.counts[index], self.run[index]

    def _items(self) -> list[Tick]:
        return list(zip(self.jobs, self.counts, self.run, strict=True))


class Delta:
    """What was done to which jobs, until it is frozen into `Changes`."""

    def __init__(self) -> None:
        self.added: list[JobId] = []
        self.removed: list[JobId] = []
        self.progressed: set[JobId] = set()
        self.moved: set[JobId] = set()
        self.steps: list[ChainStep] = []
        self.marked: dict[int, str] = {}
        self.lapsed: list[JobId] = []

    def move(self, job: Job) -> None:
        """Note that the job's state changed."""
        self.moved.add(job.id)
        self.progressed.add(job.id)

    def freeze(self, ticks: Sequence[Tick] = ()) -> Changes:
        """The finished record; a job that is gone is named as removed only."""
        # In C: there may be thousands.
        jobs = ticks.jobs if type(ticks) is TickLog else map(operator.itemgetter(0), ticks)
        ticked = set(jobs)
        ticked.discard(None)
        self.progressed.update(ticked)
        gone, new = set(self.removed), set(self.added)
        added = tuple(job for job in self.added if job not in gone)
        removed = tuple(job for job in self.removed if job not in new)
        self.progressed -= gone
        self.moved -= gone
        progressed, moved = frozenset(self.progressed), frozenset(self.moved)
        steps, lapsed = tuple(self.steps), tuple(self.lapsed)
        return Changes(added, removed, progressed, moved, ticks, steps, self.marked, lapsed)

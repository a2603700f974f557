"""The changes of one call of the tracker, as they gather."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeAlias

from app.protocol.facts import ProgressReceived
from app.tracker.snapshot import Changes, JobId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.tracker.job import Job
    from app.tracker.snapshot import ChainStep

Tick: TypeAlias = tuple[JobId | None, int, ProgressReceived]
"""An entry of `Changes.ticks`."""


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
        ticked = set(map(operator.itemgetter(0), ticks))  # in C: there may be thousands
        self.progressed.update(job for job in ticked if job is not None)
        gone, new = set(self.removed), set(self.added)
        added = tuple(job for job in self.added if job not in gone)
        removed = tuple(job for job in self.removed if job not in new)
        progressed, moved = frozenset(self.progressed - gone), frozenset(self.moved - gone)
        steps, lapsed = tuple(self.steps), tuple(self.lapsed)
        return Changes(added, removed, progressed, moved, ticks, steps, self.marked, lapsed)

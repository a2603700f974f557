"""A job's own clock: seconds of work since its first request, without pauses between attempts."""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING

from mcp_progress_monitor.tracker.history import drawable

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import ChartPoint, JobDetail, Phase


class WorkClock:
    """Translates monotonic times of a job into seconds of work.

    `seams` are the seconds of work at which the job paused.
    """

    def __init__(self, detail: JobDetail) -> None:
        self._detail = detail
        self._began_at = detail.snapshot.started_at
        self._starts = [start for start, _ in detail.pauses]
        self._paused_s = [0.0, *itertools.accumulate(end - start for start, end in detail.pauses)]
        self.seams = [self.worked_s(start) for start in self._starts]

    def worked_s(self, at: float) -> float:
        """The seconds of work until `at`; a pause adds none."""
        number = bisect.bisect_right(self._starts, at)
        if number and at < self._detail.pauses[number - 1][1]:
            number, at = number - 1, self._starts[number - 1]
        return max(at - self._began_at - self._paused_s[number], 0.0)

    def length_s(self, phase: Phase) -> float:
        """The seconds of work in a phase; the newest one lasts until now."""
        job = self._detail.snapshot
        end_s = job.elapsed_s if phase.ended_at is None else self.worked_s(phase.ended_at)
        return max(end_s - self.worked_s(phase.began_at), 0.0)

    def points(self) -> list[ChartPoint]:
        """The points of the job's chart that can be drawn, at seconds of work."""
        points = drawable(self._detail.chart)
        return [point._replace(at=self.worked_s(point.at)) for point in points]

"""The jobs of what the window follows: a live engine or a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.playback.playback import Playback
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot


class JobsFollowed:
    """The jobs of the followed source; empty without one."""

    source: Engine | Playback | None = None

    def ids(self) -> Sequence[JobId]:
        return () if self.source is None else self.source.jobs.ids()

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        return None if self.source is None else self.source.jobs.snapshot(job)

    def job_of(self, request: int) -> JobId | None:
        return None if self.source is None else self.source.jobs.job_of(request)

    def requests_of(self, job: JobId) -> Collection[int]:
        return () if self.source is None else self.source.jobs.requests_of(job)

"""What exports are made from: a session that goes on, or one that was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId, JobSnapshot


class Source(Protocol):
    """The reading side of `monitor.Monitor` and of `playback.playback.Playback`."""

    @property
    def timeline(self) -> Timeline:
        """All frames by place."""

    @property
    def is_ended(self) -> bool:
        """Whether nothing will come any more: a job that runs then is of a recording cut off."""

    def now(self) -> float:
        """Monotonic seconds on the clock of the frames."""

    def jobs(self) -> Sequence[JobId]:
        """All jobs in the order of their start."""

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """A job now; None when there is none of that id."""

    def detail(self, job: JobId) -> JobDetail | None:
        """The longer story of a job."""

    def job_of(self, request: int) -> JobId | None:
        """The job that a request belongs to, by the number of its frame."""

    def requests_of(self, job: JobId) -> Collection[int]:
        """The numbers of the frames of all requests of a job."""

    def servers(self) -> Sequence[ServerSnapshot]:
        """All servers."""

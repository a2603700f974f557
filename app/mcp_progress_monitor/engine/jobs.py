"""The jobs of an engine: read, forget, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.tracker.tracker import Jobs, Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.engine.keeper import Keeper
    from mcp_progress_monitor.engine.resumer import Resumer
    from mcp_progress_monitor.engine.tasks import Tasks
    from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail, JobId


class LiveJobs(Jobs):
    """All jobs, including those of earlier runs of the program."""

    def __init__(
        self,
        tracker: Tracker,
        resumer: Resumer,
        tasks: Tasks,
        keeper: Keeper,
        now: Callable[[], float],
        publish: Callable[[ChangeSet], None],
        read_attempts: Callable[[JobId], None],
    ) -> None:
        """Changes go to `publish`; `read_attempts` publishes a job's earlier attempts."""
        super().__init__(tracker, now)
        self._resumer = resumer
        self._tasks = tasks
        self._keeper = keeper
        self._publish = publish
        self._read_attempts = read_attempts

    def detail(self, job: JobId) -> JobDetail | None:
        """The detail of a job; None if there is no such job.

        Attempts of earlier runs of the program follow in an update.
        """
        self._read_attempts(job)
        return super().detail(job)

    async def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete the saved tokens of `jobs` and their rows; running ones stay.

        `UserError` if the disk fails, and for jobs that another program is resuming.
        """
        wanted = list(jobs)
        await self._tasks.forget(wanted)
        found = [self.snapshot(job) for job in wanted]
        over = [job.id for job in found if job is not None and job.state.is_over]
        for job in over:
            self._resumer.set_automatic(job, None)
        await self._keeper.forget(over)

    def remove(self, jobs: Iterable[JobId]) -> None:
        """Remove those of `jobs` that have ended; resumable ones stay (see `forget`)."""
        found = [(job, self._tracker.chains.of(job)) for job in jobs]
        refused = [c.id for _, c in found if c is not None and c.id is not None and not c.token]
        changes = self._tracker.remove([job for job, _ in found])
        self._tasks.note_removed(changes.removed)
        self._publish(changes)
        self._keeper.schedule_deletion(refused)

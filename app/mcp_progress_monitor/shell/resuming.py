"""What the window's wishes about resuming do: go on, by itself or not, anew, never again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.calls import AutoResume
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.resuming.servers import ServerChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.shell.aio import Tasks
    from mcp_progress_monitor.tracker.snapshot import JobId


class Resuming(QObject):
    """Turns wishes into calls of the monitor. What goes wrong is told in words, once."""

    server_wanted = Signal(object, object)
    """A `JobId` and the `ServerChangedError` that keeps it: the user is to see what is run."""

    def __init__(
        self,
        monitor: Monitor,
        tasks: Tasks,
        tell: Callable[[Problem], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._monitor = monitor
        self._tasks = tasks
        self._tell = tell
        self._limit = AutoResume().limit

    @Slot(int)
    def set_limit(self, attempts: int) -> None:
        """Let jobs that go on by themselves make so many attempts; those that do take it up."""
        self._limit = attempts
        for job in self._monitor.jobs():
            found = self._monitor.snapshot(job)
            if found is not None and found.is_automatic:
                self.set_automatic((job,), is_wanted=True)

    @Slot(object)
    def resume(self, jobs: Iterable[JobId]) -> None:
        """Go on with `jobs` where they stopped, all at the same time."""
        for job in jobs:
            self._tasks.start(f"resume job {job}", self._resume, job)

    @Slot(object)
    def pick_up(self, jobs: Iterable[JobId]) -> None:
        """Go on with tasks that were left at their servers."""
        for job in jobs:
            self._tasks.start(f"pick up job {job}", self._pick_up, job)

    @Slot(object, bool)
    def set_automatic(self, jobs: Iterable[JobId], is_wanted: bool) -> None:
        """Go on with `jobs` by themselves from now on, or no more."""
        for job in jobs:
            try:
                self._monitor.set_automatic(
                    job, AutoResume(limit=self._limit) if is_wanted else None
                )
            except ProblemError as error:
                self._tell(error.problem)

    @Slot(object)
    def reissue(self, jobs: Iterable[JobId]) -> None:
        """Send the whole requests of `jobs` again, as new jobs."""
        for job in jobs:
            self._tasks.start(f"re-issue job {job}", self._reissue, job)

    @Slot(object)
    def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete what is kept of `jobs`, and their rows."""
        self._tasks.start("forget jobs", self._monitor.forget, tuple(jobs))

    @Slot(object)
    def resume_as_saved(self, jobs: Iterable[JobId]) -> None:
        """Go on with `jobs` by the servers they were saved with, which the user agreed to."""
        for job in jobs:
            self._tasks.start(f"resume job {job} as saved", self._resume_as_saved, job)

    async def _resume(self, job: JobId) -> None:
        try:
            await self._monitor.resume(job)
        except ServerChangedError as changed:
            self.server_wanted.emit(job, changed)

    async def _reissue(self, job: JobId) -> None:
        """No token binds a new job to the old server: the user may well want the one of today."""
        try:
            await self._monitor.reissue(job)
        except ServerChangedError as changed:
            hint = self.tr("Edit and send the request, or connect the server as it was first.")
            raise ProblemError(changed.problem._replace(hint=hint)) from changed

    async def _pick_up(self, job: JobId) -> None:
        try:
            await self._monitor.pick_up(job)
        except ServerChangedError as changed:
            self.server_wanted.emit(job, changed)

    async def _resume_as_saved(self, job: JobId) -> None:
        if self._monitor.can_pick_up(job):
            await self._monitor.pick_up(job, use_saved_definition=True)
        else:
            await self._monitor.resume(job, use_saved_definition=True)

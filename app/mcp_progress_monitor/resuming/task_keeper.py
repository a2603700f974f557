"""Keeps the saved tasks in step with the jobs: each saved before it is shown, gone at its end."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.task_state import TaskView
from mcp_progress_monitor.store.chains import Standing
from mcp_progress_monitor.store.tasks import TaskStanding, Times
from mcp_progress_monitor.tracker.restoring import RestoredTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.resuming.keeper import Keeper
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.store.tasks import SavedTask, TaskStore
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Tracker


@dataclasses.dataclass
class Entry:
    """A job's task as far as it is needed to ask for it again. `saved` is None if it is not saved.

    `began_at` is the task's beginning, monotonic seconds.
    """

    origin: Origin
    view: TaskView
    began_at: float
    saved: int | None = None
    is_elsewhere: bool = False

    @property
    def expires_at(self) -> float | None:
        """When the server may forget the task; None if never, or not known."""
        ttl_ms = self.view.ttl_ms
        return None if ttl_ms is None else self.began_at + min(ttl_ms, 1e15) / 1000


class TaskKeeper:
    """What is on disk of the tasks of jobs; without a store, in memory alone."""

    def __init__(
        self,
        store: TaskStore | None,
        keeper: Keeper,
        tracker: Tracker,
        clock: Clock,
        publish: Callable[[Changes], None],
    ) -> None:
        """What the disk refuses goes to `keeper`, changes of jobs to `publish`."""
        self.entries: dict[JobId, Entry] = {}
        """The tasks that are not known to be over, by job."""
        self._store = store
        self._keeper = keeper
        self._tracker = tracker
        self._clock = clock
        self._publish = publish
        self._owed: dict[int, None] = {}

    async def begin(self, job: JobId, origin: Origin, view: TaskView, at: float) -> None:
        """Save a task that has just begun, then let it be shown."""
        entry = self.entries[job] = Entry(origin, view, at)
        try:
            if self._store is not None:
                entry.saved = await self._store.begin(
                    origin,
                    view.id,
                    self._standing(job, view),
                    is_flat=view.is_flat,
                    times=self._times(job, at),
                )
        except ProblemError as error:
            self._keeper.complain(error.problem)
        self._publish(self._tracker.note_task_saved(job))

    async def claim(self, entry: Entry) -> None:
        """See that no other program follows a task; `ProblemError` when one does, or it is gone."""
        if self._store is not None and entry.saved is not None:
            await self._store.claim(entry.saved)

    async def let_go(self, job: JobId, view: TaskView) -> None:
        """Nobody follows a task any more, which may go on: another program may pick it up."""
        entry = self.entries.get(job)
        if entry is None:
            return
        entry.view = view
        if self._store is None or entry.saved is None:
            return
        standing, when = self._standing(job, view), self._clock.wall()
        try:
            await self._store.note(entry.saved, standing, when=when, is_let_go=True)
        except ProblemError as error:
            self._keeper.complain(error.problem)

    async def finish(self, jobs: Iterable[JobId]) -> None:
        """Delete tasks whose end is known, or that nobody wants to know."""
        self.owe(jobs)
        await self.pay()

    def owe(self, jobs: Iterable[JobId]) -> None:
        """Delete tasks when there is an occasion."""
        for job in jobs:
            entry = self.entries.pop(job, None)
            if entry is not None and entry.saved is not None:
                self._owed[entry.saved] = None

    async def pay(self) -> None:
        """Delete what is to be deleted; what the disk refuses is tried again later."""
        owed = tuple(self._owed)
        if self._store is None or not owed:
            return
        try:
            await self._store.forget(owed)
        except ProblemError as error:
            self._keeper.complain(error.problem)
            return
        for saved in owed:
            self._owed.pop(saved, None)

    def drop(self, jobs: Iterable[JobId]) -> None:
        """Forget jobs that have no row any more; what is on disk stays there."""
        for job in jobs:
            self.entries.pop(job, None)

    # What was found on disk

    async def restore(self) -> None:
        """Make rows of the tasks on disk; of those that have expired for the last time."""
        saved = await self._read()
        now, wall = self._clock.monotonic(), self._clock.wall()
        changes = self._tracker.restore_tasks(map(_restored, saved), now, wall)
        for job, task in zip(changes.added, saved, strict=True):
            began_at = task.began_when + now - wall
            self.entries[job] = Entry(
                task.origin, _view(task), began_at, task.id, task.is_elsewhere
            )
        self._publish(changes)

    async def look(self) -> list[JobId]:
        """See what other programs have made of tasks; the jobs whose task is not saved any more."""
        waiting = {job: e.saved for job, e in self.entries.items() if e.saved is not None}
        if self._store is None or not waiting:
            return []
        on_disk = {task.id: task for task in await self._read()}
        gone: list[JobId] = []
        for job, saved in waiting.items():
            entry, found = self.entries.get(job), on_disk.get(saved)
            if entry is not None and found is not None:
                entry.is_elsewhere = found.is_elsewhere
            elif entry is not None:
                gone.append(job)
        return gone

    async def _read(self) -> list[SavedTask]:
        if self._store is None:
            return []
        try:
            return await self._store.tasks()
        except ProblemError as error:
            self._keeper.complain(error.problem)
            return []

    def _times(self, job: JobId, at: float) -> Times:
        found = self._snapshot(job)
        wall = self._clock.wall()
        began_when = wall - (self._clock.monotonic() - at)
        return Times(wall if found is None else found.started_when, began_when)

    def _standing(self, job: JobId, view: TaskView) -> TaskStanding:
        found = self._snapshot(job)
        progress = Standing()
        if found is not None:
            progress = Standing(found.progress, found.total, found.message)
        return TaskStanding(
            view.status, view.message, view.created, view.ttl_ms, view.poll_ms, progress
        )

    def _snapshot(self, job: JobId) -> JobSnapshot | None:
        return self._tracker.snapshot(job, self._clock.monotonic())


def not_a_task(job: JobId) -> ProblemError:
    """There is nothing to be picked up."""
    what = "This job is no task that runs at a server"
    return ProblemError(Problem(what, f"job {job}", "Re-issue the request from the start."))


def _view(saved: SavedTask) -> TaskView:
    standing = saved.standing
    return TaskView(
        saved.task,
        standing.status,
        standing.message,
        standing.created,
        None,
        standing.ttl_ms,
        standing.poll_ms,
        (),
        saved.is_flat,
    )


def _restored(saved: SavedTask) -> RestoredTask:
    origin = saved.origin
    return RestoredTask(
        server=origin.server,
        key=origin.server_key,
        method=origin.method,
        params=origin.params,
        created_when=saved.started_when,
        began_when=saved.began_when,
        view=_view(saved),
        progress=saved.standing.progress.progress,
        total=saved.standing.progress.total,
    )

"""Tasks on servers: followed, saved, and restored by the next run."""

from __future__ import annotations

import dataclasses
import functools
import logging
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.engine.origins import origin_of
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.facts import JsonObject, TaskView
from mcp_progress_monitor.protocol.tasks import TaskOffer, created_task
from mcp_progress_monitor.sessions.tasks import FollowedTask, TaskFate, TaskRun
from mcp_progress_monitor.store.chains import Origin, SavedProgress
from mcp_progress_monitor.store.tasks import SavedTask, TaskStanding, TaskStore, Times
from mcp_progress_monitor.store.watched import WatchedEnding, split_watched_key
from mcp_progress_monitor.tracker.chains import RestoredTask
from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.engine.keeper import Keeper
    from mcp_progress_monitor.engine.updates import LiveTracker
    from mcp_progress_monitor.sessions.connection.clocks import CallClock
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
    from mcp_progress_monitor.sessions.connection.session import Session


@dataclasses.dataclass(eq=False, repr=False)
class Entry:
    """Everything needed to follow a job's task again.

    `saved` is None if it is not saved. `began_at` is the task's beginning, monotonic seconds.
    """

    origin: Origin
    view: TaskView
    began_at: float
    saved: int | None = None
    is_elsewhere: bool = False

    @property
    def expires_at(self) -> float | None:
        """When the server may discard the task; None if never, or unknown."""
        ttl_ms = self.view.ttl_ms
        return None if ttl_ms is None else self.began_at + min(ttl_ms, 1e15) / 1000


class TaskKeeper:
    """The saved tasks of jobs; without a store, kept in memory."""

    def __init__(self, store: TaskStore | None, keeper: Keeper, live: LiveTracker) -> None:
        """Disk errors go to `keeper`, changes of jobs to `publish`."""
        self.entries: dict[JobId, Entry] = {}  # the tasks that are not known to have ended, by job
        self._store = store
        self._keeper = keeper
        self._tracker, self._clock, self._publish = live
        self._owed: dict[int, WatchedEnding | None] = {}
        self._saving: set[anyio.Event] = set()

    async def begin(self, job: JobId, origin: Origin, view: TaskView, at: float) -> None:
        """Save a new task, then show it."""
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
        except UserError as error:
            self._keeper.keep_error(error.details)
        self._publish(self._tracker.note_task_saved(job))

    async def note_watched(self, job: JobId, origin: Origin, view: TaskView, at: float) -> None:
        """Save the task of another client's job, so that it can be followed here later."""
        entry = self.entries[job] = Entry(origin, view, at)
        if self._store is None:
            return
        saving = anyio.Event()
        self._saving.add(saving)
        try:
            with anyio.CancelScope(shield=True):
                await self._save_watched(self._store, job, entry)
        finally:
            self._saving.discard(saving)
            saving.set()

    async def _save_watched(self, store: TaskStore, job: JobId, entry: Entry) -> None:
        origin, view, at = entry.origin, entry.view, entry.began_at
        try:
            entry.saved = await store.note_watched(
                origin,
                view.id,
                self._standing(job, view),
                is_flat=view.is_flat,
                times=self._times(job, at),
            )
        except UserError as error:
            self._keeper.keep_error(error.details)
            return
        if self.entries.get(job) is not entry:  # it ended meanwhile
            self._schedule_deletion(entry, None)
            await self.delete_due()
        elif entry.saved is None:  # an earlier run completed or forgot it
            del self.entries[job]
        else:
            self._replace_restored(job, entry)

    def _replace_restored(self, job: JobId, entry: Entry) -> None:
        """Merge a job that is watched again with its row from an earlier run of the program."""
        others = [o for o, e in self.entries.items() if e.saved == entry.saved and o != job]
        for other in others:
            del self.entries[other]
        if others:
            self._publish(self._tracker.drop_rows(others))

    async def claim(self, entry: Entry) -> None:
        """Prevent other programs from following a task; `UserError` if one does, or it is gone."""
        if self._store is not None and entry.saved is not None:
            await self._store.claim(entry.saved)

    async def release(self, job: JobId, view: TaskView) -> None:
        """Stop following a task that may continue: another program may follow it."""
        entry = self.entries.get(job)
        if entry is None:
            return
        entry.view = view
        if self._store is None or entry.saved is None:
            return
        standing, when = self._standing(job, view), self._clock.wall()
        try:
            await self._store.note(entry.saved, standing, when=when, is_released=True)
        except UserError as error:
            self._keeper.keep_error(error.details)

    async def finish(
        self, jobs: Iterable[JobId], ending: WatchedEnding | None = WatchedEnding.COMPLETED
    ) -> None:
        """Delete tasks whose end is known, or that are no longer of interest.

        For tasks of other clients `ending` is remembered, unless it is None.
        """
        self.schedule_deletion(jobs, ending)
        await self.delete_due()

    def schedule_deletion(
        self, jobs: Iterable[JobId], ending: WatchedEnding | None = WatchedEnding.FORGOTTEN
    ) -> None:
        """Schedule the deletion of tasks; see `finish`."""
        for job in jobs:
            entry = self.entries.pop(job, None)
            if entry is not None:
                self._schedule_deletion(entry, ending)

    def _schedule_deletion(self, entry: Entry, ending: WatchedEnding | None) -> None:
        if entry.saved is not None:
            self._owed[entry.saved] = ending

    async def settle(self) -> None:
        """Wait for pending saves, then delete what is due, before the store is closed."""
        for saving in list(self._saving):
            await saving.wait()
        await self.delete_due()

    async def delete_due(self) -> None:
        """Delete what is due; failed deletions are retried later."""
        owed = dict(self._owed)
        if self._store is None or not owed:
            return
        when = self._clock.wall()
        try:
            for ending in set(owed.values()):
                ended = [saved for saved, how in owed.items() if how is ending]
                await self._store.forget(ended, ending, when=when)
        except UserError as error:
            self._keeper.keep_error(error.details)
            return
        for saved in owed:
            self._owed.pop(saved, None)

    def drop(self, jobs: Iterable[JobId]) -> None:
        """Forget jobs that no longer have a row; their tasks stay on disk."""
        for job in jobs:
            self.entries.pop(job, None)

    # Restoring

    async def restore(self, note_watched: Callable[[str, str], None]) -> None:
        """Create rows for the saved tasks; for expired ones, for the last time.

        `note_watched` receives the server and the client of those that were not ours.
        """
        known = {entry.saved for entry in self.entries.values()}
        saved = [task for task in await self._read() if task.id not in known]
        for task in saved:
            watched = split_watched_key(task.origin.server_key)
            if watched is not None:
                note_watched(task.origin.server, watched[0])
        now, wall = self._clock.monotonic(), self._clock.wall()
        changes = self._tracker.restore_tasks(map(_restored, saved), now, wall)
        for job, task in zip(changes.added, saved, strict=True):
            began_at = task.began_when + now - wall
            self.entries[job] = Entry(
                task.origin, _view(task), began_at, task.id, task.is_elsewhere
            )
        self._publish(changes)

    async def poll(self) -> list[JobId]:
        """Check what other programs did with tasks; the jobs whose task is no longer saved."""
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
        except UserError as error:
            self._keeper.keep_error(error.details)
            return []

    def _times(self, job: JobId, at: float) -> Times:
        found = self._snapshot(job)
        wall = self._clock.wall()
        began_when = wall - (self._clock.monotonic() - at)
        return Times(wall if found is None else found.started_when, began_when)

    def _standing(self, job: JobId, view: TaskView) -> TaskStanding:
        found = self._snapshot(job)
        progress = SavedProgress()
        if found is not None:
            progress = SavedProgress(found.progress, found.total, found.message)
        return TaskStanding(
            view.status, view.message, view.created, view.ttl_ms, view.poll_ms, progress
        )

    def _snapshot(self, job: JobId) -> JobSnapshot | None:
        return self._tracker.snapshot(job, self._clock.monotonic())


def not_a_task(job: JobId) -> UserError:
    """The error for a job without a task to follow."""
    what = "This job has no task running on a server"
    return UserError(ErrorDetails(what, f"job {job}", "Re-issue the request from the start."))


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


_log = logging.getLogger(__name__)


class TaskRuns:
    """The followed tasks, one run each."""

    def __init__(self, keeper: TaskKeeper, manager: SessionManager, live: LiveTracker) -> None:
        """`keeper` saves tasks, changes of jobs go to `publish`."""
        self._keeper = keeper
        self._manager = manager
        self._tracker, self._clock, self._publish = live
        self._runs: dict[JobId, TaskRun] = {}
        self._beginning: set[JobId] = set()
        self.is_closing = False

    def __contains__(self, job: JobId) -> bool:
        return job in self._runs

    def close(self) -> None:
        """Leave tasks on their servers, since the program is closing; calls stop waiting."""
        self.is_closing = True
        for run in self._runs.values():
            run.is_left = True

    async def begin(
        self, connection: Connection, exchange: PendingRequest, job: JobId
    ) -> TaskRun | None:
        """Save and follow the task that answered a call; None if there is none."""
        reply = exchange.reply
        view = None if reply is None or reply.result is None else created_task(reply.result)
        session = self._manager.session_of(connection.id)
        if reply is None or view is None or session is None or session.agreement is None:
            return None
        if self._tracker.task_job(connection.id, view.id) != job:
            return None
        self._beginning.add(job)
        try:
            with anyio.CancelScope(shield=True):
                await self._save(job, session, exchange, view, reply.at)
        finally:
            self._beginning.discard(job)
        found = self._snapshot(job)
        followed = self.followed(job, view, reply.at)
        try:
            run = self.start(session, connection, job, followed, exchange.clock)
        except UserError:  # the session ended, which its connection reports
            await self._keeper.release(job, view)
            return None
        if found is not None and found.state is JobState.CANCELLING:
            run.cancel()  # cancelled before it was known to be a task
        return run

    async def _save(
        self, job: JobId, session: Session, exchange: PendingRequest, view: TaskView, at: float
    ) -> None:
        """Save a new task; it is shown afterwards."""
        detail = self._tracker.detail(job, self._clock.monotonic())
        if detail is not None:
            server = session.snapshot()
            key = self._manager.key_of(server.name)
            origin = origin_of(detail, server, key, exchange.first.raw)
            await self._keeper.begin(job, origin, view, at)

    def followed(self, job: JobId, view: TaskView, began_at: float) -> FollowedTask:
        """A run's description of its task; `began_at` is in monotonic seconds."""

        def request() -> int:
            found = self._snapshot(job)
            return 0 if found is None else found.request

        return FollowedTask(view, request, began_at)

    def start(
        self,
        session: Session,
        connection: Connection,
        job: JobId,
        followed: FollowedTask,
        clock: CallClock,
    ) -> TaskRun:
        """Follow a job's task over a connection, in that session's task group."""
        agreement, multi_round_trips = session.agreement, session.multi_round_trips
        assert agreement is not None  # noqa: S101  # the session is connected
        offer = TaskOffer.of(agreement.revision, agreement.capabilities)

        async def ask(requests: JsonObject, frame: int) -> JsonObject:
            return (
                await multi_round_trips.ask_all(requests, frame, job)
                if multi_round_trips is not None
                else {}
            )

        run = TaskRun(connection, offer, followed, clock, ask)
        run.is_left = self.is_closing
        session.start_soon(functools.partial(self._follow, job, run), f"task of job {job}")
        self._runs[job] = run
        return run

    async def _follow(self, job: JobId, run: TaskRun) -> None:
        """Follow a task, then keep or delete its saved entry."""
        try:
            await run.run()
        except Exception:  # noqa: BLE001
            # The one place for internal errors in following a task: the session continues.
            _log.exception("following the task of job %s met a defect", job)
        finally:
            with anyio.CancelScope(shield=True):
                await self._conclude(job, run)
            run.settled.set()

    async def _conclude(self, job: JobId, run: TaskRun) -> None:
        if self._runs.get(job) is run:
            del self._runs[job]
        end = run.end
        if end is None or end.fate.is_open:
            await self._keeper.release(job, run.view)
            return
        await self._keeper.finish([job])
        outcome = _UNREPORTED.get(end.fate)
        if outcome is not None:
            request, text = run.request, end.text
            await run.connection.record_event(
                "call_ended", request=request, outcome=outcome, text=text
            )

    # Endings

    async def cancel(self, job: JobSnapshot, reason: str) -> bool:
        """Cancel a task on its server; whether the job is one.

        `UserError` if the server does not support that, or is not connected.
        """
        run = self._runs.get(job.id)
        if run is None and job.id in self._beginning:  # sent once the task is followed
            self._publish(self._tracker.note_cancel_requested(job.id))
            return True
        if run is None:
            if job.task is None or job.state.is_over:
                return False
            what = "This task is not being followed: its server is not connected"
            raise UserError(ErrorDetails(what, job.server, "Follow it first."))
        if not run.offer.has_cancel:
            what = "The server does not support cancelling tasks"
            hint = "The task runs until it finishes or you disconnect the server."
            raise UserError(ErrorDetails(what, job.server, hint))
        self._publish(self._tracker.note_cancel_requested(job.id))
        run.cancel()
        fields = {"request": job.request, "reason": reason, "grace_s": self._tracker.cancel_grace_s}
        await run.connection.record_event("cancel_requested", **fields)
        return True

    def release(self, job: JobId) -> None:
        """Stop following a task whose job was ended by the clock."""
        run = self._runs.get(job)
        if run is not None:
            run.stop("The server did not answer the cancel request")

    def _snapshot(self, job: JobId) -> JobSnapshot | None:
        return self._tracker.snapshot(job, self._clock.monotonic())


_UNREPORTED = {
    TaskFate.NO_RESULT: "failed",
    TaskFate.UNKNOWN: "lost",
    TaskFate.GIVEN_UP: "cancelled",
}
"""Endings that no message states, with their meaning for the job."""

"""Tasks left on servers: followed again once their server is connected, listed, forgotten."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.engine.origins import only_watched
from mcp_progress_monitor.engine.task_runs import Entry, TaskKeeper, TaskRuns, not_a_task
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.facts import CallEnded, TaskView
from mcp_progress_monitor.protocol.frames import FactRun
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.protocol.tasks import TaskOffer
from mcp_progress_monitor.sessions.connection.clocks import CallClock
from mcp_progress_monitor.sessions.tasks import list_tasks
from mcp_progress_monitor.snapshots.limits import USUAL, LimitChoice, chosen_limits, usual_limits
from mcp_progress_monitor.snapshots.servers import not_connected
from mcp_progress_monitor.store.watched import WatchedEnding, split_watched_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.requests import Requests
    from mcp_progress_monitor.engine.updates import LiveTracker
    from mcp_progress_monitor.sessions.connection.listing import Listed
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.sessions.tasks import TaskRun
    from mcp_progress_monitor.store.tasks import SavedTaskId
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_log = logging.getLogger(__name__)

_CHECK_S = 5.0
"""How often to check tasks that are not followed here."""


class Tasks:
    """Tasks by job and by server; those that are not followed wait for their server."""

    def __init__(
        self,
        keeper: TaskKeeper,
        runs: TaskRuns,
        requests: Requests,
        manager: SessionManager,
        live: LiveTracker,
        reach: Callable[..., Awaitable[str]],
        spawn: Callable[[Callable[[JobId], Coroutine[object, object, None]], JobId], None],
    ) -> None:
        """`keeper` knows the saved tasks, `runs` the followed ones.

        `reach` connects the server of an origin and returns its name; tasks that are followed
        automatically run in `spawn`.
        """
        self._keeper = keeper
        self._runs = runs
        self._requests = requests
        self._manager = manager
        self._tracker, self._clock, self._publish = live
        self._reach = reach
        self._spawn = spawn
        self._connecting: set[JobId] = set()
        self._picks_up_alone = True

    def stop_automatic(self) -> None:
        """Follow no more tasks automatically, only on request.

        For a front end that would not show them: nobody would see how they end.
        """
        self._picks_up_alone = False

    def leave(self) -> None:
        """Leave tasks on their servers when calls are cancelled: the program is closing."""
        self._runs.close()

    def can_pick_up(self, job: JobId) -> bool:
        """True if a job is an unfollowed task that may still run on its server."""
        entry = self._keeper.entries.get(job)
        if entry is None or self._is_busy(job) or entry.is_elsewhere:
            return False
        return not self._is_expired(entry)

    def job_of(self, server: str, task: str) -> JobId | None:
        """The job of a server's task; None if it is not one of ours."""
        return self._tracker.task_job(f"{server}#0", task)

    def saved_id(self, job: JobId) -> SavedTaskId | None:
        """The key of a job's saved task; None once its end is known, or if it is not saved."""
        entry = self._keeper.entries.get(job)
        return None if entry is None else entry.saved

    def find(self, saved: SavedTaskId) -> JobId | None:
        found = (job for job, entry in self._keeper.entries.items() if entry.saved == saved)
        return next(found, None)

    async def list_at(self, server: str) -> Listed:
        """All tasks of a connected server of 2025-11-25, including other clients'.

        `UserError` if it is not connected, cannot list tasks, or refuses.
        """
        connection, snapshot = self._manager.connection(server), self._manager.snapshot(server)
        offer = TaskOffer.of(snapshot.revision or "", snapshot.capabilities)
        try:
            return await list_tasks(connection, offer)
        except anyio.ClosedResourceError as error:
            raise UserError(not_connected(server)) from error

    async def pick_up(self, job: JobId, *, use_saved_definition: bool = False) -> Outcome:
        """Follow a task again that was left on its server, and wait for its end.

        The server is connected first if necessary. Tasks are followed automatically when their
        server is connected.

        Raises:
            ServerChangedError: the server was redefined; `use_saved_definition` starts it as
                saved.
            UserError: the job is not such a task, is followed already, here or in another
                program,
                has expired, or its server cannot be reached.
        """
        entry = self._checked(job)
        self._connecting.add(job)
        try:
            server = await self._reach(entry.origin, use_saved_definition=use_saved_definition)
            run = await self._continue(job, entry, server)
        finally:
            self._connecting.discard(job)
        return await self._requests.complete_task(run, job, self._clock.monotonic())

    async def _continue(self, job: JobId, entry: Entry, server: str) -> TaskRun:
        connection = self._manager.connection(server)
        session = self._manager.session_of(connection.id)
        assert session is not None  # noqa: S101  # it has that connection
        await self._keeper.claim(entry)
        if split_watched_key(entry.origin.server_key) is not None:
            self._tracker.note_task_server(job, self._manager.key_of(server))
        definition = self._manager.snapshot(server).definition
        limits = usual_limits(
            entry.origin.method,
            definition.idle_timeout_s,
            definition.total_timeout_s,
            self._requests.default_limits,
        )
        followed = self._runs.followed(job, entry.view, entry.began_at)._replace(is_known=False)
        clock = CallClock(self._clock.monotonic(), limits)
        return self._runs.start(session, connection, job, followed, clock)

    async def follow(
        self,
        server: str,
        view: TaskView,
        idle_timeout_s: LimitChoice = USUAL,
        total_timeout_s: LimitChoice = USUAL,
    ) -> Outcome:
        """Follow a task that was not begun by a call of ours; stopping leaves it unchanged.

        `view` is the server's newest reply to `tasks/get`. The limits are those of a tool.
        `UserError` if the server is not connected, the task belongs to no job, or is followed
        already.
        """
        definition = self._manager.snapshot(server).definition
        usual = usual_limits(
            CALL_TOOL,
            definition.idle_timeout_s,
            definition.total_timeout_s,
            self._requests.default_limits,
        )
        limits = chosen_limits(idle_timeout_s, total_timeout_s, usual)
        connection = self._manager.connection(server)
        session = self._manager.session_of(connection.id)
        job = self._tracker.task_job(connection.id, view.id)
        if job is None or session is None:
            raise UserError(ErrorDetails("Task not found", f"task {view.id!r}, {server}"))
        if job in self._runs:
            raise UserError(
                ErrorDetails("This task is already being followed", f"task {view.id!r}")
            )
        now = self._clock.monotonic()
        followed = self._runs.followed(job, view, now)
        run = self._runs.start(session, connection, job, followed, CallClock(now, limits))
        run.is_left = True
        return await self._requests.complete_task(run, job, now)

    def on_connected(self, server: str) -> None:
        """Follow the tasks of a server that has just been connected."""
        if not self._picks_up_alone:
            return
        key = self._manager.key_of(server)
        for job, entry in list(self._keeper.entries.items()):
            if entry.origin.server_key == key and self.can_pick_up(job):
                self._spawn(self._follow_in_background, job)

    async def _follow_in_background(self, job: JobId) -> None:
        try:
            await self.pick_up(job)
        except UserError as error:
            _log.info("the task of job %s is not picked up: %s", job, error)

    async def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete the saved entries of tasks that nobody follows, and end their jobs."""
        idle = self._idle(jobs)
        await self._keeper.finish(idle, WatchedEnding.FORGOTTEN)
        for job in idle:
            self._end(
                job, "cancelled", "You forgot the task; it may still be running on its server"
            )

    def note_removed(self, jobs: Iterable[JobId]) -> None:
        """Do not restore the tasks of jobs that the user removed."""
        over = [job for job in self._idle(jobs) if self._snapshot(job) is None]
        self._keeper.schedule_deletion(over)

    def _idle(self, jobs: Iterable[JobId]) -> list[JobId]:
        entries = self._keeper.entries
        return [job for job in jobs if job in entries and not self._is_busy(job)]

    def _is_busy(self, job: JobId) -> bool:
        return job in self._runs or job in self._connecting

    # Background work

    async def watch(self) -> None:
        """Delete expired tasks, and check what other programs do with saved ones."""
        while True:
            await anyio.sleep(_CHECK_S)
            entries = self._keeper.entries
            idle = self._idle(entries)
            await self._keeper.finish([job for job in idle if self._is_expired(entries[job])])
            if self._idle(entries):
                await self._poll()

    async def _poll(self) -> None:
        """End the jobs of tasks that another program has completed."""
        for job in self._idle(await self._keeper.poll()):
            found = self._snapshot(job)
            self._keeper.drop([job])
            if found is not None and found.watched_client is not None and found.request > 0:
                continue  # their own client learns the end
            self._end(job, "lost", "The task finished or was forgotten in another program")

    def _end(self, job: JobId, outcome: str, text: str) -> None:
        found = self._snapshot(job)
        if found is not None and not found.state.is_over:
            now, wall = self._clock.monotonic(), self._clock.wall()
            ended = CallEnded(0, found.connection, now, wall, found.request, outcome, text)
            self._publish(self._tracker.apply(FactRun.of([ended]), now))

    def _checked(self, job: JobId) -> Entry:
        entry = self._keeper.entries.get(job)
        if self._runs.is_closing:
            raise UserError(ErrorDetails("The program is closing"))
        if entry is None:
            raise not_a_task(job)
        found = self._snapshot(job)
        if found is not None and found.watched_client and not found.can_resume_here:
            raise only_watched(found.watched_client, found.server)
        if self._is_busy(job):
            raise UserError(
                ErrorDetails("This task is already being followed", entry.origin.server)
            )
        if self._is_expired(entry):
            what = "The task has expired: the server may have discarded it"
            hint = "Re-issue the request from the start."
            raise UserError(ErrorDetails(what, entry.origin.server, hint))
        return entry

    def _is_expired(self, entry: Entry) -> bool:
        expires_at = entry.expires_at
        return expires_at is not None and expires_at <= self._clock.monotonic()

    def _snapshot(self, job: JobId) -> JobSnapshot | None:
        return self._tracker.snapshot(job, self._clock.monotonic())

"""Follows the tasks that calls have become to their end, over as many connections as that takes.

A task goes on at its server whatever becomes of a connection or of this program: it is saved, and
picked up again when its server is connected.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.facts import CallEnded
from mcp_progress_monitor.protocol.task_requests import TaskOffer
from mcp_progress_monitor.protocol.tasks import created_task
from mcp_progress_monitor.resuming.origins import origin_of
from mcp_progress_monitor.resuming.task_keeper import TaskKeeper, not_a_task
from mcp_progress_monitor.sessions.call_clock import CallClock
from mcp_progress_monitor.sessions.limits import usual_limits
from mcp_progress_monitor.sessions.task_end import TaskFate
from mcp_progress_monitor.sessions.task_run import Followed, TaskRun
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from mcp_progress_monitor.calls import Calls, Outcome
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.task_state import TaskView
    from mcp_progress_monitor.resuming.keeper import Keeper
    from mcp_progress_monitor.resuming.task_keeper import Entry
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.exchange import Exchange
    from mcp_progress_monitor.sessions.limits import Limits
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.sessions.session import Session
    from mcp_progress_monitor.store.resumes import ResumeStore
    from mcp_progress_monitor.store.tasks import SavedTaskId
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Tracker

_log = logging.getLogger(__name__)

_LOOK_S = 5.0
"""How often to look what became of tasks that nobody here follows."""


class Following:
    """One run for each task that is followed; the others wait to be picked up."""

    def __init__(
        self,
        store: ResumeStore | None,
        keeper: Keeper,
        calls: Calls,
        manager: Manager,
        tracker: Tracker,
        clock: Clock,
        publish: Callable[[Changes], None],
        reach: Callable[..., Awaitable[str]],
        spawn: Callable[[Callable[[JobId], Coroutine[object, object, None]], JobId], None],
    ) -> None:
        """Follow what `calls` become, and save it in `store`.

        `reach` connects the server of an origin and returns its name; what goes on by itself is a
        task of `spawn`. What the disk refuses is told by `keeper`.
        """
        tasks = None if store is None else store.tasks
        self._keeper = TaskKeeper(tasks, keeper, tracker, clock, publish)
        self._calls = calls
        self._manager = manager
        self._tracker = tracker
        self._clock = clock
        self._publish = publish
        self._reach = reach
        self._spawn = spawn
        self._runs: dict[JobId, TaskRun] = {}
        self._reaching: set[JobId] = set()
        self._beginning: set[JobId] = set()
        self._is_closing = False
        self.picks_up_alone = True
        """Whether a task goes on as soon as its server is connected, without being asked for."""
        calls.begin_task = self.begin
        calls.cancel_otherwise = self.cancel

    async def restore(self) -> None:
        """Make rows of the tasks that were left at servers by earlier runs of the program."""
        await self._keeper.restore()

    def close(self) -> None:
        """The program ends: tasks go on at their servers, whoever waits for them gives up."""
        self._is_closing = True
        for run in self._runs.values():
            run.is_left = True

    async def closed(self) -> None:
        """Do what is left to be done on disk."""
        await self._keeper.pay()

    # A call becomes a task

    async def begin(self, connection: Connection, exchange: Exchange, job: JobId) -> TaskRun | None:
        """Follow the task that a call was answered with, once it is saved; None if it was not."""
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
        followed = self._followed(job, view, reply.at)
        try:
            run = self._start(session, connection, job, followed, exchange.clock)
        except ProblemError:  # the session is over meanwhile, of which its connection tells
            await self._keeper.let_go(job, view)
            return None
        if found is not None and found.state is JobState.CANCELLING:
            run.cancel()  # it was cancelled before anybody knew that it is a task
        return run

    async def _save(
        self, job: JobId, session: Session, exchange: Exchange, view: TaskView, at: float
    ) -> None:
        """Save a task that has begun; nobody sees it before that."""
        detail = self._tracker.detail(job, self._clock.monotonic())
        if detail is not None:
            server = session.snapshot()
            key = self._manager.key_of(server.name)
            origin = origin_of(detail, server, key, exchange.first.raw)
            await self._keeper.begin(job, origin, view, at)

    def _followed(self, job: JobId, view: TaskView, began_at: float) -> Followed:
        def request() -> int:
            found = self._snapshot(job)
            return 0 if found is None else found.request

        return Followed(view, request, began_at)

    def _start(
        self,
        session: Session,
        connection: Connection,
        job: JobId,
        followed: Followed,
        clock: CallClock,
    ) -> TaskRun:
        agreement, rounds = session.agreement, session.rounds
        assert agreement is not None  # noqa: S101  # the session is connected
        offer = TaskOffer.of(agreement.revision, agreement.capabilities)

        async def ask(requests: JsonObject, frame: int) -> JsonObject:
            return await rounds.ask_all(requests, frame, job) if rounds is not None else {}

        run = TaskRun(connection, offer, followed, clock, ask)
        run.is_left = self._is_closing
        session.start_soon(functools.partial(self._follow, job, run), f"task of job {job}")
        self._runs[job] = run
        return run

    async def _follow(self, job: JobId, run: TaskRun) -> None:
        """Follow a task, then keep or delete what is saved of it."""
        try:
            await run.run()
        except Exception:  # noqa: BLE001
            # The one place for our own errors in following a task: the session goes on.
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
            await self._keeper.let_go(job, run.view)
            return
        await self._keeper.finish([job])
        outcome = _UNTOLD.get(end.fate)
        if outcome is not None:
            request, words = run.request, end.words
            await run.connection.tell("call_ended", request=request, outcome=outcome, text=words)

    # Wishes

    async def cancel(self, job: JobSnapshot, reason: str) -> bool:
        """Have a task cancelled by its server, the way tasks are; whether the job is one.

        `ProblemError` when the server does not offer that, or is not connected.
        """
        run = self._runs.get(job.id)
        if run is None and job.id in self._beginning:  # it is sent once the task is followed
            self._publish(self._tracker.note_cancel_requested(job.id))
            return True
        if run is None:
            if job.task is None or job.state.is_over:
                return False
            what = "Nobody follows this task: its server is not connected"
            raise ProblemError(Problem(what, job.server, "Pick it up first."))
        if not run.offer.has_cancel:
            what = "The server does not offer to cancel its tasks"
            hint = "It runs until it ends by itself, or until you disconnect the server."
            raise ProblemError(Problem(what, job.server, hint))
        self._publish(self._tracker.note_cancel_requested(job.id))
        run.cancel()
        fields = {"request": job.request, "reason": reason, "grace_s": self._tracker.cancel_grace_s}
        await run.connection.tell("cancel_requested", **fields)
        return True

    def let_go(self, job: JobId) -> None:
        """Follow a task no longer whose job has ended by time alone."""
        run = self._runs.get(job)
        if run is not None:
            run.stop("The server did not answer the cancel")

    def can_pick_up(self, job: JobId) -> bool:
        """Whether a job is a task that may go on at its server, and that nobody follows."""
        entry = self._keeper.entries.get(job)
        is_busy = job in self._runs or job in self._reaching
        if entry is None or is_busy or entry.is_elsewhere:
            return False
        return not self._is_expired(entry)

    def task_job(self, server: str, task: str) -> JobId | None:
        """The job whose task has that id at a server."""
        return self._tracker.task_job(f"{server}#0", task)

    def saved_id(self, job: JobId) -> SavedTaskId | None:
        """What names a job's task on disk; None once its end is known, or if it is not saved."""
        entry = self._keeper.entries.get(job)
        return None if entry is None else entry.saved

    def find(self, saved: SavedTaskId) -> JobId | None:
        """The job of a task on disk."""
        found = (job for job, entry in self._keeper.entries.items() if entry.saved == saved)
        return next(found, None)

    async def pick_up(self, job: JobId, *, use_saved_definition: bool = False) -> Outcome:
        """Follow a task again, and wait for its end; its server is connected first if need be.

        Raises:
            ServerChangedError: the server is defined otherwise now; see `Resumer.resume`.
            ProblemError: the job is no such task, is followed already, has expired, or its server
                cannot be reached.
        """
        entry = self._checked(job)
        self._reaching.add(job)
        try:
            server = await self._reach(entry.origin, use_saved_definition=use_saved_definition)
            run = await self._go_on(job, entry, server)
        finally:
            self._reaching.discard(job)
        return await self._calls.complete_task(run, job, self._clock.monotonic())

    async def _go_on(self, job: JobId, entry: Entry, server: str) -> TaskRun:
        connection = self._manager.connection(server)
        session = self._manager.session_of(connection.id)
        assert session is not None  # noqa: S101  # it has that connection
        await self._keeper.claim(entry)
        definition = self._manager.snapshot(server).definition
        limits = usual_limits(entry.origin.method, definition)
        followed = self._followed(job, entry.view, entry.began_at)._replace(is_known=False)
        clock = CallClock(self._clock.monotonic(), limits)
        return self._start(session, connection, job, followed, clock)

    async def follow(self, server: str, view: TaskView, limits: Limits) -> Outcome:
        """Follow a task that no call of ours began, as `tasks/get` has just stated it.

        Waits for its end. Giving up leaves the task as it is: others may wait for it.

        Raises:
            ProblemError: the server is not connected, the task is none of its jobs, or is followed
                already.
        """
        connection = self._manager.connection(server)
        session = self._manager.session_of(connection.id)
        job = self._tracker.task_job(connection.id, view.id)
        if job is None or session is None:
            raise ProblemError(Problem("There is no such task", f"task {view.id!r}, {server}"))
        if job in self._runs:
            raise ProblemError(Problem("This task is followed already", f"task {view.id!r}"))
        now = self._clock.monotonic()
        run = self._start(
            session, connection, job, self._followed(job, view, now), CallClock(now, limits)
        )
        run.is_left = True
        return await self._calls.complete_task(run, job, now)

    def on_connected(self, server: str) -> None:
        """Pick up what waits for a server that is connected now."""
        if not self.picks_up_alone:
            return
        key = self._manager.key_of(server)
        for job, entry in list(self._keeper.entries.items()):
            if entry.origin.server_key == key and self.can_pick_up(job):
                self._spawn(self._pick_up_alone, job)

    async def _pick_up_alone(self, job: JobId) -> None:
        try:
            await self.pick_up(job)
        except ProblemError as error:
            _log.info("the task of job %s is not picked up: %s", job, error)

    def drop(self, jobs: Iterable[JobId]) -> None:
        """Forget jobs that had to leave the list for others; their tasks stay on disk."""
        self._keeper.drop(jobs)

    async def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete what is saved of tasks that nobody follows, and let their jobs be over."""
        idle = self._idle(jobs)
        await self._keeper.finish(idle)
        for job in idle:
            self._end(job, "cancelled", "You forgot the task; it may go on at its server")

    def note_removed(self, jobs: Iterable[JobId]) -> None:
        """The user has seen the last of these jobs: their tasks are not to come back."""
        over = [job for job in self._idle(jobs) if self._snapshot(job) is None]
        self._keeper.owe(over)

    def _idle(self, jobs: Iterable[JobId]) -> list[JobId]:
        """Those of `jobs` whose task nobody follows."""
        entries = self._keeper.entries
        busy = self._runs.keys() | self._reaching
        return [job for job in jobs if job in entries and job not in busy]

    # By itself

    async def watch(self) -> None:
        """Delete what has expired, and see what other programs make of saved tasks."""
        while True:
            await anyio.sleep(_LOOK_S)
            entries = self._keeper.entries
            idle = self._idle(entries)
            await self._keeper.finish([job for job in idle if self._is_expired(entries[job])])
            if self._idle(entries):
                await self._look()

    async def _look(self) -> None:
        """End the jobs of tasks that another program has followed to their end."""
        for job in self._idle(await self._keeper.look()):
            self._keeper.drop([job])
            self._end(job, "lost", "The task ended or was forgotten in another program")

    def _end(self, job: JobId, outcome: str, words: str) -> None:
        """Let a job be over of which no connection tells."""
        found = self._snapshot(job)
        if found is not None and not found.state.is_over:
            now, wall = self._clock.monotonic(), self._clock.wall()
            told = CallEnded(0, found.connection, now, wall, found.request, outcome, words)
            self._publish(self._tracker.apply([told], now))

    def _checked(self, job: JobId) -> Entry:
        entry = self._keeper.entries.get(job)
        if self._is_closing:
            raise ProblemError(Problem("The program is closing"))
        if entry is None:
            raise not_a_task(job)
        if job in self._runs or job in self._reaching:
            raise ProblemError(Problem("This task is followed already", entry.origin.server))
        if self._is_expired(entry):
            what = "The task's time to live is over: the server need not know it any more"
            hint = "Re-issue the request from the start."
            raise ProblemError(Problem(what, entry.origin.server, hint))
        return entry

    def _is_expired(self, entry: Entry) -> bool:
        expires_at = entry.expires_at
        return expires_at is not None and expires_at <= self._clock.monotonic()

    def _snapshot(self, job: JobId) -> JobSnapshot | None:
        return self._tracker.snapshot(job, self._clock.monotonic())


_UNTOLD = {
    TaskFate.NO_RESULT: "failed",
    TaskFate.UNKNOWN: "lost",
    TaskFate.GIVEN_UP: "cancelled",
}
"""Ends that no message states by itself, and what they are for the job."""

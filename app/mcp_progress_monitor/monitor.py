"""The application without a face: servers, calls and jobs behind one object that front ends share.

It alone publishes: everything that happens on any connection reaches every listener through one
synchronous update a chunk, frames before the facts read from them and the changes these made.
"""

from __future__ import annotations

import functools
import itertools
import logging
from typing import TYPE_CHECKING, Final, Self

import anyio

from mcp_progress_monitor import __version__
from mcp_progress_monitor.calls import AutoResume, Call, Calls, Outcome
from mcp_progress_monitor.paths import APPLICATION
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.eras import ClientIdentity
from mcp_progress_monitor.protocol.frame import Channel, server_name
from mcp_progress_monitor.protocol.framing import FrameNumbers
from mcp_progress_monitor.protocol.messages import ALL_LISTS
from mcp_progress_monitor.protocol.task_requests import with_extension
from mcp_progress_monitor.protocol.tokens import TokenSource
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.resuming.following import Following
from mcp_progress_monitor.resuming.keeper import Keeper
from mcp_progress_monitor.resuming.origins import origin_of
from mcp_progress_monitor.resuming.reissue import call_anew
from mcp_progress_monitor.resuming.restorer import Restorer
from mcp_progress_monitor.resuming.resume_wishes import ResumeWishes
from mcp_progress_monitor.resuming.resumer import Resumer
from mcp_progress_monitor.resuming.servers import ServerChangedError
from mcp_progress_monitor.resuming.task_wishes import TaskWishes
from mcp_progress_monitor.sessions.arguments import check_in_thread, check_value, named_tool
from mcp_progress_monitor.sessions.clock import Clock
from mcp_progress_monitor.sessions.connector import Connector
from mcp_progress_monitor.sessions.desk import Desk
from mcp_progress_monitor.sessions.manager import Manager
from mcp_progress_monitor.sessions.questions import Questions
from mcp_progress_monitor.sessions.server_wishes import ServerWishes
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.sessions.wishes import Wishes
from mcp_progress_monitor.tracker.overview import Overview
from mcp_progress_monitor.tracker.snapshot import Changes, JobState
from mcp_progress_monitor.tracker.tracker import CANCEL_GRACE_S, Tracker
from mcp_progress_monitor.updates import Listeners, Update

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.facts import Fact, JsonObject
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.sessions.arguments import Checked
    from mcp_progress_monitor.sessions.call_clock import Clocks, Hold
    from mcp_progress_monitor.sessions.limits import Limits
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.references import Keyring
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.store.resumes import ResumeStore
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId

__all__ = ["AutoResume", "Call", "Monitor", "Outcome", "ServerChangedError", "Update"]

_log = logging.getLogger(__name__)

_TICK_S = 1.0
_LAG_S = 0.25
"""How far behind its clock the monitor lets time pass for jobs."""
_NOTHING = Changes()


class Monitor(Overview, ServerWishes, Wishes, ResumeWishes, TaskWishes):
    """Servers, their sessions and all jobs. An async context manager that owns one task group.

    Nothing it publishes is ever missed or reordered for a listener that subscribed before.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        store: ResumeStore | None = None,
        *,
        restores: bool = True,
        cancel_grace_s: float = CANCEL_GRACE_S,
        recorder: Recorder | None = None,
        settings: Path | SettingsFile | None = None,
        mends: bool = False,
        keyring: Keyring | None = None,
        folder: Path | None = None,
        lists: frozenset[str] = ALL_LISTS,
        follows_lists: bool = True,
    ) -> None:
        """A monitor without servers; `clock` is the computer's unless a test hands in its own.

        Resume tokens are kept in `store`, which is opened and closed here; without one, in memory.
        What it has is in the list of jobs from the beginning, unless `restores` is False.
        A server that is silent for `cancel_grace_s` after a cancel has confirmed it. `recorder`
        keeps every frame; it is run and closed here. Without one, memory keeps the newest. What is
        set for each server is kept in the file `settings`.

        With `mends`, servers that end by themselves are connected again, and started anew when
        their files change, as their definitions say. Secrets of servers are in `keyring`, tokens
        of sign-ins in `folder`; without one, in memory. Of what servers offer, `lists` are read as
        soon as they are connected, and again whenever they change if `follows_lists`.
        """
        self._clock = clock or Clock()
        self.recorder: Final = recorder or Recorder(clock=self._clock)
        self._restores = restores
        tracker = Tracker(key_of=self._key_of, saves=True, cancel_grace_s=cancel_grace_s)
        Overview.__init__(self, tracker, self.now)
        self._listeners = Listeners()
        info = {"name": APPLICATION, "version": __version__}
        identity = ClientIdentity(info, {}, with_extension({}))
        started_ms = int(self._clock.wall() * 1000)
        questions = Questions(self._on_questions, self._hold)
        held = settings if isinstance(settings, SettingsFile) else SettingsFile(settings)
        desk = Desk(questions, held, self.job_of, lists, follows_lists)
        self._manager = Manager(
            identity,
            FrameNumbers(),
            TokenSource(started_ms),
            self._clock,
            self._on_wire,
            self._on_server,
            self.recorder.room,
            desk,
            keyring,
            folder,
            mends=mends,
        )
        self._connector = Connector(self._manager, self._clock, self._on_server, mends=mends)
        Wishes.__init__(self, self._manager, desk)
        self._integers = itertools.count(started_ms)
        self._tasks: TaskGroup | None = None
        self._keeper = Keeper(store, self._tracker, self._clock, self._changed, self._origin)
        self._restorer = Restorer(store, self._tracker, self._clock, self._changed, self._keeper)
        self._calls = Calls(
            self._manager, self._tracker, self._changed, self._keeper.settled, self.now
        )
        self._resumer = Resumer(
            self._keeper,
            self._calls,
            self._manager,
            self._tracker,
            self._clock,
            self._changed,
            self._connector,
            self._restorer.look,
            self._start,
        )
        ServerWishes.__init__(self, self._manager, self._connector, self._resumer.note_removed)
        following = Following(
            store,
            self._keeper,
            self._calls,
            self._manager,
            self._tracker,
            self._clock,
            self._changed,
            self._resumer.reach,
            self._start,
        )
        ResumeWishes.__init__(self, self._resumer, self._keeper, self._tracker)
        TaskWishes.__init__(self, following, self._manager)
        self._connector.on_connected = following.on_connected

    async def __aenter__(self) -> Self:
        """Open the store and the task group that sessions live in, and let time pass for jobs."""
        await self._restorer.open(restores=self._restores)
        if self._restores:
            await self._following.restore()
        self._tasks = await anyio.create_task_group().__aenter__()
        self._connector.open(self._tasks)
        self._tasks.start_soon(self._tick, name="one second")
        self._tasks.start_soon(self._keeper.run, name="saving resume tokens")
        self._tasks.start_soon(self._restorer.watch, name="other programs")
        self._tasks.start_soon(self._following.watch, name="tasks left at servers")
        self._tasks.start_soon(self.recorder.run, name="recording")
        await self.recorder.opened()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every server politely, then all tasks."""
        if self._tasks is None:
            return
        with anyio.CancelScope(shield=True):
            await self.aclose()
            await self._following.closed()
            await self._keeper.close()
            await self.recorder.close()
        tasks, self._tasks = self._tasks, None
        self._connector.open(None)
        tasks.cancel_scope.cancel()
        # Not told of the body's exception: it goes on as it is, not inside a group.
        await tasks.__aexit__(None, None, None)

    async def aclose(self) -> None:
        """Disconnect all servers, at the same time, and wait until their processes are gone."""
        self._resumer.close()
        self._following.close()
        await self._connector.aclose()

    @property
    def timeline(self) -> Timeline:
        """Every frame that came, by place."""
        return self.recorder.timeline

    @property
    def recording(self) -> Path | None:
        """The first file of the session's recording; None when there is none."""
        return self.recorder.path

    def now(self) -> float:
        """Monotonic seconds, on the clock that frames and jobs are stamped with."""
        return self._clock.monotonic()

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""
        return self._listeners.add(listener)

    async def call(self, call: Call) -> Outcome:
        """Make a request and wait for its end, which may be a reply, a limit or the server's end.

        Never raises for what a server does. `ProblemError` for a server that is not connected, and
        a progress token or a limit that is refused. Cancelling cancels the request.
        """
        self._resumer.refuse_known_token(call)
        await self._manager.listed(call.server)
        connection, exchange = self._calls.ask(call)
        outcome = await self._calls.complete(connection, exchange)
        return await self._resumer.after_call(outcome, call, exchange.clock.limits)

    async def cancel(self, job: JobId, reason: str = "Cancelled by the user") -> None:
        """Ask the server to cancel a job of ours; nothing if that was done. `call` goes on waiting.

        The job ends when the server confirms, or after a time of silence. One that can be resumed
        stays so, but is no longer resumed by itself.
        """
        found = self.snapshot(job)
        if found is None or found.state is JobState.CANCELLING:
            return
        if found.is_automatic:
            self._resumer.set_automatic(job, None)
        if not found.state.is_over:
            await self._calls.cancel(found, reason)

    def reconnect_stream(self, job: JobId) -> None:
        """Take up the HTTP stream that a job's reply is due on again, at once.

        For servers that send nothing on it; that is also done after a time of silence.
        `ProblemError` when there is no such stream.
        """
        found = self.snapshot(job)
        if found is None:
            raise ProblemError(Problem("There is no such job", f"job {job}"))
        self._calls.reconnect_stream(found)

    def clocks(self, job: JobId) -> Clocks | None:
        """How long a job of ours is still waited for; None when it is not."""
        return self._calls.clocks(job)

    def extend(self, job: JobId, *, idle_s: float = 0.0, total_s: float = 0.0) -> None:
        """Move on the limits of a job, as far as they are not off.

        `ProblemError` when they cannot be moved so, or the job is not waited for (any more).
        """
        self._calls.extend(job, idle_s, total_s)

    def set_limits(self, job: JobId, limits: Limits) -> None:
        """Give a job other limits while it runs; None and 0 are off. `ProblemError` as above."""
        self._calls.set_limits(job, limits)

    async def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete the saved tokens of `jobs` and their rows; those that run stay.

        `ProblemError` when the disk refuses, and for jobs that another program is resuming.
        """
        wanted = list(jobs)
        await self._following.forget(wanted)
        found = [self.snapshot(job) for job in wanted]
        over = [job.id for job in found if job is not None and job.state.is_over]
        for job in over:
            self._resumer.set_automatic(job, None)
        await self._keeper.forget(over)

    async def reissue(self, job: JobId) -> Outcome:
        """Make a job's whole request again, from the start: work may be done twice.

        It becomes a new job, with a new progress token of the same kind. The server is connected
        first if need be. `ProblemError` when there is no such job, or no such server any more.
        """
        detail = self.detail(job)
        if detail is None:
            raise ProblemError(Problem("There is no such job", f"job {job}"))
        origin, reach = self._keeper.origins.get(job), self._resumer.reach
        return await self.call(await call_anew(detail, origin, self.connect, reach, self._integers))

    def remove_jobs(self, jobs: Iterable[JobId]) -> None:
        """Forget those of `jobs` that are over; those that can be resumed stay (see `forget`)."""
        found = [(job, self._tracker.chains.of(job)) for job in jobs]
        refused = [c.id for _, c in found if c is not None and c.id is not None and not c.token]
        changes = self._tracker.remove([job for job, _ in found])
        self._following.note_removed(changes.removed)
        self._publish(changes=changes)
        self._keeper.owe(refused)

    def detail(self, job: JobId) -> JobDetail | None:
        """The longer story of a job; None when there is none of that id, or no more.

        Attempts of earlier runs of the program follow in an update.
        """
        if self._tasks is not None and self._restorer.wants_attempts(job):
            self._start(self._restorer.read_attempts, job)
        return super().detail(job)

    async def check_arguments(self, server: str, tool: str, arguments: JsonObject) -> Checked:
        """What of `arguments` does not fit the tool's schema, and what could not be checked.

        `ProblemError` when there is no such server or tool.
        """
        schema = named_tool(self.server(server), tool).input_schema
        return await check_in_thread(functools.partial(check_value, schema, arguments))

    def _task_group(self) -> TaskGroup:
        if self._tasks is None:
            raise ProblemError(Problem("The program is closing"))
        return self._tasks

    def _start(self, work: Callable[[JobId], Coroutine[object, object, None]], job: JobId) -> None:
        self._task_group().start_soon(self._guarded, work, job, name=f"job {job}")

    async def _guarded(
        self, work: Callable[[JobId], Coroutine[object, object, None]], job: JobId
    ) -> None:
        try:
            await work(job)
        except Exception:  # noqa: BLE001
            # The one place for our own errors in what a job does by itself: the others go on.
            _log.exception("job %s met a defect", job)

    async def _tick(self) -> None:
        """Let time pass once a second: stalls, cancels met with silence, servers that are hung."""
        while True:
            await anyio.sleep(_TICK_S)
            self._manager.look(self.now())
            # Not to the very moment: what was read from a server by then is to be taken first.
            changes = self._tracker.tick(self.now() - _LAG_S)
            self._let_go(changes)
            if changes != _NOTHING:
                self._publish(changes=changes)

    def _let_go(self, changes: Changes) -> None:
        """Let go of calls whose job, or attempt, has ended by time alone."""
        for job in changes.lapsed:
            self._calls.let_go(job)
            self._following.let_go(job)

    def _key_of(self, connection: str) -> str:
        return self._manager.key_of(server_name(connection))

    def _origin(self, job: JobId) -> Origin:
        """The request of a job that has just become resumable, with its server."""
        detail = self._tracker.detail(job, self.now())
        if detail is None:
            raise ProblemError(Problem("There is no such job", f"job {job}"))
        server = self._manager.snapshot(detail.snapshot.server)
        return origin_of(detail, server, self._manager.key_of(server.name), self._calls.sent(job))

    def _on_wire(self, frames: Sequence[Frame], facts: Sequence[Fact]) -> None:
        """Take what a connection saw. Stderr and events change what is known of its server."""
        self.recorder.take(frames, facts)
        changes = self._tracker.apply(facts, self.now())
        if changes.marked:
            self.recorder.mark(changes.marked)
        self._let_go(changes)
        first = frames[0]
        is_of_server = first.channel in {Channel.STDERR, Channel.EVENT}
        servers = frozenset({server_name(first.connection)} if is_of_server else ())
        self._publish(frames, facts, changes, servers)

    def _on_server(self, name: str) -> None:
        self._publish(servers=frozenset({name}))

    def _on_questions(self, questions: frozenset[int]) -> None:
        self._listeners.tell(Update(questions=questions))

    def _hold(self, question: Question) -> Hold:
        return self._calls.hold_for(question)

    def _changed(self, changes: Changes) -> None:
        self._publish(changes=changes)

    def _publish(
        self,
        frames: Sequence[Frame] = (),
        facts: Sequence[Fact] = (),
        changes: Changes = _NOTHING,
        servers: frozenset[str] = frozenset(),
    ) -> None:
        """Tell every listener, then have done what the changes ask for."""
        self._listeners.tell(Update(frames, facts, changes, servers))
        if changes.steps or changes.removed:
            self._keeper.take(changes)
            self._restorer.drop(changes.removed)
            self._resumer.drop(changes.removed)
            self._following.drop(changes.removed)

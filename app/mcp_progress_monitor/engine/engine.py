"""The application without a user interface: servers, calls and jobs behind one object.

Only the engine publishes: everything that happens on any connection reaches every listener through
one synchronous update per chunk, frames before the facts read from them and the changes they made.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Self

import anyio
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import __version__
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.calls import Calls
from mcp_progress_monitor.engine.jobs import LiveJobs
from mcp_progress_monitor.engine.keeper import Keeper, Restorer
from mcp_progress_monitor.engine.origins import origin_of, was_run
from mcp_progress_monitor.engine.requests import Requests
from mcp_progress_monitor.engine.resumer import Resumer
from mcp_progress_monitor.engine.save_loops import SaveLoops
from mcp_progress_monitor.engine.servers import Servers
from mcp_progress_monitor.engine.settings import Settings
from mcp_progress_monitor.engine.task_runs import TaskKeeper, TaskRuns
from mcp_progress_monitor.engine.tasks import Tasks
from mcp_progress_monitor.engine.updates import Listeners, LiveTracker, Update
from mcp_progress_monitor.engine.watching import Watching
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.paths import APPLICATION
from mcp_progress_monitor.protocol.eras import ClientIdentity
from mcp_progress_monitor.protocol.facts import Side, TaskStated
from mcp_progress_monitor.protocol.frames import NO_FACTS, Channel, FactRun, Frame, server_name
from mcp_progress_monitor.protocol.framing import FrameNumbers
from mcp_progress_monitor.protocol.messages import is_terminal
from mcp_progress_monitor.protocol.offers import ALL_LISTS
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.protocol.tasks import with_extension
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.sessions.connection.asking import SecretsAtConnect
from mcp_progress_monitor.sessions.connection.connector import Connector
from mcp_progress_monitor.sessions.connection.manager import SessionManager
from mcp_progress_monitor.sessions.questions.answers import no_answer
from mcp_progress_monitor.sessions.questions.broker import RequestBroker
from mcp_progress_monitor.sessions.questions.questions import Questions
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobState
from mcp_progress_monitor.tracker.tracker import CANCEL_GRACE_S, Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.engine.machines import Machines
    from mcp_progress_monitor.engine.recorded_chunks import TakenChunk
    from mcp_progress_monitor.protocol.facts import Fact, RequestMade
    from mcp_progress_monitor.recording.recorder import WatchedPlaces
    from mcp_progress_monitor.secrets.references import Keyring
    from mcp_progress_monitor.sessions.connection.asking import SecretPrompt
    from mcp_progress_monitor.sessions.connection.clocks import CallClock
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.store.resumes import ResumeStore

_log = logging.getLogger(__name__)

_TICK_S = 1.0
_LAG_S = 0.25  # how far behind the clock the engine advances time for jobs
_RELEASED_AT_ONCE: Final = 32
_NOTHING = ChangeSet()
_GIVEN_UP: Final = {
    JobState.CANCELLED: "the call was cancelled",
    JobState.TIMED_OUT: "the call timed out",
}


class Engine:
    """Servers, their sessions and all jobs.

    An async context manager that owns one task group. Each part has its own methods: `servers`,
    `settings`, `questions`, `calls`, `jobs`, `resumer`, `tasks`, `recording`, `save_loops`.
    `subscribe` delivers every update, in order.
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
        reconnects: bool = False,
        keyring: Keyring | None = None,
        prompt: SecretPrompt | None = None,
        folder: Path | None = None,
        lists: frozenset[str] = ALL_LISTS,
        follows_lists: bool = True,
        refusal: Callable[[ServerDefinition], ErrorDetails | None] | None = None,
        watched: Sequence[Path] = (),
    ) -> None:
        """Create an engine without servers; `clock` is the system's except in tests.

        Resume tokens are kept in `store`, which is opened and closed here; without one, in memory.
        Its jobs are listed at once, unless `restores` is False. Silence for `cancel_grace_s` after
        a cancel confirms it. `recorder` keeps every frame, and is run and closed here; without one,
        memory keeps the newest. The servers' settings are saved in the file `settings`.

        With `reconnects`, servers that end unexpectedly are reconnected, and restarted when their
        files change, as their definitions say. Secrets of servers are in `keyring`, or asked for by
        `prompt`; tokens of sign-ins are in `folder` or, without one, in memory. The `lists` of
        servers are read as soon as they are connected, and again whenever they change if
        `follows_lists`.

        Nothing that `refusal` objects to is connected, not even for a saved job or a reconnect. The
        definition that a saved job began with was approved before, and is not refused.

        Recordings that other programs write in the folders `watched` are followed.
        """
        self._clock = clock or Clock()
        numbers = FrameNumbers()
        self.watched: Final = Watching(
            watched, numbers, self._clock, self._on_watched, self._on_watched_facts
        )
        self._machines: Machines | None = None
        self._folder = folder
        self._restores = restores
        self._refusal = refusal
        self._listeners = Listeners()
        self._tracker = Tracker(
            key_of=self._key_of,
            client_of=self.watched.client_of,
            is_behind=self.watched.is_behind,
            clock_of=self._clock_of,
            saves=True,
            cancel_grace_s=cancel_grace_s,
        )
        self._tasks: TaskGroup | None = None
        self.recording: Final = recorder or Recorder(clock=self._clock)
        self.timeline: Final = self.recording.timeline  # every frame so far, by place
        self.questions: Final = Questions(
            self._on_questions, lambda question: self._requests.hold_for(question)
        )
        held = settings if isinstance(settings, SettingsFile) else SettingsFile(settings)
        request_broker = RequestBroker(
            self.questions, held, self._tracker.job_of, lists, follows_lists
        )
        self._manager = SessionManager(
            ClientIdentity({"name": APPLICATION, "version": __version__}, {}, with_extension({})),
            numbers,
            TokenSource(int(self._clock.wall() * 1000)),
            self._clock,
            self._on_wire,
            self._on_server,
            request_broker,
            self.recording.room,
            keyring,
            folder,
            reconnects=reconnects,
        )
        self.settings: Final = Settings(self._manager, request_broker)
        self._connector = Connector(
            self._manager,
            self._clock,
            self._on_server,
            lambda name: self.tasks.on_connected(name),
            self._gate,
            SecretsAtConnect(prompt),
            reconnects=reconnects,
        )
        manager, tracker, publish = self._manager, self._tracker, self._changed
        live = LiveTracker(tracker, self._clock, publish)
        keeper = self._keeper = Keeper(store, live, self._origin, self.watched.saves_itself)
        self._restorer = Restorer(store, live, keeper, self.watched.note_restored)
        saved_tasks = None if store is None else store.tasks
        task_keeper = self._task_keeper = TaskKeeper(saved_tasks, keeper, live)
        runs = self._runs = TaskRuns(task_keeper, manager, live)
        requests = self._requests = Requests(
            manager, tracker, publish, keeper.settled, runs, self._clock.monotonic
        )
        resumer = Resumer(
            keeper, requests, manager, live, self._connector, self._restorer.poll, self._start
        )
        self.resumer: Final = resumer
        self.servers: Final = Servers(manager, self._connector, self._gate, resumer.note_removed)
        self.calls: Final = Calls(
            requests, resumer, keeper, manager, self.servers, live, self._origin
        )
        self.tasks: Final = Tasks(
            task_keeper, runs, requests, manager, live, resumer.reach, self._start
        )
        self.jobs: Final = LiveJobs(
            tracker,
            self.resumer,
            self.tasks,
            keeper,
            self._clock.monotonic,
            publish,
            self._read_attempts,
        )
        self.save_loops: Final = SaveLoops(
            self._connector, manager, self.calls, self.jobs, self.subscribe
        )

    async def __aenter__(self) -> Self:
        """Open the store and the task group of the sessions, and start the clock of the jobs."""
        await self._restorer.open(restores=self._restores)
        if self._restores:
            await self._task_keeper.restore(self.watched.note_restored)
        self._tasks = await anyio.create_task_group().__aenter__()
        self._connector.open(self._tasks)
        self._tasks.start_soon(self._tick, name="one second")
        self._tasks.start_soon(self._keeper.run, name="saving resume tokens")
        self._tasks.start_soon(self._restorer.watch, name="other programs")
        self._tasks.start_soon(self.tasks.watch, name="tasks left at servers")
        self._tasks.start_soon(self.recording.run, name="recording")
        self._tasks.start_soon(self.watched.run, name="watching other clients")
        await self.recording.opened()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End every server gracefully, then all tasks."""
        if self._tasks is None:
            return
        with anyio.CancelScope(shield=True):
            await self.aclose()
            await self._task_keeper.settle()
            await self._keeper.close()
            await self.recording.close()
        tasks, self._tasks = self._tasks, None
        self._connector.open(None)
        tasks.cancel_scope.cancel()
        # The body's exception is not passed on: it propagates unchanged, not inside a group.
        await tasks.__aexit__(None, None, None)
        if self._machines is not None:
            self._machines.close()

    async def aclose(self) -> None:
        """Disconnect all servers in parallel, and wait until their processes are gone."""
        self.resumer.close()
        self._runs.close()
        await self._connector.aclose()

    async def show_saved(self) -> None:
        """Show jobs that were saved, by others, since this engine was opened."""
        await self._restorer.show_new()
        await self._task_keeper.restore(self.watched.note_restored)

    def now(self) -> float:
        return self._clock.monotonic()

    @property
    def recorded_path(self) -> Path | None:
        """The first file that the session is recorded into; None without one."""
        return self.recording.path

    @property
    def machines(self) -> Machines:
        """The other machines that are watched."""
        if self._machines is None:
            from mcp_progress_monitor.engine.machines import Machines  # few watch any

            self._machines = Machines(
                self.watched, self._clock, self._on_machines, self._folder, self._task_group
            )
        return self._machines

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""
        return self._listeners.add(listener)

    def _task_group(self) -> TaskGroup:
        if self._tasks is None:
            raise UserError(ErrorDetails("The program is closing"))
        return self._tasks

    def _start(self, work: Callable[[JobId], Coroutine[object, object, None]], job: JobId) -> None:
        self._task_group().start_soon(self._guarded, work, job, name=f"job {job}")

    def _read_attempts(self, job: JobId) -> None:
        if self._tasks is not None and self._restorer.wants_attempts(job):
            self._start(self._restorer.read_attempts, job)

    async def _guarded(
        self, work: Callable[[JobId], Coroutine[object, object, None]], job: JobId
    ) -> None:
        try:
            await work(job)
        except Exception:  # noqa: BLE001
            # The one place for internal errors in a job's own tasks: the others continue.
            _log.exception("job %s met a defect", job)

    async def _tick(self) -> None:
        """Advance time once a second: stalls, unconfirmed cancels, hung servers."""
        while True:
            await anyio.sleep(_TICK_S)
            self._manager.poll(self.now())
            # With a lag: what was read from a server until then must be handled first.
            now = self.now()
            changes = self._tracker.tick(min(now - _LAG_S, self.watched.read_until(now)))
            self._release(changes.lapsed)
            if changes != _NOTHING:
                self._publish(changes=changes)

    def _release(self, lapsed: Sequence[JobId]) -> None:
        """Release calls whose job or attempt was ended by the clock, many of them in parts."""
        for job in lapsed[:_RELEASED_AT_ONCE]:
            self._requests.release(job)
            self._runs.release(job)
        if len(lapsed) > _RELEASED_AT_ONCE and self._tasks is not None:
            self._tasks.start_soon(self._release_later, lapsed[_RELEASED_AT_ONCE:])

    async def _release_later(self, lapsed: Sequence[JobId]) -> None:
        await checkpoint()
        self._release(lapsed)

    def _origin(self, job: JobId) -> Origin:
        """The request of a job that has just become resumable, with its server."""
        detail = self._tracker.detail(job, self.now())
        if detail is None:
            raise UserError(ErrorDetails("Job not found", f"job {job}"))
        if detail.snapshot.watched_client is not None:
            watched = self.watched.snapshot(detail.snapshot.server)
            key = self._key_of(detail.snapshot.connection)
            return origin_of(detail, watched.server, key, None)
        server = self._manager.snapshot(detail.snapshot.server)
        return origin_of(
            detail, server, self._manager.key_of(server.name), self._requests.sent(job)
        )

    def _on_wire(self, frames: Sequence[Frame], facts: FactRun) -> None:
        """Handle a connection's traffic. Stderr and events change the server's snapshot."""
        self.recording.take(frames, facts)
        changes = self._tracker.apply(facts, self._clock.monotonic())
        if changes.marked:
            self.recording.mark(changes.marked)
        if changes.lapsed:
            self._release(changes.lapsed)
        first = frames[0]
        is_of_server = first.channel in {Channel.STDERR, Channel.EVENT}
        servers = frozenset({server_name(first.connection)} if is_of_server else ())
        self._publish(frames, facts, changes, servers)

    def _clock_of(self, request: RequestMade) -> CallClock | None:
        """The clock of the call that a request is made for, which was just queued."""
        connection = self._manager.connection_of(request.connection)
        exchange = None if connection is None else connection.outbox.exchange_of(request.number)
        return None if exchange is None else exchange.clock

    def _on_watched(self, taken: TakenChunk, places: WatchedPlaces) -> None:
        """Handle what a tap recorded like the traffic of a connection, without recording it."""
        frames, facts = taken.frames, taken.facts
        self.recording.index(frames, facts, places)
        changes = self._tracker.apply_behind(facts, self._clock.monotonic())
        if changes.marked:
            self.recording.mark(changes.marked)
        if changes.lapsed:
            self._release(changes.lapsed)
        self._publish(frames, facts, changes, taken.servers)
        self._note_watched_tasks(facts.others)

    def _note_watched_tasks(self, facts: Sequence[Fact]) -> None:
        """Save the tasks of other clients' servers until their end is recorded."""
        for fact in facts:
            if type(fact) is not TaskStated or fact.sender is not Side.SERVER:
                continue  # a task of the client is not left at its server
            if self.watched.saves_itself(fact.connection):
                continue
            job = self._tracker.task_job(fact.connection, fact.task.id)
            found = None if job is None else self._tracker.snapshot(job, self.now())
            if job is None or found is None or found.watched_client is None:
                continue
            if fact.how == "created":
                self._begin_watched_task(job, fact)
            elif is_terminal(fact.task.status):  # even while its beginning is still being saved
                self._start(self._end_watched_task, job)

    def _begin_watched_task(self, job: JobId, fact: TaskStated) -> None:
        try:
            origin = self._origin(job)
        except UserError as error:
            self._keeper.keep_error(error.details)
            return
        keep = self._task_keeper.note_watched
        self._start(lambda each: keep(each, origin, fact.task, fact.at), job)

    async def _end_watched_task(self, job: JobId) -> None:
        await self._task_keeper.finish([job], None)

    def _on_watched_facts(self, facts: FactRun, servers: frozenset[str]) -> None:
        """Apply facts that no message states: a tap's session has ended."""
        changes = self._tracker.apply(facts, self._clock.monotonic()) if facts else _NOTHING
        self._publish((), facts, changes, servers)

    def _key_of(self, connection: str) -> str:
        """The identity of a connection's server, independent of its name; distinct if watched."""
        key = self.watched.key_of(connection)
        return self._manager.key_of(server_name(connection)) if key is None else key

    def _gate(self, definition: ServerDefinition) -> None:
        """Raise `UserError` if it must not be connected, unless a saved job ran it before."""
        error = None if self._refusal is None else self._refusal(definition)
        if error is not None and not was_run(definition, self._keeper.origins.values()):
            raise UserError(error)

    def _on_machines(self, names: frozenset[str]) -> None:
        self._publish(servers=names)

    def _on_server(self, name: str) -> None:
        self._publish(servers=frozenset({name}))

    def _on_questions(self, questions: frozenset[int]) -> None:
        """Hold or release the clocks of the jobs that these questions concern."""
        found = filter(None, map(self.questions.find, questions))
        held = frozenset(job for question in found for job in self._requests.held_by(question))
        self._listeners.publish(Update(changes=ChangeSet(progressed=held), questions=questions))

    def _changed(self, changes: ChangeSet) -> None:
        self._publish(changes=changes)

    def _publish(
        self,
        frames: Sequence[Frame] = (),
        facts: FactRun = NO_FACTS,
        changes: ChangeSet = _NOTHING,
        servers: frozenset[str] = frozenset(),
    ) -> None:
        """Publish to every listener, then carry out what the changes request."""
        self._listeners.publish(Update(frames, facts, changes, servers))
        if changes.steps or changes.removed:
            self._keeper.take(changes)
            self._restorer.drop(changes.removed)
            self.resumer.drop(changes.removed)
            self._task_keeper.drop(changes.removed)
        if changes.moved and self.questions.open():
            self._dismiss_questions(changes.moved)

    def _dismiss_questions(self, moved: frozenset[JobId]) -> None:
        """Dismiss questions of abandoned calls, whose answers are no longer needed.

        A question that any of several jobs may have caused stays open.
        """
        for question in self.questions.open():
            asked = () if question.job is None else (question.job,)
            for job in self._tracker.parents_of(asked).values():
                found = self._tracker.snapshot(job, self.now()) if job in moved else None
                if found is not None and found.state in _GIVEN_UP:
                    self.questions.answer(question.id, no_answer(question), _GIVEN_UP[found.state])

"""The author's inner loop: a saved file restarts a server between jobs, and calls it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import anyio
import anyio.lowlevel
import anyio.to_thread

from mcp_progress_monitor.engine.call import CallSeries
from mcp_progress_monitor.engine.origins import from_the_start
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import CALL_TOOL, GET_PROMPT, READ_RESOURCE
from mcp_progress_monitor.sessions.connection.connector import SaveWatch
from mcp_progress_monitor.snapshots.servers import OnSave, ServerState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.engine.call import Call
    from mcp_progress_monitor.engine.calls import Calls
    from mcp_progress_monitor.engine.jobs import LiveJobs
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.sessions.connection.connector import Connector
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.sessions.connection.session import ReconnectPolicy
    from mcp_progress_monitor.snapshots.definitions import FileWatch
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

OnEnd: TypeAlias = "Callable[[JobId], object]"
OnError: TypeAlias = "Callable[[ErrorDetails], object]"
_ENDED_BY_USER = frozenset({ServerState.CLOSING, ServerState.CLOSED})
_CALLS = frozenset({CALL_TOOL, GET_PROMPT, READ_RESOURCE})


class SavePlan(NamedTuple):
    """Files to watch, and calls to make again: None is the last call, an empty tuple nothing."""

    files: FileWatch
    calls: tuple[Call, ...] | None = None


class _Loop:
    """The state of one server's loop."""

    def __init__(
        self, reconnecting: ReconnectPolicy, plan: SavePlan, on_end: OnEnd, on_error: OnError
    ) -> None:
        self.reconnecting = reconnecting
        self.plan = plan
        self.on_end = on_end
        self.on_error = on_error
        self.scope = anyio.CancelScope()
        self.calling = anyio.CancelScope()
        self.last: Call | None = None
        self.paths: dict[str, None] = {}  # saved since the last restart
        self.is_urgent = False
        self.changed = anyio.Event()

    @property
    def name(self) -> str:
        return self.reconnecting.name

    def note_saved(self, paths: tuple[str, ...]) -> None:
        self.paths.update(dict.fromkeys(paths))
        self.changed.set()

    async def change(self) -> None:
        """Wait until files are saved, jobs end, or the user does not want to wait."""
        await self.changed.wait()
        self.changed = anyio.Event()


class SaveLoops:
    """Restarts servers between jobs when their files are saved, and makes their calls again."""

    def __init__(
        self,
        connector: Connector,
        manager: SessionManager,
        calls: Calls,
        jobs: LiveJobs,
        subscribe: Callable[[Callable[[Update], None]], Callable[[], None]],
    ) -> None:
        self._connector = connector
        self._manager = manager
        self._calls = calls
        self._jobs = jobs
        self._subscribe = subscribe
        self._loops: dict[ReconnectPolicy, _Loop] = {}

    async def run(self, server: str, plan: SavePlan, on_end: OnEnd, on_error: OnError) -> None:
        """Serve a server until `stop`, or until it is removed.

        Saves count once while jobs run, and restart it when these have ended. `on_end` receives the
        jobs of the calls that were made again, `on_error` why they cannot be.
        """
        from mcp_progress_monitor.engine.source_files import UNEDITED  # late: few use it

        self.stop(server)
        loop = _Loop(self._manager.reconnecting(server), plan, on_end, on_error)
        self._loops[loop.reconnecting] = loop

        def look(update: Update) -> None:
            if update.changes.moved or update.changes.removed:
                loop.changed.set()

        leave = self._subscribe(look)
        async with anyio.create_task_group() as calling:  # they go on when the loop is stopped
            try:
                with loop.scope:
                    watch = SaveWatch(plan.files, UNEDITED, loop.note_saved, loop.scope)
                    self._connector.watch_saves(loop.reconnecting, watch)
                    await self._note(loop)
                    await self._serve(loop, calling)
            finally:
                leave()
                self._end(loop)

    def _end(self, loop: _Loop) -> None:
        if self._loops.get(loop.reconnecting) is not loop:
            return  # another one has taken its place
        del self._loops[loop.reconnecting]
        if loop.name in self._manager.names():
            self._connector.watch_saves(loop.reconnecting, None)
            self._manager.note_on_save(loop.name, None)

    def stop(self, server: str) -> None:
        """Restart a server no longer, if it is; a call that was made again goes on."""
        loop = self._loops.get(self._manager.reconnecting(server))
        if loop is not None:
            loop.scope.cancel()

    def restart_now(self, server: str) -> None:
        """Do not wait for running jobs: they end with the server."""
        loop = self._loops.get(self._manager.reconnecting(server))
        if loop is not None and loop.paths:
            loop.is_urgent = True
            loop.changed.set()

    async def _serve(self, loop: _Loop, calling: TaskGroup) -> None:
        while True:
            await loop.change()
            if loop.paths and self._manager.snapshot(loop.name).state in _ENDED_BY_USER:
                loop.paths.clear()  # it is connected by hand, with the saved files
                await self._note(loop)
            if not loop.paths:
                continue
            running = 0 if loop.is_urgent else sum(not job.state.is_over for job in self._own(loop))
            if running:
                await self._note(loop, running)
                continue
            loop.calling.cancel()
            loop.calling, loop.is_urgent = anyio.CancelScope(), False
            paths, loop.paths = tuple(loop.paths), {}
            await self._note(loop)
            try:
                await self._connector.restart_for(paths, loop.name)
            except UserError as error:
                if self._manager.snapshot(loop.name).state is not ServerState.FAILED:
                    loop.on_error(error.details)  # else its state shows it
                continue
            calling.start_soon(self._call_again, loop, loop.calling)

    async def _call_again(self, loop: _Loop, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                calls = loop.plan.calls
                if calls is None:
                    loop.last = await self._last_call(loop) or loop.last
                    calls = () if loop.last is None else (loop.last,)
                if calls:
                    await self._calls.make_series(CallSeries(calls, at_once=1), on_end=loop.on_end)
            except UserError as error:
                loop.on_error(error.details)

    async def _last_call(self, loop: _Loop) -> Call | None:
        """The newest call since the start of the program; None if its job was removed."""
        for job in self._own(loop):
            if job.method in _CALLS and job.request > 0:
                call = await self._calls.reach(job.id)
                return call._replace(params=from_the_start(call.params))
        return None

    def _own(self, loop: _Loop) -> Iterator[JobSnapshot]:
        """Our jobs on a server, the newest first."""
        for job in reversed(self._jobs.ids()):
            found = self._jobs.snapshot(job)
            if found is None or found.server != loop.name or found.watched_client is not None:
                continue
            if found.sender is Side.CLIENT:
                yield found

    async def _note(self, loop: _Loop, waits_for: int = 0) -> None:
        """Show the state of a loop, with the number of files that there are now."""
        from mcp_progress_monitor.engine.source_files import count_files, watching  # idem

        before = self._manager.snapshot(loop.name).on_save
        if before is None or not waits_for:
            found = watching(self._manager.newest(loop.name), loop.plan.files)
            number = await anyio.to_thread.run_sync(count_files, found, abandon_on_cancel=True)
            await anyio.lowlevel.checkpoint_if_cancelled()  # the server may have been removed
        else:
            number = before.file_count
        state = OnSave(number, loop.plan.files.paths, waits_for)
        if state != before:
            self._manager.note_on_save(loop.name, state)

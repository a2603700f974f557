"""Begins and ends the sessions with servers: as the user wishes, and by itself what should mend."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.connect_failure import not_connected
from mcp_progress_monitor.sessions.file_watch import FileWatcher, named, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.sessions.mending import Mending
    from mcp_progress_monitor.sessions.session import Session

_log = logging.getLogger(__name__)

_RESTARTED: Final = "You restarted the server"


def _tell_nobody(_name: str) -> None:
    """Whom to tell of a server that can be called, until someone wants to know."""


def _refuse_none(_definition: ServerDefinition) -> None:
    """What may be connected, unless someone has a say in it: everything."""


class Connector:
    """Runs the sessions of a manager in one task group, and what goes on between them.

    By itself it connects servers again that are to be mended, and starts those anew whose files
    have changed; both only with `mends`.
    """

    def __init__(
        self, manager: Manager, clock: Clock, on_change: Callable[[str], None], *, mends: bool
    ) -> None:
        """Names of servers whose snapshot has changed go to `on_change`."""
        self.on_connected: Callable[[str], None] = _tell_nobody
        """Called with the name of each server that can be called now."""
        self.gate: Callable[[ServerDefinition], None] = _refuse_none
        """Called with what is about to be connected: raises `ProblemError` to refuse it."""
        self._manager = manager
        self._clock = clock
        self._on_change = on_change
        self._mends = mends
        self._tasks: TaskGroup | None = None
        self._waits: dict[Mending, anyio.CancelScope] = {}
        self._watches: dict[Mending, FileWatcher] = {}
        self._is_closing = False

    def open(self, tasks: TaskGroup | None) -> None:
        """Start all tasks in `tasks` from now on; with None no more."""
        self._tasks = tasks

    # Wishes

    async def connect(self, name: str) -> None:
        """Connect a server, at once, and wait until it can be called.

        One that is connected stays so. `ProblemError` tells why one cannot be. Cancelling
        disconnects.
        """
        session = await self._current_session(name)
        if session is None:
            session = self._begin(name)
        try:
            await session.ready()
        except anyio.get_cancelled_exc_class():
            session.close()
            raise
        await session.listed()
        self.on_connected(name)

    async def disconnect(self, name: str) -> None:
        """Disconnect a server and wait until its process is gone; nothing if it is not up."""
        session = self._manager.session(name)
        self._let_be(self._manager.mending(name))
        if session is not None:
            session.close()
            await session.over()

    async def restart(
        self, name: str, reason: str = _RESTARTED, cause: JsonObject | None = None
    ) -> None:
        """End a server politely, if it is up, and connect it anew; `cause` goes on record.

        `ProblemError` when it cannot be connected, or was disconnected meanwhile.
        """
        mending, session = self._manager.mending(name), self._manager.session(name)
        self._stop_wait(mending)
        if session is None:
            await self.connect(name)
            return
        mending.restarting()
        try:
            if not session.is_over:
                if session.current is not None:
                    told, cause = cause or {"reason": reason}, None
                    await session.current.tell("restarting", **told)
                session.close(reason)
                await session.over()
            if not mending.is_restarting or self._is_closing:
                raise ProblemError(not_connected(name))
            if await self._current_session(name) is None:
                self._begin(name, cause)
            await self.connect(name)
        finally:
            if mending.is_restarting:
                mending.not_restarted()

    def stop_mending(self, name: str) -> None:
        """Do not connect a server again by itself that waits for it."""
        mending = self._manager.mending(name)
        self._stop_wait(mending)
        if not mending.is_restarting:
            mending.stop()
            self._on_change(name)

    def removed(self, mending: Mending) -> None:
        """A server is gone from the list: nothing is done for it any more."""
        self._let_be(mending)

    async def mended(self, name: str) -> None:
        """Wait while a server is being connected again by itself."""
        mending = self._manager.mending(name)
        while mending.is_coming_back:
            await mending.changed()

    async def aclose(self) -> None:
        """Disconnect all servers, at the same time, and wait until their processes are gone.

        No others are connected from now on.
        """
        self._is_closing = True
        for mending in [self._manager.mending(name) for name in self._manager.names()]:
            self._let_be(mending)
        sessions = self._manager.sessions()
        for session in sessions:
            session.close()
        for session in sessions:
            await session.over()

    # Sessions

    def _begin(self, name: str, cause: JsonObject | None = None) -> Session:
        """A new session, running; it need not be awaited."""
        tasks, mending = self._group(), self._manager.mending(name)
        self.gate(self._manager.newest(name))
        self._stop_wait(mending)
        session = self._manager.begin(name)
        session.cause = cause
        tasks.start_soon(self._live, session, mending, name=f"session {name}")
        self._on_change(name)
        self._watch(name, mending)
        return session

    async def _live(self, session: Session, mending: Mending) -> None:
        await session.run()
        if mending.is_waiting and not self._is_closing:
            self._group().start_soon(self._wait, mending, name=f"mending {mending.name}")

    async def _current_session(self, name: str) -> Session | None:
        """The session that is up or coming up; None once there is none, the last one awaited."""
        self._manager.snapshot(name)
        while (session := self._manager.session(name)) is not None:
            if session.is_usable:
                return session
            if session.is_over:
                return None
            await session.over()
        return None

    def _group(self) -> TaskGroup:
        if self._tasks is None or self._is_closing:
            raise ProblemError(Problem("The program is closing"))
        return self._tasks

    # By itself

    def _let_be(self, mending: Mending) -> None:
        """Do nothing more for a server."""
        self._stop_wait(mending)
        watcher = self._watches.pop(mending, None)
        if watcher is not None:
            watcher.scope.cancel()
        mending.stop()

    def _stop_wait(self, mending: Mending) -> None:
        scope = self._waits.pop(mending, None)
        if scope is not None:
            scope.cancel()

    async def _wait(self, mending: Mending) -> None:
        """Connect a server again when it is due, unless something else happens before."""
        with anyio.CancelScope() as scope:
            self._waits[mending] = scope
            await anyio.sleep(self._left_s(mending))
        if scope.cancel_called or not mending.is_waiting:
            return
        del self._waits[mending]
        if self._is_refused(mending):
            return
        # What comes of it is told by the server's state, and it goes on from there.
        with contextlib.suppress(ProblemError):
            await self.connect(mending.name)

    def _is_refused(self, mending: Mending) -> bool:
        """Whether a server must not be connected again, which is told of it then."""
        try:
            self.gate(self._manager.newest(mending.name))
        except ProblemError as error:
            mending.refused(error.problem)
            self._on_change(mending.name)
            return True
        return False

    def _left_s(self, mending: Mending) -> float:
        due_at = None if mending.retry is None else mending.retry.due_at
        return 0.0 if due_at is None else max(due_at - self._clock.monotonic(), 0.0)

    def _watch(self, name: str, mending: Mending) -> None:
        """Watch the files of a server that is being connected, as its definition has it now."""
        definition = self._manager.newest(name)
        watcher = self._watches.get(mending)
        if not self._mends or (watcher is not None and watcher.definition == definition):
            return
        if watcher is not None:
            del self._watches[mending]
            watcher.scope.cancel()
        self._manager.note_watch(name, None)
        if definition.watch.is_on:
            watcher = self._watches[mending] = FileWatcher(definition)
            self._manager.note_watch(name, watcher.problem)
            tasks = self._group()
            tasks.start_soon(self._attend, watcher, mending, name=f"files of {name}")

    async def _attend(self, watcher: FileWatcher, mending: Mending) -> None:
        async def restart(paths: tuple[str, ...]) -> None:
            await self._on_files(paths, mending)

        def tell(problem: Problem | None) -> None:
            if self._watches.get(mending) is watcher:
                self._manager.note_watch(mending.name, problem)

        try:
            await watcher.run(restart, tell)
        except Exception:  # noqa: BLE001
            # Our own error in watching: nothing is noticed any more, all else goes on.
            _log.exception("the watch of %s's files met a defect", mending.name)

    async def _on_files(self, paths: tuple[str, ...], mending: Mending) -> None:
        """Start a server anew, in whatever state it is: a mended file is the moment to try."""
        reason = f"The server was restarted because files changed: {words_of(paths)}"
        cause = {"reason": reason, "files": named(paths), "count": len(paths)}
        # A restart may end this very watch, for a new one; it is not to end half-way with it.
        with anyio.CancelScope(shield=True):
            try:
                await self.restart(mending.name, reason, cause)
            except ProblemError as error:
                _log.info("%s is not up after its files changed: %s", mending.name, error)

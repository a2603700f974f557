"""Starts and ends sessions with servers: on request, and automatically to reconnect or restart."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.servers import not_connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.connection.file_watch import FileWatcher
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.sessions.connection.reconnect import ReconnectPolicy
    from mcp_progress_monitor.sessions.connection.session import Session
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_log = logging.getLogger(__name__)

_RESTARTED: Final = "You restarted the server"


class Connector:
    """Runs the sessions of a manager in one task group.

    With `reconnects`, it also reconnects servers that ended unexpectedly, and restarts servers
    whose files have changed.
    """

    def __init__(
        self,
        manager: SessionManager,
        clock: Clock,
        on_change: Callable[[str], None],
        on_connected: Callable[[str], None],
        gate: Callable[[ServerDefinition], None],
        *,
        reconnects: bool,
    ) -> None:
        """`on_change` receives changed servers, `on_connected` those ready for calls.

        `gate` is called with each definition to connect, and raises `UserError` to refuse it.
        """
        self._on_connected = on_connected
        self._gate = gate
        self._manager = manager
        self._clock = clock
        self._on_change = on_change
        self._reconnects = reconnects
        self._tasks: TaskGroup | None = None
        self._waits: dict[ReconnectPolicy, anyio.CancelScope] = {}
        self._watches: dict[ReconnectPolicy, FileWatcher] = {}
        self._is_closing = False

    def open(self, tasks: TaskGroup | None) -> None:
        """Start all tasks in `tasks` from now on; with None, start no more."""
        self._tasks = tasks

    # Requests

    async def connect(self, name: str) -> None:
        """Connect a server immediately, and wait until it is ready for calls.

        A connected server stays connected. `UserError` if connecting fails. Cancelling disconnects.
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
        self._on_connected(name)

    async def disconnect(self, name: str) -> None:
        """Disconnect a server, if it is connected, and wait until its process is gone."""
        session = self._manager.session(name)
        self._stop_automatic(self._manager.reconnecting(name))
        if session is not None:
            session.close()
            await session.over()

    async def restart(
        self, name: str, reason: str = _RESTARTED, cause: JsonObject | None = None
    ) -> None:
        """End a connected server gracefully, and connect it again; `cause` is recorded.

        `UserError` when it cannot be connected, or was disconnected meanwhile.
        """
        reconnecting, session = self._manager.reconnecting(name), self._manager.session(name)
        self._stop_wait(reconnecting)
        if session is None:
            await self.connect(name)
            return
        reconnecting.restarting()
        try:
            if not session.is_over:
                if session.current is not None:
                    fields, cause = cause or {"reason": reason}, None
                    await session.current.record_event("restarting", **fields)
                session.close(reason)
                await session.over()
            if not reconnecting.is_restarting or self._is_closing:
                raise UserError(not_connected(name))
            if await self._current_session(name) is None:
                self._begin(name, cause)
            await self.connect(name)
        finally:
            if reconnecting.is_restarting:
                reconnecting.not_restarted()

    def stop_reconnecting(self, name: str) -> None:
        """Do not reconnect a server that waits to be reconnected."""
        reconnecting = self._manager.reconnecting(name)
        self._stop_wait(reconnecting)
        if not reconnecting.is_restarting:
            reconnecting.stop()
            self._on_change(name)

    def removed(self, reconnecting: ReconnectPolicy) -> None:
        """Forget a server that was removed."""
        self._stop_automatic(reconnecting)

    async def reconnected(self, name: str) -> None:
        reconnecting = self._manager.reconnecting(name)
        while reconnecting.is_reconnecting:
            await reconnecting.changed()

    async def aclose(self) -> None:
        """Disconnect all servers in parallel, and wait until their processes are gone.

        No more servers are connected.
        """
        self._is_closing = True
        for reconnecting in [self._manager.reconnecting(name) for name in self._manager.names()]:
            self._stop_automatic(reconnecting)
        sessions = self._manager.sessions()
        for session in sessions:
            session.close()
        for session in sessions:
            await session.over()

    # Sessions

    def _begin(self, name: str, cause: JsonObject | None = None) -> Session:
        """Start a new session; it need not be awaited."""
        tasks, reconnecting = self._group(), self._manager.reconnecting(name)
        self._gate(self._manager.newest(name))
        self._stop_wait(reconnecting)
        session = self._manager.begin(name)
        session.cause = cause
        tasks.start_soon(self._live, session, reconnecting, name=f"session {name}")
        self._on_change(name)
        self._watch(name, reconnecting)
        return session

    async def _live(self, session: Session, reconnecting: ReconnectPolicy) -> None:
        await session.run()
        if reconnecting.is_waiting and not self._is_closing:
            self._group().start_soon(self._wait, reconnecting, name=f"mending {reconnecting.name}")

    async def _current_session(self, name: str) -> Session | None:
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
            raise UserError(ErrorDetails("The program is closing"))
        return self._tasks

    # Automatic reconnects

    def _stop_automatic(self, reconnecting: ReconnectPolicy) -> None:
        self._stop_wait(reconnecting)
        watcher = self._watches.pop(reconnecting, None)
        if watcher is not None:
            watcher.scope.cancel()
        reconnecting.stop()

    def _stop_wait(self, reconnecting: ReconnectPolicy) -> None:
        scope = self._waits.pop(reconnecting, None)
        if scope is not None:
            scope.cancel()

    async def _wait(self, reconnecting: ReconnectPolicy) -> None:
        """Reconnect a server when it is due, unless something else happens first."""
        with anyio.CancelScope() as scope:
            self._waits[reconnecting] = scope
            await anyio.sleep(self._left_s(reconnecting))
        if scope.cancel_called or not reconnecting.is_waiting:
            return
        del self._waits[reconnecting]
        if self._is_refused(reconnecting):
            return
        # The server's state shows the outcome; the policy decides how to continue.
        with contextlib.suppress(UserError):
            await self.connect(reconnecting.name)

    def _is_refused(self, reconnecting: ReconnectPolicy) -> bool:
        """Whether a server must not be reconnected; the policy is given the reason."""
        try:
            self._gate(self._manager.newest(reconnecting.name))
        except UserError as error:
            reconnecting.refused(error.details)
            self._on_change(reconnecting.name)
            return True
        return False

    def _left_s(self, reconnecting: ReconnectPolicy) -> float:
        due_at = None if reconnecting.retry is None else reconnecting.retry.due_at
        return 0.0 if due_at is None else max(due_at - self._clock.monotonic(), 0.0)

    def _watch(self, name: str, reconnecting: ReconnectPolicy) -> None:
        """Watch the files of a server that is being connected, by its current definition."""
        definition = self._manager.newest(name)
        watcher = self._watches.get(reconnecting)
        if not self._reconnects or (watcher is not None and watcher.definition == definition):
            return
        if watcher is not None:
            del self._watches[reconnecting]
            watcher.scope.cancel()
        self._manager.note_watch(name, None)
        if definition.watch.is_on:
            from mcp_progress_monitor.sessions.connection.file_watch import FileWatcher  # rare

            watcher = self._watches[reconnecting] = FileWatcher(definition)
            self._manager.note_watch(name, watcher.error)
            tasks = self._group()
            tasks.start_soon(self._attend, watcher, reconnecting, name=f"files of {name}")

    async def _attend(self, watcher: FileWatcher, reconnecting: ReconnectPolicy) -> None:
        async def restart(paths: tuple[str, ...]) -> None:
            await self._on_files(paths, reconnecting)

        def report(error: ErrorDetails | None) -> None:
            if self._watches.get(reconnecting) is watcher:
                self._manager.note_watch(reconnecting.name, error)

        try:
            await watcher.run(restart, report)
        except Exception:  # noqa: BLE001
            # An internal error in watching: changes go unnoticed, everything else continues.
            _log.exception("the watch of %s's files met a defect", reconnecting.name)

    async def _on_files(self, paths: tuple[str, ...], reconnecting: ReconnectPolicy) -> None:
        """Restart a server, whatever its state: a changed file may be the fix."""
        from mcp_progress_monitor.sessions.connection.file_watch import named, words_of

        reason = f"The server was restarted because files changed: {words_of(paths)}"
        cause = {"reason": reason, "files": named(paths), "count": len(paths)}
        # A restart may replace this watch, which must first complete.
        with anyio.CancelScope(shield=True):
            try:
                await self.restart(reconnecting.name, reason, cause)
            except UserError as error:
                _log.info("%s is not up after its files changed: %s", reconnecting.name, error)

"""Servers by name: added, connected, inspected, removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, not_connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.sessions.connection.connector import Connector
    from mcp_progress_monitor.sessions.connection.listing import Listed
    from mcp_progress_monitor.sessions.connection.lists import ListName
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.doctor import DoctorReport


class Servers:
    """The servers of an engine; each is known by its snapshot."""

    def __init__(
        self,
        manager: SessionManager,
        connector: Connector,
        gate: Callable[[ServerDefinition], None],
        note_removed: Callable[[str], None],
    ) -> None:
        """Sessions are those of `connector`; `gate` raises `UserError` for what must not run.

        `note_removed` receives the keys of removed servers (see `SessionManager.key_of`).
        """
        self._manager = manager
        self._connector = connector
        self._gate = gate
        self._note_removed = note_removed

    def add(self, definition: ServerDefinition) -> str:
        """Add a server without connecting it; returns its name, with a number added if taken."""
        return self._manager.add(definition)

    def set_definition(self, name: str, definition: ServerDefinition) -> None:
        """Replace the definition for a server's next connection.

        A new name renames the server. `UserError` if the name is taken, or the server is connected.
        """
        self._manager.set_definition(name, definition)

    def place(self, name: str, position: int) -> None:
        self._manager.place(name, position)

    def remove(self, name: str) -> None:
        """Remove a server; `UserError` while it is connected. Its jobs stay."""
        reconnecting, key = self._manager.reconnecting(name), self._manager.key_of(name)
        self._manager.remove(name)
        self._connector.removed(reconnecting)
        self._note_removed(key)

    def snapshots(self) -> list[ServerSnapshot]:
        return [self._manager.snapshot(name) for name in self._manager.names()]

    def names(self) -> tuple[str, ...]:
        """The names of all servers, in order: for callers that need few of the snapshots."""
        return tuple(self._manager.names())

    def snapshot(self, name: str) -> ServerSnapshot:
        """One server; `UserError` if there is none of that name."""
        return self._manager.snapshot(name)

    def newest(self, name: str) -> ServerDefinition:
        """The definition for a server's next connection; `UserError` if there is none."""
        return self._manager.newest(name)

    def doctor(self, name: str) -> DoctorReport:
        """The doctor's report on a server's newest connection, or on its definition.

        `UserError` if there is no server of that name.
        """
        # late: compiling its many patterns would delay the window
        from mcp_progress_monitor.sessions.doctor import report_of

        snapshot, session = self._manager.snapshot(name), self._manager.session(name)
        if session is None:
            return report_of(snapshot, None)
        return report_of(snapshot, session.current, session.questions)

    async def connect(self, name: str) -> ServerSnapshot:
        """Connect a server and wait until it is ready for calls; its state is visible meanwhile.

        A connected server stays connected; one that waits to be reconnected is connected
        immediately. `UserError` if connecting fails. Cancelling disconnects.
        """
        self._gate(self._manager.newest(name))
        await self._connector.connect(name)
        return self._manager.snapshot(name)

    async def disconnect(self, name: str) -> None:
        """Disconnect a server and wait until its process is gone.

        It is not reconnected automatically.
        """
        await self._connector.disconnect(name)

    def subscribe_resource(self, server: str, uri: str, *, is_wanted: bool = True) -> None:
        """Subscribe to updates of a resource of a connected server, or unsubscribe.

        `UserError` if it is not connected, or does not offer that.
        """
        self._manager.connection(server)
        session = self._manager.session(server)
        assert session is not None  # noqa: S101  # it is connected
        assert session.notifications is not None  # noqa: S101  # idem
        if is_wanted and not session.notifications.can_subscribe:
            what = "The server does not send resource updates"
            raise UserError(
                ErrorDetails(what, server, 'It does not declare "resources.subscribe".')
            )
        session.notifications.subscribe(uri, is_wanted=is_wanted)

    async def read_list(self, name: str, wanted: ListName) -> Listed:
        """Read all pages of a list of a connected server.

        `UserError` if it is not connected, or refuses.
        """
        session = self._manager.session(name)
        if session is None:
            raise UserError(not_connected(name))
        try:
            return await session.lists.read_now(wanted)
        except anyio.ClosedResourceError as error:
            raise UserError(not_connected(name)) from error

    async def sign_out(self, name: str) -> bool:
        """End a server and delete its sign-in tokens; whether there were any.

        The next connection asks to sign in. `UserError` if they cannot be deleted.
        """
        await self.disconnect(name)
        return await anyio.to_thread.run_sync(self._manager.forget_sign_in, name)

    async def restart(self, name: str) -> None:
        """End a connected server gracefully, and connect it again; `UserError` if that fails."""
        self._gate(self._manager.newest(name))  # before the running server is ended
        await self._connector.restart(name)

    def stop_reconnecting(self, name: str) -> None:
        """Do not reconnect a server that waits to be reconnected; `UserError` if unknown."""
        self._connector.stop_reconnecting(name)

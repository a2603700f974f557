"""What the user wants of servers: to have them, connect them, know them. A part of a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.connect_failure import not_connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.sessions.connector import Connector
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.doctor import DoctorReport
    from mcp_progress_monitor.sessions.lists import Listed, ListName
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot


class ServerWishes:
    """Servers by name: each is known by its snapshot."""

    def __init__(
        self,
        manager: Manager,
        connector: Connector,
        note_removed: Callable[[str], None],
    ) -> None:
        """Sessions are those of `connector`.

        Keys of servers that the user removed go to `note_removed` (see `Manager.key_of`).
        """
        self._manager = manager
        self._connector = connector
        self._note_removed = note_removed

    def add_server(self, definition: ServerDefinition) -> str:
        """Take a server in, not connected; returns its name, made unique by a number."""
        return self._manager.add(definition)

    def set_definition(self, name: str, definition: ServerDefinition) -> None:
        """Have a server be another one from its next connection on.

        Another name in it renames the server. `ProblemError` when that name is taken, or the
        server is connected.
        """
        self._manager.set_definition(name, definition)

    def place_server(self, name: str, position: int) -> None:
        """Have a server stand at `position` among all of them, counted from 0."""
        self._manager.place(name, position)

    def remove_server(self, name: str) -> None:
        """Forget a server; `ProblemError` while it is connected. Its jobs stay."""
        mending, key = self._manager.mending(name), self._manager.key_of(name)
        self._manager.remove(name)
        self._connector.removed(mending)
        self._note_removed(key)

    def servers(self) -> list[ServerSnapshot]:
        """All servers, in their order."""
        return [self._manager.snapshot(name) for name in self._manager.names()]

    def server_names(self) -> tuple[str, ...]:
        """The names of all servers, in order: for who needs a picture of few of them."""
        return tuple(self._manager.names())

    def server(self, name: str) -> ServerSnapshot:
        """One server; `ProblemError` when there is none of that name."""
        return self._manager.snapshot(name)

    def doctor(self, name: str) -> DoctorReport:
        """All that is known of a server's newest connection, or of what it would be.

        `ProblemError` when there is no server of that name.
        """
        # Here and not above: its many patterns take longer to compile than the window may wait.
        from mcp_progress_monitor.sessions.doctor_report import report_of

        snapshot, session = self._manager.snapshot(name), self._manager.session(name)
        if session is None:
            return report_of(snapshot, None)
        return report_of(snapshot, session.current, session.questions)

    async def connect(self, name: str) -> ServerSnapshot:
        """Connect a server and wait until it can be called; its state is visible meanwhile.

        A server that is connected stays so; one that is to be connected again after a time is at
        once. `ProblemError` tells why one cannot be. Cancelling disconnects.
        """
        await self._connector.connect(name)
        return self._manager.snapshot(name)

    async def disconnect(self, name: str) -> None:
        """Disconnect a server and wait until its process is gone; nothing if it is not up.

        It is not connected again by itself.
        """
        await self._connector.disconnect(name)

    async def read_list(self, name: str, wanted: ListName) -> Listed:
        """Read one of the lists of a connected server now, all its pages.

        `ProblemError` when it is not connected, or refuses.
        """
        session = self._manager.session(name)
        if session is None:
            raise ProblemError(not_connected(name))
        try:
            return await session.lists.read_now(wanted)
        except anyio.ClosedResourceError as error:
            raise ProblemError(not_connected(name)) from error

    async def restart(self, name: str) -> None:
        """End a server politely, if it is up, and connect it anew; `ProblemError` if it cannot."""
        await self._connector.restart(name)

    def stop_mending(self, name: str) -> None:
        """Do not connect a server again by itself that waits for it; `ProblemError` if unknown."""
        self._connector.stop_mending(name)

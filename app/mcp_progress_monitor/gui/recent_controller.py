"""Opens recent servers and calls, which are offered while nothing is connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.gui.calls.recent import Recent, RecentServers, recent_entries
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.gui.calls.controller import CallsController
    from mcp_progress_monitor.gui.calls.recent import RecentList
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.servers.model import ServerSource


class RecentController(QObject):
    """Fills the list, connects the server of a chosen row, and opens its call once that is up."""

    def __init__(
        self,
        shown: RecentList,
        servers: ServerSource,
        calls: CallsController,
        connect_server: Callable[[str], None],
        preferences: Preferences,
    ) -> None:
        super().__init__(shown)
        self._list = shown
        self._servers = servers
        self._calls = calls
        self._connect_server = connect_server
        self._names = RecentServers(preferences)
        self._up: set[str] = set()
        self._waiting: Recent | None = None
        """The call to open once its server is connected and lists what it offers."""
        shown.chosen.connect(self._on_chosen)

    @Slot()
    def refresh(self) -> None:
        """Follow the servers: each that connects becomes the newest."""
        servers = {name: self._servers.snapshot(name) for name in self._servers.names()}
        up = {name for name, each in servers.items() if each.state is ServerState.CONNECTED}
        if up - self._up:
            self._names.add(sorted(up - self._up))
        self._up = up
        is_idle = not any(each.state.is_up for each in servers.values())
        calls = self._calls.remembered() if is_idle else []
        entries = recent_entries(self._names.names(), calls, servers.keys()) if is_idle else []
        self._list.show_entries(entries)
        self._open_waiting()

    def _open_waiting(self) -> None:
        wanted = self._waiting
        if wanted is None or wanted.server not in self._servers.names():
            return
        from mcp_progress_monitor.gui.calls.offers import OfferKind, offers_of  # not at the start

        server = self._servers.snapshot(wanted.server)
        if server.state is ServerState.FAILED:
            self._waiting = None
        elif wanted.server in self._up and offers_of(server, OfferKind(wanted.method)):
            self._waiting = None
            self._calls.open_call(wanted.server, wanted.method, wanted.name, wanted.arguments)

    @Slot(object)
    def _on_chosen(self, entry: Recent) -> None:
        state = self._servers.snapshot(entry.server).state
        if not state.is_up:  # else this is the second half of a double click
            self._waiting = entry if entry.name else None
            self._connect_server(entry.server)

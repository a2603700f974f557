"""Opens the connection doctor and keeps its report up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Slot

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.servers import commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.engine.servers import Servers
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.feed import Feed
    from mcp_progress_monitor.gui.notice_bar import NoticeBar
    from mcp_progress_monitor.gui.servers.doctor_pane import DoctorPane
    from mcp_progress_monitor.gui.servers.server_list import ServerList
    from mcp_progress_monitor.gui.theme import Appearance

_REFRESH_MS: Final = 1000


class DoctorController(QObject):
    """Opens the doctor's window on request and refreshes it; a child of the server list.

    Its actions are handled like those of the server list.
    """

    def __init__(
        self,
        server_list: ServerList,
        notices: NoticeBar,
        servers: Servers,
        now: Callable[[], float],
        feed: Feed,
        appearance: Appearance,
    ) -> None:
        super().__init__(server_list)
        self._list = server_list
        self._servers = servers
        self._now = now
        self._appearance = appearance
        self.pane: DoctorPane | None = None
        """The doctor's window; None before it was first opened."""
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        notices.set_doctor(self._can_help)
        notices.doctor_requested.connect(self._on_doctor_requested)
        feed.servers_changed.connect(self._on_servers_changed)

    @carries_out(commands.DOCTOR)
    @Slot(str)
    def open(self, server: str) -> None:
        """Show the diagnosis of a server's connection, until the window is closed."""
        pane = self.pane or self._made()
        if self._show(pane, server):
            pane.show()
            pane.raise_()
            pane.activateWindow()
            self._timer.start()

    @Slot()
    def refresh(self) -> None:
        """Update the diagnosis; close the window if the server is gone."""
        if self.pane is None or not self.pane.isVisible():
            self._timer.stop()
        elif not self._show(self.pane, self.pane.server):
            self.pane.close()

    def _made(self) -> DoctorPane:
        from mcp_progress_monitor.gui.servers.doctor_pane import DoctorPane

        on_servers = self._list.commands.commands
        pane = DoctorPane(self._appearance, on_servers, self._list.window())
        pane.traffic_requested.connect(self._on_traffic_requested)
        pane.closed.connect(self._timer.stop)
        self.pane = pane
        return pane

    def _show(self, pane: DoctorPane, server: str) -> bool:
        try:
            report = self._servers.doctor(server)
        except UserError:
            return False
        pane.show_report(report, self._now())
        return True

    def _server_of(self, error: ErrorDetails) -> str | None:
        """The server that currently has this error."""
        for server in self._servers.snapshots():
            if server.error == error:
                return server.name
        return None

    def _can_help(self, error: ErrorDetails) -> bool:
        return self._server_of(error) is not None

    @Slot(object)
    def _on_doctor_requested(self, error: ErrorDetails) -> None:
        server = self._server_of(error)
        if server is not None:
            self.open(server)

    @Slot(object)
    def _on_servers_changed(self, changed: frozenset[str]) -> None:
        if self.pane is not None and self.pane.server in changed:
            self.refresh()

    @Slot(str)
    def _on_traffic_requested(self, server: str) -> None:
        self._list.commands.commands.run(commands.TRAFFIC, server)
        self._list.window().raise_()
        self._list.activateWindow()

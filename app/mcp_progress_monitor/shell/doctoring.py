"""Opens the connection doctor where the user asks for it, and keeps what it shows up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import QObject, QTimer, Slot

from mcp_progress_monitor.filtering.chosen import LogFilter
from mcp_progress_monitor.problem import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.models.feed import Feed
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.doctor import DoctorReport
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.shell.main_window import MainWindow
    from mcp_progress_monitor.widgets.appearance import Appearance
    from mcp_progress_monitor.widgets.doctor_pane import DoctorPane

_REFRESH_MS: Final = 1000


class Doctor(Protocol):
    """What is asked of the monitor; `monitor.Monitor` fits."""

    def doctor(self, name: str) -> DoctorReport:
        """All that is known of a server's connection; `ProblemError` for an unknown one."""

    def servers(self) -> Sequence[ServerSnapshot]:
        """All servers."""

    def now(self) -> float:
        """Monotonic seconds."""


class Doctoring(QObject):
    """Joins the doctor's window to those that ask for it; a child of the main window.

    Its own wishes go the way of the list's: whoever serves those, serves these.
    """

    def __init__(
        self, window: MainWindow, doctor: Doctor, feed: Feed, appearance: Appearance
    ) -> None:
        super().__init__(window)
        self._window = window
        self._doctor = doctor
        self._appearance = appearance
        self._pane: DoctorPane | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        window.servers.doctor_requested.connect(self.open)
        window.notices.set_doctor(self._can_help)
        window.notices.doctor_requested.connect(self._on_problem_chosen)
        feed.servers_changed.connect(self._on_servers_changed)

    @property
    def pane(self) -> DoctorPane | None:
        """The doctor's window; None before it was first opened."""
        return self._pane

    @Slot(str)
    def open(self, server: str) -> None:
        """Show what is known of a server's connection, from now on until the window is closed."""
        pane = self._pane or self._made()
        if self._show(pane, server):
            pane.show()
            pane.raise_()
            pane.activateWindow()
            self._timer.start()

    @Slot()
    def refresh(self) -> None:
        """Show what is known now; a server that is gone closes the window."""
        if self._pane is None or not self._pane.isVisible():
            self._timer.stop()
        elif not self._show(self._pane, self._pane.server):
            self._pane.close()

    def _made(self) -> DoctorPane:
        from mcp_progress_monitor.widgets.doctor_pane import (
            DoctorPane,  # at its first use, like all dialogs
        )

        pane, servers = DoctorPane(self._appearance, self._window), self._window.servers
        pane.connect_requested.connect(servers.connect_requested)
        pane.restart_requested.connect(servers.restart_requested)
        pane.edit_requested.connect(servers.edit_requested)
        pane.stderr_requested.connect(servers.stderr_requested)
        pane.log_requested.connect(self._on_log_requested)
        pane.closed.connect(self._timer.stop)
        self._pane = pane
        return pane

    def _show(self, pane: DoctorPane, server: str) -> bool:
        try:
            report = self._doctor.doctor(server)
        except ProblemError:
            return False
        pane.show_report(report, self._doctor.now())
        return True

    def _server_of(self, problem: Problem) -> str | None:
        """The server that has this problem now."""
        for server in self._doctor.servers():
            if server.problem == problem:
                return server.name
        return None

    def _can_help(self, problem: Problem) -> bool:
        return self._server_of(problem) is not None

    @Slot(object)
    def _on_problem_chosen(self, problem: Problem) -> None:
        server = self._server_of(problem)
        if server is not None:
            self.open(server)

    @Slot(object)
    def _on_servers_changed(self, changed: frozenset[str]) -> None:
        if self._pane is not None and self._pane.server in changed:
            self.refresh()

    @Slot(str)
    def _on_log_requested(self, server: str) -> None:
        from mcp_progress_monitor.filtering.terms import term  # late: no start waits for it

        self._window.open_dock("log")
        self._window.log_pane.set_filter(LogFilter(text=term("server", "==", server)))
        self._window.raise_()
        self._window.activateWindow()

"""Opens the window for a new call, empty or filled from a job, and makes the call.

The window is imported when first opened: that is a fifth of the time until the main
window is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.messages import CALL_TOOL, READ_RESOURCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.engine.call import Call
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.calls.form import CallDialog
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.servers.controller import ServersController
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import JobId


class CallsController(QObject):
    """Shows the call form and sends its calls to the engine."""

    def __init__(
        self,
        parent: QWidget,
        engine: Engine,
        tasks: BackgroundTasks,
        tell: Callable[[ErrorDetails], None],
        servers: ServersController,
        preferences: Preferences,
        appearance: Appearance,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._tasks = tasks
        self._tell = tell
        self._servers = servers
        self._preferences = preferences
        self._appearance = appearance
        self._call: CallDialog | None = None

    @Slot(object)
    def call(self, call: Call) -> None:
        """Make a call; it becomes a job as soon as it is written."""
        self._tasks.start(f"{call.method} on {call.server}", self._engine.calls.make, call)

    @Slot()
    def new_call(self) -> None:
        """Open the call form; it stays open for the next call."""
        self._shown_call()

    @Slot(str)
    def new_call_on(self, server: str) -> None:
        """Open the call form on one server."""
        self._shown_call().form.choose(server, CALL_TOOL, "")

    @Slot(object)
    def edit_and_send(self, job: JobId) -> None:
        """Open the call form with what a job asked for, to be changed and sent again."""
        detail = self._engine.jobs.detail(job)
        if detail is None:
            return
        asked = detail.snapshot
        arguments = detail.params.get("arguments")
        is_found = self._shown_call().form.choose(
            asked.server,
            asked.method,
            str(detail.params.get("uri" if asked.method == READ_RESOURCE else "name", "")),
            arguments if isinstance(arguments, dict) else None,
        )
        if not is_found:
            self._tell(
                ErrorDetails(
                    "Cannot edit this call: its server no longer offers it",
                    asked.server,
                    "Connect the server, or re-issue the request unchanged.",
                )
            )

    @Slot()
    def refresh_servers(self) -> None:
        """Let an open form know the servers as they are now."""
        if self._call is not None:
            self._call.form.set_servers(self._engine.servers.snapshots())

    def close(self) -> None:
        """Close what is open, remembering what was typed."""
        if self._call is not None:
            self._preferences.keep_json("calls", self._call.form.state())
            self._call.close()

    def _shown_call(self) -> CallDialog:
        if self._call is None:
            from mcp_progress_monitor.gui.calls.form import CallDialog

            self._call = CallDialog(self._appearance, self._parent)
            self._call.call_requested.connect(self.call)
            self._call.connect_requested.connect(self._servers.connect_server)
            self.refresh_servers()
            self._call.form.restore(self._preferences.json_of("calls"))
        if not self._call.isVisible():
            self._call.form.begin()
        self._call.show()
        self._call.raise_()
        self._call.activateWindow()
        return self._call

"""The form of a call: opened when wanted, and kept for the next call.

It is imported when first asked for: that is a fifth of the time the window takes to appear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.shell.cataloguing import Cataloguing
    from mcp_progress_monitor.shell.control import Control
    from mcp_progress_monitor.shell.preferences import Preferences
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.widgets.appearance import Appearance
    from mcp_progress_monitor.widgets.call_dialog import CallDialog


class Dialogs(QObject):
    """Asks the user, and hands what was answered to the control."""

    def __init__(
        self,
        parent: QWidget,
        monitor: Monitor,
        control: Control,
        cataloguing: Cataloguing,
        preferences: Preferences,
        appearance: Appearance,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._monitor = monitor
        self._control = control
        self._cataloguing = cataloguing
        self._preferences = preferences
        self._appearance = appearance
        self._call: CallDialog | None = None

    @Slot()
    def new_call(self) -> None:
        """Open the call form; it stays open for the next call."""
        self._shown_call()

    @Slot(str)
    def new_call_on(self, server: str) -> None:
        """Open the call form on one server."""
        self._shown_call().form.choose(server, "tools/call", "")

    @Slot(object)
    def edit_and_send(self, job: JobId) -> None:
        """Open the call form with what a job asked for, to be changed and sent again."""
        detail = self._monitor.detail(job)
        if detail is None:
            return
        asked = detail.snapshot
        arguments = detail.params.get("arguments")
        is_found = self._shown_call().form.choose(
            asked.server,
            asked.method,
            str(detail.params.get("uri" if asked.method == "resources/read" else "name", "")),
            arguments if isinstance(arguments, dict) else None,
        )
        if not is_found:
            self._control.tell(
                Problem(
                    self.tr("This call cannot be edited: its server no longer offers it"),
                    asked.server,
                    self.tr("Connect the server, or issue the request again as it was."),
                )
            )

    @Slot()
    def refresh_servers(self) -> None:
        """Let an open form know the servers as they are now."""
        if self._call is not None:
            self._call.form.set_servers(self._monitor.servers())

    def close(self) -> None:
        """Close what is open, remembering what was typed."""
        if self._call is not None:
            self._preferences.keep_json("calls", self._call.form.state())
            self._call.close()

    def _shown_call(self) -> CallDialog:
        if self._call is None:
            from mcp_progress_monitor.widgets.call_dialog import CallDialog

            self._call = CallDialog(self._appearance, self._parent)
            self._call.call_requested.connect(self._control.call)
            self._call.connect_requested.connect(self._cataloguing.connect_server)
            self.refresh_servers()
            self._call.form.restore(self._preferences.json_of("calls"))
        if not self._call.isVisible():
            self._call.form.begin()
        self._call.show()
        self._call.raise_()
        self._call.activateWindow()
        return self._call

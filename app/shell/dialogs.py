"""The dialogs of the window: opened, never run in a loop of their own, gone when closed.

They are imported when first asked for: that is a fifth of the time the window takes to appear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from app.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.monitor import Monitor
    from app.sessions.definitions import ServerDefinition
    from app.shell.control import Control
    from app.shell.preferences import Preferences
    from app.tracker.snapshot import JobId
    from app.widgets.appearance import Appearance
    from app.widgets.call_dialog import CallDialog


class Dialogs(QObject):
    """Asks the user, and hands what was answered to the control."""

    def __init__(
        self,
        parent: QWidget,
        monitor: Monitor,
        control: Control,
        preferences: Preferences,
        appearance: Appearance,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._monitor = monitor
        self._control = control
        self._preferences = preferences
        self._appearance = appearance
        self._call: CallDialog | None = None
        control.consent_wanted.connect(self.ask_for_consent)

    @Slot()
    def ask_for_command(self) -> None:
        """Ask for a server's command line."""
        from app.widgets.server_dialog import ServerDialog

        dialog = ServerDialog(self._parent)
        dialog.server_add_requested.connect(self._control.add_server)
        _open(dialog)

    @Slot()
    def ask_for_config(self) -> None:
        """Ask for a configuration file."""
        dialog = QFileDialog(self._parent, self.tr("Open a configuration"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("Configurations (*.json)"), self.tr("All files (*)")])
        dialog.fileSelected.connect(self._control.open_config)
        _open(dialog)

    @Slot(object, object)
    def ask_for_consent(self, path: str, definitions: Sequence[ServerDefinition]) -> None:
        """Show what a file would run; only what is ticked is run."""
        from app.widgets.consent_dialog import ConsentDialog

        dialog = ConsentDialog(path, definitions, self._parent)
        dialog.servers_agreed.connect(self._control.add_servers)
        _open(dialog)

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
            from app.widgets.call_dialog import CallDialog

            self._call = CallDialog(self._appearance, self._parent)
            self._call.call_requested.connect(self._control.call)
            self._call.connect_requested.connect(self._control.connect_server)
            self.refresh_servers()
            self._call.form.restore(self._preferences.json_of("calls"))
        self._call.show()
        self._call.raise_()
        self._call.activateWindow()
        return self._call


def _open(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()

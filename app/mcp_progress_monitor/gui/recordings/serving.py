"""The dialog of a recording that plays its server: the entry for a client, and the requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QDialog, QDialogButtonBox, QLabel, QPushButton, QWidget

from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.gui.common.controls import plain_label, read_only_text
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row, order_tabs
from mcp_progress_monitor.paths import program_command

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.errors import ErrorDetails

_LINES_KEPT: Final = 2_000
_SPEEDS: Final = {
    "At the recorded pace": "1",
    "10 times faster": "10",
    "100 times faster": "100",
    "At once": "max",
}
_ABOUT: Final = (
    "{name} can stand in for its server in clients and tests. Add this entry to a client's"
    " configuration, or serve the recording over HTTP here and give the client the URL."
)


class ServeDialog(QDialog):
    """The entry for a client's configuration, a switch to serve over HTTP, and the requests."""

    serve_requested = Signal(str)
    """Serve over HTTP, at this speed."""
    stop_requested = Signal()

    def __init__(self, path: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Serve {one_line(path.name, 60)}")
        self._path = path
        self.about = plain_label(self, _ABOUT.format(name=one_line(path.name, 60)))
        self.entry = read_only_text(self, "Entry for a client's configuration")
        self.entry.setMaximumHeight(4 * self.fontMetrics().height() + 12)
        self.copy = QPushButton("&Copy", self, autoDefault=False)
        self.speed = QComboBox(self)
        self.speed.setAccessibleName("Pace of the answers")
        self.speed.addItems(list(_SPEEDS))
        self.serve = QPushButton("&Serve over HTTP", self, autoDefault=False)
        self.state = plain_label(self)
        self.requests = read_only_text(self, "Client requests")
        self.requests.setMaximumBlockCount(_LINES_KEPT)
        self.requests.setPlaceholderText("Client requests are listed here")
        self._is_served = False
        self._lay_out()
        self.copy.clicked.connect(self._on_copy)
        self.speed.currentTextChanged.connect(self._write_entry)
        self.serve.clicked.connect(self._on_serve)
        self.finished.connect(self.stop_requested)
        self._write_entry()
        fit_to_screen(self, QSize(640, 420))
        order_tabs(self)

    def _lay_out(self) -> None:
        buttons = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        pace = QLabel("&Pace:", self)
        pace.setBuddy(self.speed)
        in_column(
            self.about,
            in_row((self.entry, 1), self.copy),
            in_row(pace, self.speed, self.serve, (self.state, 1)),
            (self.requests, 1),
            buttons,
            of=self,
        )

    @property
    def speed_key(self) -> str:
        return _SPEEDS[self.speed.currentText()]

    def show_url(self, url: str) -> None:
        """Show where the recording is served."""
        self._is_served = True
        self.state.setText(f"Served at {url}")
        self.serve.setText("&Stop serving")
        self.serve.setEnabled(True)
        self.speed.setEnabled(False)

    def show_stopped(self, error: ErrorDetails | None = None) -> None:
        """Show that it is not served any more, and why if it could not be."""
        self._is_served = False
        self.state.setText("" if error is None else visible(error.as_text(), keep_line_ends=True))
        self.serve.setText("&Serve over HTTP")
        self.serve.setEnabled(True)
        self.speed.setEnabled(True)

    def add_request(self, line: str) -> None:
        self.requests.appendPlainText(visible(line))

    @Slot()
    def _write_entry(self) -> None:
        command, *arguments = [*program_command(), "serve", str(self._path)]
        if self.speed_key != "1":
            arguments += ["--speed", self.speed_key]
        self.entry.setPlainText(json.dumps({"command": command, "args": arguments}))

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.entry.toPlainText())

    @Slot()
    def _on_serve(self) -> None:
        self.serve.setEnabled(False)
        if self._is_served:
            self.stop_requested.emit()
        else:
            self.serve_requested.emit(self.speed_key)

"""What this program is, in a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot

from mcp_progress_monitor import __version__

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class About(QObject):
    """Opens the box over a window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent

    @Slot()
    def open(self) -> None:
        """Say what this program is."""
        from PySide6.QtWidgets import QMessageBox  # late: no start waits for it

        box = QMessageBox(self._parent)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(self.tr("About"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"MCP Progress Monitor {__version__}")
        box.setInformativeText(
            self.tr(
                "Every request with a progress token in a row of its own, every message on "
                "record. Licensed under Apache-2.0."
            )
        )
        box.open()

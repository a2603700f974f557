"""A message box before something is lost, with our own warning sign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from mcp_progress_monitor.gui.common.dialog_buttons import without_icons
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.paths import resource

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

_SIGN: Final = 32


class WarningBox(QMessageBox):
    """A plain text with a warning sign in the colours of now, instead of the desktop's sign."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText)
        self.setWindowTitle(title)
        self.setIcon(self.Icon.Warning)  # announces a warning to assistive technology
        self._show_sign()

    def showEvent(self, event: QShowEvent) -> None:
        without_icons(self)
        super().showEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._show_sign()

    def _show_sign(self) -> None:
        appearance = Appearance(QGuiApplication.palette(), resource("icons"))
        ratio = self.devicePixelRatioF()
        self.setIconPixmap(appearance.pixmap("warning", Tone.WARNING, _SIGN, ratio))

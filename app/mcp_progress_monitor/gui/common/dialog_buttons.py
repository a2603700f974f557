"""The buttons of dialogs, which look the same on every desktop."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QDialogButtonBox, QMessageBox


class DialogButtons(QDialogButtonBox):
    """The buttons at the foot of a dialog, without the icons that some desktops give them."""

    def event(self, event: QEvent) -> bool:
        """Remove the icons before the first layout; nothing else would be left out."""
        if event.type() is QEvent.Type.Polish:
            without_icons(self)
        return super().event(event)


def without_icons(box: QDialogButtonBox | QMessageBox) -> None:
    """Remove the desktop's icons from the buttons of `box`, and the room that it has for them."""
    for button in box.buttons():
        button.setIcon(QIcon())
        button.setIconSize(QSize(1, 1))

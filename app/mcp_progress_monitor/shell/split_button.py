"""A tool button with a menu at its arrow, which looks like one that is all menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QToolButton

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent, QMouseEvent

_ARROW: Final = 16  # pixels at the end that belong to the arrow


class SplitButton(QToolButton):
    """Does its action when clicked; its arrow, a long press and the Down key open its menu.

    Qt's own kind of button in two parts draws the arrow far from the words and wants half as much
    room again.
    """

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open the menu where the arrow is."""
        is_left = event.button() is Qt.MouseButton.LeftButton
        if is_left and self.isEnabled() and self._is_on_arrow(event.position().x()):
            self.open_menu()
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the menu by the keyboard."""
        if event.key() == Qt.Key.Key_Down:
            self.open_menu()
        else:
            super().keyPressEvent(event)

    def open_menu(self) -> None:
        """Show the menu below the button."""
        menu = self.menu()
        if menu is not None:
            # Not `showMenu`: that runs a loop of its own, in which other tasks stand still.
            menu.popup(self.mapToGlobal(QPoint(0, self.height())))

    def _is_on_arrow(self, x: float) -> bool:
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            return x < _ARROW
        return x >= self.width() - _ARROW

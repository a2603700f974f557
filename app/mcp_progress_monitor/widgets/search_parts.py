"""What every search in a pane is made of: its field, its buttons, its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget

from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class SearchField(QLineEdit):
    """Enter goes to the next place, Shift+Enter to the previous one, Escape leaves."""

    next_requested = Signal()
    previous_requested = Signal()
    left = Signal()

    def __init__(self, words: str, name: str, tip: str, parent: QWidget) -> None:
        """`words` stand in the empty field, `name` is for those who do not see it."""
        super().__init__(parent)
        self.setPlaceholderText(words)
        self.setAccessibleName(name)
        self.setToolTip(plain_tip(tip))
        self.setClearButtonEnabled(True)

    def enter(self) -> None:
        """Take the cursor, to write over what is there."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go through the places without leaving the field."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            (self.previous_requested if is_back else self.next_requested).emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


def search_button(tip: str, parent: QWidget) -> QToolButton:
    """A flat button beside the field; it is called what its tip says before the keys."""
    button = QToolButton(parent)
    button.setToolTip(plain_tip(tip))
    button.setAccessibleName(tip.partition(" (")[0])
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


def add_keys(page: QWidget, slots: Mapping[QKeySequence, Callable[[], None]]) -> None:
    """Keys that work wherever the cursor is in `page`."""
    for key, slot in slots.items():
        shortcut = QShortcut(key, page)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(slot)

"""Search in a pane: its field, its buttons and keys, and hits found in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QLabel, QLineEdit, QToolButton, QWidget

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import plain_tip

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent

    from mcp_progress_monitor.gui.page_commands import SearchCommands
    from mcp_progress_monitor.gui.theme import Appearance


class SearchField(QLineEdit):
    """A search field: Enter goes to the next match, Shift+Enter to the previous, Escape leaves."""

    next_requested = Signal()
    previous_requested = Signal()
    left = Signal()

    def __init__(self, text: str, name: str, tip: str, parent: QWidget) -> None:
        """`text` is the placeholder, `name` is the accessible name."""
        super().__init__(parent)
        self.setPlaceholderText(text)
        self.setAccessibleName(name)
        self.setToolTip(plain_tip(tip))
        self.setClearButtonEnabled(True)

    def enter(self) -> None:
        """Set the focus and select the text."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go through the matches without leaving the field."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            (self.previous_requested if is_back else self.next_requested).emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


def search_button(tip: str, parent: QWidget) -> QToolButton:
    """A flat button beside the field; its name is the part of its tip before the keys."""
    button = QToolButton(parent)
    button.setToolTip(plain_tip(tip))
    button.setAccessibleName(tip.partition(" (")[0])
    button.setAutoRaise(True)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


SLICE_S: Final = 0.004  # how long one slice of a search may take
MOST: Final = 10_000  # matches that are kept; navigation wraps around these


class SearchTexts(NamedTuple):
    """The texts of a search."""

    inside: str  # the placeholder of the field
    name: str  # the accessible name of the field
    tip: str


class PlaceSearch(QWidget):
    """The search field, buttons for the next and previous match, and the match count.

    Those that inherit it search in `_search_slice`, which runs again and again while `_slices`
    does, lay out the parts, and set `_at` to the place that is gone to, -1 before any is.
    The keys of `commands` work in all of `parent`; Escape goes to `target`.
    """

    def __init__(
        self,
        target: QWidget,
        texts: SearchTexts,
        commands: SearchCommands,
        appearance: Appearance,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._target = target
        self._appearance = appearance
        self._at = -1
        self._slices = QTimer(self)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._on_slice_due)
        self.field = SearchField(texts.inside, texts.name, texts.tip, self)
        self._previous = search_button(commands.previous.tip, self)
        self._next = search_button(commands.next.tip, self)
        self.count = QLabel(self)
        self.count.setTextFormat(Qt.TextFormat.PlainText)
        self.field.textChanged.connect(self._on_text_changed)
        self.field.next_requested.connect(self._on_next)
        self.field.previous_requested.connect(self._on_previous)
        self.field.left.connect(self._on_left)
        self._next.clicked.connect(self._on_next)
        self._previous.clicked.connect(self._on_previous)
        KeyAction(commands.find, parent, self.focus, self.field, tip=texts.tip)
        KeyAction(commands.next, parent, self._on_next, self._next)
        KeyAction(commands.previous, parent, self._on_previous, self._previous)
        self._previous.setIcon(appearance.icon("previous"))
        self._next.setIcon(appearance.icon("next"))

    @Slot()
    def focus(self) -> None:
        """Set the focus to the field."""
        self.field.enter()

    def begin(self) -> None:
        """Search everything."""
        raise NotImplementedError

    def _search_slice(self) -> None:
        """Search for some milliseconds, then let other work proceed."""
        raise NotImplementedError

    def _go(self, to: int) -> None:
        """Go to a match by its index, wrapping around the ends."""
        raise NotImplementedError

    def _show(self, count: int, text: str, more: str = "") -> None:
        """Show the current match among `count`, or `text` if there are none."""
        if count:
            shown = more or number(count)
            text = f"{number(self._at + 1)} of {shown}"
        self.count.setText(text)
        self._next.setEnabled(count > 0)
        self._previous.setEnabled(count > 0)

    @Slot()
    def _on_text_changed(self) -> None:
        self.begin()

    @Slot()
    def _on_slice_due(self) -> None:
        self._search_slice()

    @Slot()
    def _on_next(self) -> None:
        self._go(self._at + 1)

    @Slot()
    def _on_previous(self) -> None:
        self._go(self._at - 1)

    @Slot()
    def _on_left(self) -> None:
        self._target.setFocus(Qt.FocusReason.OtherFocusReason)

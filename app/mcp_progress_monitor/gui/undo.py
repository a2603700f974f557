"""Undo for the last removal: a line in the status bar, and Ctrl+Z while it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QToolButton, QWidget

from mcp_progress_monitor.gui.common.commands import CommandAction
from mcp_progress_monitor.gui.common.controls import ElidedLabel
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.theme import GAP_S
from mcp_progress_monitor.gui.window_commands import UNDO

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QMainWindow

OFFERED_MS: Final = 15_000
"""How long an action can be undone; WCAG 2.2 asks for more time than needed to read it."""


class UndoOffer(QWidget):
    """Offers to undo the newest removal; hidden if there is none.

    A removal may become final only when the offer ends (`settled`): until then undoing it loses
    nothing.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._undo: Callable[[], object] | None = None
        self._settled: Callable[[], object] | None = None
        self._label = ElidedLabel(self)
        self._label.describe("Removed")
        self.action: Final = CommandAction(UNDO, self)  # for the window's menu
        self.action.triggered.connect(self.undo)
        self.action.setEnabled(False)
        button = QToolButton(self)
        button.setDefaultAction(self.action)
        button.setText("Undo")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        in_row((self._label, 1), button, of=self, margins=0, spacing=GAP_S)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(OFFERED_MS)
        self._timer.timeout.connect(self.settle)
        self.hide()
        window.statusBar().insertWidget(0, self)
        self.hide()  # a status bar shows its widgets

    @property
    def text(self) -> str:
        return self._label.text() if self.action.isEnabled() else ""

    def offer(
        self, text: str, undo: Callable[[], object], settled: Callable[[], object] | None = None
    ) -> None:
        """Show what was removed; `settled` is called when it can no longer be undone.

        The previous offer is settled first.
        """
        self.settle()
        self._undo, self._settled = undo, settled
        self._label.set_text(text, text)
        self.action.setEnabled(True)
        self.show()
        self._timer.start()

    @Slot()
    def undo(self) -> None:
        undo = self._undo
        self._end()
        if undo is not None:
            undo()

    @Slot()
    def settle(self) -> None:
        """End the offer: the removal is final."""
        settled = self._settled
        self._end()
        if settled is not None:
            settled()

    def _end(self) -> None:
        self._undo = self._settled = None
        self._timer.stop()
        self.action.setEnabled(False)
        self.hide()

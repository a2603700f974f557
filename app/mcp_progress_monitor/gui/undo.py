"""Undo for the last removal: a line in the status bar, and Ctrl+Z while it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Slot

from mcp_progress_monitor.gui.common.commands import CommandAction
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.status_row import StatusRow, row_button
from mcp_progress_monitor.gui.theme import GAP_S
from mcp_progress_monitor.gui.window_commands import UNDO

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QMainWindow


class UndoOffer(StatusRow):
    """Offers to undo the newest removal; hidden if there is none.

    A removal may become final only when the offer ends (`settled`): until then undoing it loses
    nothing.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__("Removed", window.statusBar())
        self._undo: Callable[[], object] | None = None
        self._settled: Callable[[], object] | None = None
        self.action: Final = CommandAction(UNDO, self)  # for the window's menu
        self.action.triggered.connect(self.undo)
        self.action.setEnabled(False)
        button = row_button(self)
        button.setDefaultAction(self.action)
        button.setText("Undo")
        in_row((self._label, 1), button, of=self, margins=0, spacing=GAP_S)

    def offer(
        self, text: str, undo: Callable[[], object], settled: Callable[[], object] | None = None
    ) -> None:
        """Show what was removed; `settled` is called when it can no longer be undone.

        The previous offer is settled first.
        """
        self.settle()
        self._undo, self._settled = undo, settled
        self.action.setEnabled(True)
        self.say(text)

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
        self.action.setEnabled(False)
        super().settle()

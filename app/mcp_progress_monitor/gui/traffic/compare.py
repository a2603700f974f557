"""Two messages beside each other: which they are, and the lines of their JSON that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout

from mcp_progress_monitor.gui.common.controls import plain_label
from mcp_progress_monitor.gui.common.differences import DifferencesView
from mcp_progress_monitor.gui.common.layout import fit_to_screen
from mcp_progress_monitor.gui.theme import GAP

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.theme import Appearance

_SIZE: Final = QSize(760, 560)


class MessagesDialog(QDialog):
    """The differences of two messages, each with what is known of it above."""

    def __init__(
        self,
        facts: tuple[str, str],
        texts: tuple[str, str],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        """`facts` say which messages they are, `texts` are their JSON."""
        super().__init__(parent)
        self.setWindowTitle("Compare messages")
        self.text = DifferencesView(*texts, appearance, self)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(GAP)
        for sign, words in zip("-+", facts, strict=True):
            column.addWidget(plain_label(self, f"{sign} {words}"))
        column.addWidget(self.text, 1)
        column.addWidget(buttons)
        fit_to_screen(self, _SIZE)
        self.text.setFocus()

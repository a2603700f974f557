"""The window of a new call; it stays open beside the main one."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget

from mcp_progress_monitor.widgets.appearance import GAP_L, Appearance
from mcp_progress_monitor.widgets.call_form import CallForm
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen

_SIZE: Final = QSize(880, 580)
"""At first; fits a screen of 900 by 600."""


class CallDialog(QDialog):
    """A `CallForm` in a window of its own, never modal: jobs go on and can be watched."""

    call_requested = Signal(object)
    """A `Call`."""
    connect_requested = Signal(str)
    """The name of the server that the call is to go to."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("New call"))
        self.setModal(False)
        self.setSizeGripEnabled(True)
        self.form = CallForm(appearance, self)
        self.form.call_requested.connect(self.call_requested)
        self.form.connect_requested.connect(self.connect_requested)
        close = QPushButton(self.tr("&Close"), self)
        close.setAutoDefault(False)
        close.clicked.connect(self.reject)
        close.setToolTip(self.tr("Close the window; what was entered stays (Esc)"))
        self.form.add_button(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP_L, GAP_L, GAP_L, GAP_L)
        column.addWidget(self.form, 1)
        fit_to_screen(self, _SIZE)

"""The page of confirmations; a part of the Settings dialog, and complete without it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton, QVBoxLayout, QWidget

from mcp_progress_monitor.gui.common.layout import order_tabs
from mcp_progress_monitor.gui.theme import GAP
from mcp_progress_monitor.gui.user_settings import ConfirmationSettings

_QUESTIONS: Final = (
    ("quit", "&Quit while jobs are running"),
    ("disconnect", "&Disconnect a server that has running jobs"),
    ("restart", "&Restart a server that has running jobs"),
    ("disable", "D&isable a server that has running jobs"),
    ("sign_out", "Sign &out of a server that has running jobs"),
    ("remove", "Re&move a server"),
    ("forget", "&Forget a resumable job"),
    ("reissue", "Re-i&ssue a request, which may do its work twice"),
)


class ConfirmationPage(QWidget):
    """Shows and edits `ConfirmationSettings`; whoever shows it applies what `changed` says."""

    changed = Signal(object)  # the settings chosen now

    def __init__(self, settings: ConfirmationSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        column = QVBoxLayout(self)
        column.setSpacing(GAP)
        column.addWidget(QLabel("Ask before you", self))
        self._boxes = {name: QCheckBox(words, self) for name, words in _QUESTIONS}
        for box in self._boxes.values():
            box.setToolTip("Turned off by “Don't ask again” in the question")
            column.addWidget(box)
        self._all = QPushButton("Ask about &everything again", self)
        self._all.setToolTip("Undo every “Don't ask again”")
        self._all.setAutoDefault(False)
        column.addSpacing(GAP)
        column.addWidget(self._all, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        order_tabs(self)
        self.show_settings(settings)
        for box in self._boxes.values():
            box.toggled.connect(self._on_edited)
        self._all.clicked.connect(self._on_all)

    @property
    def settings(self) -> ConfirmationSettings:
        return self._settings

    def show_settings(self, settings: ConfirmationSettings) -> None:
        with QSignalBlocker(self):
            for name, box in self._boxes.items():
                box.setChecked(bool(getattr(settings, name)))
        self._settings = settings
        self._all.setEnabled(settings != ConfirmationSettings())

    @Slot()
    def _on_edited(self) -> None:
        chosen = {name: box.isChecked() for name, box in self._boxes.items()}
        self._settings = ConfirmationSettings(**chosen)
        self._all.setEnabled(self._settings != ConfirmationSettings())
        self.changed.emit(self._settings)

    @Slot()
    def _on_all(self) -> None:
        self.show_settings(ConfirmationSettings())
        self.changed.emit(self._settings)

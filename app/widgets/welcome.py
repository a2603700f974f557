"""The empty state: three large choices, a sentence each."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QCommandLinkButton, QLabel, QVBoxLayout, QWidget

from app.widgets.appearance import Appearance, Tone

_BESIDE_SENTENCE: Final = 70
"""Icon and margins of a choice, in device-independent pixels."""


class Welcome(QWidget):
    """Shown while there is neither a job nor a server; each choice is a signal to the shell."""

    demo_requested = Signal()
    server_add_requested = Signal()
    config_open_requested = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._layout = QVBoxLayout()
        self._layout.setSpacing(6)
        title = QLabel(self.tr("Watch a long MCP call"), self)
        title.setTextFormat(Qt.TextFormat.PlainText)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.5)
        title.setFont(font)
        self._layout.addWidget(title)
        self._layout.addSpacing(8)
        self.demo = self._choice(
            self.tr("Try the &demo"),
            self.tr("Ten calls run on a bundled server: known and unknown totals, a stall."),
        )
        self.command = self._choice(
            self.tr("Connect to a &command…"),
            self.tr("Start a stdio server with its command line, as a client would."),
        )
        self.config = self._choice(
            self.tr("Open a con&figuration file…"),
            self.tr("Take the servers of an mcpServers file; you choose which of them start."),
        )
        self.demo.clicked.connect(self.demo_requested)
        self.command.clicked.connect(self.server_add_requested)
        self.config.clicked.connect(self.config_open_requested)
        self._centre()
        self._recolour()
        appearance.changed.connect(self._recolour)

    @Slot()
    def _recolour(self) -> None:
        for button, icon in ((self.demo, "demo"), (self.command, "connect"), (self.config, "open")):
            button.setIcon(self._appearance.icon(icon, Tone.ACCENT))

    def _choice(self, text: str, sentence: str) -> QCommandLinkButton:
        button = QCommandLinkButton(text, sentence, self)
        button.setIconSize(QSize(24, 24))
        # Its own hint forgets the sentence, which is then cut.
        width = button.fontMetrics().horizontalAdvance(sentence) + _BESIDE_SENTENCE
        button.setMinimumWidth(width)
        button.setAccessibleName(text.replace("&", ""))
        button.setAccessibleDescription(sentence)
        self._layout.addWidget(button)
        return button

    def _centre(self) -> None:
        outer = QVBoxLayout(self)
        outer.addStretch(1)
        outer.addLayout(self._layout)
        outer.setAlignment(self._layout, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(2)

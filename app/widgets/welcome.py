"""The empty state: three large choices, a sentence each."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCommandLinkButton, QLabel, QVBoxLayout, QWidget


class Welcome(QWidget):
    """Shown while there is neither a job nor a server; each choice is a signal to the shell."""

    demo_requested = Signal()
    server_add_requested = Signal()
    config_open_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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

    def _choice(self, text: str, sentence: str) -> QCommandLinkButton:
        button = QCommandLinkButton(text, sentence, self)
        button.setMaximumWidth(520)
        button.setMinimumWidth(420)
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

"""The welcome page: a few large choices with a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QCommandLinkButton, QLabel, QScrollArea, QVBoxLayout, QWidget

from mcp_progress_monitor.formatting import count, one_line
from mcp_progress_monitor.gui.common.controls import plain_tip, set_text_colour
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone
from mcp_progress_monitor.gui.window_commands import ADD_COMMAND, ADD_URL, DEMO, IMPORT, WATCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.gui.common.commands import Command, CommandActions

_BESIDE_SENTENCE: Final = 70  # icon and margins of a choice, in device-independent pixels
_WITH_TITLE: Final = 330
_WITH_SENTENCES: Final = 270  # heights from which there is room for more than the choices
_NAMES: Final = 70  # characters of found programs' names


class Choice(QCommandLinkButton):
    """A large choice; framed while it has the focus, which Qt does not show."""

    def __init__(self, text: str, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(text, parent)
        self._appearance = appearance

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(self._appearance.colour(Tone.ACCENT))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -2, -2), 4, 4)
            painter.end()


class Welcome(QWidget):
    """Shown while there is neither a job nor a server; each choice is a command of the window."""

    def __init__(
        self, appearance: Appearance, do: CommandActions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._do = do
        self._sentences: dict[QCommandLinkButton, str] = {}
        self._icons: dict[QCommandLinkButton, str] = {}
        self._layout = QVBoxLayout()
        self._layout.setSpacing(2)
        self._title = title = QLabel("Watch a long MCP call", self)
        title.setTextFormat(Qt.TextFormat.PlainText)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.5)
        title.setFont(font)
        self._layout.addWidget(title)
        self.demo = self._choice(
            DEMO,
            "Try the &demo",
            "Run ten calls on a bundled server, with known and unknown totals and a stall.",
        )
        self.command = self._choice(
            ADD_COMMAND,
            "Connect to a &command…",
            "Start a stdio server from its command line, as an MCP client would.",
        )
        self.url = self._choice(
            ADD_URL,
            "Connect to a &URL…",
            "Connect to a server over HTTP, with headers or a sign-in if needed.",
        )
        self.imports = self._choice(
            IMPORT,
            "&Import from other programs…",
            ("Import servers from their configuration files; nothing runs before you approve it."),
        )
        self.watch = self._choice(
            WATCH,
            "&Watch the servers of another client…",
            "See the calls of an agent or an editor live.",
        )
        self.watch.hide()
        self._drop = QLabel("Or drop a recording, a configuration or a program here.", self)
        self._drop.setTextFormat(Qt.TextFormat.PlainText)
        self._drop.setContentsMargins(GAP, GAP, 0, 0)
        self._layout.addWidget(self._drop)
        self._centre()
        for button, icon in self._icons.items():
            button.setIcon(appearance.icon(icon, Tone.ACCENT))
        set_text_colour(self._drop, appearance, Tone.MUTED)

    def show_found(self, programs: Sequence[str]) -> None:
        """Name the programs whose files were found here; the files were not read."""
        if programs:
            files = count(len(programs), "file")
            names = one_line(", ".join(dict.fromkeys(programs)), _NAMES)
            sentence = f"Found {files} of {names}."
            self._describe(self.imports, sentence)

    def offer_to_watch(self, clients: Sequence[str]) -> None:
        """Offer to watch these clients, if there are any; Claude Code first."""
        names = sorted(dict.fromkeys(clients), key=lambda title: title != "Claude Code")
        if names:
            which = names[0] if len(names) == 1 else f"{names[0]} and others"
            title = f"&Watch the servers of {which}…"
            self.watch.setText(title)
            self.watch.setAccessibleName(title.replace("&", ""))
        self.watch.setVisible(bool(names))

    def _choice(self, command: Command, text: str, sentence: str) -> QCommandLinkButton:
        button = Choice(text, self._appearance, self)
        button.clicked.connect(self._do[command].trigger)
        self._icons[button] = command.icon
        button.setIconSize(QSize(24, 24))
        self._describe(button, sentence)
        button.setAccessibleName(text.replace("&", ""))
        self._layout.addWidget(button)
        return button

    def _describe(self, button: QCommandLinkButton, sentence: str) -> None:
        """Set a choice's sentence, and reserve its height: the button's own hint is too small."""
        self._sentences[button] = sentence
        button.setDescription(sentence)
        button.setAccessibleDescription(sentence)
        button.setToolTip(plain_tip(sentence))
        self._fit_width()

    def _fit_width(self) -> None:
        """Fit the sentences to the available width: the page does not scroll sideways."""
        widths = [
            button.fontMetrics().horizontalAdvance(sentence) + _BESIDE_SENTENCE
            for button, sentence in self._sentences.items()
        ]
        width = min(max(widths), max(self.width() - _BESIDE_SENTENCE, 1))
        for button in self._sentences:
            button.setMinimumWidth(width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide title, hint and sentences if they would take the room of a choice."""
        super().resizeEvent(event)
        self._fit_width()
        has_room = self.height() > _WITH_TITLE
        self._title.setVisible(has_room)
        self._drop.setVisible(has_room)
        has_room = self.height() > _WITH_SENTENCES
        for button, sentence in self._sentences.items():
            button.setDescription(sentence if has_room else "")

    def _centre(self) -> None:
        inner = QWidget(self)
        column = in_column(1, self._layout, of=inner)
        column.setAlignment(self._layout, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)
        # A small window, or large text, must not hide the last choice.
        scrolled = QScrollArea(self)
        scrolled.setWidgetResizable(True)
        scrolled.setFrameShape(QScrollArea.Shape.NoFrame)
        scrolled.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scrolled.setWidget(inner)
        in_column(scrolled, of=self, margins=0)

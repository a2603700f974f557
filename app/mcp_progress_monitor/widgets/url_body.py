"""A page that a server wants opened: its host set apart, opened by a click alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from mcp_progress_monitor.models.url_parts import url_parts
from mcp_progress_monitor.sessions.answers import Accept, Decline
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Tone, emphasised, monospaced
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.question_body import QuestionBody
from mcp_progress_monitor.widgets.schema_field import plain_label, set_text_colour

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.widgets.appearance import Appearance

_LINES = 4


class UrlBody(QuestionBody):
    """An address as plain text, with what is odd about it (2025-11-25 "Elicitation", URL mode)."""

    has_json = False

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_words = self.tr("D&one")
        self.decline_words = self.tr("&Decline")
        self.dismiss_words = self.tr("&Cancel")
        self._url = question.url or ""
        parts = url_parts(self._url)
        self.host = QLabel(parts.host or self.tr("no host"), self)
        self.host.setTextFormat(Qt.TextFormat.PlainText)
        font = emphasised(self.host.font())
        font.setPointSizeF(font.pointSizeF() * 1.3)
        self.host.setFont(font)
        self.host.setAccessibleName(self.tr("Host: {}").format(parts.host))
        self.whole = QPlainTextEdit(parts.shown, self)
        self.whole.setReadOnly(True)
        self.whole.setTabChangesFocus(True)
        self.whole.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.whole.setFont(monospaced(self.font()))
        self.whole.setAccessibleName(self.tr("Whole address"))
        self.whole.setMaximumHeight(self.fontMetrics().lineSpacing() * _LINES + 12)
        self.warnings = plain_label(self, "\n".join((*parts.warnings, parts.refusal)).strip())
        set_text_colour(self.warnings, appearance, Tone.BAD if parts.refusal else Tone.WARNING)
        self.warnings.setVisible(bool(self.warnings.text()))
        self.open = QPushButton(self.tr("Op&en in the browser"), self)
        appearance.changed.connect(self._on_recoloured)
        self._on_recoloured()
        self.open.setAutoDefault(False)
        self.open.setEnabled(not parts.refusal)
        self.open.setToolTip(
            plain_tip(parts.refusal or self.tr("Open the whole address in your browser"))
        )
        self.open.clicked.connect(self._on_open_clicked)
        self.note = plain_label(self)
        self._lay_out()
        self.follow(question)

    def accepted(self) -> Answer:
        """Say that it is done."""
        return Accept()

    def declined(self) -> Answer:
        """Decline."""
        return Decline()

    def follow(self, question: Question) -> None:
        """Tell that the server knows it is done on the page."""
        super().follow(question)
        if question.is_complete:
            self.note.setText(self.tr("The server says that it is done on the page."))
            set_text_colour(self.note, self.appearance, Tone.GOOD)

    def _lay_out(self) -> None:
        above = QHBoxLayout()
        above.setSpacing(GAP)
        caption = QLabel(self.tr("Host"), self)
        set_text_colour(caption, self.appearance, Tone.MUTED)
        above.addWidget(caption)
        above.addWidget(self.host, 1)
        above.addWidget(self.open)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        column.addLayout(above)
        column.addWidget(self.whole)
        column.addWidget(self.warnings)
        column.addWidget(self.note)
        column.addStretch(1)

    @Slot()
    def _on_recoloured(self) -> None:
        self.open.setIcon(self.appearance.icon("open"))

    @Slot()
    def _on_open_clicked(self) -> None:
        self.note.setText(self.tr("Opened. Say here when it is done there."))
        self.link_opened.emit(self._url)

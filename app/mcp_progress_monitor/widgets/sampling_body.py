"""A model's answer, given by the user: as text, or as raw JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QStackedLayout,
    QWidget,
)

from mcp_progress_monitor.models.sampling import hinted_model, sampled
from mcp_progress_monitor.sessions.answers import Refused, Sampled
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Tone
from mcp_progress_monitor.widgets.conversation_view import ConversationView
from mcp_progress_monitor.widgets.json_editor import JsonEditor
from mcp_progress_monitor.widgets.plain_text import typed_text
from mcp_progress_monitor.widgets.question_body import QuestionBody
from mcp_progress_monitor.widgets.schema_field import (
    QuietComboBox,
    mark_wrong,
    plain_label,
    set_text_colour,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.widgets.appearance import Appearance

_STOP_REASONS: Final = ("endTurn", "maxTokens", "stopSequence", "toolUse")
_MODEL: Final = "answered-by-hand"


class SamplingBody(QuestionBody):
    """The answer at the right of the conversation (2025-11-25 "Sampling").

    Text and JSON are two sides of one answer: turning to the JSON takes the text along, and back
    again what of the JSON is text.
    """

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_words = self.tr("&Send answer")
        self.decline_words = self.tr("Re&fuse")
        self._aside = ConversationView(question.params, appearance, self)
        self.words = QPlainTextEdit(self)
        self.words.setTabChangesFocus(True)
        self.words.setPlaceholderText(self.tr("What the assistant says"))
        self.words.setAccessibleName(self.tr("The assistant's answer"))
        self.model = QLineEdit(hinted_model(question.params) or _MODEL, self)
        self.model.setAccessibleName(self.tr("Name of the model"))
        self.model.setToolTip(self.tr("The model that the server is told of"))
        self.stop = QuietComboBox(self)
        self.stop.setEditable(True)
        self.stop.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.stop.addItems(list(_STOP_REASONS))
        reason = QLineEdit(self.stop)
        self.stop.setLineEdit(reason)
        reason.setCursorPosition(0)
        self.stop.setAccessibleName(self.tr("Stop reason"))
        self.stop.setToolTip(self.tr("Why the model stopped; may be left empty"))
        self.problem = plain_label(self)
        set_text_colour(self.problem, appearance, Tone.BAD)
        self.problem.hide()
        self.editor = JsonEditor(appearance, self, name=self.tr("Answer"))
        self._pages = QStackedLayout(self)
        self._lay_out()

    def accepted(self) -> Answer | None:
        """Send what was written, unless that is nothing, or no JSON."""
        if self._pages.currentWidget() is self.editor:
            self.editor.apply()
            return None if self.editor.mistake else Sampled(self.editor.value())
        is_empty = not typed_text(self.words.document()).strip()
        self._say(self.tr("Write an answer first, or refuse.") if is_empty else "")
        mark_wrong(self.words, self.appearance, is_wrong=is_empty)
        return None if is_empty else Sampled(self._result())

    def declined(self) -> Answer:
        """Refuse."""
        return Refused()

    def show_json(self, *, is_shown: bool) -> None:
        """Turn to the JSON and back; what was written goes along."""
        if is_shown:
            self.editor.show_value(self._result())
        else:
            self.editor.apply()
            self._take(self.editor.value())
        self._pages.setCurrentIndex(1 if is_shown else 0)
        self.remade.emit()

    def show_refusal(self, lines: str) -> None:
        """Say below the text what was refused."""
        self._say(lines)

    def aside(self) -> QWidget:
        """The conversation."""
        return self._aside

    def _lay_out(self) -> None:
        page = QWidget(self)
        grid = QGridLayout(page)
        grid.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        grid.setSpacing(GAP_S)
        grid.addWidget(self.words, 0, 0, 1, 4)
        grid.addWidget(self.problem, 1, 0, 1, 4)
        grid.addWidget(QLabel(self.tr("Model"), page), 2, 0)
        grid.addWidget(self.model, 2, 1)
        grid.addWidget(QLabel(self.tr("Stop reason"), page), 2, 2)
        grid.addWidget(self.stop, 2, 3)
        for column, (field, share) in {1: (self.model, 1), 3: (self.stop, 1)}.items():
            field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            grid.setColumnStretch(column, share)
        grid.setRowStretch(0, 1)
        self._pages.addWidget(page)
        self._pages.addWidget(self.editor)

    def _result(self) -> dict[str, object]:
        words = typed_text(self.words.document())
        return sampled(words, self.model.text(), self.stop.currentText())

    def _take(self, result: dict[str, object]) -> None:
        content, model, stop = (result.get(key) for key in ("content", "model", "stopReason"))
        words = content.get("text") if isinstance(content, dict) else None
        if isinstance(words, str):
            self.words.setPlainText(words)
        if isinstance(model, str):
            self.model.setText(model)
        self.stop.setCurrentText(stop if isinstance(stop, str) else "")

    def _say(self, words: str) -> None:
        self.problem.setText(words)
        self.problem.setVisible(bool(words))

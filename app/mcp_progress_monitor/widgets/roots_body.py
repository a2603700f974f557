"""The folders that a server may use, where its rule says that the user is asked each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from mcp_progress_monitor.sessions.answers import Accept, Refused
from mcp_progress_monitor.widgets.json_editor import JsonEditor
from mcp_progress_monitor.widgets.question_body import QuestionBody

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.widgets.appearance import Appearance


class RootsBody(QuestionBody):
    """The list as JSON, as it goes to the server (2025-11-25 "Roots")."""

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_words = self.tr("&Send folders")
        self.decline_words = self.tr("Re&fuse")
        self.editor = JsonEditor(appearance, self, name=self.tr("Folders"))
        self.editor.show_value({"roots": []})
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.editor)

    def accepted(self) -> Answer | None:
        """Send the list, unless it is no JSON."""
        self.editor.apply()
        return None if self.editor.mistake else Accept(self.editor.value())

    def declined(self) -> Answer:
        """Refuse."""
        return Refused("User rejected listing roots")

    def is_json_only(self) -> bool:
        """Whether there is nothing but raw JSON to fill in: so it is."""
        return True

"""What every kind of question has in its view: something to fill in, and its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.widgets.appearance import Appearance


class QuestionBody(QWidget):
    """The part of a question's view that differs by kind.

    `accept_words`, `decline_words` and `dismiss_words` name the buttons; an empty one is not there.
    """

    remade = Signal()
    """There may be other controls than before."""
    link_opened = Signal(object)
    """`str`: an address to be opened, by a click of the user alone."""

    accept_words = ""
    decline_words = ""
    dismiss_words = ""
    has_json = True
    """Whether the answer can be entered as raw JSON."""

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self.question = question
        self.appearance = appearance

    def accepted(self) -> Answer | None:
        """The answer as filled in; None when something is wrong, which is shown at its place."""
        raise NotImplementedError

    def declined(self) -> Answer:
        """The answer that says no."""
        raise NotImplementedError

    def show_json(self, *, is_shown: bool) -> None:
        """Show the answer as raw JSON, too."""

    def show_refusal(self, lines: str) -> None:
        """Show what of the answer was refused, as far as it has a place here."""

    def is_json_only(self) -> bool:
        """Whether there is nothing but raw JSON to fill in."""
        return False

    def follow(self, question: Question) -> None:
        """Take note that the question changed."""
        self.question = question

    def aside(self) -> QWidget | None:
        """What is to be read beside what is filled in; None when the message says all."""
        return None

"""One question of a server: who asks what, the input, and the possible answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QSplitter, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import (
    plain_label,
    plain_tip,
    push_button,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.key_table import add_keys
from mcp_progress_monitor.gui.questions.bodies import ElicitationBody, RootsBody, UrlBody
from mcp_progress_monitor.gui.questions.sampling import SamplingBody
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, emphasised
from mcp_progress_monitor.snapshots.questions import Dismiss
from mcp_progress_monitor.wording.questions import kind_text, message_of

if TYPE_CHECKING:
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.questions.bodies import QuestionBody
    from mcp_progress_monitor.snapshots.questions import Answer, Question

_BODIES: Final[dict[str, type[QuestionBody]]] = {
    "form": ElicitationBody,
    "url": UrlBody,
    "sampling": SamplingBody,
    "roots": RootsBody,
}


class QuestionView(QWidget):
    """One question; emits the answer as a signal and keeps the input until the question closes."""

    answer_requested = Signal(object, object)  # the question's id and the `Answer`
    link_opened = Signal(object)  # `str`: an address that the user clicked to open
    job_opened = Signal(object)  # `JobId` of the question
    remade = Signal()  # there may be other controls than before

    def __init__(
        self, question: Question, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.question = question
        self._appearance = appearance
        self.body = _BODIES[question.kind](question, appearance, self)
        self.body.remade.connect(self.remade)
        self.body.link_opened.connect(self.link_opened)
        self.head = plain_label(self, self._head_words())
        self.head.setFont(emphasised(self.head.font()))
        self.about = plain_label(self)
        set_text_colour(self.about, appearance, Tone.MUTED)
        self.note = plain_label(self)
        self.note.hide()
        self.accept = self._button(self.body.accept_words, self._on_accept)
        self.accept.setDefault(True)
        self.accept.setToolTip(plain_tip(f"{_bare(self.body.accept_words)} (Ctrl+Enter)"))
        self.decline = self._button(self.body.decline_words, self._on_decline)
        self.decline.setToolTip("Decline the request")
        self.dismiss = self._button(self.body.dismiss_words, self._on_dismiss)
        self.dismiss.setToolTip("Dismiss the question without accepting or declining")
        self.json = self._button("Raw &JSON", None)
        self.json.setCheckable(True)
        self.json.setToolTip("Enter the answer as JSON")
        self.json.toggled.connect(self._on_json_toggled)
        self.json.setVisible(self.body.has_json and not self.body.is_json_only())
        self.show_job = self._button("Show jo&b", self._on_show_job)
        self.show_job.setToolTip("Show the job that this question belongs to")
        self.show_job.setEnabled(question.job is not None)
        self._lay_out()
        add_keys(self, "questions.accept", self._on_accept)

    def follow(self, question: Question, about: str) -> None:
        """Show the question as it is now, and what is said about it."""
        if question != self.question:
            self.question = question
            self.body.follow(question)
        self.about.setText(about)

    def show_problem(self, problem: ErrorDetails) -> None:
        """Show why an answer was refused, at its fields where it names any; it can be corrected."""
        self._set_waiting(is_waiting=False)
        self.body.show_refusal(problem.detail)
        words = "\n".join(part for part in (problem.what, problem.detail, problem.hint) if part)
        self._say(words, Tone.BAD)

    def _head_words(self) -> str:
        server = formatting.one_line(self.question.server, 80)
        return f"{server} {kind_text(self.question.kind)}"

    def _button(self, words: str, slot: object) -> QPushButton:
        button = push_button(self, words)
        button.setVisible(bool(words))
        if slot is not None:
            button.clicked.connect(slot)
        return button

    def _lay_out(self) -> None:
        halves = QSplitter(Qt.Orientation.Horizontal, self)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self._said())
        halves.addWidget(self.body)
        halves.setStretchFactor(0, 2)
        halves.setStretchFactor(1, 3)
        halves.setSizes([260, 400])
        said = in_row(self.note, margins=(GAP, 0, GAP, 0))
        foot = QHBoxLayout()
        foot.setContentsMargins(GAP, 0, GAP, GAP_S)
        foot.setSpacing(GAP)
        foot.addWidget(self.show_job)
        foot.addWidget(self.json)
        foot.addStretch()
        for button in (self.dismiss, self.decline, self.accept):
            foot.addWidget(button)
        in_column((halves, 1), said, foot, of=self, margins=0, spacing=GAP_S)

    def _said(self) -> QWidget:
        page = QWidget(self)
        column = in_column(
            self.head, self.about, of=page, margins=(GAP, GAP_S, GAP, GAP_S), spacing=GAP_S
        )
        if self.question.problem:
            shown = formatting.visible(
                formatting.elide(self.question.problem, 2_000), keep_line_ends=True
            )
            faults = plain_label(page, shown)
            set_text_colour(faults, self._appearance, Tone.WARNING)
            column.addWidget(faults)
        aside = self.body.aside()
        if aside is not None:
            column.addWidget(aside, 1)
            return page
        message = plain_label(page, message_of(self.question))
        message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        message.setAccessibleName("Message from the server")
        column.addWidget(message)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidget(page)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName("Message from the server")
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return area

    def _answer(self, answer: Answer) -> None:
        self._set_waiting(is_waiting=True)
        self._say("", Tone.TEXT)
        self.answer_requested.emit(self.question.id, answer)

    def _set_waiting(self, *, is_waiting: bool) -> None:
        """A second click must not answer twice."""
        for button in (self.accept, self.decline, self.dismiss):
            button.setEnabled(not is_waiting)

    def _say(self, words: str, tone: Tone) -> None:
        self.note.setText(formatting.visible(formatting.elide(words, 2_000), keep_line_ends=True))
        self.note.setVisible(bool(words))
        set_text_colour(self.note, self._appearance, tone)

    @Slot()
    def _on_accept(self) -> None:
        if not self.accept.isEnabled():
            return
        answer = self.body.accepted()
        if answer is not None:
            self._answer(answer)
        else:
            self._say("Some values are invalid: see the marked fields.", Tone.BAD)

    @Slot()
    def _on_decline(self) -> None:
        self._answer(self.body.declined())

    @Slot()
    def _on_dismiss(self) -> None:
        self._answer(Dismiss())

    @Slot(bool)
    def _on_json_toggled(self, is_shown: bool) -> None:
        self.body.show_json(is_shown=is_shown)

    @Slot()
    def _on_show_job(self) -> None:
        self.job_opened.emit(self.question.job)


def _bare(words: str) -> str:
    return words.replace("&", "")

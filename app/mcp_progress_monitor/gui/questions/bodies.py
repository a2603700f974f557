"""What differs by kind of question: a form, a URL to open, the list of roots."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from mcp_progress_monitor.gui.common.controls import plain_label, plain_tip, set_text_colour
from mcp_progress_monitor.gui.common.json_editor import JsonEditor
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.schema_form.form import SchemaForm
from mcp_progress_monitor.gui.schema_form.schema import UNSET, Schema, properties_of
from mcp_progress_monitor.gui.schema_form.validation import Path, SchemaViolation
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Tone, emphasised, monospaced
from mcp_progress_monitor.json_schema import schema_problem
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Refused
from mcp_progress_monitor.wording.questions import ROOTS_REJECTED, url_parts

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.questions import Answer, Question


class QuestionBody(QWidget):
    """The part of a question's view that differs by kind.

    `accept_words`, `decline_words` and `dismiss_words` name the buttons; an empty one is not there.
    """

    remade = Signal()  # there may be other controls than before
    link_opened = Signal(object)  # `str`: an address to be opened, by a click of the user alone

    accept_words = ""
    decline_words = ""
    dismiss_words = ""
    has_json = True  # whether the answer can be entered as raw JSON

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self.question = question
        self.appearance = appearance

    def accepted(self) -> Answer | None:
        """The answer as filled in; None when something is wrong, which is shown at its place."""
        raise NotImplementedError

    def declined(self) -> Answer:
        raise NotImplementedError

    def show_json(self, *, is_shown: bool) -> None:
        """Show the answer as raw JSON, too."""

    def show_refusal(self, lines: str) -> None:
        """Show what of the answer was refused, as far as it has a place here."""

    def is_json_only(self) -> bool:
        """Whether there is nothing but raw JSON to fill in."""
        return False

    def follow(self, question: Question) -> None:
        self.question = question

    def aside(self) -> QWidget | None:
        """What is to be read beside what is filled in; None when the message says all."""
        return None


_STEP: Final = re.compile(r"\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|([^.\[\]]+)")


class ElicitationBody(QuestionBody):
    """A form (2025-11-25 "Elicitation", form mode)."""

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_words = "&Accept"
        self.decline_words = "&Decline"
        self.dismiss_words = "&Cancel"
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self.form: SchemaForm | None = None
        self.editor: JsonEditor | None = None
        if has_form(question):
            self.form = SchemaForm(appearance, self, name="Answer")
            schema = question.schema or {}
            self.form.set_schema(schema, defaults_of(schema) or UNSET)
            self.form.show_json(is_shown=False)
            self.form.remade.connect(self.remade)
            column.addWidget(self.form)
        else:
            self.editor = JsonEditor(appearance, self, name="Answer")
            self.editor.show_value({})
            column.addWidget(self.editor)

    def accepted(self) -> Answer | None:
        """Accept what was filled in, unless something of it does not fit."""
        if self.form is not None:
            return None if self.form.check() else Accept(self.form.value())
        if self.editor is None:
            return None
        self.editor.apply()
        return None if self.editor.mistake else Accept(self.editor.value())

    def declined(self) -> Answer:
        return Decline()

    def is_json_only(self) -> bool:
        return self.form is None

    def show_json(self, *, is_shown: bool) -> None:
        if self.form is not None:
            self.form.show_json(is_shown=is_shown)
            self.remade.emit()

    def show_refusal(self, lines: str) -> None:
        if self.form is not None:
            self.form.show_refused([refused_at(line) for line in lines.splitlines()])


def defaults_of(schema: Schema) -> dict[str, object]:
    """The values that the server would fill in (2025-11-25 "Elicitation", "Requested Schema")."""
    fields = ((name, as_object(field)) for name, field in properties_of(schema).items())
    return {name: field["default"] for name, field in fields if "default" in field}


def has_form(question: Question) -> bool:
    schema = question.schema
    if schema is None or not isinstance(schema.get("properties"), dict):
        return False
    return not schema_problem(schema)


def refused_at(line: str) -> SchemaViolation:
    """A line such as `a.b[0]: it is too long` as a problem with its path."""
    where, colon, words = line.partition(": ")
    if not colon:
        return SchemaViolation((), line)
    path: Path = tuple(
        int(place) if place else (quoted or name) for place, quoted, name in _STEP.findall(where)
    )
    return SchemaViolation(path, words)


class RootsBody(QuestionBody):
    """The list of roots as JSON, as sent to the server (2025-11-25 "Roots")."""

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_words = "&Send folders"
        self.decline_words = "Re&fuse"
        self.editor = JsonEditor(appearance, self, name="Folders")
        self.editor.show_value({"roots": []})
        in_column(self.editor, of=self, margins=0)

    def accepted(self) -> Answer | None:
        """Send the list, unless it is no JSON."""
        self.editor.apply()
        return None if self.editor.mistake else Accept(self.editor.value())

    def declined(self) -> Answer:
        return Refused(ROOTS_REJECTED)

    def is_json_only(self) -> bool:
        """Whether there is nothing but raw JSON to fill in: so it is."""
        return True


_LINES = 4


class UrlBody(QuestionBody):
    """An address as plain text, with warnings about it (2025-11-25 "Elicitation", URL mode)."""

    has_json = False

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_words = "D&one"
        self.decline_words = "&Decline"
        self.dismiss_words = "&Cancel"
        self._url = question.url or ""
        parts = url_parts(self._url)
        self.host = QLabel(parts.host or "no host", self)
        self.host.setTextFormat(Qt.TextFormat.PlainText)
        font = emphasised(self.host.font())
        font.setPointSizeF(font.pointSizeF() * 1.3)
        self.host.setFont(font)
        self.host.setAccessibleName(f"Host: {parts.host}")
        self.whole = QPlainTextEdit(parts.shown, self)
        self.whole.setReadOnly(True)
        self.whole.setTabChangesFocus(True)
        self.whole.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.whole.setFont(monospaced(self.font()))
        self.whole.setAccessibleName("Full address")
        self.whole.setMaximumHeight(self.fontMetrics().lineSpacing() * _LINES + 12)
        self.warnings = plain_label(self, "\n".join((*parts.warnings, parts.refusal)).strip())
        set_text_colour(self.warnings, appearance, Tone.BAD if parts.refusal else Tone.WARNING)
        self.warnings.setVisible(bool(self.warnings.text()))
        self.open = QPushButton("Op&en in browser", self)
        appearance.changed.connect(self._on_recoloured)
        self._on_recoloured()
        self.open.setAutoDefault(False)
        self.open.setEnabled(not parts.refusal)
        self.open.setToolTip(plain_tip(parts.refusal or "Open the full address in your browser"))
        self.open.clicked.connect(self._on_open_clicked)
        self.note = plain_label(self)
        self._lay_out()
        self.follow(question)

    def accepted(self) -> Answer:
        return Accept()

    def declined(self) -> Answer:
        return Decline()

    def follow(self, question: Question) -> None:
        """Tell that the server knows it is done on the page."""
        super().follow(question)
        if question.is_complete:
            self.note.setText("The server reports that this step is complete.")
            set_text_colour(self.note, self.appearance, Tone.GOOD)

    def _lay_out(self) -> None:
        above = QHBoxLayout()
        above.setSpacing(GAP)
        caption = QLabel("Host", self)
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
        self.note.setText("Opened in your browser. Confirm here when you are done.")
        self.link_opened.emit(self._url)

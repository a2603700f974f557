"""The parts of a question's view that depend on its kind: form, URL, roots, sampling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    mark_invalid,
    plain_label,
    plain_tip,
    read_only_text,
    set_text_colour,
    typed_text,
)
from mcp_progress_monitor.gui.common.image_view import ImageView
from mcp_progress_monitor.gui.common.json_editor import JsonEditor
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.schema_form.form import SchemaForm
from mcp_progress_monitor.gui.schema_form.schema import (
    UNSET,
    Path,
    Schema,
    SchemaViolation,
    properties_of,
)
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, emphasised
from mcp_progress_monitor.json_schema import schema_error
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Refused, Sampled
from mcp_progress_monitor.wording.questions import (
    ROOTS_REJECTED,
    hinted_model,
    messages,
    sampled,
    sampling_options,
    url_parts,
)
from mcp_progress_monitor.wording.results import PartKind

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.questions import Answer, Question
    from mcp_progress_monitor.wording.results import ResultPart


class QuestionBody(QWidget):
    """The part of a question's view that depends on its kind.

    `accept_text`, `decline_text` and `dismiss_text` are the texts of the buttons; empty for
    none.
    """

    remade = Signal()  # the controls have changed
    link_opened = Signal(object)  # `str`: a URL to open, after a click of the user

    accept_text = ""
    decline_text = ""
    dismiss_text = ""
    has_json = True  # whether the answer can be entered as raw JSON

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self.question = question
        self.appearance = appearance

    def accepted(self) -> Answer | None:
        """The entered answer; None if it is invalid, which is shown at its place."""
        raise NotImplementedError

    def declined(self) -> Answer:
        raise NotImplementedError

    def show_json(self, *, is_shown: bool) -> None:
        """Show the answer as raw JSON."""

    def show_refusal(self, lines: str) -> None:
        """Show why the answer was refused, as far as it has a place here."""

    def is_json_only(self) -> bool:
        """Return whether only raw JSON can be entered."""
        return False

    def follow(self, question: Question) -> None:
        self.question = question

    def aside(self) -> QWidget | None:
        """A widget to read beside the answer; None if the message is enough."""
        return None


_STEP: Final = re.compile(r"\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|([^.\[\]]+)")


class ElicitationBody(QuestionBody):
    """A form (2025-11-25 "Elicitation", form mode)."""

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_text = "&Accept"
        self.decline_text = "&Decline"
        self.dismiss_text = "&Cancel"
        self.form: SchemaForm | None = None
        self.editor: JsonEditor | None = None
        if has_form(question):
            self.form = SchemaForm(appearance, self, name="Answer")
            schema = question.schema or {}
            self.form.set_schema(schema, defaults_of(schema) or UNSET)
            self.form.show_json(is_shown=False)
            self.form.remade.connect(self.remade)
            in_column(self.form, of=self, margins=0)
        else:
            self.editor = JsonEditor(appearance, self, name="Answer")
            self.editor.show_value({})
            in_column(self.editor, of=self, margins=0)

    def accepted(self) -> Answer | None:
        """The form's value, unless it is invalid."""
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
    """The defaults of a form (2025-11-25 "Elicitation", "Requested Schema")."""
    fields = ((name, as_object(field)) for name, field in properties_of(schema).items())
    return {name: field["default"] for name, field in fields if "default" in field}


def has_form(question: Question) -> bool:
    schema = question.schema
    if schema is None or not isinstance(schema.get("properties"), dict):
        return False
    return not schema_error(schema)


def refused_at(line: str) -> SchemaViolation:
    """A line such as `a.b[0]: it is too long` as a violation with its path."""
    where, colon, text = line.partition(": ")
    if not colon:
        return SchemaViolation((), line)
    path: Path = tuple(
        int(place) if place else (quoted or name) for place, quoted, name in _STEP.findall(where)
    )
    return SchemaViolation(path, text)


class RootsBody(QuestionBody):
    """The list of roots as JSON, as sent to the server (2025-11-25 "Roots")."""

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_text = "&Send folders"
        self.decline_text = "Re&fuse"
        self.editor = JsonEditor(appearance, self, name="Folders")
        self.editor.show_value({"roots": []})
        in_column(self.editor, of=self, margins=0)

    def accepted(self) -> Answer | None:
        """The list, unless it is not JSON."""
        self.editor.apply()
        return None if self.editor.mistake else Accept(self.editor.value())

    def declined(self) -> Answer:
        return Refused(ROOTS_REJECTED)

    def is_json_only(self) -> bool:
        return True


_LINES = 4


class UrlBody(QuestionBody):
    """An address as plain text, with warnings about it (2025-11-25 "Elicitation", URL mode)."""

    has_json = False

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_text = "D&one"
        self.decline_text = "&Decline"
        self.dismiss_text = "&Cancel"
        self._url = question.url or ""
        parts = url_parts(self._url)
        self.host = QLabel(parts.host or "no host", self)
        self.host.setTextFormat(Qt.TextFormat.PlainText)
        font = emphasised(self.host.font())
        font.setPointSizeF(font.pointSizeF() * 1.3)
        self.host.setFont(font)
        self.host.setAccessibleName(f"Host: {parts.host}")
        self.whole = read_only_text(self, "Full address", QTextOption.WrapMode.WrapAnywhere)
        self.whole.setPlainText(parts.shown)
        self.whole.setMaximumHeight(self.fontMetrics().lineSpacing() * _LINES + 12)
        self.warnings = plain_label(self, "\n".join((*parts.warnings, parts.refusal)).strip())
        set_text_colour(self.warnings, appearance, Tone.BAD if parts.refusal else Tone.WARNING)
        self.warnings.setVisible(bool(self.warnings.text()))
        self.open = QPushButton("Op&en in browser", self)
        self.open.setIcon(appearance.icon("open"))
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
        """Show that the server reports the step as complete."""
        super().follow(question)
        if question.is_complete:
            self.note.setText("The server reports that this step is complete.")
            set_text_colour(self.note, self.appearance, Tone.GOOD)

    def _lay_out(self) -> None:
        caption = QLabel("Host", self)
        set_text_colour(caption, self.appearance, Tone.MUTED)
        above = in_row(caption, (self.host, 1), self.open, spacing=GAP)
        parts = (above, self.whole, self.warnings, self.note, 1)
        in_column(*parts, of=self, margins=(GAP, GAP_S, GAP, GAP_S))

    @Slot()
    def _on_open_clicked(self) -> None:
        self.note.setText("Opened in your browser. Confirm here when you are done.")
        self.link_opened.emit(self._url)


_SHOWN: Final = 20_000  # characters of one part; the job's request has the whole
_IMAGES_AT_MOST: Final = 8
_THUMBNAIL: Final = 160  # pixels


class ConversationView(QScrollArea):
    """The conversation as plain text and thumbnails, with roles."""

    def __init__(
        self, params: JsonObject, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._images = 0
        self.setAccessibleName("Conversation")
        page = QWidget(self)
        self._column = QVBoxLayout(page)
        self._column.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        self._column.setSpacing(GAP_S)
        for message in messages(params):
            self._add_heading(message.role or "Message")
            for part in message.parts:
                self._add_part(part)
        for name, text in sampling_options(params):
            self._add_heading(name)
            self._add_text(text, Tone.TEXT)
        self._column.addStretch(1)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Prompt for the model")

    def text(self) -> str:
        """All texts, in order."""
        return "\n".join(label.text() for label in self.findChildren(QLabel))

    def _add_heading(self, text: str) -> None:
        label = plain_label(self, text)
        label.setFont(emphasised(label.font()))
        set_text_colour(label, self._appearance, Tone.MUTED)
        self._column.addWidget(label)

    def _add_part(self, part: ResultPart) -> None:
        if part.kind is PartKind.IMAGE:
            self._add_image(part.value)
            return
        is_text = part.kind is PartKind.TEXT
        text = part.text if is_text else f"{part.title}\n{part.text}"
        self._add_text(text, Tone.BAD if part.is_error else Tone.TEXT)

    def _add_text(self, text: str, tone: Tone) -> None:
        shown = formatting.visible(formatting.elide(text, _SHOWN), keep_line_ends=True)
        label = plain_label(self, shown)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_text_colour(label, self._appearance, tone)
        self._column.addWidget(label)

    def _add_image(self, encoded: str) -> None:
        """A thumbnail; only the first few images are decoded."""
        self._images += 1
        if self._images > _IMAGES_AT_MOST:
            self._add_text("Image not shown: there are too many.", Tone.MUTED)
            return
        view = ImageView(self._appearance, self)
        view.show_base64(encoded)
        view.shrink(_THUMBNAIL)
        view.setFixedHeight(_THUMBNAIL if not view.image.isNull() else 40)
        self._column.addWidget(view)


_STOP_REASONS: Final = ("endTurn", "maxTokens", "stopSequence", "toolUse")
_MODEL: Final = "answered-by-hand"


class SamplingBody(QuestionBody):
    """The answer beside the conversation (2025-11-25 "Sampling").

    Text and JSON are two views of one answer; switching converts it.
    """

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_text = "&Send answer"
        self.decline_text = "Re&fuse"
        self._aside = ConversationView(question.params, appearance, self)
        self.answer_text = QPlainTextEdit(self)
        self.answer_text.setTabChangesFocus(True)
        self.answer_text.setPlaceholderText("Enter the assistant's answer")
        self.answer_text.setAccessibleName("Assistant's answer")
        self.model = QLineEdit(hinted_model(question.params) or _MODEL, self)
        self.model.setAccessibleName("Model name")
        self.model.setToolTip("Set the model name to send to the server")
        self.stop = QuietComboBox(self)
        self.stop.setEditable(True)
        self.stop.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.stop.addItems(list(_STOP_REASONS))
        reason = QLineEdit(self.stop)
        self.stop.setLineEdit(reason)
        reason.setCursorPosition(0)
        self.stop.setAccessibleName("Stop reason")
        self.stop.setToolTip("Set the stop reason (optional)")
        self.error = plain_label(self)
        set_text_colour(self.error, appearance, Tone.BAD)
        self.error.hide()
        self.editor = JsonEditor(appearance, self, name="Answer")
        self._pages = QStackedLayout(self)
        self._lay_out()

    def accepted(self) -> Answer | None:
        """The written answer, unless it is empty or not JSON."""
        if self._pages.currentWidget() is self.editor:
            self.editor.apply()
            return None if self.editor.mistake else Sampled(self.editor.value())
        is_empty = not typed_text(self.answer_text.document()).strip()
        self._show_note("Write an answer first, or decline." if is_empty else "")
        mark_invalid(self.answer_text, self.appearance, is_wrong=is_empty)
        return None if is_empty else Sampled(self._result())

    def declined(self) -> Answer:
        return Refused()

    def show_json(self, *, is_shown: bool) -> None:
        """Switch between text and JSON, converting the answer."""
        if is_shown:
            self.editor.show_value(self._result())
        else:
            self.editor.apply()
            self._read_json(self.editor.value())
        self._pages.setCurrentIndex(1 if is_shown else 0)
        self.remade.emit()

    def show_refusal(self, lines: str) -> None:
        self._show_note(lines)

    def aside(self) -> QWidget:
        return self._aside

    def _lay_out(self) -> None:
        page = QWidget(self)
        grid = QGridLayout(page)
        grid.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        grid.setSpacing(GAP_S)
        grid.addWidget(self.answer_text, 0, 0, 1, 4)
        grid.addWidget(self.error, 1, 0, 1, 4)
        grid.addWidget(QLabel("Model", page), 2, 0)
        grid.addWidget(self.model, 2, 1)
        grid.addWidget(QLabel("Stop reason", page), 2, 2)
        grid.addWidget(self.stop, 2, 3)
        for column, (field, share) in {1: (self.model, 1), 3: (self.stop, 1)}.items():
            field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            grid.setColumnStretch(column, share)
        grid.setRowStretch(0, 1)
        self._pages.addWidget(page)
        self._pages.addWidget(self.editor)

    def _result(self) -> dict[str, object]:
        text = typed_text(self.answer_text.document())
        return sampled(text, self.model.text(), self.stop.currentText())

    def _read_json(self, result: dict[str, object]) -> None:
        content, model, stop = (result.get(key) for key in ("content", "model", "stopReason"))
        text = content.get("text") if isinstance(content, dict) else None
        if isinstance(text, str):
            self.answer_text.setPlainText(text)
        if isinstance(model, str):
            self.model.setText(model)
        self.stop.setCurrentText(stop if isinstance(stop, str) else "")

    def _show_note(self, text: str) -> None:
        self.error.setText(text)
        self.error.setVisible(bool(text))

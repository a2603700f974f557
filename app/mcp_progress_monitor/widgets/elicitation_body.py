"""What is filled in for a server: a form by its schema, or raw JSON where there is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from PySide6.QtWidgets import QVBoxLayout, QWidget

from mcp_progress_monitor.models.schema import UNSET, Schema, properties_of
from mcp_progress_monitor.models.schema_check import Path, SchemaProblem
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.sessions.answers import Accept, Decline
from mcp_progress_monitor.sessions.schema_errors import schema_problem
from mcp_progress_monitor.widgets.json_editor import JsonEditor
from mcp_progress_monitor.widgets.question_body import QuestionBody
from mcp_progress_monitor.widgets.schema_form import SchemaForm

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.widgets.appearance import Appearance

_STEP: Final = re.compile(r"\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|([^.\[\]]+)")


class ElicitationBody(QuestionBody):
    """A form (2025-11-25 "Elicitation", form mode)."""

    def __init__(self, question: Question, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(question, appearance, parent)
        self.accept_words = self.tr("&Accept")
        self.decline_words = self.tr("&Decline")
        self.dismiss_words = self.tr("&Cancel")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self.form: SchemaForm | None = None
        self.editor: JsonEditor | None = None
        if has_form(question):
            self.form = SchemaForm(appearance, self, name=self.tr("Answer"))
            schema = question.schema or {}
            self.form.set_schema(schema, defaults_of(schema) or UNSET)
            self.form.show_json(is_shown=False)
            self.form.remade.connect(self.remade)
            column.addWidget(self.form)
        else:
            self.editor = JsonEditor(appearance, self, name=self.tr("Answer"))
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
        """Decline."""
        return Decline()

    def is_json_only(self) -> bool:
        """Whether there is no schema to make a form of."""
        return self.form is None

    def show_json(self, *, is_shown: bool) -> None:
        """Show the JSON beside the form."""
        if self.form is not None:
            self.form.show_json(is_shown=is_shown)
            self.remade.emit()

    def show_refusal(self, lines: str) -> None:
        """Show each line at the field whose path it begins with."""
        if self.form is not None:
            self.form.show_refused([refused_at(line) for line in lines.splitlines()])


def defaults_of(schema: Schema) -> dict[str, object]:
    """The values that the server would fill in (2025-11-25 "Elicitation", "Requested Schema")."""
    fields = ((name, as_object(field)) for name, field in properties_of(schema).items())
    return {name: field["default"] for name, field in fields if "default" in field}


def has_form(question: Question) -> bool:
    """Whether a form can be made for a question."""
    schema = question.schema
    if schema is None or not isinstance(schema.get("properties"), dict):
        return False
    return not schema_problem(schema)


def refused_at(line: str) -> SchemaProblem:
    """A line such as `a.b[0]: it is too long` as a problem with its path."""
    where, colon, words = line.partition(": ")
    if not colon:
        return SchemaProblem((), line)
    path: Path = tuple(
        int(place) if place else (quoted or name) for place, quoted, name in _STEP.findall(where)
    )
    return SchemaProblem(path, words)

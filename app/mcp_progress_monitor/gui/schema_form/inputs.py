"""Fields for scalar values: text, numbers, choices, null, raw JSON."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QWidget

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import QuietComboBox, typed_text
from mcp_progress_monitor.gui.common.typed_input import (
    JsonInputError,
    read_json,
    read_number,
    write_json,
)
from mcp_progress_monitor.gui.schema_form.field import FieldContext, FormField
from mcp_progress_monitor.gui.schema_form.schema import (
    UNSET,
    FieldKind,
    SchemaViolation,
    choices,
    is_same,
    kind_of,
    string_member,
)
from mcp_progress_monitor.gui.theme import monospaced

_LINES: Final = 4
_LONG_TEXT: Final = 200


class TextField(FormField):
    """A string, on one line unless it may be long.

    Unset until it is edited; the empty string once the user clears it.
    """

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_set = False
        self._name = ""
        # Until it is edited, the original value counts: inputs change line ends and separators.
        self._untouched: str | None = None
        self._line = QLineEdit(self)
        self._line.textEdited.connect(self._on_edited)
        self._line.setPlaceholderText(_hint(context))
        self._lines: QPlainTextEdit | None = None
        """The multi-line edit, created on first use: it costs as much as the rest of a row."""
        limit = context.schema.get("maxLength")
        self._is_long = isinstance(limit, int) and limit > _LONG_TEXT
        self.column.addWidget(self._line)
        self._show("")

    def value(self) -> object:
        if not self._is_set:
            return UNSET
        if self._untouched is not None:
            return self._untouched
        if self._lines is None or self._lines.isHidden():
            return self._line.text()
        return typed_text(self._lines.document())

    def set_value(self, value: object) -> None:
        self._is_set = value is not UNSET
        self._show(value if isinstance(value, str) else "")

    def set_initial(self) -> None:
        """Set to the default or empty."""
        if not self._is_set:
            self.set_value(self.context.schema.get("default", ""))

    def controls(self) -> list[QWidget]:
        return [self._line] if self._lines is None else [self._line, self._lines]

    def set_name(self, name: str) -> None:
        self._name = name
        super().set_name(name)

    def _show(self, text: str) -> None:
        has_lines = self._is_long or "\n" in text or "\r" in text
        self._line.setVisible(not has_lines)
        if has_lines and self._lines is None:
            self._lines = self._make_multiline_edit()
        if self._lines is not None:
            self._lines.setVisible(has_lines)
            self._lines.blockSignals(True)
            self._lines.setPlainText(text if has_lines else "")
            self._lines.blockSignals(False)
        self._line.setText("" if has_lines else text)
        self._untouched = text

    def _make_multiline_edit(self) -> QPlainTextEdit:
        lines = QPlainTextEdit(self, tabChangesFocus=True)
        lines.setFixedHeight(lines.fontMetrics().lineSpacing() * _LINES + 12)
        lines.setAccessibleName(self._name)
        lines.textChanged.connect(self._on_edited)
        self.column.insertWidget(1, lines)
        return lines

    @Slot()
    def _on_edited(self) -> None:
        self._untouched = None
        self._is_set = True
        self.changed.emit()


class NumberField(FormField):
    """A number of any size, kept as typed until it is read."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_integer = kind_of(context.schema) is FieldKind.INTEGER
        self._line = QLineEdit(self)
        self._line.setFont(monospaced(self.font()))
        self._line.setPlaceholderText(_hint(context))
        self._line.textEdited.connect(self._on_edited)
        self.column.addWidget(self._line)

    def value(self) -> object:
        text = self._line.text().strip()
        if not text:
            return UNSET
        try:
            return read_number(text, is_integer=self._is_integer)
        except JsonInputError:
            return text

    def set_value(self, value: object) -> None:
        self._line.setText("" if value is UNSET else write_json(value))

    def controls(self) -> list[QWidget]:
        return [self._line]

    @Slot()
    def _on_edited(self) -> None:
        self.changed.emit()


class ChoiceField(FormField):
    """A choice of listed values."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._values = self._choices()
        self._box = QuietComboBox(self)
        self._box.addItems([one_line(title, 100) for title, _ in self._values])
        self._box.setPlaceholderText(_hint(context) or "choose")
        self._box.setCurrentIndex(-1)
        self._box.activated.connect(self._on_activated)
        self.column.addWidget(self._box)

    def _choices(self) -> list[tuple[str, Any]]:
        return choices(self.context.schema)

    def value(self) -> object:
        index = self._box.currentIndex()
        return UNSET if index < 0 else self._values[index][1]

    def set_value(self, value: object) -> None:
        found = (row for row, (_, each) in enumerate(self._values) if is_same(each, value))
        self._box.setCurrentIndex(next(found, -1))

    def set_initial(self) -> None:
        super().set_initial()
        if self.value() is UNSET and self._values:
            self._box.setCurrentIndex(0)

    def set_initial_required(self) -> None:
        """Select the default, or else the only value."""
        super().set_initial_required()
        if self.value() is UNSET and len(self._values) == 1:
            self._box.setCurrentIndex(0)

    def controls(self) -> list[QWidget]:
        return [self._box]

    @Slot()
    def _on_activated(self) -> None:
        self.changed.emit()


class BooleanField(ChoiceField):
    """A boolean; an optional one can also be unset."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self.set_value(UNSET)

    def set_initial(self) -> None:
        if self.value() is UNSET:
            default = self.context.schema.get("default")
            self.set_value(default if isinstance(default, bool) else True)

    def _choices(self) -> list[tuple[str, Any]]:
        offered: list[tuple[str, Any]] = [("On", True), ("Off", False)]
        if self.context.is_optional:
            default = self.context.schema.get("default")
            word = next((word for word, value in offered if default is value), "")
            unset = f"Not set (default: {word})" if word else "Not set"
            offered.append((unset, UNSET))
        return offered


class NullField(FormField):
    """Null, which has no controls."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_set = False
        self.column.addWidget(QLabel("null", self))

    def value(self) -> object:
        return None if self._is_set else UNSET

    def set_value(self, value: object) -> None:
        self._is_set = value is not UNSET

    def set_initial(self) -> None:
        self._is_set = True

    def set_initial_required(self) -> None:
        self._is_set = True


class JsonField(FormField):
    """Any value as JSON, for vague schemas and values that do not fit their schema."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._text = QPlainTextEdit(self, tabChangesFocus=True)
        self._text.setFont(monospaced(self.font()))
        self._text.setPlaceholderText(_hint(context) or "JSON")
        self._text.setFixedHeight(self._text.fontMetrics().lineSpacing() * _LINES + 12)
        self._text.textChanged.connect(self._on_edited)
        self.column.addWidget(self._text)

    def value(self) -> object:
        return self._parsed()[0]

    def _parsed(self) -> tuple[object, str]:
        text = typed_text(self._text.document())
        if not text.strip():
            return UNSET, ""
        try:
            return read_json(text), ""
        except JsonInputError as error:
            return UNSET, str(error)

    def set_value(self, value: object) -> None:
        self._text.blockSignals(True)
        self._text.setPlainText("" if value is UNSET else write_json(value))
        self._text.blockSignals(False)

    def own_violations(self) -> list[SchemaViolation]:
        _, reason = self._parsed()
        return [SchemaViolation((), reason)] if reason else []

    def controls(self) -> list[QWidget]:
        return [self._text]

    @Slot()
    def _on_edited(self) -> None:
        self.changed.emit()


def _hint(context: FieldContext) -> str:
    """The placeholder of an empty field: its default, an example or its format."""
    schema = context.schema
    if "default" in schema:
        return f"{one_line(write_json(schema['default']), 80)} (default)"
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        return f"for example {one_line(write_json(examples[0]), 80)}"
    return one_line(string_member(schema, "format"), 80)

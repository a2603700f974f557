"""A member of an object in a form: its name, its field, and whether it is there at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from mcp_progress_monitor.models.schema import UNSET, FieldKind, kind_of, words
from mcp_progress_monitor.models.schema_words import range_words
from mcp_progress_monitor.text import one_line, visible
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Tone, emphasised
from mcp_progress_monitor.widgets.schema_field import FieldContext, plain_label, set_text_colour
from mcp_progress_monitor.widgets.schema_value import ValueField, below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.models.schema_check import SchemaProblem

_HELP: Final = 600
"""Characters of a description that are shown."""

_AT_ONCE: Final = frozenset(
    {
        FieldKind.STRING,
        FieldKind.INTEGER,
        FieldKind.NUMBER,
        FieldKind.BOOLEAN,
        FieldKind.CHOICE,
        FieldKind.SELECTION,
    }
)


class MemberRow(QWidget):
    """A member of an object: its name, whether it is there, its field, its description."""

    changed = Signal()

    def __init__(
        self, name: str, context: FieldContext, parent: QWidget, *, is_required: bool
    ) -> None:
        super().__init__(parent)
        self.name = name
        self._context = context._replace(is_optional=not is_required)
        self._is_required = is_required
        # Its field says by itself that it is not set: a box beside it would be a second control.
        self._has_mark = not is_required and kind_of(context.schema) is not FieldKind.BOOLEAN
        self._is_simple = kind_of(context.schema) in _AT_ONCE
        self._field: ValueField | None = None
        self._there = QCheckBox(self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, GAP_S)
        self._column.setSpacing(2)
        self._column.addLayout(self._header())
        self._add_help()
        if is_required or self._is_simple:
            self._make_field()
        if is_required:
            self._make_field().begin_required()

    def value(self) -> object:
        """Return the member's value; `UNSET` when it is left out."""
        if self._field is None or (self._has_mark and not self._there.isChecked()):
            return UNSET
        return self._field.value()

    def set_value(self, value: object) -> None:
        """Show `value`, or leave the member out."""
        self._there.blockSignals(True)
        self._there.setChecked(value is not UNSET)
        self._there.blockSignals(False)
        if value is not UNSET:
            self._make_field().set_value(value)
        elif self._field is not None:
            self._field.set_value(UNSET)
        self._show_field()

    def own_problems(self) -> list[SchemaProblem]:
        """Return the field's problems below this member's name."""
        if self._field is None:
            return []
        return below(self.name, self._field.own_problems())

    def show_problems(self, problems: Sequence[SchemaProblem]) -> None:
        """Show them at the field; a member left out has none to show but that it is missing."""
        if self._field is not None:
            self._field.show_problems(problems)

    def _header(self) -> QHBoxLayout:
        schema = self._context.schema
        title = words(schema, "title")
        shown = one_line(self.name, 80)
        if title and title.casefold() != self.name.replace("_", " ").casefold():
            shown = ", ".join(part for part in (shown, one_line(title, 80)) if part)
        header = QHBoxLayout()
        header.setSpacing(GAP)
        if not self._has_mark:
            words_of_it = self.tr("{name} (required)").format(name=shown)
            label = plain_label(self, words_of_it if self._is_required else shown)
            if self._is_required:
                label.setFont(emphasised(label.font()))
            self._there.hide()
            header.addWidget(label, 1)
        else:
            self._there.setText(shown.replace("&", "&&"))
            self._there.setToolTip(self.tr("Without the mark this member is left out"))
            self._there.toggled.connect(self._on_toggled)
            header.addWidget(self._there, 1)
        limits = QLabel(range_words(schema), self)
        limits.setTextFormat(Qt.TextFormat.PlainText)
        set_text_colour(limits, self._context.appearance, Tone.MUTED)
        header.addWidget(limits)
        return header

    def _add_help(self) -> None:
        description = words(self._context.schema, "description")
        if description:
            shown = visible(description[:_HELP], keep_line_ends=True)
            label = plain_label(self, shown + ("…" if len(description) > _HELP else ""))
            set_text_colour(label, self._context.appearance, Tone.MUTED)
            self._column.addWidget(label)

    def _make_field(self) -> ValueField:
        if self._field is None:
            self._field = ValueField(self._context, self)
            self._field.set_name(one_line(self.name, 80))
            self._field.changed.connect(self._on_field_changed)
            self._column.addWidget(self._field)
        return self._field

    def _show_field(self) -> None:
        """A field of several lines is not shown while its member is left out."""
        if self._field is not None and not self._is_required and not self._is_simple:
            self._field.setVisible(self._there.isChecked())

    @Slot(bool)
    def _on_toggled(self, is_there: bool) -> None:
        if is_there:
            self._make_field().begin()
        elif self._field is not None:
            self._field.set_value(UNSET)
        self._show_field()
        self.changed.emit()

    @Slot()
    def _on_field_changed(self) -> None:
        if self._has_mark and not self._there.isChecked():
            self._there.blockSignals(True)
            self._there.setChecked(True)
            self._there.blockSignals(False)
        self.changed.emit()

"""The field for an object: its members, each with its name, and whether it is there at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from mcp_progress_monitor.formatting import number, one_line, visible
from mcp_progress_monitor.gui.common.controls import plain_label, set_text_colour
from mcp_progress_monitor.gui.schema_form.composite import ValueField, below, within
from mcp_progress_monitor.gui.schema_form.field import FieldContext, FormField
from mcp_progress_monitor.gui.schema_form.schema import (
    UNSET,
    FieldKind,
    Schema,
    kind_of,
    properties_of,
    required_of,
    resolved,
    string_member,
)
from mcp_progress_monitor.gui.schema_form.validation import SchemaViolation, range_text
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Tone, emphasised

if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP: Final = 600  # characters of a description that are shown

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
            self._make_field().set_initial_required()

    def value(self) -> object:
        if self._field is None or (self._has_mark and not self._there.isChecked()):
            return UNSET
        return self._field.value()

    def set_value(self, value: object) -> None:
        self._there.blockSignals(True)
        self._there.setChecked(value is not UNSET)
        self._there.blockSignals(False)
        if value is not UNSET:
            self._make_field().set_value(value)
        elif self._field is not None:
            self._field.set_value(UNSET)
        self._show_field()

    def own_problems(self) -> list[SchemaViolation]:
        if self._field is None:
            return []
        return below(self.name, self._field.own_problems())

    def show_problems(self, problems: Sequence[SchemaViolation]) -> None:
        if self._field is not None:
            self._field.show_problems(problems)

    def _header(self) -> QHBoxLayout:
        schema = self._context.schema
        title = string_member(schema, "title")
        shown = one_line(self.name, 80)
        if title and title.casefold() != self.name.replace("_", " ").casefold():
            shown = ", ".join(part for part in (shown, one_line(title, 80)) if part)
        header = QHBoxLayout()
        header.setSpacing(GAP)
        if not self._has_mark:
            words_of_it = f"{shown} (required)"
            label = plain_label(self, words_of_it if self._is_required else shown)
            if self._is_required:
                label.setFont(emphasised(label.font()))
            self._there.hide()
            header.addWidget(label, 1)
        else:
            self._there.setText(shown.replace("&", "&&"))
            self._there.setToolTip("Clear the box to leave this member out")
            self._there.toggled.connect(self._on_toggled)
            header.addWidget(self._there, 1)
        limits = QLabel(range_text(schema), self)
        limits.setTextFormat(Qt.TextFormat.PlainText)
        set_text_colour(limits, self._context.appearance, Tone.MUTED)
        header.addWidget(limits)
        return header

    def _add_help(self) -> None:
        description = string_member(self._context.schema, "description")
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
            self._make_field().set_initial()
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


_MOST_MEMBERS: Final = 100  # members with a field of their own; those beyond are entered as JSON


class ObjectField(FormField):
    """Members one below the other; those the schema does not name are entered as JSON."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_set = True
        if context.depth:
            self.column.setContentsMargins(GAP_L, 0, 0, 0)
        self._rows: dict[str, MemberRow] = {}
        self._held: dict[str, Any] | None = None
        """What was set and is to be shown by the rows that are made later; None for nothing."""
        self._required = required_of(context.schema)
        self._properties = properties = properties_of(context.schema)
        names = sorted(properties, key=_Order(self._required))[:_MOST_MEMBERS]
        names = names[: context.work.room(len(names))]
        self._named = frozenset(names)
        self._members = QVBoxLayout()
        self._members.setSpacing(self.column.spacing())
        self.column.addLayout(self._members)
        for name in names:
            context.work.make(self, self, name, resolved(properties[name], context.root))
        self._others = MemberRow(
            "", self._others_context(len(properties) - len(names)), self, is_required=False
        )
        self._others.changed.connect(self.changed)
        self._takes_others = context.schema.get("additionalProperties", True) is not False or len(
            properties
        ) > len(names)
        self.column.addWidget(self._others)
        self._others.setVisible(self._takes_others)

    def value(self) -> object:
        if not self._is_set:
            return UNSET
        self._make_all()
        members = {name: row.value() for name, row in self._rows.items()}
        others = self._others.value()
        found = {name: value for name, value in members.items() if value is not UNSET}
        return {**found, **others} if isinstance(others, dict) else found

    def set_value(self, value: object) -> None:
        """Show an object; members without a field appear as JSON and are never dropped."""
        self._is_set = value is not UNSET
        members: dict[str, Any] = value if isinstance(value, dict) else {}
        self._held = members
        for name, row in self._rows.items():
            row.set_value(members.get(name, UNSET))
        others = {name: each for name, each in members.items() if name not in self._named}
        self._others.set_value(others or UNSET)
        self._others.setVisible(self._takes_others or bool(others))

    def set_initial(self) -> None:
        default = self.context.schema.get("default", UNSET)
        if isinstance(default, dict):
            self.set_value(default)
        self._is_set = True

    def set_initial_required(self) -> None:
        self.set_initial()

    def own_problems(self) -> list[SchemaViolation]:
        self._make_all()
        rows = [problem for row in self._rows.values() for problem in row.own_problems()]
        others = self._others.value()
        if others is not UNSET and not isinstance(others, dict):
            rows.append(SchemaViolation((), "other members must be a JSON object"))
        return [*rows, *self._others.own_problems()]

    def show_problems(self, problems: Sequence[SchemaViolation]) -> None:
        """Show each at its member; those of members without a field here."""
        for name, row in self._rows.items():
            row.show_problems(within(name, problems))
        self._others.show_problems(within("", problems))
        known = {*self._named, ""}
        elsewhere = [
            SchemaViolation((), f"{one_line(str(each.path[0]), 60)}: {each.message}")
            for each in problems
            if each.path and each.path[0] not in known
        ]
        super().show_problems([*problems, *elsewhere])

    def make_part(self, name: str) -> None:
        context = self.context.below(resolved(self._properties[name], self.context.root))
        row = MemberRow(name, context, self, is_required=name in self._required)
        row.changed.connect(self._on_row_changed)
        self._rows[name] = row
        self._members.addWidget(row)
        if self._held is not None:
            row.set_value(self._held.get(name, UNSET))

    def _make_all(self) -> None:
        if len(self._rows) < len(self._named):
            self.context.work.finish()

    def _others_context(self, beyond: int) -> FieldContext:
        what = "Other members"
        schema: Schema = {"title": what, "examples": [{}]}
        if beyond > 0:
            schema["description"] = f"Enter {number(beyond)} more members of the schema here."
        return self.context.below(schema)

    @Slot()
    def _on_row_changed(self) -> None:
        self._is_set = True
        self.changed.emit()


class _Order:
    """Sorts required members first, else as the schema has them."""

    def __init__(self, required: frozenset[str]) -> None:
        self._required = required

    def __call__(self, name: str) -> bool:
        return name not in self._required

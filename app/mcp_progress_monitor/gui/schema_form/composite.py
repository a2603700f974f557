"""Fields for arrays, for a choice of listed values or of schemas, and for any value."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import number, one_line, visible
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    plain_label,
    plain_tip,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.schema_form.field import FieldContext, FormField
from mcp_progress_monitor.gui.schema_form.inputs import JsonField
from mcp_progress_monitor.gui.schema_form.schema import (
    UNSET,
    FieldKind,
    Schema,
    SchemaViolation,
    fits_kind,
    is_same,
    kind_of,
    properties_of,
    range_text,
    required_of,
    resolved,
    selectable,
    string_member,
    validate,
    variant_title,
    variants,
)
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Tone, emphasised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ITEMS: Final = 100
"""Most items of an array with fields; a longer one is shown as JSON."""


class ValueField(FormField):
    """A field that becomes a raw JSON field while its value does not match the schema's type."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._kind = kind_of(context.schema)
        self._name = ""
        self._inner = context.build(context, self)
        self._is_always_raw = isinstance(self._inner, JsonField)
        self._inner.changed.connect(self.changed)
        self.column.addWidget(self._inner)

    def value(self) -> object:
        return self._inner.value()

    def set_value(self, value: object) -> None:
        is_long = isinstance(value, list) and len(value) > MOST_ITEMS
        is_fitting = not is_long and fits_kind(self._kind, self.context.schema, value)
        fits = value is UNSET or is_fitting
        is_raw = isinstance(self._inner, JsonField)
        if fits == is_raw and not self._is_always_raw:
            self._swap(
                self.context.build(self.context, self) if fits else JsonField(self.context, self)
            )
        self._inner.set_value(value)

    def set_initial(self) -> None:
        self._inner.set_initial()

    def set_initial_required(self) -> None:
        if "default" in self.context.schema:
            self.set_value(self.context.schema["default"])
        else:
            self._inner.set_initial_required()

    def own_violations(self) -> list[SchemaViolation]:
        return self._inner.own_violations()

    def set_name(self, name: str) -> None:
        self._name = name
        self._inner.set_name(name)

    def show_violations(self, violations: Sequence[SchemaViolation]) -> None:
        self._inner.show_violations(violations)

    def _swap(self, field: FormField) -> None:
        self.column.replaceWidget(self._inner, field)
        self._inner.changed.disconnect(self.changed)
        self._inner.hide()
        self._inner.deleteLater()
        self._inner = field
        self._inner.changed.connect(self.changed)
        self._inner.set_name(self._name)
        self._inner.show()


def within(step: str | int, violations: Iterable[SchemaViolation]) -> list[SchemaViolation]:
    return [
        violation._replace(path=violation.path[1:])
        for violation in violations
        if violation.path and violation.path[0] == step
    ]


def below(step: str | int, violations: Iterable[SchemaViolation]) -> list[SchemaViolation]:
    """The violations at `step`, with paths from its parent."""
    return [violation._replace(path=(step, *violation.path)) for violation in violations]


_MOST_BEGUN: Final = 10
"""Most initial items; further required ones are added by the user."""


class ArrayField(FormField):
    """Items in a column, with buttons to add and remove."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_set = False
        self._fields: list[ValueField] = []
        self._lines: list[QWidget] = []
        self._removes: list[QToolButton] = []
        self._items = QVBoxLayout()
        self._items.setSpacing(GAP_S)
        self.column.setContentsMargins(GAP_L, 0, 0, 0)
        self.column.addLayout(self._items)
        self._add = QPushButton("Add item", self)
        self._add.setToolTip("Add an item at the end")
        self._add.clicked.connect(self._on_add_clicked)
        buttons = in_row(self._add, 1)
        self.column.addLayout(buttons)

    def value(self) -> object:
        """The items; an empty one is null, so that the others keep their place."""
        if not self._is_set:
            return UNSET
        values = [field.value() for field in self._fields]
        return [None if value is UNSET else value for value in values]

    def set_value(self, value: object) -> None:
        self._is_set = value is not UNSET
        items: list[Any] = value if isinstance(value, list) else []
        while len(self._fields) > len(items):
            self._remove(len(self._fields) - 1)
        while len(self._fields) < len(items):
            self._append()
        for field, item in zip(self._fields, items, strict=True):
            field.set_value(item)

    def set_initial(self) -> None:
        """Set the default, or as many items as required."""
        default = self.context.schema.get("default", UNSET)
        if isinstance(default, list):
            self.set_value(default)
        self._is_set = True
        least = self.context.schema.get("minItems")
        while isinstance(least, int) and len(self._fields) < min(least, _MOST_BEGUN):
            self._append().set_initial()

    set_initial_required = set_initial

    def own_violations(self) -> list[SchemaViolation]:
        return [
            violation
            for row, field in enumerate(self._fields)
            for violation in below(row, field.own_violations())
        ]

    def set_name(self, name: str) -> None:
        self._add.setAccessibleName(f"Add an item to {name}")

    def show_violations(self, violations: Sequence[SchemaViolation]) -> None:
        for row, field in enumerate(self._fields):
            field.show_violations(within(row, violations))
        super().show_violations(violations)

    def _append(self) -> ValueField:
        schema = self.context.schema
        listed = schema.get("prefixItems")
        position = len(self._fields)
        chosen = schema.get("items")
        if isinstance(listed, list) and position < len(listed):
            chosen = listed[position]
        line = QWidget(self)
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        field = ValueField(self.context.below(resolved(chosen, self.context.root)), line)
        field.changed.connect(self.changed)
        remove = QToolButton(line, autoRaise=True)
        remove.setIcon(self.context.appearance.icon("remove"))
        remove.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        remove.setToolTip("Remove this item")
        remove.clicked.connect(self._on_remove_clicked)
        row.addWidget(field, 1)
        row.addWidget(remove, 0, Qt.AlignmentFlag.AlignTop)
        self._items.addWidget(line)
        self._fields.append(field)
        self._lines.append(line)
        self._removes.append(remove)
        self._number_items()
        line.show()
        return field

    def _remove(self, position: int) -> None:
        del self._fields[position]
        del self._removes[position]
        line = self._lines.pop(position)
        self._number_items()
        self._items.removeWidget(line)
        line.hide()
        line.deleteLater()

    def _number_items(self) -> None:
        pairs = zip(self._fields, self._removes, strict=True)
        for position, (field, remove) in enumerate(pairs, 1):
            field.set_name(f"Item {position}")
            remove.setAccessibleName(f"Remove item {position}")

    @Slot()
    def _on_add_clicked(self) -> None:
        self._is_set = True
        self._append().set_initial()
        self._add.setEnabled(len(self._fields) < MOST_ITEMS)
        self.changed.emit()

    @Slot()
    def _on_remove_clicked(self) -> None:
        line = self.sender().parent()
        if isinstance(line, QWidget) and line in self._lines:
            self._remove(self._lines.index(line))
            self._add.setEnabled(True)
            self.changed.emit()


class SelectionField(FormField):
    """A check box for each listed value; selected ones keep the order of the list."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_set = False
        self.column.setContentsMargins(GAP_L, 0, 0, 0)
        self._boxes: list[tuple[QCheckBox, Any]] = []
        for title, value in selectable(context.schema):
            box = QCheckBox(one_line(title, 100).replace("&", "&&"), self)
            box.clicked.connect(self._on_clicked)
            self.column.addWidget(box)
            self._boxes.append((box, value))

    def value(self) -> object:
        if not self._is_set:
            return UNSET
        return [value for box, value in self._boxes if box.isChecked()]

    def set_value(self, value: object) -> None:
        self._is_set = value is not UNSET
        held: Sequence[object] = value if isinstance(value, list) else ()
        for box, offered in self._boxes:
            box.setChecked(any(is_same(offered, each) for each in held))

    def set_initial(self) -> None:
        super().set_initial()
        self._is_set = True

    set_initial_required = set_initial

    def controls(self) -> list[QWidget]:
        return [box for box, _ in self._boxes]

    def set_name(self, name: str) -> None:
        for box, _ in self._boxes:
            text = box.text().replace("&&", "&")
            box.setAccessibleName(f"{name}: {text}")

    @Slot()
    def _on_clicked(self) -> None:
        self._is_set = True
        self.changed.emit()


class VariantField(FormField):
    """A choice of several schemas above a field for the selected one."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._variants = variants(context.schema)
        self._box = QuietComboBox(self)
        titles = [variant_title(each, context.root) for each in self._variants]
        self._box.addItems([one_line(title, 80) for title in titles])
        self._box.setToolTip("Choose the kind of value to enter")
        self._box.activated.connect(self._on_activated)
        self.column.addWidget(self._box)
        self._field = self._made(0)
        self.column.addWidget(self._field)

    def value(self) -> object:
        return self._field.value()

    def set_value(self, value: object) -> None:
        """Select the first variant that `value` fits, and show it there.

        If that takes too long, select the first one of the value's kind.
        """
        if value is not UNSET:
            self._choose(self._fitting(value))
        self._field.set_value(value)

    def set_initial(self) -> None:
        default = self.context.schema.get("default", UNSET)
        if default is UNSET:
            self._field.set_initial()
        else:
            self.set_value(default)

    def own_violations(self) -> list[SchemaViolation]:
        return self._field.own_violations()

    def controls(self) -> list[QWidget]:
        return [self._box]

    def set_name(self, name: str) -> None:
        self._box.setAccessibleName(f"Kind of {name}")
        self._field.set_name(name)

    def show_violations(self, violations: Sequence[SchemaViolation]) -> None:
        """Show violations of the choice itself here, all others at the field."""
        super().show_violations(violations)
        self._field.show_violations([violation for violation in violations if violation.path])

    def _made(self, position: int) -> ValueField:
        context = self.context.below(resolved(self._variants[position], self.context.root))
        field = ValueField(context, self)
        field.changed.connect(self.changed)
        return field

    def _choose(self, position: int) -> None:
        if position == self._box.currentIndex():
            return
        self._box.setCurrentIndex(position)
        self._swap(position)

    def _swap(self, position: int) -> None:
        field = self._made(position)
        self.column.replaceWidget(self._field, field)
        self._field.changed.disconnect(self.changed)
        self._field.hide()
        self._field.deleteLater()
        self._field = field
        field.show()

    def _fitting(self, value: object) -> int:
        root, has_time = self.context.root, self.context.work.has_time
        of_kind = [
            position
            for position, each in enumerate(self._variants)
            if fits_kind(kind_of(found := resolved(each, root)), found, value)
        ]
        exact = (
            position
            for position in of_kind
            if not has_time()
            or not validate({**root, **self._variants[position]}, value).violations
        )
        return next(exact, of_kind[0] if of_kind else 0)

    @Slot(int)
    def _on_activated(self, position: int) -> None:
        self._swap(position)
        self._field.set_initial()
        self.changed.emit()


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
    """A member of an object: name, check box if optional, field, description."""

    changed = Signal()

    def __init__(
        self, name: str, context: FieldContext, parent: QWidget, *, is_required: bool
    ) -> None:
        super().__init__(parent)
        self.name = name
        self._context = context._replace(is_optional=not is_required)
        self._is_required = is_required
        # A boolean's field shows itself whether it is set: a check box would be a second control.
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

    def own_violations(self) -> list[SchemaViolation]:
        if self._field is None:
            return []
        return below(self.name, self._field.own_violations())

    def show_violations(self, violations: Sequence[SchemaViolation]) -> None:
        if self._field is not None:
            self._field.show_violations(violations)

    def _header(self) -> QHBoxLayout:
        schema = self._context.schema
        title = string_member(schema, "title")
        shown = one_line(self.name, 80)
        if title and title.casefold() != self.name.replace("_", " ").casefold():
            shown = ", ".join(part for part in (shown, one_line(title, 80)) if part)
        header = QHBoxLayout()
        header.setSpacing(GAP)
        if not self._has_mark:
            text_of_it = f"{shown} (required)"
            label = plain_label(self, text_of_it if self._is_required else shown)
            if self._is_required:
                label.setFont(emphasised(label.font()))
            self._there.hide()
            header.addWidget(label, 1)
        else:
            self._there.setText(shown.replace("&", "&&"))
            self._there.setToolTip("Clear to omit this member")
            self._there.toggled.connect(self._on_toggled)
            header.addWidget(self._there, 1)
        limits = QLabel(range_text(schema), self, textFormat=Qt.TextFormat.PlainText)
        pattern = string_member(schema, "pattern")
        limits.setToolTip(plain_tip(f"Matches {pattern}") if pattern else "")
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
        """Hide a field of several lines while its member is left out."""
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


_MOST_MEMBERS: Final = 100  # most members with fields; others are entered as JSON


class ObjectField(FormField):
    """Members in a column; those not in the schema are entered as JSON."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_set = True
        if context.depth:
            self.column.setContentsMargins(GAP_L, 0, 0, 0)
        self._rows: dict[str, MemberRow] = {}
        self._held: dict[str, Any] | None = None
        """The value for rows that are created later; None without one."""
        self._required = required_of(context.schema)
        self._properties = properties = properties_of(context.schema)
        # Required members first, else as the schema has them.
        names = sorted(properties, key=lambda name: name not in self._required)[:_MOST_MEMBERS]
        names = names[: context.work.room(len(names))]
        self._named = frozenset(names)
        self._members = QVBoxLayout()
        self._members.setSpacing(self.column.spacing())
        self.column.addLayout(self._members)
        for name in names:
            make = partial(self._make_member, name)
            context.work.make(self, make, resolved(properties[name], context.root))
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
        """Show an object; members without a field appear as JSON and are kept."""
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

    set_initial_required = set_initial

    def own_violations(self) -> list[SchemaViolation]:
        self._make_all()
        rows = [violation for row in self._rows.values() for violation in row.own_violations()]
        others = self._others.value()
        if others is not UNSET and not isinstance(others, dict):
            rows.append(SchemaViolation((), "other members must be a JSON object"))
        return [*rows, *self._others.own_violations()]

    def show_violations(self, violations: Sequence[SchemaViolation]) -> None:
        """Show each violation at its member; those of members without a field here."""
        for name, row in self._rows.items():
            row.show_violations(within(name, violations))
        self._others.show_violations(within("", violations))
        known = {*self._named, ""}
        elsewhere = [
            SchemaViolation((), f"{one_line(str(each.path[0]), 60)}: {each.message}")
            for each in violations
            if each.path and each.path[0] not in known
        ]
        super().show_violations([*violations, *elsewhere])

    def _make_member(self, name: str) -> None:
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
        what = "Additional properties"
        schema: Schema = {"title": what, "examples": [{}]}
        if beyond > 0:
            schema["description"] = f"Enter {number(beyond)} more members of the schema here."
        return self.context.below(schema)

    @Slot()
    def _on_row_changed(self) -> None:
        self._is_set = True
        self.changed.emit()

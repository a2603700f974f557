"""Fields for arrays, for a choice of listed values or of schemas, and for any value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import QuietComboBox
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.schema_form.field import FieldContext, FormField
from mcp_progress_monitor.gui.schema_form.inputs import JsonField
from mcp_progress_monitor.gui.schema_form.schema import (
    UNSET,
    fits_kind,
    is_same,
    kind_of,
    resolved,
    selectable,
    variant_title,
    variants,
)
from mcp_progress_monitor.gui.schema_form.validation import SchemaViolation, validate
from mcp_progress_monitor.gui.theme import GAP_L, GAP_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ITEMS: Final = 100
"""Items of an array with a field of their own; a longer one is shown as JSON."""


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
        fits = value is UNSET or self._fits(value)
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

    def own_problems(self) -> list[SchemaViolation]:
        return self._inner.own_problems()

    def set_name(self, name: str) -> None:
        self._name = name
        self._inner.set_name(name)

    def show_problems(self, problems: Sequence[SchemaViolation]) -> None:
        self._inner.show_problems(problems)

    def _fits(self, value: object) -> bool:
        if isinstance(value, list) and len(value) > MOST_ITEMS:
            return False
        return fits_kind(self._kind, self.context.schema, value)

    def _swap(self, field: FormField) -> None:
        self.column.replaceWidget(self._inner, field)
        self._inner.changed.disconnect(self.changed)
        self._inner.hide()
        self._inner.deleteLater()
        self._inner = field
        self._inner.changed.connect(self.changed)
        self._inner.set_name(self._name)
        self._inner.show()


def within(step: str | int, problems: Iterable[SchemaViolation]) -> list[SchemaViolation]:
    return [
        problem._replace(path=problem.path[1:])
        for problem in problems
        if problem.path and problem.path[0] == step
    ]


def below(step: str | int, problems: Iterable[SchemaViolation]) -> list[SchemaViolation]:
    """Return the problems of what lies at `step`, their paths seen from above it."""
    return [problem._replace(path=(step, *problem.path)) for problem in problems]


_MOST_BEGUN: Final = 10
"""Items that are there at first; further ones that must be there are added by the user."""


class ArrayField(FormField):
    """Items one below the other, with buttons to add and to remove."""

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
        """Return the items; one that is empty is null, so that the others keep their place."""
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
        """Be there, with the default or as many items as there must be."""
        default = self.context.schema.get("default", UNSET)
        if isinstance(default, list):
            self.set_value(default)
        self._is_set = True
        least = self.context.schema.get("minItems")
        while isinstance(least, int) and len(self._fields) < min(least, _MOST_BEGUN):
            self._append().set_initial()

    def set_initial_required(self) -> None:
        self.set_initial()

    def own_problems(self) -> list[SchemaViolation]:
        return [
            problem
            for row, field in enumerate(self._fields)
            for problem in below(row, field.own_problems())
        ]

    def set_name(self, name: str) -> None:
        self._add.setAccessibleName(f"Add an item to {name}")

    def show_problems(self, problems: Sequence[SchemaViolation]) -> None:
        for row, field in enumerate(self._fields):
            field.show_problems(within(row, problems))
        super().show_problems(problems)

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
        remove = QToolButton(line)
        remove.setIcon(self.context.appearance.icon("remove"))
        remove.setAutoRaise(True)
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
    """Any of the listed values; the selected ones keep the order of the list."""

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

    def set_initial_required(self) -> None:
        self.set_initial()

    def controls(self) -> list[QWidget]:
        return [box for box, _ in self._boxes]

    def set_name(self, name: str) -> None:
        for box, _ in self._boxes:
            words = box.text().replace("&&", "&")
            box.setAccessibleName(f"{name}: {words}")

    @Slot()
    def _on_clicked(self) -> None:
        self._is_set = True
        self.changed.emit()


class VariantField(FormField):
    """A choice among several schemas over a field for the chosen one."""

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
        """Choose the first variant that `value` fits, and show it there.

        Where that takes too long, the first one of the value's kind.
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

    def own_problems(self) -> list[SchemaViolation]:
        return self._field.own_problems()

    def controls(self) -> list[QWidget]:
        return [self._box]

    def set_name(self, name: str) -> None:
        self._box.setAccessibleName(f"Kind of {name}")
        self._field.set_name(name)

    def show_problems(self, problems: Sequence[SchemaViolation]) -> None:
        """Show what a choice of schemas cannot place below it, all else at the field."""
        super().show_problems(problems)
        self._field.show_problems([problem for problem in problems if problem.path])

    def _made(self, position: int) -> ValueField:
        context = self.context.below(resolved(self._variants[position], self.context.root))
        field = ValueField(context, self)
        field.changed.connect(self.changed)
        return field

    def _choose(self, position: int) -> None:
        if position == self._box.currentIndex():
            return
        self._box.setCurrentIndex(position)
        self._take(position)

    def _take(self, position: int) -> None:
        field = self._made(position)
        self.column.replaceWidget(self._field, field)
        self._field.changed.disconnect(self.changed)
        self._field.hide()
        self._field.deleteLater()
        self._field = field
        field.show()

    def _fitting(self, value: object) -> int:
        root, watch = self.context.root, self.context.work.watch
        of_kind = [
            position
            for position, each in enumerate(self._variants)
            if fits_kind(kind_of(found := resolved(each, root)), found, value)
        ]
        exact = (
            position
            for position in of_kind
            if not validate({**root, **self._variants[position]}, value, watch).problems
        )
        return next(exact, of_kind[0] if of_kind else 0)

    @Slot(int)
    def _on_activated(self, position: int) -> None:
        self._take(position)
        self._field.set_initial()
        self.changed.emit()

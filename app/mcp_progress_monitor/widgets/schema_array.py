"""The field for an array: its items one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from mcp_progress_monitor.models.schema import UNSET, resolved
from mcp_progress_monitor.widgets.appearance import GAP_L, GAP_S
from mcp_progress_monitor.widgets.schema_field import Field, FieldContext
from mcp_progress_monitor.widgets.schema_value import MOST_ITEMS, ValueField, below, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.models.schema_check import SchemaProblem


_MOST_BEGUN: Final = 10
"""Items that are there at first; further ones that must be there are added by the user."""


class ArrayField(Field):
    """Items one below the other, with buttons to add and to remove."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_there = False
        self._fields: list[ValueField] = []
        self._lines: list[QWidget] = []
        self._removes: list[QToolButton] = []
        self._items = QVBoxLayout()
        self._items.setSpacing(GAP_S)
        self.column.setContentsMargins(GAP_L, 0, 0, 0)
        self.column.addLayout(self._items)
        self._add = QPushButton(self.tr("Add item"), self)
        self._add.setToolTip(self.tr("Add an item at the end"))
        self._add.clicked.connect(self._on_add_clicked)
        buttons = QHBoxLayout()
        buttons.addWidget(self._add)
        buttons.addStretch(1)
        self.column.addLayout(buttons)

    def value(self) -> object:
        """Return the items; one that is empty is null, so that the others keep their place."""
        if not self._is_there:
            return UNSET
        values = [field.value() for field in self._fields]
        return [None if value is UNSET else value for value in values]

    def set_value(self, value: object) -> None:
        """Show an array."""
        self._is_there = value is not UNSET
        items: list[Any] = value if isinstance(value, list) else []
        while len(self._fields) > len(items):
            self._remove(len(self._fields) - 1)
        while len(self._fields) < len(items):
            self._append()
        for field, item in zip(self._fields, items, strict=True):
            field.set_value(item)

    def begin(self) -> None:
        """Be there, with the default or as many items as there must be."""
        default = self.context.schema.get("default", UNSET)
        if isinstance(default, list):
            self.set_value(default)
        self._is_there = True
        least = self.context.schema.get("minItems")
        while isinstance(least, int) and len(self._fields) < min(least, _MOST_BEGUN):
            self._append().begin()

    def begin_required(self) -> None:
        """Be there, as an empty array if need be."""
        self.begin()

    def own_problems(self) -> list[SchemaProblem]:
        """Return the problems of all items."""
        return [
            problem
            for row, field in enumerate(self._fields)
            for problem in below(row, field.own_problems())
        ]

    def set_name(self, name: str) -> None:
        """Name the button."""
        self._add.setAccessibleName(self.tr("Add an item to {name}").format(name=name))

    def show_problems(self, problems: Sequence[SchemaProblem]) -> None:
        """Show each at its item."""
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
        remove.setToolTip(self.tr("Remove this item"))
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
            field.set_name(self.tr("Item {number}").format(number=position))
            remove.setAccessibleName(self.tr("Remove item {number}").format(number=position))

    @Slot()
    def _on_add_clicked(self) -> None:
        self._is_there = True
        self._append().begin()
        self._add.setEnabled(len(self._fields) < MOST_ITEMS)
        self.changed.emit()

    @Slot()
    def _on_remove_clicked(self) -> None:
        line = self.sender().parent()
        if isinstance(line, QWidget) and line in self._lines:
            self._remove(self._lines.index(line))
            self._add.setEnabled(True)
            self.changed.emit()

"""The field for one of several schemas: a choice over a field for the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot

from mcp_progress_monitor.models.schema import (
    UNSET,
    fits_kind,
    kind_of,
    resolved,
    variant_title,
    variants,
)
from mcp_progress_monitor.models.schema_check import SchemaProblem, validate
from mcp_progress_monitor.text import one_line
from mcp_progress_monitor.widgets.schema_field import Field, FieldContext, QuietComboBox
from mcp_progress_monitor.widgets.schema_value import ValueField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget


class VariantField(Field):
    """A choice among several schemas over a field for the chosen one."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._variants = variants(context.schema)
        self._box = QuietComboBox(self)
        titles = [variant_title(each, context.root) for each in self._variants]
        self._box.addItems([one_line(title, 80) for title in titles])
        self._box.setToolTip(self.tr("Which kind of value to enter"))
        self._box.activated.connect(self._on_activated)
        self.column.addWidget(self._box)
        self._field = self._made(0)
        self.column.addWidget(self._field)

    def value(self) -> object:
        """Return the value of the chosen variant."""
        return self._field.value()

    def set_value(self, value: object) -> None:
        """Choose the first variant that `value` fits, and show it there.

        Where that takes too long, the first one of the value's kind.
        """
        if value is not UNSET:
            self._choose(self._fitting(value))
        self._field.set_value(value)

    def begin(self) -> None:
        """Be there, with the default of the whole or of the chosen variant."""
        default = self.context.schema.get("default", UNSET)
        if default is UNSET:
            self._field.begin()
        else:
            self.set_value(default)

    def own_problems(self) -> list[SchemaProblem]:
        """Return the problems of the chosen variant."""
        return self._field.own_problems()

    def controls(self) -> list[QWidget]:
        """Return the choice."""
        return [self._box]

    def set_name(self, name: str) -> None:
        """Name the choice and the field."""
        self._box.setAccessibleName(self.tr("Kind of {name}").format(name=name))
        self._field.set_name(name)

    def show_problems(self, problems: Sequence[SchemaProblem]) -> None:
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
        self._field.begin()
        self.changed.emit()

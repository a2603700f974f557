"""A field that can show any value, whatever its schema wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.models.schema import UNSET, fits_kind, kind_of
from mcp_progress_monitor.widgets.schema_field import Field, FieldContext
from mcp_progress_monitor.widgets.schema_inputs import JsonField

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.models.schema_check import SchemaProblem

MOST_ITEMS: Final = 100
"""Items of an array with a field of their own; a longer one is shown as JSON."""


class ValueField(Field):
    """A field that turns into one for raw JSON while its value is not of the schema's kind."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._kind = kind_of(context.schema)
        self._name = ""
        self._inner = context.build(context, self)
        self._is_always_raw = isinstance(self._inner, JsonField)
        self._inner.changed.connect(self.changed)
        self.column.addWidget(self._inner)

    def value(self) -> object:
        """Return the field's value."""
        return self._inner.value()

    def set_value(self, value: object) -> None:
        """Show `value` in a field that can hold it."""
        fits = value is UNSET or self._fits(value)
        is_raw = isinstance(self._inner, JsonField)
        if fits == is_raw and not self._is_always_raw:
            self._swap(
                self.context.build(self.context, self) if fits else JsonField(self.context, self)
            )
        self._inner.set_value(value)

    def begin(self) -> None:
        """Be there."""
        self._inner.begin()

    def begin_required(self) -> None:
        """Show the first value of what must be there."""
        if "default" in self.context.schema:
            self.set_value(self.context.schema["default"])
        else:
            self._inner.begin_required()

    def own_problems(self) -> list[SchemaProblem]:
        """Return the field's problems."""
        return self._inner.own_problems()

    def set_name(self, name: str) -> None:
        """Name the field's controls."""
        self._name = name
        self._inner.set_name(name)

    def show_problems(self, problems: Sequence[SchemaProblem]) -> None:
        """Show them at the field."""
        self._inner.show_problems(problems)

    def _fits(self, value: object) -> bool:
        if isinstance(value, list) and len(value) > MOST_ITEMS:
            return False
        return fits_kind(self._kind, self.context.schema, value)

    def _swap(self, field: Field) -> None:
        self.column.replaceWidget(self._inner, field)
        self._inner.changed.disconnect(self.changed)
        self._inner.hide()
        self._inner.deleteLater()
        self._inner = field
        self._inner.changed.connect(self.changed)
        self._inner.set_name(self._name)
        self._inner.show()


def within(step: str | int, problems: Iterable[SchemaProblem]) -> list[SchemaProblem]:
    """Return the problems below `step`, their paths seen from there."""
    return [
        problem._replace(path=problem.path[1:])
        for problem in problems
        if problem.path and problem.path[0] == step
    ]


def below(step: str | int, problems: Iterable[SchemaProblem]) -> list[SchemaProblem]:
    """Return the problems of what lies at `step`, their paths seen from above it."""
    return [problem._replace(path=(step, *problem.path)) for problem in problems]

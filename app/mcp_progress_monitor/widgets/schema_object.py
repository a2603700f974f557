"""The field for an object: its members one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout

from mcp_progress_monitor.models.schema import UNSET, Schema, properties_of, required_of, resolved
from mcp_progress_monitor.models.schema_check import SchemaProblem
from mcp_progress_monitor.text import number, one_line
from mcp_progress_monitor.widgets.appearance import GAP_L
from mcp_progress_monitor.widgets.schema_field import Field, FieldContext
from mcp_progress_monitor.widgets.schema_member import MemberRow
from mcp_progress_monitor.widgets.schema_value import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

_MOST_MEMBERS: Final = 100
"""Members with a field of their own; those beyond are entered as JSON."""


class ObjectField(Field):
    """Members one below the other; those the schema does not name are entered as JSON."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_there = True
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
        """Return the members that are there."""
        if not self._is_there:
            return UNSET
        self._make_all()
        members = {name: row.value() for name, row in self._rows.items()}
        others = self._others.value()
        found = {name: value for name, value in members.items() if value is not UNSET}
        return {**found, **others} if isinstance(others, dict) else found

    def set_value(self, value: object) -> None:
        """Show an object; members without a field appear as JSON and are never dropped."""
        self._is_there = value is not UNSET
        members: dict[str, Any] = value if isinstance(value, dict) else {}
        self._held = members
        for name, row in self._rows.items():
            row.set_value(members.get(name, UNSET))
        others = {name: each for name, each in members.items() if name not in self._named}
        self._others.set_value(others or UNSET)
        self._others.setVisible(self._takes_others or bool(others))

    def begin(self) -> None:
        """Be there, with the default or what is required."""
        default = self.context.schema.get("default", UNSET)
        if isinstance(default, dict):
            self.set_value(default)
        self._is_there = True

    def begin_required(self) -> None:
        """Be there, as an empty object if need be."""
        self.begin()

    def own_problems(self) -> list[SchemaProblem]:
        """Return the problems of all members."""
        self._make_all()
        rows = [problem for row in self._rows.values() for problem in row.own_problems()]
        others = self._others.value()
        if others is not UNSET and not isinstance(others, dict):
            rows.append(SchemaProblem((), self.tr("other members must be a JSON object")))
        return [*rows, *self._others.own_problems()]

    def show_problems(self, problems: Sequence[SchemaProblem]) -> None:
        """Show each at its member; those of members without a field here."""
        for name, row in self._rows.items():
            row.show_problems(within(name, problems))
        self._others.show_problems(within("", problems))
        known = {*self._named, ""}
        elsewhere = [
            SchemaProblem((), f"{one_line(str(each.path[0]), 60)}: {each.message}")
            for each in problems
            if each.path and each.path[0] not in known
        ]
        super().show_problems([*problems, *elsewhere])

    def make_part(self, name: str) -> None:
        """Make the row of a member, with what was set meanwhile."""
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
        what = self.tr("Other members")
        schema: Schema = {"title": what, "examples": [{}]}
        if beyond > 0:
            schema["description"] = self.tr(
                "{count} more members of the schema are entered here."
            ).format(count=number(beyond))
        return self.context.below(schema)

    @Slot()
    def _on_row_changed(self) -> None:
        self._is_there = True
        self.changed.emit()


class _Order:
    """Sorts required members first, else as the schema has them."""

    def __init__(self, required: frozenset[str]) -> None:
        self._required = required

    def __call__(self, name: str) -> bool:
        return name not in self._required

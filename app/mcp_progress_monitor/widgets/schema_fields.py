"""Which field a schema wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.models.schema import DEEPEST, FieldKind, Schema, kind_of, resolved
from mcp_progress_monitor.widgets.schema_array import ArrayField
from mcp_progress_monitor.widgets.schema_field import Field, FieldContext
from mcp_progress_monitor.widgets.schema_inputs import (
    BooleanField,
    ChoiceField,
    JsonField,
    NullField,
    NumberField,
    TextField,
)
from mcp_progress_monitor.widgets.schema_object import ObjectField
from mcp_progress_monitor.widgets.schema_selection import SelectionField
from mcp_progress_monitor.widgets.schema_value import ValueField
from mcp_progress_monitor.widgets.schema_variant import VariantField

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.widgets.appearance import Appearance
    from mcp_progress_monitor.widgets.schema_build import FormBuild

_FIELDS: Final[dict[FieldKind, type[Field]]] = {
    FieldKind.STRING: TextField,
    FieldKind.INTEGER: NumberField,
    FieldKind.NUMBER: NumberField,
    FieldKind.BOOLEAN: BooleanField,
    FieldKind.CHOICE: ChoiceField,
    FieldKind.SELECTION: SelectionField,
    FieldKind.NULL: NullField,
    FieldKind.ANY: JsonField,
    FieldKind.OBJECT: ObjectField,
    FieldKind.ARRAY: ArrayField,
    FieldKind.VARIANTS: VariantField,
}
_WITH_PARTS: Final = frozenset({FieldKind.OBJECT, FieldKind.ARRAY, FieldKind.VARIANTS})


def build_field(context: FieldContext, parent: QWidget) -> Field:
    """Return the field for `context`; raw JSON for parts that are nested too deep."""
    kind = kind_of(context.schema)
    if kind in _WITH_PARTS and context.depth >= DEEPEST:
        return JsonField(context, parent)
    return _FIELDS[kind](context, parent)


def root_field(
    schema: Schema, appearance: Appearance, work: FormBuild, parent: QWidget
) -> ValueField:
    """Return the field for a whole schema, which is the root of its references."""
    context = FieldContext(resolved(schema, schema), schema, 0, appearance, build_field, work)
    return ValueField(context, parent)

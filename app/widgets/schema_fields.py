"""Which field a schema wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.models.schema import DEEPEST, FieldKind, Schema, kind_of, resolved
from app.widgets.schema_array import ArrayField
from app.widgets.schema_field import Field, FieldContext
from app.widgets.schema_inputs import (
    BooleanField,
    ChoiceField,
    JsonField,
    NullField,
    NumberField,
    TextField,
)
from app.widgets.schema_object import ObjectField
from app.widgets.schema_selection import SelectionField
from app.widgets.schema_value import ValueField
from app.widgets.schema_variant import VariantField

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.widgets.appearance import Appearance
    from app.widgets.schema_build import FormBuild

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

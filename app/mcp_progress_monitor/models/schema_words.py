"""A schema's type and limits in a few words, for beside a field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.models.job_texts import tr
from mcp_progress_monitor.models.schema import FieldKind, kind_of, words
from mcp_progress_monitor.text import number, one_line

if TYPE_CHECKING:
    from mcp_progress_monitor.models.schema import Schema


def range_words(schema: Schema) -> str:
    """Return such as `integer, 1 to 500, default 10`; without what the schema does not say."""
    parts = [_type(schema), *_bounds(schema)]
    return ", ".join(part for part in parts if part)


def _type(schema: Schema) -> str:
    kind = kind_of(schema)
    if kind is FieldKind.SELECTION:
        return tr("any of these")
    if kind in {FieldKind.CHOICE, FieldKind.VARIANTS, FieldKind.ANY}:
        return ""
    wanted = words(schema, "format") if kind is FieldKind.STRING else ""
    return one_line(wanted, 30) or kind.value


def _bounds(schema: Schema) -> list[str]:
    for low, high, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ):
        bounds = _bound(schema, low), _bound(schema, high)
        if any(bounds):
            return [_span(*bounds) + unit]
    more, less = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    return [
        part for part in (f"over {more}" if more else "", f"under {less}" if less else "") if part
    ]


def _span(low: str, high: str) -> str:
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}"


def _bound(schema: Schema, key: str) -> str:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return number(value)

"""A schema's limits for a value as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.formatting import number

if TYPE_CHECKING:
    from collections.abc import Mapping

_RANGES: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)


def limits(schema: Mapping[str, Any]) -> list[str]:
    """Return such as `["1 to 500"]`, `["at least 3 characters"]`; `[]` without any limit."""
    bounds = [(_bound(schema, low), _bound(schema, high), unit) for low, high, unit in _RANGES]
    found = [_span(low, high, unit) for low, high, unit in bounds if low or high]
    beyond = (("more than", "exclusiveMinimum"), ("less than", "exclusiveMaximum"))
    return [*found, *(f"{word} {bound}" for word, key in beyond if (bound := _bound(schema, key)))]


def _span(low: str, high: str, unit: str) -> str:
    unit = unit.removesuffix("s") if (high or low) == "1" else unit
    if low and high:
        return f"{low} to {high}{unit}"
    return f"at least {low}{unit}" if low else f"at most {high}{unit}"


def _bound(schema: Mapping[str, Any], key: str) -> str:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return number(value)

"""JSON values and the limits of schemas as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.formatting import size, visible
from mcp_progress_monitor.protocol.jsonrpc import Elided

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEPTH = 6


def compact(value: Any, limit: int) -> str:
    """Format `value` as one line of JSON of at most `limit` characters, safe to show.

    Reads only as much of the value as fits: a long array costs no more than a short one.
    """
    parts: list[str] = []
    room = limit
    for part in _parts(value, limit, _DEPTH):
        parts.append(part)
        room -= len(part)
        if room < 0:
            return "".join(parts)[: max(0, limit - 1)] + "…"
    return "".join(parts)


def _parts(value: Any, limit: int, depth: int) -> Iterator[str]:
    if isinstance(value, Elided):
        yield f"… {size(value.size)} …"
    elif isinstance(value, dict):
        yield from _members(value, limit, depth)
    elif isinstance(value, list | tuple):
        yield from _elements(value, limit, depth)
    else:
        yield scalar(value, limit)


def _members(value: dict[Any, Any], limit: int, depth: int) -> Iterator[str]:
    if not depth and value:
        yield "{…}"
        return
    yield "{"
    for index, (name, member) in enumerate(value.items()):
        yield (", " if index else "") + scalar(name, limit) + ": "
        yield from _parts(member, limit, depth - 1)
    yield "}"


def _elements(value: list[Any] | tuple[Any, ...], limit: int, depth: int) -> Iterator[str]:
    if not depth and value:
        yield "[…]"
        return
    yield "["
    for index, element in enumerate(value):
        if index:
            yield ", "
        yield from _parts(element, limit, depth - 1)
    yield "]"


def scalar(value: Any, limit: int) -> str:
    """Format a string in quotes, a number, or a literal such as `null`, cut to about `limit`."""
    if isinstance(value, str):
        cut = value[:limit]
        return '"' + visible(cut) + ('…"' if len(value) > limit else '"')
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return number(value, limit) if isinstance(value, int | float) else visible(str(value)[:limit])


def number(value: float, limit: int = 4_000) -> str:
    """Format a number; an integer that is too long is described by its number of digits."""
    if isinstance(value, int) and value.bit_length() > 3 * limit:
        return f"integer of about {int(value.bit_length() * 0.30103):,} digits"
    return repr(value) if isinstance(value, int) else json.dumps(value)


def pretty(value: Any) -> str:
    """Format `value` as complete, indented JSON."""
    return json.dumps(_with_elisions(value), indent=2, ensure_ascii=False)


def searchable(value: Any) -> str:
    """Format `value` as it appears in a message's bytes, a string without its quotes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text[1:-1] if isinstance(value, str) else text


def _with_elisions(value: Any) -> Any:
    """Replace each value elided from a large message by a text that says so."""
    if isinstance(value, Elided):
        return f"… {value.size:,} bytes omitted …"
    if isinstance(value, dict):
        return {name: _with_elisions(member) for name, member in value.items()}
    return [_with_elisions(element) for element in value] if isinstance(value, list) else value


_RANGES: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)


def schema_limits(schema: Mapping[str, Any]) -> list[str]:
    """A schema's limits for a value, such as `["1 to 500"]` or `["at least 3 characters"]`."""
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
    return formatting.number(value)

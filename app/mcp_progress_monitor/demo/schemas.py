"""The part of JSON Schema our tools use: building it, filling in defaults, checking arguments."""

import math
from typing import Any, Final

from mcp_progress_monitor.demo.messages import JsonObject

_KINDS: Final[dict[str, type]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "number": float,
    "integer": int,
}


class ArgumentError(Exception):
    """An argument does not fit its schema."""

    def __init__(self, path: str, problem: str) -> None:
        """Say where (`stages[0].steps`) and what is wrong there."""
        super().__init__(f"{path or 'arguments'}: {problem}")
        self.path = path
        self.problem = problem


def record(description: str = "", /, **properties: JsonObject) -> JsonObject:
    """Return a schema for an object; members without a default are required."""
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name, member in properties.items() if "default" not in member]
    if required:
        schema["required"] = required
    if description:
        schema["description"] = description
    return schema


def listing(description: str, items: JsonObject, **bounds: object) -> JsonObject:
    """Return a schema for an array; `bounds` are keywords such as `minItems` and `default`."""
    return {"type": "array", "description": description, "items": items, **bounds}


def integer(description: str, default: int, low: int, high: int) -> JsonObject:
    """Return a schema for a whole number within `low` and `high`."""
    return _ranged("integer", description, default, low, high)


def number(description: str, default: float, low: float, high: float) -> JsonObject:
    """Return a schema for a number within `low` and `high`."""
    return _ranged("number", description, default, low, high)


def text(description: str, default: str) -> JsonObject:
    """Return a schema for a string."""
    return {"type": "string", "description": description, "default": default}


def choice(description: str, *values: str) -> JsonObject:
    """Return a schema for one of `values`, the first of them being the default."""
    return {
        "type": "string",
        "description": description,
        "enum": list(values),
        "default": values[0],
    }


def flag(description: str, *, default: bool = False) -> JsonObject:
    """Return a schema for a yes or no."""
    return {"type": "boolean", "description": description, "default": default}


def complete(schema: JsonObject, value: Any, path: str = "") -> Any:
    """Return `value` with defaults filled in at every depth.

    Raises:
        ArgumentError: It does not fit the schema.
    """
    kind = schema["type"]
    if not _is_a(kind, value):
        raise ArgumentError(path, f"expected {kind}, got {type(value).__name__}")
    _check_limits(schema, value, path)
    if kind == "object":
        return _complete_members(schema, value, path)
    if kind == "array":
        items = enumerate(value)
        return [complete(schema["items"], item, f"{path}[{index}]") for index, item in items]
    return int(value) if kind == "integer" else value


def _ranged(kind: str, description: str, default: float, low: float, high: float) -> JsonObject:
    return {
        "type": kind,
        "description": description,
        "minimum": low,
        "maximum": high,
        "default": default,
    }


def _is_a(kind: str, value: Any) -> bool:
    """Tell whether `value` has this JSON type; 3.0 is an integer, True and NaN no numbers."""
    if isinstance(value, bool):
        return kind == "boolean"
    if not isinstance(value, int | float):
        return isinstance(value, _KINDS[kind])
    if not math.isfinite(value):
        return False
    return kind == "number" or (kind == "integer" and value == int(value))


def _check_limits(schema: JsonObject, value: Any, path: str) -> None:
    if "enum" in schema and value not in schema["enum"]:
        raise ArgumentError(path, f"expected one of {', '.join(schema['enum'])}")
    if "minimum" in schema and value < schema["minimum"]:
        raise ArgumentError(path, f"{value} is less than the minimum of {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        raise ArgumentError(path, f"{value} is greater than the maximum of {schema['maximum']}")
    if len(value if isinstance(value, list) else ()) < schema.get("minItems", 0):
        raise ArgumentError(path, f"needs at least {schema['minItems']} items")


def _complete_members(schema: JsonObject, value: JsonObject, path: str) -> JsonObject:
    members: JsonObject = schema["properties"]
    for name in value.keys() - members.keys():
        raise ArgumentError(_join(path, name), "no such argument")
    completed = {}
    for name, member in members.items():
        if name not in value and "default" not in member:
            raise ArgumentError(_join(path, name), "is required")
        given = value.get(name, member.get("default"))
        completed[name] = complete(member, given, _join(path, name))
    return completed


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

"""A tool: a function, its texts, and the schema of its arguments.

Schemas use a subset of JSON Schema; this module builds them, fills in defaults, and validates.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.eras import Dialect
from mcp_progress_monitor.demo.wire import INVALID_PARAMS, JsonObject, RpcError, text_result


class ArgumentError(Exception):
    """An argument does not fit its schema."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def record(description: str = "", /, **properties: JsonObject) -> JsonObject:
    """Return a schema for an object; members without a default are required."""
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name, member in properties.items() if "default" not in member]
    if required:
        schema["required"] = required
    if description:
        schema["description"] = description
    return schema


def integer(description: str, default: int, low: int, high: int) -> JsonObject:
    return _ranged("integer", description, default, low, high)


def number(description: str, default: float, low: float, high: float) -> JsonObject:
    return _ranged("number", description, default, low, high)


def text(description: str, default: str) -> JsonObject:
    return {"type": "string", "description": description, "default": default}


def choice(description: str, *values: str) -> JsonObject:
    return {
        "type": "string",
        "description": description,
        "enum": list(values),
        "default": values[0],
    }


def flag(description: str, *, default: bool = False) -> JsonObject:
    return {"type": "boolean", "description": description, "default": default}


def complete(schema: JsonObject, given: object) -> JsonObject:
    """Return the arguments with defaults filled in.

    Raises:
        ArgumentError: They do not fit the schema.
    """
    if not isinstance(given, dict):
        raise ArgumentError("arguments", f"expected object, got {type(given).__name__}")
    members: JsonObject = schema["properties"]
    for name in given.keys() - members.keys():
        raise ArgumentError(name, "unknown argument")
    completed = {}
    for name, member in members.items():
        if name not in given and "default" not in member:
            raise ArgumentError(name, "is required")
        value = given.get(name, member.get("default"))
        _check(name, member, value)
        completed[name] = int(value) if member["type"] == "integer" else value
    return completed


def _ranged(kind: str, description: str, default: float, low: float, high: float) -> JsonObject:
    return {
        "type": kind,
        "description": description,
        "minimum": low,
        "maximum": high,
        "default": default,
    }


def _is_a(kind: str, value: Any) -> bool:
    """True if `value` has this JSON type; 3.0 is an integer, True and NaN are not numbers."""
    if isinstance(value, bool):
        return kind == "boolean"
    if not isinstance(value, int | float):
        return kind == "string" and isinstance(value, str)
    if not math.isfinite(value):
        return False
    return kind == "number" or (kind == "integer" and value == int(value))


def _check(name: str, schema: JsonObject, value: Any) -> None:
    kind = schema["type"]
    if not _is_a(kind, value):
        raise ArgumentError(name, f"expected {kind}, got {type(value).__name__}")
    if "enum" in schema and value not in schema["enum"]:
        raise ArgumentError(name, f"expected one of {', '.join(schema['enum'])}")
    if "minimum" in schema and value < schema["minimum"]:
        raise ArgumentError(name, f"{value} is less than the minimum of {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        raise ArgumentError(name, f"{value} is greater than the maximum of {schema['maximum']}")


@dataclass(frozen=True, slots=True)
class TaskTraits:
    """Rules for calls of a tool that may become tasks."""

    support: Literal["optional", "required", "forbidden", ""] = "optional"
    """The listed value in revision 2025-11-25; empty means forbidden as well."""

    @property
    def may_be_task(self) -> bool:
        return self.support in {"optional", "required"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A row in a table of tools.

    `run` gets the call and its arguments by name. It returns the result to send, or None if it
    replies itself or never.
    """

    run: Callable[..., JsonObject | None]
    title: str
    description: str
    arguments: JsonObject
    tasks: TaskTraits | None = None

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def schema(self) -> JsonObject:
        return self.arguments

    def listed(self, dialect: Dialect) -> JsonObject:
        entry: JsonObject = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
        }
        if dialect.has_core_tasks and self.tasks is not None and self.tasks.support:
            entry["execution"] = {"taskSupport": self.tasks.support}
        return entry

    def completed(self, given: JsonObject) -> JsonObject:
        """Check the arguments and fill in defaults.

        Raises:
            RpcError: The arguments do not fit the schema.
        """
        try:
            return complete(self.schema, given)
        except ArgumentError as error:
            data = {"path": error.name, "problem": error.reason}
            raise RpcError(INVALID_PARAMS, f"{self.name}: {error}", data) from error

    def serve(self, call: Call, completed: JsonObject) -> JsonObject | None:
        try:
            return self.run(call, **completed)
        except RefusedError as refusal:
            return text_result(str(refusal), is_error=True)


NO_ARGUMENTS: Final = record()

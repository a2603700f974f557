"""A tool: a function, its texts, and the schema of its arguments.

Schemas use a subset of JSON Schema; this module builds them, fills in defaults, and validates.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcp_progress_monitor.demo.call import ON_CANCEL, Call, RefusedError
from mcp_progress_monitor.demo.eras import Dialect
from mcp_progress_monitor.demo.wire import INVALID_PARAMS, JsonObject, RpcError, text_result

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

    def __init__(self, path: str, reason: str) -> None:
        """`path` is the place of the error, such as `stages[0].steps`."""
        super().__init__(f"{path or 'arguments'}: {reason}")
        self.path = path
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


def listing(description: str, items: JsonObject, **bounds: object) -> JsonObject:
    """Return a schema for an array; `bounds` are keywords such as `minItems` and `default`."""
    return {"type": "array", "description": description, "items": items, **bounds}


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
    """Whether `value` has this JSON type; 3.0 is an integer, True and NaN are not numbers."""
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
        raise ArgumentError(_join(path, name), "unknown argument")
    completed = {}
    for name, member in members.items():
        if name not in value and "default" not in member:
            raise ArgumentError(_join(path, name), "is required")
        given = value.get(name, member.get("default"))
        completed[name] = complete(member, given, _join(path, name))
    return completed


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


_ON_CANCEL: Final = choice(
    "On cancellation: stop silently, ignore it, reply with an error, or reply with a result",
    *ON_CANCEL,
)

_TERMS: Final[dict[str, JsonObject]] = {
    "poll_ms": integer("Poll interval for a task's status, in ms", 500, 0, 3_600_000),
    "ttl_s": number("Seconds to keep a task; 0 lets the client choose", 0, 0, 86_400),
    "notifies": flag("Send notifications about a task's status", default=True),
}

_PREPARED: Final = ("on_cancel", *_TERMS)  # arguments that are handled before a tool runs


@dataclass(frozen=True, slots=True)
class TaskTraits:
    """How calls of a tool may become tasks."""

    support: Literal["optional", "required", "forbidden", ""] = "optional"
    """The listed value in revision 2025-11-25; empty means forbidden as well."""

    @property
    def may_be_task(self) -> bool:
        return self.support in {"optional", "required"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A row in a table of tools.

    `run` gets the call and its arguments by name. It returns the result to send, or None if it
    replies itself or never. A tool that takes time (`lasts`) has an additional argument
    `on_cancel`, which is handled before it runs; one that may be a task (`tasks`) has three more.
    """

    run: Callable[..., JsonObject | None]
    title: str
    description: str
    arguments: JsonObject
    lasts: bool = True
    tasks: TaskTraits | None = None

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def schema(self) -> JsonObject:
        members = dict(self.arguments["properties"])
        if self.tasks is not None and self.tasks.may_be_task:
            members.update(_TERMS)
        if self.lasts:
            members["on_cancel"] = _ON_CANCEL
        return record("", **members)

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
            arguments: JsonObject = complete(self.schema, given)
        except ArgumentError as error:
            data = {"path": error.path, "problem": error.reason}
            raise RpcError(INVALID_PARAMS, f"{self.name}: {error}", data) from error
        return arguments

    def serve(self, call: Call, completed: JsonObject) -> JsonObject | None:
        own = {name: value for name, value in completed.items() if name not in _PREPARED}
        call.on_cancel = completed.get("on_cancel", call.on_cancel)
        try:
            return self.run(call, **own)
        except RefusedError as refusal:
            return text_result(str(refusal), is_error=True)


NO_ARGUMENTS: Final = record()

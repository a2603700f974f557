"""Checks arguments against a tool's input schema, and results against its output schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.json_schema import PATIENT_S, Stopwatch, find_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsonschema import ValidationError

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Tool
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_MOST: Final = 20
_LARGEST_REPLY: Final = 8_000_000
_LOOKED_AT: Final = 100
_TEXT_LIMIT: Final = 300


class Checked(NamedTuple):
    """The violations in a value, each with the path of its field.

    `unchecked` says what could not be checked; empty if everything was.
    """

    violations: list[str]
    unchecked: tuple[str, ...] = ()


def check_value(schema: JsonObject, value: object, watch: Stopwatch | None = None) -> Checked:
    found = find_errors(schema, value, _LOOKED_AT, watch)
    violations = [_text(error) for error in sorted(found.errors, key=_place)[:_MOST]]
    return Checked(violations, found.unchecked)


async def check_in_thread(check: Callable[[Stopwatch], Checked]) -> Checked:
    """Run a check with a longer limit, in a thread; a cancel ends it immediately."""
    started: list[Stopwatch] = []

    def run() -> Checked:
        started.append(Stopwatch(PATIENT_S))
        return check(started[0])

    try:
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
    finally:
        for watch in started:
            watch.cancel()


def check_output(schema: JsonObject, raw: bytes, watch: Stopwatch | None = None) -> Checked:
    """Check a reply to `tools/call`, as received, against the tool's output schema.

    Source: 2025-11-25 "Tools", "Output Schema". A result that reports an error need not match it.
    """
    if len(raw) > _LARGEST_REPLY:
        return Checked([], ("too large",))
    reply = json.loads(raw)
    result = reply.get("result") if isinstance(reply, dict) else None
    if not isinstance(result, dict) or result.get("isError") is True:
        return Checked([])
    if "structuredContent" not in result:
        return Checked(["structuredContent is missing"])
    violations, unchecked = check_value(schema, result["structuredContent"], watch)
    return Checked([f"structuredContent: {violation}" for violation in violations], unchecked)


def named_tool(server: ServerSnapshot, name: str) -> Tool:
    """The server's tool of that name; `UserError` with similar names if there is none."""
    found = next((tool for tool in server.tools if tool.name == name), None)
    if found is None:
        import difflib  # only for mistyped names

        near = difflib.get_close_matches(name, [tool.name for tool in server.tools], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "See the list of its tools."
        raise UserError(ErrorDetails(f"The server has no tool {name!r}", server.name, hint))
    return found


def _place(error: ValidationError) -> str:
    return str(error.json_path)


def _text(error: ValidationError) -> str:
    """The field by its path from the arguments' root, and its violation."""
    path = str(error.json_path).removeprefix("$").removeprefix(".")
    message = formatting.elide(str(error.message), _TEXT_LIMIT)
    missing = _missing(error)
    if missing is not None:
        path, message = f"{path}.{missing}".removeprefix("."), "a value is required"
    return f"{path}: {message}" if path else message


def _missing(error: ValidationError) -> str | None:
    """The missing member, if that is the error and its name can be part of a path."""
    if error.validator != "required":
        return None
    (name,) = error.validator_value
    return name if isinstance(name, str) and name.isidentifier() else None

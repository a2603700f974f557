"""Checks arguments against a tool's input schema, and results against its output schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.json_schema import PATIENT, QUICK, find_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.json_schema import SchemaError
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Tool
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_MOST: Final = 20
_LARGEST_REPLY: Final = 8_000_000
_TEXT_LIMIT: Final = 300


class Checked(NamedTuple):
    """The violations in a value, each with the path of its field.

    `unchecked` says what could not be checked; empty if everything was.
    """

    violations: list[str]
    unchecked: tuple[str, ...] = ()


def check_value(schema: JsonObject, value: object, effort: int = QUICK) -> Checked:
    found = find_errors(schema, value, _MOST, effort)
    return Checked(list(map(_text, found.errors)), found.unchecked)


async def check_in_thread(check: Callable[[int], Checked]) -> Checked:
    """Run a check with more effort, in a thread; a cancel does not wait for it."""
    return await anyio.to_thread.run_sync(check, PATIENT, abandon_on_cancel=True)


def check_output(schema: JsonObject, raw: bytes, effort: int = QUICK) -> Checked:
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
    violations, unchecked = check_value(schema, result["structuredContent"], effort)
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


def _text(error: SchemaError) -> str:
    """The field by its path from the arguments' root, and its violation."""
    path, message = error.place, formatting.elide(error.message, _TEXT_LIMIT)
    if error.missing is not None and error.missing.isidentifier():
        path, message = f"{path}.{error.missing}".removeprefix("."), "a value is required"
    return f"{path}: {message}" if path else message

"""`tools`: what a server offers, as text or as one JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.cli import listings
from mcp_progress_monitor.cli.arguments import property_types
from mcp_progress_monitor.cli.listings import (
    Listing,
    argument,
    blocks,
    described,
    heading,
    run_listing,
)
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.protocol.messages import Tool
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot


def list_tools(invocation: Invocation, *, in_json: bool) -> int:
    """List the tools of the server the options name and return the exit code."""
    return run_listing(invocation, _offered, in_json=in_json, lists=frozenset({"tools"}))


async def _offered(_monitor: Monitor, server: ServerSnapshot) -> Listing:
    problems = () if server.problem is None else (server.problem,)
    return Listing(_members(server), listing(server), problems)


def _members(server: ServerSnapshot) -> dict[str, Any]:
    return {"tools": [tool.raw for tool in server.tools]}


def document(server: ServerSnapshot) -> str:
    """The server and its tools, each exactly as it described itself, as JSON."""
    return listings.document(server, _members(server))


def listing(server: ServerSnapshot) -> str:
    """The tools for people: name, title, description, arguments. Safe to print."""
    return blocks(server, "tools", map(_lines, server.tools), is_whole=server.problem is None)


def _lines(tool: Tool) -> Iterator[str]:
    yield heading(tool.name, tool.title)
    yield from described(tool.description)
    properties = tool.input_schema.get("properties")
    if isinstance(properties, dict):
        required = tool.input_schema.get("required")
        needed = required if isinstance(required, list) else []
        for name, part in properties.items():
            yield from _argument(str(name), part, tool.input_schema, is_required=name in needed)


def _argument(
    name: str,
    part: Any,
    schema: Mapping[str, Any],
    *,
    is_required: bool,
) -> list[str]:
    types = " or ".join(property_types(name, schema)) or "any"
    details = ["required"] if is_required else []
    if isinstance(part, dict):
        if isinstance(part.get("enum"), list):
            details.append(f"one of {as_json(part['enum'])}")
        if "default" in part:
            details.append(f"default {as_json(part['default'])}")
        if isinstance(part.get("description"), str):
            details.append(one_line(part["description"], 400))
    return argument(name, types, details)

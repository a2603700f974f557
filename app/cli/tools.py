"""`tools`: what a server offers, as text or as one JSON document."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any

from app.cli.arguments import property_types
from app.cli.exits import ExitCode
from app.cli.lines import LineMeter
from app.cli.output import Output
from app.cli.program_log import log_to_stderr
from app.cli.recorded import session_recorder
from app.cli.reply import as_json
from app.cli.target import one_server
from app.cli.text_front import TextFront
from app.cli.visit import connected, run_visit
from app.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from app.cli.front import Front
    from app.cli.options import Invocation
    from app.monitor import Monitor
    from app.protocol.messages import Tool
    from app.sessions.snapshot import ServerSnapshot

_WIDTH = 96


def list_tools(invocation: Invocation, *, in_json: bool) -> int:
    """List the tools of the server the options name and return the exit code."""
    log_to_stderr(invocation.common.log_level)
    definition = one_server(invocation.common)
    output, errors = Output(sys.stdout), Output(sys.stderr)
    level = invocation.common.log_level or "warning"

    def make_front(monitor: Monitor) -> Front:
        meter = LineMeter(errors, monitor, is_numbered=False)
        return TextFront(output, errors, meter, monitor, level)

    async def work(monitor: Monitor) -> ExitCode:
        server = await connected(monitor, definition)
        if server.problem is not None:
            errors.text(f"{visible(server.problem.as_text(), keep_line_ends=True)}\n")
        output.text(document(server) if in_json else listing(server))
        return ExitCode.DONE

    return run_visit(output, make_front, work, session_recorder(invocation.common))


def document(server: ServerSnapshot) -> str:
    """The server and its tools, each exactly as it described itself, as JSON."""
    content = {
        "server": server.name,
        "protocolVersion": server.revision,
        "era": None if server.era is None else server.era.value,
        "serverInfo": server.server_info,
        "capabilities": server.capabilities,
        "instructions": server.instructions,
        "tools": [tool.raw for tool in server.tools],
    }
    return f"{as_json(content, indent=2)}\n"


def listing(server: ServerSnapshot) -> str:
    """The tools for people: name, title, description, arguments. Safe to print."""
    if not server.tools:
        that = "" if server.problem is None else " that could be read"
        return f"{one_line(server.title)} offers no tools{that}.\n"
    return "\n".join("".join(f"{line}\n" for line in _lines(tool)) for tool in server.tools)


def _lines(tool: Tool) -> Iterator[str]:
    title = f" ({one_line(tool.title)})" if tool.title and tool.title != tool.name else ""
    yield f"{visible(tool.name)}{title}"
    for paragraph in visible(tool.description or "", keep_line_ends=True).splitlines():
        yield from textwrap.wrap(paragraph, _WIDTH, initial_indent="  ", subsequent_indent="  ")
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
    words = f"--arg {visible(name)}={types}"
    details = ["required"] if is_required else []
    if isinstance(part, dict):
        if isinstance(part.get("enum"), list):
            details.append(f"one of {as_json(part['enum'])}")
        if "default" in part:
            details.append(f"default {as_json(part['default'])}")
        if isinstance(part.get("description"), str):
            details.append(one_line(part["description"], 400))
    text = f"{words}  {'; '.join(details)}" if details else words
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="        ")

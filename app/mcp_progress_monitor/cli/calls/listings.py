"""`tools`, `resources` and `prompts`: a server's lists as text or JSON."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.cli.calls.arguments import property_types
from mcp_progress_monitor.cli.calls.target import one_server
from mcp_progress_monitor.cli.calls.visit import (
    EngineCommand,
    connected,
    run_visit,
    session_recorder,
)
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import StandardOutput, as_json, show_warnings
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line, size, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.protocol.offers import (
        Prompt,
        PromptArgument,
        Resource,
        ResourceTemplate,
        Tool,
    )
    from mcp_progress_monitor.sessions.connection.lists import ListName
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

if TYPE_CHECKING:
    Offer: TypeAlias = Callable[[Engine, ServerSnapshot], Awaitable["Listing"]]

WIDTH = 96


class Listing(NamedTuple):
    """A list as `members` of the JSON document and as `text`, and the errors."""

    members: dict[str, Any]
    text: str
    errors: tuple[ErrorDetails, ...] = ()


def run_listing(
    invocation: Invocation, offer: Offer, *, in_json: bool, lists: frozenset[str] = frozenset()
) -> int:
    """Connect the server that the options name, print what `offer` lists, return the exit code.

    `lists` are read as soon as the server is connected.
    """
    log_to_stderr(invocation.common.log_level)
    command = _List(invocation, one_server(invocation.common), offer, in_json=in_json)
    command.lists = lists
    return run_visit(command, session_recorder(invocation.common))


class _List(EngineCommand):
    """Writes one listing."""

    def __init__(
        self, invocation: Invocation, definition: ServerDefinition, offer: Offer, *, in_json: bool
    ) -> None:
        self.output = StandardOutput(sys.stdout)
        self.level = invocation.common.log_level or "warning"
        self._definition = definition
        self._offer = offer
        self._in_json = in_json

    async def work(self, engine: Engine) -> ExitCode:
        server = await connected(engine, self._definition)
        with failing(ExitCode.ANSWERED_ERROR):
            listing = await self._offer(engine, server)
        show_warnings(*listing.errors)
        text = document(server, listing.members) if self._in_json else listing.text
        self.output.text(text)
        return ExitCode.DONE


def document(server: ServerSnapshot, members: dict[str, Any]) -> str:
    content = {
        "server": server.name,
        "protocolVersion": server.revision,
        "era": None if server.era is None else server.era.value,
        "serverInfo": server.server_info,
        "capabilities": server.capabilities,
        "instructions": server.instructions,
        **members,
    }
    return f"{as_json(content, indent=2)}\n"


def blocks(
    server: ServerSnapshot, what: str, items: Iterable[Iterable[str]], *, is_whole: bool
) -> str:
    """Items with empty lines between them, or the message that there are none."""
    found = ["".join(f"{line}\n" for line in item) for item in items]
    if found:
        return "\n".join(found)
    if not is_whole:
        return f"No {what} of {one_line(server.title)} could be read.\n"
    return f"{one_line(server.title)} has no {what}.\n"


def heading(name: str, title: str | None) -> str:
    """The name of an item, and its title if different."""
    return f"{visible(name)} ({one_line(title)})" if title and title != name else visible(name)


def described(description: str | None) -> Iterator[str]:
    for paragraph in visible(description or "", keep_line_ends=True).splitlines():
        yield from textwrap.wrap(paragraph, WIDTH, initial_indent="  ", subsequent_indent="  ")


def argument(name: str, kind: str, details: Sequence[str]) -> list[str]:
    """One argument as an option, with its details."""
    usage = f"--arg {visible(name)}={kind}"
    text = f"{usage}  {'; '.join(details)}" if details else usage
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="        ")


def list_resources(invocation: Invocation, *, in_json: bool) -> int:
    """List the resources and templates of the server the options name; returns the exit code."""
    return run_listing(invocation, _resources, in_json=in_json)


def list_prompts(invocation: Invocation, *, in_json: bool) -> int:
    """List the prompts of the server the options name and return the exit code."""
    return run_listing(invocation, _prompts, in_json=in_json)


async def _resources(engine: Engine, server: ServerSnapshot) -> Listing:
    listed, errors = await _read(engine, server, "resources")
    try:
        templates, more = await _read(engine, server, "resourceTemplates")
    except UserError as error:  # many servers with resources do not support templates
        templates, more = (), (error.details,)
    items = [*map(_resource_lines, listed), *map(_template_lines, templates)]
    members = {
        "resources": [each.raw for each in listed],
        "resourceTemplates": [each.raw for each in templates],
    }
    errors += more
    return Listing(members, blocks(server, "resources", items, is_whole=not errors), errors)


async def _prompts(engine: Engine, server: ServerSnapshot) -> Listing:
    listed, errors = await _read(engine, server, "prompts")
    text = blocks(server, "prompts", map(_prompt_lines, listed), is_whole=not errors)
    return Listing({"prompts": [each.raw for each in listed]}, text, errors)


async def _read(
    engine: Engine, server: ServerSnapshot, name: ListName
) -> tuple[tuple[Any, ...], tuple[ErrorDetails, ...]]:
    """One list; empty if the server does not declare it. `UserError` if the server refuses."""
    capability = "resources" if name == "resourceTemplates" else name
    if capability not in server.capabilities:
        return (), ()
    listed = await engine.servers.read_list(server.name, name)
    return listed.items, () if listed.error is None else (listed.error,)


def _resource_lines(resource: Resource) -> Iterator[str]:
    yield heading(resource.uri, resource.title or resource.name)
    bytes_ = None if resource.size is None else size(resource.size)
    kind = [one_line(resource.mime_type)] if resource.mime_type else []
    if bytes_ or kind:
        yield f"  {', '.join(kind + ([bytes_] if bytes_ else []))}"
    yield from described(resource.description)


def _template_lines(template: ResourceTemplate) -> Iterator[str]:
    yield f"{heading(template.uri_template, template.title or template.name)}, a template"
    if template.mime_type:
        yield f"  {one_line(template.mime_type)}"
    yield from described(template.description)


def _prompt_lines(prompt: Prompt) -> Iterator[str]:
    yield heading(prompt.name, prompt.title)
    yield from described(prompt.description)
    for each in prompt.arguments:
        yield from argument(each.name, "text", _details(each))


def _details(each: PromptArgument) -> list[str]:
    details = ["required"] if each.is_required else []
    return [*details, one_line(each.description, 400)] if each.description else details


def list_tools(invocation: Invocation, *, in_json: bool) -> int:
    """List the tools of the server the options name and return the exit code."""
    return run_listing(invocation, _offered, in_json=in_json, lists=frozenset({"tools"}))


async def _offered(_engine: Engine, server: ServerSnapshot) -> Listing:
    if server.error is not None and not server.tools:
        raise UserError(server.error)
    errors = () if server.error is None else (server.error,)
    return Listing({"tools": [tool.raw for tool in server.tools]}, tools_listing(server), errors)


def tools_listing(server: ServerSnapshot) -> str:
    """The tools as text that is safe to print: name, title, description, arguments."""
    return blocks(server, "tools", map(_lines, server.tools), is_whole=server.error is None)


def _lines(tool: Tool) -> Iterator[str]:
    yield heading(tool.name, tool.title)
    yield from described(tool.description)
    properties = tool.input_schema.get("properties")
    if isinstance(properties, dict):
        required = tool.input_schema.get("required")
        needed = required if isinstance(required, list) else []
        for name, part in properties.items():
            yield from _argument(str(name), part, tool.input_schema, is_required=name in needed)


def _argument(name: str, part: Any, schema: Mapping[str, Any], *, is_required: bool) -> list[str]:
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

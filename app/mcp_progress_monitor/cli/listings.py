"""What a server offers, listed: `resources` and `prompts`, as text or as one JSON document."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.lines import LineMeter
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.program_log import log_to_stderr
from mcp_progress_monitor.cli.recorded import session_recorder
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.cli.target import one_server
from mcp_progress_monitor.cli.text_front import TextFront
from mcp_progress_monitor.cli.visit import Terms, connected, run_visit
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.text import one_line, size, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.protocol.messages import (
        Prompt,
        PromptArgument,
        Resource,
        ResourceTemplate,
    )
    from mcp_progress_monitor.sessions.lists import ListName
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot

    Offer: TypeAlias = Callable[[Monitor, ServerSnapshot], Awaitable["Listing"]]

WIDTH = 96
_NO_LISTS: frozenset[str] = frozenset()


class Listing(NamedTuple):
    """What was listed: the `members` of the JSON document, the `text`, and what was wrong."""

    members: dict[str, Any]
    text: str
    problems: tuple[Problem, ...] = ()


def run_listing(
    invocation: Invocation, offer: Offer, *, in_json: bool, lists: frozenset[str] = _NO_LISTS
) -> int:
    """Connect the server that the options name, write what `offer` lists, return the exit code.

    `lists` are read as soon as the server is connected.
    """
    log_to_stderr(invocation.common.log_level)
    definition = one_server(invocation.common)
    output, errors = Output(sys.stdout), Output(sys.stderr)
    level = invocation.common.log_level or "warning"

    def make_front(monitor: Monitor) -> Front:
        meter = LineMeter(errors, monitor, is_numbered=False)
        return TextFront(output, errors, meter, monitor, level)

    async def work(monitor: Monitor) -> ExitCode:
        server = await connected(monitor, definition)
        try:
            listing = await offer(monitor, server)
        except ProblemError as error:
            raise CommandFailed(ExitCode.ANSWERED_ERROR, error.problem) from error
        for problem in listing.problems:
            errors.text(f"{visible(problem.as_text(), keep_line_ends=True)}\n")
        output.text(document(server, listing.members) if in_json else listing.text)
        return ExitCode.DONE

    recorded = session_recorder(invocation.common)
    return run_visit(output, make_front, work, recorded, terms=Terms(lists))


def document(server: ServerSnapshot, members: dict[str, Any]) -> str:
    """The server and what was listed, each exactly as it described itself, as JSON."""
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
    """Items of some lines each, with empty lines between; what is said when there are none."""
    found = ["".join(f"{line}\n" for line in item) for item in items]
    if found:
        return "\n".join(found)
    that = "" if is_whole else " that could be read"
    return f"{one_line(server.title)} offers no {what}{that}.\n"


def heading(name: str, title: str | None) -> str:
    """The name of an item, and its title where that says more."""
    return f"{visible(name)} ({one_line(title)})" if title and title != name else visible(name)


def described(description: str | None) -> Iterator[str]:
    """The paragraphs of a description, indented."""
    for paragraph in visible(description or "", keep_line_ends=True).splitlines():
        yield from textwrap.wrap(paragraph, WIDTH, initial_indent="  ", subsequent_indent="  ")


def argument(name: str, kind: str, details: Sequence[str]) -> list[str]:
    """One argument as it is typed, with its details."""
    words = f"--arg {visible(name)}={kind}"
    text = f"{words}  {'; '.join(details)}" if details else words
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="        ")


def list_resources(invocation: Invocation, *, in_json: bool) -> int:
    """List the resources and templates of the server the options name; returns the exit code."""
    return run_listing(invocation, _resources, in_json=in_json)


def list_prompts(invocation: Invocation, *, in_json: bool) -> int:
    """List the prompts of the server the options name and return the exit code."""
    return run_listing(invocation, _prompts, in_json=in_json)


async def _resources(monitor: Monitor, server: ServerSnapshot) -> Listing:
    listed, problems = await _read(monitor, server, "resources")
    try:
        templates, more = await _read(monitor, server, "resourceTemplates")
    except ProblemError as error:  # which many servers do not know that have resources
        templates, more = (), (error.problem,)
    items = [*map(_resource_lines, listed), *map(_template_lines, templates)]
    members = {
        "resources": [each.raw for each in listed],
        "resourceTemplates": [each.raw for each in templates],
    }
    problems += more
    return Listing(members, blocks(server, "resources", items, is_whole=not problems), problems)


async def _prompts(monitor: Monitor, server: ServerSnapshot) -> Listing:
    listed, problems = await _read(monitor, server, "prompts")
    text = blocks(server, "prompts", map(_prompt_lines, listed), is_whole=not problems)
    return Listing({"prompts": [each.raw for each in listed]}, text, problems)


async def _read(
    monitor: Monitor, server: ServerSnapshot, name: ListName
) -> tuple[tuple[Any, ...], tuple[Problem, ...]]:
    """One list; empty where the server declares none. `ProblemError` when it refuses."""
    capability = "resources" if name == "resourceTemplates" else name
    if capability not in server.capabilities:
        return (), ()
    listed = await monitor.read_list(server.name, name)
    return listed.items, () if listed.problem is None else (listed.problem,)


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

"""`call`: one tool, called once or several times at once, its progress shown as it comes."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from typing import TYPE_CHECKING

from mcp_progress_monitor.cli.arguments import convert, example, read_document
from mcp_progress_monitor.cli.calling import make_requests, request
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.fronts import USUAL_WORDING
from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.order import CallOrder
    from mcp_progress_monitor.monitor import Call, Monitor, Outcome
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.messages import Tool
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot


def call_tool(invocation: Invocation, order: CallOrder) -> int:
    """Do what `order` says and return the exit code: that of the first call that failed."""
    return make_requests(invocation, order, functools.partial(_ToolCall, order))


class _ToolCall:
    """A plan: a tool of the server's list, its arguments converted and checked by its schema."""

    lists = frozenset({"tools"})
    owns_jobs = True
    wording = USUAL_WORDING

    def __init__(self, order: CallOrder) -> None:
        self.where = f"tool {order.tool!r}"
        self.repeat = order.repeat
        self._order = order
        self._document = read_document(order.document)

    def ended(self, monitor: Monitor, front: Front, outcome: Outcome) -> None:
        """Tell that no task was made of a call that was to be one: that is for servers to say."""
        job = None if outcome.job is None else monitor.snapshot(outcome.job)
        if self._order.as_task and job is not None and job.task is None and outcome.result:
            what = "The server answered at once, without making a task of the call"
            front.warn(Problem(what, self.where))

    async def call(self, monitor: Monitor, server: ServerSnapshot, front: Front) -> Call:
        """The call; `CommandFailed` for a tool that is not listed, or arguments that do not fit."""
        order = self._order
        tool = _listed(server, order.tool)
        if tool is None and not order.is_unlisted:
            raise _unknown(server, order.tool)
        if tool is not None and not order.is_unlisted:
            _check_allowed(server, tool)
        schema = {} if tool is None else tool.input_schema
        converted = convert(order.pairs, schema, is_strict=not order.no_validate)
        arguments = {**self._document, **converted}
        if tool is not None and not order.no_validate:
            await _validate(monitor, server, tool, arguments, front)
        params = {"name": order.tool, "arguments": arguments}
        made = request(server, "tools/call", params, order)
        return dataclasses.replace(made, as_task=True if order.as_task else None)


def _check_allowed(server: ServerSnapshot, tool: Tool) -> None:
    """Refuse a tool that clients must not call; `CommandFailed` says how to do it all the same."""
    why = server.rejection(tool)
    if why:
        what = "Clients must not call this tool over HTTP: its schema breaks the rules for headers"
        hint = "To call it all the same, without headers for its arguments, add --unlisted."
        raise CommandFailed(ExitCode.USAGE, Problem(what, f"tool {tool.name!r}", hint, why))


async def _validate(
    monitor: Monitor, server: ServerSnapshot, tool: Tool, arguments: JsonObject, front: Front
) -> None:
    """Refuse arguments that break the tool's schema; warn of what could not be checked."""
    found = await monitor.check_arguments(server.name, tool.name, arguments)
    where = f"tool {tool.name!r}"
    if found.problems:
        what = "The arguments do not fit the tool's schema"
        problem = Problem(what, where, _advice(tool), "\n".join(found.problems))
        raise CommandFailed(ExitCode.USAGE, problem)
    if found.unchecked:
        what = "The arguments could not be checked completely and are sent as they are"
        front.warn(Problem(what, where, detail="\n".join(found.unchecked)))


def _listed(server: ServerSnapshot, name: str) -> Tool | None:
    """The tool called `name`; None when the server does not list it."""
    return next((tool for tool in server.tools if tool.name == name), None)


def _unknown(server: ServerSnapshot, name: str) -> CommandFailed:
    """The refusal of a tool that is not listed, with the closest names.

    A typing error is likely, but servers do run tools that they do not list.
    """
    names = [tool.name for tool in server.tools]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif names:
        hint = f"Its tools: {', '.join(names)}."
    else:
        hint = "It lists no tools."
    problem = Problem(
        f"There is no tool {name!r} in the server's list",
        f"server {server.title!r}",
        f"{hint}\nTo call it all the same, add --unlisted.",
    )
    return CommandFailed(ExitCode.USAGE, problem)


def _advice(tool: Tool) -> str:
    options = example(tool.input_schema)
    listed = (
        "The command `tools` lists the arguments it takes."
        " To send them all the same, add --no-validate."
    )
    return f"For example: {options}\n{listed}" if options else listed

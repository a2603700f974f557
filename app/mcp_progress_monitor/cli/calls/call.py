"""`call`, `read`, `prompt` and `request`: requests to a server, shown as jobs."""

from __future__ import annotations

import base64
import dataclasses
import difflib
import functools
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from mcp_progress_monitor import private_file
from mcp_progress_monitor.cli.calls.arguments import convert, example, read_document
from mcp_progress_monitor.cli.calls.calling import Plan, make_requests, request
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output.fronts import ResultFormat
from mcp_progress_monitor.cli.output.results import (
    contents_of,
    exact_outcome,
    exact_result,
    indented,
    messages_text,
    read_result,
    resource_text,
)
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import size
from mcp_progress_monitor.path_checks import absolute
from mcp_progress_monitor.protocol.messages import CALL_TOOL, GET_PROMPT, OF_TASKS, READ_RESOURCE

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.orders import CallOrder, PromptOrder, RawOrder, ReadOrder
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.engine.call import Call, Outcome
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Tool
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot


def call_tool(invocation: Invocation, order: CallOrder) -> int:
    """Call a tool and return the exit code: that of the first failed call."""
    return make_requests(invocation, order, functools.partial(_ToolCall, order))


class _ToolCall(Plan):
    """A plan: a listed tool, with arguments converted and validated by its schema."""

    lists = frozenset({"tools"})

    def __init__(self, order: CallOrder) -> None:
        self.where = f"tool {order.tool!r}"
        self.repeat = order.repeat
        self._order = order
        self._document = read_document(order.document)

    def ended(self, engine: Engine, front: Front, outcome: Outcome) -> None:
        """Warn if the server created no task for a call with `--task`, as it may."""
        job = None if outcome.job is None else engine.jobs.snapshot(outcome.job)
        if self._order.as_task and job is not None and job.task is None and outcome.result:
            what = "The server returned a result immediately, without creating a task"
            front.warn(ErrorDetails(what, self.where))

    async def call(self, engine: Engine, server: ServerSnapshot, front: Front) -> Call:
        """The call; `CommandFailed` for a tool that is not listed or for invalid arguments."""
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
            await _validate(engine, server, tool, arguments, front)
        params = {"name": order.tool, "arguments": arguments}
        made = request(server, CALL_TOOL, params, order)
        return dataclasses.replace(made, as_task=True if order.as_task else None)


def _check_allowed(server: ServerSnapshot, tool: Tool) -> None:
    """`CommandFailed` for a tool that clients must not call, with how to call it anyway."""
    why = server.rejection(tool)
    if why:
        what = "Clients must not call this tool over HTTP: its schema has an invalid x-mcp-header"
        hint = "To call it anyway, without headers for its arguments, add --unlisted."
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, f"tool {tool.name!r}", hint, why))


async def _validate(
    engine: Engine, server: ServerSnapshot, tool: Tool, arguments: JsonObject, front: Front
) -> None:
    """`CommandFailed` for arguments that violate the schema; warns if some cannot be checked."""
    found = await engine.calls.check_arguments(server.name, tool.name, arguments)
    where = f"tool {tool.name!r}"
    if found.violations:
        what = "The arguments violate the tool's schema"
        error = ErrorDetails(what, where, _advice(tool), "\n".join(found.violations))
        raise CommandFailed(ExitCode.USAGE, error)
    if found.unchecked:
        what = "The arguments could not be fully validated and are sent unchanged"
        front.warn(ErrorDetails(what, where, detail="\n".join(found.unchecked)))


def _listed(server: ServerSnapshot, name: str) -> Tool | None:
    return next((tool for tool in server.tools if tool.name == name), None)


def _unknown(server: ServerSnapshot, name: str) -> CommandFailed:
    """The error for a tool that is not listed, with the closest names.

    A typing error is likely, but some servers run tools that they do not list.
    """
    names = [tool.name for tool in server.tools]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif names:
        hint = f"Its tools: {', '.join(names)}."
    else:
        hint = "It lists no tools."
    error = ErrorDetails(
        f"The server does not list a tool {name!r}",
        f"server {server.title!r}",
        f"{hint}\nTo call it anyway, add --unlisted.",
    )
    return CommandFailed(ExitCode.USAGE, error)


def _advice(tool: Tool) -> str:
    options = example(tool.input_schema)
    listed = (
        "To list the tool's arguments, use the command `tools`."
        " To send these anyway, add --no-validate."
    )
    return f"Example: {options}\n{listed}" if options else listed


def read_resource(invocation: Invocation, order: ReadOrder) -> int:
    return make_requests(invocation, order, functools.partial(_ReadRequest, order))


def get_prompt(invocation: Invocation, order: PromptOrder) -> int:
    return make_requests(invocation, order, functools.partial(_PromptRequest, order))


def send_request(invocation: Invocation, order: RawOrder) -> int:
    return make_requests(invocation, order, functools.partial(_RawRequest, order))


class _ReadRequest(Plan):
    """Base of plans for a single request that needs none of the server's lists."""

    def __init__(self, order: ReadOrder) -> None:
        self.where = f"resource {order.uri!r}"
        self._order = order
        self.result_format = ResultFormat(
            resource_text if order.output is None else lambda _raw: ""
        )
        if order.output is not None and not absolute(order.output).parent.is_dir():
            _refuse_file(order.output, "The folder does not exist")

    async def call(self, engine: Engine, server: ServerSnapshot, front: Front) -> Call:
        return request(server, READ_RESOURCE, {"uri": self._order.uri}, self._order)

    def ended(self, engine: Engine, front: Front, outcome: Outcome) -> None:
        if self._order.output is None or outcome.result is None:
            return
        content = _bytes_of(outcome.raw, self.where)
        path = absolute(self._order.output)
        try:
            private_file.put(path, content)
        except OSError as error:
            _refuse_file(path, error.strerror or str(error))
        front.note(f"Saved {size(len(content))} to {path}")


class _PromptRequest(Plan):
    """A plan: get a prompt, whose arguments are all strings."""

    result_format = ResultFormat(messages_text)

    def __init__(self, order: PromptOrder) -> None:
        self.where = f"prompt {order.name!r}"
        self._order = order

    async def call(self, engine: Engine, server: ServerSnapshot, front: Front) -> Call:
        params: dict[str, Any] = {"name": self._order.name}
        if self._order.pairs:
            params["arguments"] = dict(self._order.pairs)
        return request(server, GET_PROMPT, params, self._order)


class _RawRequest(Plan):
    """A plan: any method, with parameters as typed; its result is shown as JSON."""

    def __init__(self, order: RawOrder) -> None:
        self.where = f"request {order.method!r}"
        self._order = order
        self._params = None if order.params is None else read_document(order.params, "--params")
        # For a task method the task's state is the result; for others, its final result.
        exact = exact_result if order.method.startswith(OF_TASKS) else exact_outcome
        is_terminal = StandardOutput(sys.stdout).is_terminal
        self.result_format = ResultFormat(
            functools.partial(_json_text, exact, indents=is_terminal), exact
        )

    async def call(self, engine: Engine, server: ServerSnapshot, front: Front) -> Call:
        return request(server, self._order.method, self._params or {}, self._order)


def _json_text(exact: Any, raw: bytes, *, indents: bool) -> str:
    found: str = exact(raw)
    return f"{indented(found) if indents else found}\n"


def _bytes_of(raw: bytes, where: str) -> bytes:
    """All contents of a resource: text as UTF-8, binary data decoded."""
    parts = []
    for part in contents_of(read_result(raw)):
        text, blob = part.get("text"), part.get("blob")
        if isinstance(text, str):
            parts.append(text.encode("utf-8", "surrogatepass"))
        elif isinstance(blob, str):
            try:
                parts.append(base64.b64decode(blob, validate=True))
            except ValueError as error:
                what = "Cannot save the server's data: it is not valid base64"
                details = ErrorDetails(what, where, "To see it, use --json.", str(error))
                raise CommandFailed(ExitCode.ANSWERED_ERROR, details) from error
    return b"".join(parts)


def _refuse_file(path: Path, reason: str) -> NoReturn:
    error = ErrorDetails("Cannot save the data", str(path), detail=reason)
    raise CommandFailed(ExitCode.UNWRITABLE, error)

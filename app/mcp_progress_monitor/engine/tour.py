"""A scripted tour of a connected server: calls of every kind, which its recording lets judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import count, one_line
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.protocol.peer import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Tool
    from mcp_progress_monitor.protocol.peer import TokenChoice
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

MOST_TOOLS: Final = 20
_IDLE_S: Final = 30.0
_TOTAL_S: Final = 120.0
_CANCEL_AFTER_S: Final = 0.2
_INTEGER: Final = 7_000_001
_UNKNOWN: Final = "no-such-tool"
_DEEPEST: Final = 5
_SAMPLES: Final[dict[str, Any]] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


class WrongTourError(UserError):
    """The tools or arguments that were named do not fit the server."""


class Tour:
    """Calls a server's tools in all the ways that a client may."""

    def __init__(
        self,
        tools: Collection[str],
        given: Mapping[str, JsonObject],
        note: Callable[[str], None] = lambda _text: None,
        options: tuple[str, str] = ("--tool", "--args"),
        *,
        takes_all: bool = False,
    ) -> None:
        """Call the tools that are marked as read-only, `tools`, and those with `given` arguments.

        With `takes_all`, all but those marked as destructive. What it does goes to `note`.
        `options` are what the front end calls those two.
        """
        self._takes_all = takes_all
        self._tools = tools
        self._given = given
        self._note = note
        self._tool_option, self._argument_option = options
        self._outcomes: dict[str, list[bool]] = {}
        """For each tool, whether each of its calls with valid arguments failed."""
        self.is_listed = True
        """False if the server did not list its tools."""
        self.has_left = False
        """True if tools were not called because of how they are marked."""
        self._untested = ""

    async def run(self, engine: Engine, server: ServerSnapshot) -> None:
        """Make the calls, and disconnect the server.

        Raises:
            WrongTourError: the tools or arguments do not fit.
            UserError: the server is gone.
        """
        self._check_named(server)
        if server.error is not None:
            self._untested = server.error.as_text()
            if not server.tools:
                self.is_listed = False
                self._untested = f"No tool was tested. {self._untested}"
        chosen = [tool for tool in server.tools if self._is_chosen(tool)]
        if not self._takes_all:
            chosen = chosen[:MOST_TOOLS]
        left = len(server.tools) - len(chosen)
        self.has_left = left > 0
        self._note(f"Calling {count(len(chosen), 'tool')}, leaving out {left}.")
        if left and not chosen:
            none = "No tool was called, because none is marked as read-only."
            self._untested = self._untested or f"{none} Name some with {self._tool_option}."
        for place, tool in enumerate(chosen):
            await self._visit(engine, server, tool, is_first=not place)
        await self._call(engine, server, _UNKNOWN, {}, AUTO)
        await engine.servers.disconnect(server.name)

    def notes(self) -> Iterator[str]:
        """Notes on tools that were not called or whose calls all failed: few rules were tested."""
        if self._untested:
            yield one_line(". ".join(self._untested.splitlines()), 400)
        for tool, failed in self._outcomes.items():
            if failed and all(failed):
                calls = "The only call" if len(failed) == 1 else f"All {len(failed)} calls"
                yield (
                    f"{calls} of {one_line(tool, 80)} failed, so most rules were not tested on it. "
                    f"Pass arguments that work with {self._argument_option}."
                )

    def _is_chosen(self, tool: Tool) -> bool:
        """Return whether a tool may be called: by how it is marked, or because the user said so."""
        marks = as_object(tool.raw.get("annotations"))
        reads = marks.get("readOnlyHint") is True
        is_taken = self._takes_all and (reads or marks.get("destructiveHint") is not True)
        return reads or is_taken or tool.name in self._tools or tool.name in self._given

    def _check_named(self, server: ServerSnapshot) -> None:
        known = {tool.name for tool in server.tools}
        unknown = [name for name in (*self._tools, *self._given) if name not in known]
        if unknown:
            what = f"The server does not list a tool {unknown[0]!r}"
            listed = f"Its tools: {', '.join(sorted(known)) or 'none'}."
            raise WrongTourError(ErrorDetails(what, server.title, detail=listed))

    async def _visit(
        self, engine: Engine, server: ServerSnapshot, tool: Tool, *, is_first: bool
    ) -> None:
        """Call a tool; the first also with each kind of token, a cancel and wrong arguments."""
        is_given = tool.name in self._given
        arguments = self._given[tool.name] if is_given else sample(tool.input_schema)
        checked = await engine.calls.check_arguments(server.name, tool.name, arguments)
        if checked.violations and is_given:
            what = "The arguments violate the tool's schema"
            where, detail = f"tool {tool.name!r}", "\n".join(checked.violations)
            raise WrongTourError(ErrorDetails(what, where, detail=detail))
        if checked.violations:
            self._note(f"Skipped {tool.name}: pass its arguments with {self._argument_option}.")
            return
        failed = self._outcomes.setdefault(tool.name, [])
        failed.append(await self._call(engine, server, tool.name, arguments, AUTO))
        if not is_first:
            return
        for token in (_INTEGER, None):
            failed.append(await self._call(engine, server, tool.name, arguments, token))
        async with anyio.create_task_group() as group:
            group.start_soon(self._cancel_soon, engine)
            await self._call(engine, server, tool.name, arguments, AUTO)
            group.cancel_scope.cancel()
        wrong = {name: {"wrong": True} for name in _names(tool.input_schema)}
        await self._call(engine, server, tool.name, wrong or {"unexpected": True}, AUTO)

    async def _call(
        self,
        engine: Engine,
        server: ServerSnapshot,
        tool: str,
        arguments: JsonObject,
        token: TokenChoice,
    ) -> bool:
        """Make a call and wait for its end; returns whether it failed."""
        call = Call(
            server.name,
            CALL_TOOL,
            {"name": tool, "arguments": arguments},
            token,
            idle_timeout_s=_IDLE_S,
            total_timeout_s=_TOTAL_S,
        )
        return (await engine.calls.make(call)).failure is not None

    async def _cancel_soon(self, engine: Engine) -> None:
        await anyio.sleep(_CANCEL_AFTER_S)
        for job in engine.jobs.ids():
            await engine.calls.cancel(job, "The tour cancels this call")


def sample(schema: JsonObject, depth: int = 0) -> JsonObject:
    """Arguments that a schema may accept: the first known value of each required argument."""
    properties = as_object(schema.get("properties"))
    return {name: _value(as_object(properties.get(name)), depth) for name in _names(schema)}


def _names(schema: JsonObject) -> list[str]:
    required = schema.get("required")
    return (
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    )


def _value(schema: JsonObject, depth: int) -> Any:
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        known = schema.get(key)
        if isinstance(known, list) and known:
            return known[0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" and depth < _DEEPEST:
        return sample(schema, depth + 1)
    least = schema.get("minimum")
    if kind in ("integer", "number") and isinstance(least, int | float):
        return least
    return _SAMPLES.get(kind if isinstance(kind, str) else "", "text")

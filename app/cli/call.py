"""`call`: one tool, called once or several times at once, its progress shown as it comes."""

from __future__ import annotations

import difflib
import os
import sys
from typing import TYPE_CHECKING

import anyio

from app.cli.arguments import convert, example, read_document
from app.cli.events import JsonEvents
from app.cli.exits import CommandFailed, ExitCode
from app.cli.lines import LineMeter
from app.cli.output import Output
from app.cli.program_log import log_to_stderr
from app.cli.target import one_server
from app.cli.text_front import TextFront
from app.cli.visit import run_visit
from app.monitor import Call
from app.problem import Problem, ProblemError
from app.protocol.tokens import AUTO
from app.tracker.snapshot import JobState

if TYPE_CHECKING:
    from app.cli.front import Front
    from app.cli.options import Invocation
    from app.cli.order import CallOrder
    from app.cli.text_front import Meter
    from app.monitor import Monitor, Outcome
    from app.protocol.facts import JsonObject
    from app.protocol.messages import Tool
    from app.protocol.tokens import TokenChoice
    from app.sessions.snapshot import ServerSnapshot

_CODES = {
    JobState.CANCELLED: ExitCode.CANCELLED,
    JobState.TIMED_OUT: ExitCode.TIMED_OUT,
    JobState.LOST: ExitCode.NOT_CONNECTED,
}


def call_tool(invocation: Invocation, order: CallOrder) -> int:
    """Do what `order` says and return the exit code: that of the first call that failed."""
    log_to_stderr(invocation.common.log_level)
    definition = one_server(invocation.common)
    caller = _Caller(order, read_document(order.document), invocation)
    return run_visit(definition, caller.output, caller.make_front, caller.work)


class _Caller:
    """Holds an order until the server is connected, then makes its calls."""

    def __init__(self, order: CallOrder, document: JsonObject, invocation: Invocation) -> None:
        self._order = order
        self._document = document
        self._invocation = invocation
        self.output = Output(sys.stdout)
        self._codes: list[ExitCode] = []
        self._refusal: CommandFailed | None = None

    def make_front(self, monitor: Monitor) -> Front:
        """The way to show the calls: as events, bars or lines."""
        if self._order.as_json:
            self._front: Front = JsonEvents(self.output, monitor, self._invocation.started_at)
        else:
            errors = Output(sys.stderr)
            level = self._invocation.common.log_level or "warning"
            self._front = TextFront(self.output, errors, self._meter(errors, monitor), level)
        return self._front

    def _meter(self, errors: Output, monitor: Monitor) -> Meter:
        if errors.is_terminal and os.environ.get("TERM") != "dumb":
            from app.cli.bars import BarMeter

            return BarMeter(monitor)
        return LineMeter(errors, monitor, is_numbered=self._order.repeat > 1)

    async def work(self, monitor: Monitor, server: ServerSnapshot) -> ExitCode:
        """Check the arguments, make the calls, all at once, and wait for the last."""
        call = self._call(monitor, server)
        self._codes = [ExitCode.CANCELLED] * self._order.repeat
        async with anyio.create_task_group() as group:
            for index in range(self._order.repeat):
                group.start_soon(self._one, monitor, call, index)
        if self._refusal is not None:
            raise self._refusal
        return next((code for code in self._codes if code), ExitCode.DONE)

    async def _one(self, monitor: Monitor, call: Call, index: int) -> None:
        try:
            outcome = await monitor.call(call)
        except ProblemError as error:
            self._refusal = self._refusal or CommandFailed(ExitCode.USAGE, error.problem)
            return
        self._front.show(outcome)
        self._codes[index] = _code(outcome)

    def _call(self, monitor: Monitor, server: ServerSnapshot) -> Call:
        order = self._order
        tool = _tool(server, order.tool)
        arguments = {**self._document, **convert(order.pairs, tool.input_schema)}
        problems = monitor.tool_problems(server.name, tool.name, arguments)
        if problems:
            problem = Problem(
                "The arguments do not fit the tool's schema",
                f"tool {tool.name!r}",
                _advice(tool),
                "\n".join(problems),
            )
            raise CommandFailed(ExitCode.USAGE, problem)
        return Call(
            server=server.name,
            method="tools/call",
            params={"name": tool.name, "arguments": arguments},
            token=_token(order),
            idle_timeout_s=order.idle_timeout or None,
            total_timeout_s=order.total_timeout or None,
        )


def _tool(server: ServerSnapshot, name: str) -> Tool:
    """The tool called `name`, or a refusal with the closest names."""
    found = next((tool for tool in server.tools if tool.name == name), None)
    if found is not None:
        return found
    names = [tool.name for tool in server.tools]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif names:
        hint = f"Its tools: {', '.join(names)}."
    else:
        hint = "It lists no tools."
    problem = Problem(f"There is no tool {name!r}", f"server {server.title!r}", hint)
    raise CommandFailed(ExitCode.USAGE, problem)


def _advice(tool: Tool) -> str:
    options = example(tool.input_schema)
    listed = "The command `tools` lists the arguments it takes."
    return f"For example: {options}\n{listed}" if options else listed


def _token(order: CallOrder) -> TokenChoice:
    if order.no_token:
        return None
    if order.token is not None:
        return order.token
    return AUTO if order.int_token is None else order.int_token


def _code(outcome: Outcome) -> ExitCode:
    if outcome.failure is None and outcome.state is not JobState.FAILED:
        return _CODES.get(outcome.state, ExitCode.DONE)
    return _CODES.get(outcome.state, ExitCode.ANSWERED_ERROR)

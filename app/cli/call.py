"""`call`: one tool, called once or several times at once, its progress shown as it comes."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

import anyio

from app.cli.arguments import convert, example, read_document
from app.cli.asking.means import means_of
from app.cli.codes import code_of, first_failure
from app.cli.exits import CommandFailed, ExitCode
from app.cli.fronts import early_failures, front_of
from app.cli.going_on import resumable_ids, run_resumable
from app.cli.order import automatic
from app.cli.output import Output
from app.cli.program_log import log_to_stderr
from app.cli.recorded import session_recorder
from app.cli.target import one_server
from app.cli.visit import connected
from app.monitor import Call
from app.problem import Problem, ProblemError
from app.protocol.tokens import AUTO
from app.sessions.limits import USUAL

if TYPE_CHECKING:
    from app.cli.front import Front
    from app.cli.options import Invocation
    from app.cli.order import CallOrder
    from app.cli.saved_id import SavedId
    from app.monitor import Monitor, Outcome
    from app.protocol.facts import JsonObject
    from app.protocol.messages import Tool
    from app.protocol.tokens import TokenChoice
    from app.sessions.definitions import ServerDefinition
    from app.sessions.snapshot import ServerSnapshot
    from app.tracker.snapshot import JobId


def call_tool(invocation: Invocation, order: CallOrder) -> int:
    """Do what `order` says and return the exit code: that of the first call that failed."""
    log_to_stderr(invocation.common.log_level)
    with early_failures(invocation, as_json=order.as_json):
        definition = one_server(invocation.common)
        caller = _Caller(order, read_document(order.document), definition, invocation)
        recorded = session_recorder(invocation.common)
    return run_resumable(caller, invocation.common, recorded)


class _Caller:
    """Holds an order until the server is connected, then makes its calls."""

    restores = False

    def __init__(
        self,
        order: CallOrder,
        document: JsonObject,
        definition: ServerDefinition,
        invocation: Invocation,
    ) -> None:
        self._order = order
        self._document = document
        self._definition = definition
        self._invocation = invocation
        self.means = means_of(order.answer, as_json=order.as_json)
        self.output = Output(sys.stdout)
        self._codes: list[ExitCode] = []
        self._refusal: CommandFailed | None = None
        self._monitor: Monitor | None = None

    def make_front(self, monitor: Monitor) -> Front:
        """The way to show the calls: as events, bars or lines."""
        order = self._order
        self._front = front_of(
            self._invocation,
            self.output,
            monitor,
            as_json=order.as_json,
            is_numbered=order.repeat > 1,
        )
        return self._front

    async def work(self, monitor: Monitor) -> ExitCode:
        """Check the arguments, make the calls, all at once, and wait for the last."""
        self._monitor = monitor
        server = await connected(monitor, self._definition)
        call = self._call(monitor, server)
        self._codes = [ExitCode.CANCELLED] * self._order.repeat
        async with anyio.create_task_group() as group:
            for index in range(self._order.repeat):
                group.start_soon(self._one, monitor, call, index)
        if self._refusal is not None:
            raise self._refusal
        return first_failure(self._codes)

    def owns(self, job: JobId) -> bool:
        """Every job is of this command."""
        return True

    def left(self) -> list[SavedId]:
        """What the command `resume` takes to go on with these calls."""
        monitor = self._monitor
        return [] if monitor is None else resumable_ids(monitor, monitor.jobs())

    async def _one(self, monitor: Monitor, call: Call, index: int) -> None:
        try:
            outcome = await monitor.call(call)
        except ProblemError as error:
            where = error.problem.where or f"tool {self._order.tool!r}"
            problem = error.problem._replace(where=where)
            self._refusal = self._refusal or CommandFailed(ExitCode.USAGE, problem)
            return
        self._front.show(outcome)
        self._tell_plain(monitor, outcome)
        self._codes[index] = code_of(outcome)

    def _tell_plain(self, monitor: Monitor, outcome: Outcome) -> None:
        """Tell that no task was made of a call that was to be one: that is for servers to say."""
        job = None if outcome.job is None else monitor.snapshot(outcome.job)
        if self._order.as_task and job is not None and job.task is None and outcome.result:
            what = "The server answered at once, without making a task of the call"
            self._front.warn(Problem(what, f"tool {self._order.tool!r}"))

    def _call(self, monitor: Monitor, server: ServerSnapshot) -> Call:
        order = self._order
        tool = _listed(server, order.tool)
        if tool is None and not order.is_unlisted:
            raise _unknown(server, order.tool)
        schema = {} if tool is None else tool.input_schema
        arguments = {**self._document, **convert(order.pairs, schema)}
        problems = [] if tool is None else monitor.tool_problems(server.name, tool.name, arguments)
        if tool is not None and problems:
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
            params={"name": order.tool, "arguments": arguments},
            token=_token(order),
            idle_timeout_s=USUAL if order.idle_timeout is None else order.idle_timeout,
            total_timeout_s=USUAL if order.total_timeout is None else order.total_timeout,
            auto_resume=automatic(order),
            as_task=True if order.as_task else None,
        )


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
    listed = "The command `tools` lists the arguments it takes."
    return f"For example: {options}\n{listed}" if options else listed


def _token(order: CallOrder) -> TokenChoice:
    if order.no_token:
        return None
    if order.token is not None:
        return order.token
    return AUTO if order.int_token is None else order.int_token

"""Requests of one command: made once its server is connected, shown as they run, waited for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

import anyio

from mcp_progress_monitor.cli.asking.means import means_of
from mcp_progress_monitor.cli.codes import code_of, first_failure
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.fronts import early_failures, front_of
from mcp_progress_monitor.cli.going_on import resumable_ids, run_resumable
from mcp_progress_monitor.cli.order import automatic
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.program_log import log_to_stderr
from mcp_progress_monitor.cli.recorded import session_recorder
from mcp_progress_monitor.cli.target import one_server
from mcp_progress_monitor.cli.visit import connected
from mcp_progress_monitor.monitor import Call
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.tokens import AUTO
from mcp_progress_monitor.sessions.limits import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.fronts import Wording
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.order import RequestOrder
    from mcp_progress_monitor.cli.saved_id import SavedId
    from mcp_progress_monitor.monitor import Monitor, Outcome
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.tokens import TokenChoice
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId

NO_LISTS: frozenset[str] = frozenset()


class Plan(Protocol):
    """What one command asks of its server."""

    where: str
    """What is asked for, to name the place of what is wrong: `tool 'x'`."""
    repeat: int
    """How many requests are made, all at once."""
    lists: frozenset[str]
    """The lists of the server that it needs: nothing else is asked for before the request."""
    wording: Wording
    """How results are shown."""
    owns_jobs: bool
    """Whether the requests are jobs of the command's: Ctrl+C cancels them, progress is shown."""

    async def call(self, monitor: Monitor, server: ServerSnapshot, front: Front) -> Call:
        """The request; `CommandFailed` when it is not to be made."""

    def ended(self, monitor: Monitor, front: Front, outcome: Outcome) -> None:
        """Do what is to be done with an outcome that was shown."""


def make_requests(
    invocation: Invocation, order: RequestOrder, make_plan: Callable[[], Plan]
) -> int:
    """Do what a plan says and return the exit code: that of the first request that failed."""
    log_to_stderr(invocation.common.log_level)
    with early_failures(invocation, as_json=order.as_json):
        definition = one_server(invocation.common)
        requests = _Requests(order, make_plan(), definition, invocation)
        recorded = session_recorder(invocation.common)
    return run_resumable(requests, invocation.common, recorded)


def request(server: ServerSnapshot, method: str, params: JsonObject, order: RequestOrder) -> Call:
    """A request with what the options say about token, limits and resuming."""
    return Call(
        server=server.name,
        method=method,
        params=params,
        token=_token(order),
        idle_timeout_s=USUAL if order.idle_timeout is None else order.idle_timeout,
        total_timeout_s=USUAL if order.total_timeout is None else order.total_timeout,
        auto_resume=automatic(order),
    )


def warn_of_log(server: ServerSnapshot, order: RequestOrder, front: Front) -> None:
    """Tell why no log messages may come although the user wants them."""
    if order.server_log is None:
        return
    if server.era is Era.HANDSHAKE and "logging" not in server.capabilities:
        what = 'The server declares no "logging", and was not asked for log messages'
        front.warn(Problem(what, server.name, "Those that it sends all the same are shown."))
    elif server.problem is not None:
        front.warn(server.problem)


class _Requests:
    """Holds a plan until the server is connected, then makes its requests."""

    restores = False

    def __init__(
        self,
        order: RequestOrder,
        plan: Plan,
        definition: ServerDefinition,
        invocation: Invocation,
    ) -> None:
        self._order = order
        self._plan = plan
        self._definition = definition
        self._invocation = invocation
        self.means = means_of(order.answer, as_json=order.as_json)
        self.lists = plan.lists
        self.server_log = order.server_log
        self.output = Output(sys.stdout)
        self._codes: list[ExitCode] = []
        self._refusal: CommandFailed | None = None
        self._monitor: Monitor | None = None

    def make_front(self, monitor: Monitor) -> Front:
        """The way to show the requests: as events, bars or lines."""
        self._front = front_of(
            self._invocation,
            self.output,
            monitor,
            as_json=self._order.as_json,
            is_numbered=self._plan.repeat > 1,
            wording=self._plan.wording,
            server_log=self._order.server_log,
            shows_jobs=self._plan.owns_jobs,
        )
        return self._front

    async def work(self, monitor: Monitor) -> ExitCode:
        """Make the requests, all at once, and wait for the last."""
        self._monitor = monitor
        server = await connected(monitor, self._definition)
        warn_of_log(server, self._order, self._front)
        call = await self._plan.call(monitor, server, self._front)
        self._codes = [ExitCode.CANCELLED] * self._plan.repeat
        async with anyio.create_task_group() as group:
            for index in range(self._plan.repeat):
                group.start_soon(self._one, monitor, call, index)
        if self._refusal is not None:
            raise self._refusal
        return first_failure(self._codes)

    def owns(self, job: JobId) -> bool:
        """Every job is of this command, or none."""
        return self._plan.owns_jobs

    def left(self) -> list[SavedId]:
        """The IDs with which the command `resume` resumes these requests."""
        monitor = self._monitor
        return [] if monitor is None else resumable_ids(monitor, monitor.jobs())

    async def _one(self, monitor: Monitor, call: Call, index: int) -> None:
        try:
            outcome = await monitor.call(call)
        except ProblemError as error:
            where = error.problem.where or self._plan.where
            problem = error.problem._replace(where=where)
            self._refusal = self._refusal or CommandFailed(ExitCode.USAGE, problem)
            return
        self._front.show(outcome)
        self._codes[index] = code_of(outcome)
        try:
            self._plan.ended(monitor, self._front, outcome)
        except CommandFailed as failure:
            self._refusal = self._refusal or failure


def _token(order: RequestOrder) -> TokenChoice:
    if order.no_token:
        return None
    if order.token is not None:
        return order.token
    return AUTO if order.int_token is None else order.int_token

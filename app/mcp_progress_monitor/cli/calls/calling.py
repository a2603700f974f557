"""The requests of one command: sent once its server is connected, shown, and awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.cli.calls.stores import session_recorder
from mcp_progress_monitor.cli.calls.target import one_server
from mcp_progress_monitor.cli.calls.visit import (
    OrderedCommand,
    connected,
    resumable_ids,
    run_resumable,
)
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.orders import RequestOrder, automatic
from mcp_progress_monitor.cli.output.fronts import USUAL_RESULT_FORMAT, early_failures
from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.peer import AUTO, TokenChoice
from mcp_progress_monitor.snapshots.limits import USUAL
from mcp_progress_monitor.tracker.snapshot import JobId, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.cli.options import Invocation, SavedId
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_CODES = {
    JobState.CANCELLED: ExitCode.CANCELLED,
    JobState.TIMED_OUT: ExitCode.TIMED_OUT,
    JobState.LOST: ExitCode.NOT_CONNECTED,
}


def code_of(outcome: Outcome) -> ExitCode:
    """The exit code for one call.

    A call that is resumable but whose token could not be saved failed because of a file.
    """
    if outcome.resume_id is not None:
        return ExitCode.RESUMABLE
    if outcome.state is JobState.RESUMABLE:
        return ExitCode.UNWRITABLE
    is_failure = outcome.failure is not None or outcome.state is JobState.FAILED
    return _CODES.get(outcome.state, ExitCode.ANSWERED_ERROR if is_failure else ExitCode.DONE)


def first_failure(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code of several calls: that of the first failed call."""
    return next((code for code in codes if code), ExitCode.DONE)


class Plan:
    """What one command requests from its server."""

    where: str  # the place named in errors: `tool 'x'`
    repeat = 1  # how many requests to send at the same time
    lists: frozenset[str] = frozenset()  # the lists to read before the request
    result_format = USUAL_RESULT_FORMAT  # how results are shown
    owns_jobs = True
    """Whether the requests are jobs of the command: Ctrl+C cancels them, progress is shown."""

    async def call(self, engine: Engine, server: ServerSnapshot, front: Front) -> Call:
        """The request; `CommandFailed` if it must not be sent."""
        raise NotImplementedError

    def ended(self, engine: Engine, front: Front, outcome: Outcome) -> None:
        """Handle an outcome after it was shown."""


def make_requests(
    invocation: Invocation, order: RequestOrder, make_plan: Callable[[], Plan]
) -> int:
    """Carry out a plan and return the exit code: that of the first failed request."""
    log_to_stderr(invocation.common.log_level)
    with early_failures(invocation, as_json=order.as_json):
        definition = one_server(invocation.common)
        requests = _Requests(order, make_plan(), definition, invocation)
        recorded = session_recorder(invocation.common)
    return run_resumable(requests, invocation.common, recorded)


def request(server: ServerSnapshot, method: str, params: JsonObject, order: RequestOrder) -> Call:
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
    """Warn if the server may not send the log messages that the user requested."""
    if order.server_log is None:
        return
    if server.era is Era.HANDSHAKE and "logging" not in server.capabilities:
        what = "Log messages were not requested: the server does not declare logging"
        front.warn(ErrorDetails(what, server.name, "Log messages it sends anyway are shown."))
    elif server.error is not None:
        front.warn(server.error)


class _Requests(OrderedCommand):
    """Holds a plan until the server is connected, then makes its requests."""

    def __init__(
        self, order: RequestOrder, plan: Plan, definition: ServerDefinition, invocation: Invocation
    ) -> None:
        super().__init__(order, invocation)
        self.lists = plan.lists
        self._order = order
        self._plan = plan
        self._definition = definition
        self._codes: list[ExitCode] = []
        self._refusal: CommandFailed | None = None
        self._engine: Engine | None = None

    def make_front(self, engine: Engine) -> Front:
        plan = self._plan
        return self._front_of(
            engine,
            is_numbered=plan.repeat > 1,
            result_format=plan.result_format,
            shows_jobs=plan.owns_jobs,
        )

    async def work(self, engine: Engine) -> ExitCode:
        """Send all requests at the same time and wait for the last."""
        self._engine = engine
        server = await connected(engine, self._definition)
        warn_of_log(server, self._order, self._front)
        call = await self._plan.call(engine, server, self._front)
        self._codes = [ExitCode.CANCELLED] * self._plan.repeat
        async with anyio.create_task_group() as group:
            for index in range(self._plan.repeat):
                group.start_soon(self._one, engine, call, index)
        if self._refusal is not None:
            raise self._refusal
        return first_failure(self._codes)

    def owns(self, _job: JobId) -> bool:
        return self._plan.owns_jobs

    def left(self) -> list[SavedId]:
        engine = self._engine
        return [] if engine is None else resumable_ids(engine, engine.jobs.ids())

    async def _one(self, engine: Engine, call: Call, index: int) -> None:
        try:
            outcome = await engine.calls.make(call)
        except UserError as error:
            where = error.details.where or self._plan.where
            details = error.details._replace(where=where)
            self._refusal = self._refusal or CommandFailed(ExitCode.USAGE, details)
            return
        self._front.show(outcome)
        self._codes[index] = code_of(outcome)
        try:
            self._plan.ended(engine, self._front, outcome)
        except CommandFailed as failure:
            self._refusal = self._refusal or failure


def _token(order: RequestOrder) -> TokenChoice:
    if order.no_token:
        return None
    if order.token is not None:
        return order.token
    return AUTO if order.int_token is None else order.int_token

"""`tasks`: list, show, follow and cancel a server's tasks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import anyio

from mcp_progress_monitor.cli.calls.calling import (
    Plan,
    code_of,
    make_requests,
    request,
    warn_of_log,
)
from mcp_progress_monitor.cli.calls.listings import Listing, run_listing
from mcp_progress_monitor.cli.calls.stores import session_recorder
from mcp_progress_monitor.cli.calls.target import one_server
from mcp_progress_monitor.cli.calls.visit import OrderedCommand, connected, run_visit
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.fronts import ResultFormat, early_failures
from mcp_progress_monitor.cli.output.results import exact_result, read_result
from mcp_progress_monitor.cli.output.stdout import aligned, own_command
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import duration, one_line
from mcp_progress_monitor.protocol.facts import TaskView, read_task
from mcp_progress_monitor.protocol.messages import CANCEL_TASK, GET_TASK, TASK_ID
from mcp_progress_monitor.snapshots.limits import USUAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.orders import TaskOrder
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.engine.call import Call, Outcome
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId

_TITLES = ("TASK ID", "STATUS", "CREATED", "KEPT FOR", "MESSAGE")


def list_tasks(invocation: Invocation, *, in_json: bool) -> int:
    """List the tasks of the server that the options name and return the exit code."""
    return run_listing(invocation, _listed, in_json=in_json)


def get_task(invocation: Invocation, order: TaskOrder) -> int:
    return make_requests(invocation, order, functools.partial(_About, order, GET_TASK, _state_text))


def cancel_task(invocation: Invocation, order: TaskOrder) -> int:
    """Ask a server to cancel a task and return the exit code."""
    return make_requests(
        invocation, order, functools.partial(_About, order, CANCEL_TASK, _cancel_text)
    )


def follow_task(invocation: Invocation, order: TaskOrder) -> int:
    log_to_stderr(invocation.common.log_level)
    with early_failures(invocation, as_json=order.as_json):
        definition = one_server(invocation.common)
        follower = _Follower(order, definition, invocation)
        recorded = session_recorder(invocation.common)
    return run_visit(follower, recorded)


class _About(Plan):
    """A plan: one request that names a task."""

    owns_jobs = False

    def __init__(self, order: TaskOrder, method: str, text: Any) -> None:
        self.where = f"task {order.task!r}"
        self.result_format = ResultFormat(text, exact_result)
        self._order = order
        self._method = method

    async def call(self, engine: Engine, server: ServerSnapshot, front: Front) -> Call:
        return request(server, self._method, {TASK_ID: self._order.task}, self._order)


class _Follower(OrderedCommand):
    """Follows a task without owning it: stopping does not cancel the task."""

    lists = frozenset()

    def __init__(
        self, order: TaskOrder, definition: ServerDefinition, invocation: Invocation
    ) -> None:
        super().__init__(order, invocation)
        self._order = order
        self._definition = definition

    def make_front(self, engine: Engine) -> Front:
        return self._front_of(engine, is_numbered=False)

    def owns(self, _job: JobId) -> bool:
        """No job: Ctrl+C must not cancel a task that others may wait for."""
        return False

    async def work(self, engine: Engine) -> ExitCode:
        server = await connected(engine, self._definition)
        warn_of_log(server, self._order, self._front)
        call = request(server, GET_TASK, {TASK_ID: self._order.task}, self._order)
        with failing(ExitCode.USAGE):
            outcome = await engine.calls.make(call)
            view = None if outcome.result is None else read_task(outcome.result, flat=True)
            if view is not None:
                outcome = await self._followed(engine, server, view)
        if view is None and outcome.failure is None:
            where = f"task {self._order.task!r}, {server.name}"
            error = ErrorDetails("The server's response does not contain a task", where)
            raise CommandFailed(ExitCode.ANSWERED_ERROR, error)
        self._front.show(outcome)
        return code_of(outcome)

    async def _followed(self, engine: Engine, server: ServerSnapshot, view: TaskView) -> Outcome:
        order = self._order
        idle_s = USUAL if order.idle_timeout is None else order.idle_timeout
        total_s = USUAL if order.total_timeout is None else order.total_timeout
        try:
            return await engine.tasks.follow(server.name, view, idle_s, total_s)
        except anyio.get_cancelled_exc_class():
            job = engine.tasks.job_of(server.name, view.id)
            what = "Stopped following the task, which keeps running on the server"
            hint = f"To cancel it: {own_command('tasks', 'cancel', view.id)} …"
            if job is not None:
                self._front.decline(job, ErrorDetails(what, f"task {one_line(view.id)}", hint))
            raise


async def _listed(engine: Engine, server: ServerSnapshot) -> Listing:
    tasks = await engine.tasks.list_at(server.name)
    rows = [_row(task) for task in tasks]
    text = aligned(_TITLES, rows) if rows else f"{one_line(server.title)} has no tasks.\n"
    return Listing({"tasks": [_members(task) for task in tasks]}, text)


def _row(task: TaskView) -> tuple[str, ...]:
    kept = "" if task.ttl_ms is None else duration(task.ttl_ms / 1000)
    return task.id, task.status, task.created or "", kept, task.message or ""


def _members(task: TaskView) -> dict[str, Any]:
    return {
        TASK_ID: task.id,
        "status": task.status,
        "statusMessage": task.message,
        "createdAt": task.created,
        "lastUpdatedAt": task.updated,
        "ttl": task.ttl_ms,
        "pollInterval": task.poll_ms,
    }


def _state_text(raw: bytes) -> str:
    """The status of a task from the reply to `tasks/get`, a line for each known value."""
    task = read_task(_own_result(raw), flat=True)
    if task is None:
        return f"{exact_result(raw)}\n"
    return "".join(f"{line}\n" for line in _state_lines(task))


def _state_lines(task: TaskView) -> Iterator[str]:
    yield f"Task {one_line(task.id)}: {one_line(task.status.replace('_', ' '))}"
    if task.message:
        yield f"  Message: {one_line(task.message, 2000)}"
    if task.created:
        yield f"  Created: {one_line(task.created)}"
    if task.updated:
        yield f"  Updated: {one_line(task.updated)}"
    if task.ttl_ms is not None:
        yield f"  Kept for: {duration(task.ttl_ms / 1000)}"


def _cancel_text(raw: bytes) -> str:
    """The outcome of a cancel: the task in 2025-11-25, an acknowledgement in 2026-07-28."""
    task = read_task(_own_result(raw), flat=True)
    if task is None or not task.status:
        return "Cancellation requested. The task may keep running for a while.\n"
    return f"Task {one_line(task.id)}: {one_line(task.status.replace('_', ' '))}\n"


def _own_result(raw: bytes) -> Any:
    return read_result(raw, exact_result)

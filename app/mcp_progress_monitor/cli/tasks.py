"""`tasks`: those at a server, listed, looked at, followed to their end, cancelled."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import anyio

from mcp_progress_monitor.cli import table
from mcp_progress_monitor.cli.answers import read_result
from mcp_progress_monitor.cli.asking.means import means_of
from mcp_progress_monitor.cli.calling import NO_LISTS, make_requests, request, warn_of_log
from mcp_progress_monitor.cli.codes import code_of
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.fronts import Wording, early_failures, front_of
from mcp_progress_monitor.cli.listings import Listing, run_listing
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.own_command import own_command
from mcp_progress_monitor.cli.program_log import log_to_stderr
from mcp_progress_monitor.cli.recorded import session_recorder
from mcp_progress_monitor.cli.reply import exact_result
from mcp_progress_monitor.cli.target import one_server
from mcp_progress_monitor.cli.visit import Terms, connected, run_visit
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol import task_requests
from mcp_progress_monitor.protocol.task_state import read_task
from mcp_progress_monitor.sessions.limits import USUAL
from mcp_progress_monitor.text import duration, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.order import TaskOrder
    from mcp_progress_monitor.monitor import Call, Monitor, Outcome
    from mcp_progress_monitor.protocol.task_state import TaskView
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId

_TITLES = ("TASK ID", "STATUS", "CREATED", "KEPT FOR", "MESSAGE")


def list_tasks(invocation: Invocation, *, in_json: bool) -> int:
    """List the tasks of the server that the options name and return the exit code."""
    return run_listing(invocation, _listed, in_json=in_json)


def get_task(invocation: Invocation, order: TaskOrder) -> int:
    """Tell how a task is and return the exit code."""
    return make_requests(
        invocation, order, functools.partial(_About, order, task_requests.GET, _state_text)
    )


def cancel_task(invocation: Invocation, order: TaskOrder) -> int:
    """Ask a server to cancel a task and return the exit code."""
    return make_requests(
        invocation, order, functools.partial(_About, order, task_requests.CANCEL, _cancel_text)
    )


def follow_task(invocation: Invocation, order: TaskOrder) -> int:
    """Follow a task to its end and return the exit code."""
    log_to_stderr(invocation.common.log_level)
    with early_failures(invocation, as_json=order.as_json):
        definition = one_server(invocation.common)
        follower = _Follower(order, definition, invocation)
        recorded = session_recorder(invocation.common)
    return run_visit(
        follower.output,
        follower.make_front,
        follower.work,
        recorded,
        means=follower.means,
        owns=follower.owns,
        terms=Terms(NO_LISTS, order.server_log),
    )


class _About:
    """A plan: one request that names a task."""

    lists = NO_LISTS
    repeat = 1
    owns_jobs = False

    def __init__(self, order: TaskOrder, method: str, text: Any) -> None:
        self.where = f"task {order.task!r}"
        self.wording = Wording(text, exact_result)
        self._order = order
        self._method = method

    async def call(self, _monitor: Monitor, server: ServerSnapshot, _front: Front) -> Call:
        """The request."""
        return request(server, self._method, {"taskId": self._order.task}, self._order)

    def ended(self, monitor: Monitor, front: Front, outcome: Outcome) -> None:
        """Do nothing: all is shown."""


class _Follower:
    """Follows a task that it has no part in: stopping leaves the task as it is."""

    def __init__(
        self, order: TaskOrder, definition: ServerDefinition, invocation: Invocation
    ) -> None:
        self._order = order
        self._definition = definition
        self._invocation = invocation
        self.means = means_of(order.answer, as_json=order.as_json)
        self.output = Output(sys.stdout)

    def make_front(self, monitor: Monitor) -> Front:
        """The way to show the task: as events, a bar or lines."""
        self._front = front_of(
            self._invocation,
            self.output,
            monitor,
            as_json=self._order.as_json,
            is_numbered=False,
            server_log=self._order.server_log,
        )
        return self._front

    def owns(self, _job: JobId) -> bool:
        """No job: Ctrl+C is not to cancel what others may wait for."""
        return False

    async def work(self, monitor: Monitor) -> ExitCode:
        """Ask how the task is, then wait for its end."""
        server = await connected(monitor, self._definition)
        warn_of_log(server, self._order, self._front)
        call = request(server, task_requests.GET, {"taskId": self._order.task}, self._order)
        try:
            outcome = await monitor.call(call)
            view = None if outcome.result is None else read_task(outcome.result, flat=True)
            if view is not None:
                outcome = await self._followed(monitor, server, view)
        except ProblemError as error:
            raise CommandFailed(ExitCode.USAGE, error.problem) from error
        if view is None and outcome.failure is None:
            raise CommandFailed(ExitCode.ANSWERED_ERROR, _no_task(self._order, server))
        self._front.show(outcome)
        return code_of(outcome)

    async def _followed(self, monitor: Monitor, server: ServerSnapshot, view: TaskView) -> Outcome:
        order = self._order
        idle_s = USUAL if order.idle_timeout is None else order.idle_timeout
        total_s = USUAL if order.total_timeout is None else order.total_timeout
        try:
            return await monitor.follow_task(server.name, view, idle_s, total_s)
        except anyio.get_cancelled_exc_class():
            job = monitor.task_job(server.name, view.id)
            what = "Followed no longer; the task goes on at its server"
            hint = f"To cancel it: {own_command('tasks', 'cancel', view.id)} …"
            if job is not None:
                self._front.decline(job, Problem(what, f"task {one_line(view.id)}", hint))
            raise


def _no_task(order: TaskOrder, server: ServerSnapshot) -> Problem:
    return Problem("The server's answer states no task", f"task {order.task!r}, {server.name}")


async def _listed(monitor: Monitor, server: ServerSnapshot) -> Listing:
    tasks = await monitor.list_tasks(server.name)
    rows = [_row(task) for task in tasks]
    text = table.aligned(_TITLES, rows) if rows else f"{one_line(server.title)} knows no tasks.\n"
    return Listing({"tasks": [_members(task) for task in tasks]}, text)


def _row(task: TaskView) -> tuple[str, ...]:
    kept = "" if task.ttl_ms is None else duration(task.ttl_ms / 1000)
    return task.id, task.status, task.created or "", kept, task.message or ""


def _members(task: TaskView) -> dict[str, Any]:
    return {
        "taskId": task.id,
        "status": task.status,
        "statusMessage": task.message,
        "createdAt": task.created,
        "lastUpdatedAt": task.updated,
        "ttl": task.ttl_ms,
        "pollInterval": task.poll_ms,
    }


def _state_text(raw: bytes) -> str:
    """How a task is, from the reply to `tasks/get`: a line for each thing that is known."""
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
    """What came of a cancel: in 2025-11-25 the task, in 2026-07-28 that the server knows."""
    task = read_task(_own_result(raw), flat=True)
    if task is None or not task.status:
        return "The server was asked to cancel the task, which may go on for a while.\n"
    return f"Task {one_line(task.id)}: {one_line(task.status.replace('_', ' '))}\n"


def _own_result(raw: bytes) -> Any:
    return read_result(raw, exact_result)

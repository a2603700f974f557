"""Requests to a server, shown as jobs: `call`, `read`, `prompt`, `request` and `tasks`."""

from __future__ import annotations

import base64
import functools
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import anyio

from mcp_progress_monitor import private_file
from mcp_progress_monitor.cli.calls.arguments import convert, example, read_document
from mcp_progress_monitor.cli.calls.listings import Listing, run_listing
from mcp_progress_monitor.cli.calls.target import one_server
from mcp_progress_monitor.cli.calls.visit import (
    USUAL_RESULT_FORMAT,
    OrderedCommand,
    ResultFormat,
    connected,
    early_failures,
    resumable_ids,
    run_resumable,
    run_visit,
    session_recorder,
)
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.results import (
    contents_of,
    exact_outcome,
    exact_result,
    indented,
    messages_text,
    read_result,
    resource_text,
)
from mcp_progress_monitor.cli.output.stdout import StandardOutput, aligned, own_command
from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import duration, one_line, size
from mcp_progress_monitor.path_checks import absolute
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.facts import TaskView, read_task
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    CANCEL_TASK,
    GET_PROMPT,
    GET_TASK,
    OF_TASKS,
    READ_RESOURCE,
    TASK_ID,
)
from mcp_progress_monitor.protocol.peer import AUTO, TokenChoice
from mcp_progress_monitor.snapshots.limits import USUAL
from mcp_progress_monitor.tracker.snapshot import JobId, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mcp_progress_monitor.cli.options import Invocation, SavedId
    from mcp_progress_monitor.cli.orders import (
        CallOrder,
        FollowOrder,
        PromptOrder,
        RawOrder,
        ReadOrder,
        RequestOrder,
        TaskOrder,
    )
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.offers import Tool
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
    """The requests of one command to its server: by default, a single one."""

    repeat = 1  # how many requests to send at the same time
    lists: frozenset[str] = frozenset()  # the lists to read before the request

    def __init__(
        self,
        order: RequestOrder,
        where: str,
        method: str,
        params: JsonObject,
        result_format: ResultFormat = USUAL_RESULT_FORMAT,
        *,
        owns_jobs: bool = True,
    ) -> None:
        """`where` is the place named in errors, such as `tool 'x'`.

        If it `owns_jobs`, Ctrl+C cancels the requests, and their progress is shown.
        """
        self.where = where
        self.result_format = result_format
        self.owns_jobs = owns_jobs
        self._request = functools.partial(request, method=method, params=params, order=order)

    async def call(self, engine: Engine, server: ServerSnapshot, front: Front) -> Call:
        """The request; `CommandFailed` if it must not be sent."""
        return self._request(server)

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
        auto_resume=order.automatic,
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


def call_tool(invocation: Invocation, order: CallOrder) -> int:
    """Call a tool and return the exit code: that of the first failed call."""
    return make_requests(invocation, order, functools.partial(_ToolCall, order))


class _ToolCall(Plan):
    """A plan: a listed tool, with arguments converted and validated by its schema."""

    lists = frozenset({"tools"})

    def __init__(self, order: CallOrder) -> None:
        super().__init__(order, f"tool {order.tool!r}", CALL_TOOL, {})
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
        return made._replace(as_task=True if order.as_task else None)


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
    import difflib  # seldom needed

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
    arguments = {"arguments": dict(order.pairs)} if order.pairs else {}  # all are strings
    params: JsonObject = {"name": order.name, **arguments}
    shown = ResultFormat(messages_text)
    plan = Plan(order, f"prompt {order.name!r}", GET_PROMPT, params, shown)
    return make_requests(invocation, order, lambda: plan)


def send_request(invocation: Invocation, order: RawOrder) -> int:
    return make_requests(invocation, order, functools.partial(_raw_request, order))


def _raw_request(order: RawOrder) -> Plan:
    """Any method, with parameters as typed; its result is shown as JSON."""
    params = {} if order.params is None else read_document(order.params, "--params")
    # For a task method the task's state is the result; for others, its final result.
    exact = exact_result if order.method.startswith(OF_TASKS) else exact_outcome
    text = functools.partial(_json_text, exact, indents=StandardOutput(sys.stdout).is_terminal)
    where = f"request {order.method!r}"
    return Plan(order, where, order.method, params, ResultFormat(text, exact))


class _ReadRequest(Plan):
    """A plan: read a resource, and save it if the order says so."""

    def __init__(self, order: ReadOrder) -> None:
        shown = ResultFormat(resource_text if order.output is None else lambda _raw: "")
        where = f"resource {order.uri!r}"
        super().__init__(order, where, READ_RESOURCE, {"uri": order.uri}, shown)
        self._order = order
        if order.output is not None and not absolute(order.output).parent.is_dir():
            _refuse_file(order.output, "The folder does not exist")

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


_TITLES = ("TASK ID", "STATUS", "CREATED", "KEPT FOR", "MESSAGE")


def list_tasks(invocation: Invocation, *, in_json: bool) -> int:
    """List the tasks of the server that the options name and return the exit code."""
    return run_listing(invocation, _task_listing, in_json=in_json)


def get_task(invocation: Invocation, order: TaskOrder) -> int:
    return _ask_about(invocation, order, GET_TASK, _state_text)


def cancel_task(invocation: Invocation, order: TaskOrder) -> int:
    """Ask a server to cancel a task and return the exit code."""
    return _ask_about(invocation, order, CANCEL_TASK, _cancel_text)


def _ask_about(
    invocation: Invocation, order: TaskOrder, method: str, text: Callable[[bytes], str]
) -> int:
    """Make one request that names a task."""
    where, shown = f"task {order.task!r}", ResultFormat(text, exact_result)
    plan = Plan(order, where, method, {TASK_ID: order.task}, shown, owns_jobs=False)
    return make_requests(invocation, order, lambda: plan)


def follow_task(invocation: Invocation, order: FollowOrder) -> int:
    log_to_stderr(invocation.common.log_level)
    with early_failures(invocation, as_json=order.as_json):
        definition = one_server(invocation.common)
        follower = _Follower(order, definition, invocation)
        recorded = session_recorder(invocation.common)
    return run_visit(follower, recorded)


class _Follower(OrderedCommand):
    """Follows a task without owning it: stopping does not cancel the task."""

    lists = frozenset()

    def __init__(
        self, order: FollowOrder, definition: ServerDefinition, invocation: Invocation
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


async def _task_listing(engine: Engine, server: ServerSnapshot) -> Listing:
    tasks, error = await engine.tasks.list_at(server.name)
    rows = [_row(task) for task in tasks]
    text = aligned(_TITLES, rows) if rows else f"{one_line(server.title)} has no tasks.\n"
    errors = () if error is None else (error,)
    return Listing({"tasks": [_members(task) for task in tasks]}, text, errors)


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

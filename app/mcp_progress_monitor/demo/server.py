"""The server: reads lines, serves each request in its own thread, and handles cancellations.

It has tools, resources and prompts, subscriptions to them, a log level, and tasks.
"""

import json
import threading
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from mcp_progress_monitor.demo import resources
from mcp_progress_monitor.demo.call import Call, CancelledCallError, Connection, Method
from mcp_progress_monitor.demo.eras import Dialect, Negotiation
from mcp_progress_monitor.demo.questions import InputRequiredError, Questions, Subscriptions
from mcp_progress_monitor.demo.resumption import default_state_dir
from mcp_progress_monitor.demo.tasks import Store, Task, Terms
from mcp_progress_monitor.demo.tool import NO_ARGUMENTS, Tool
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    JsonObject,
    PeerGoneError,
    RequestId,
    RpcError,
    Wire,
    error_reply,
    result_reply,
    text_result,
)

_POLL_S: Final = 0.02
_HOUR_MS: Final = 3_600_000


class TaskService:
    """All tasks of one server, each running in its own thread."""

    def __init__(self, connection: Connection, store: Store | None = None) -> None:
        self._connection = connection
        self._store = store or Store()
        self._is_closing = False

    def methods(self) -> dict[str, Method]:
        return {
            "tasks/get": self._get,
            "tasks/list": self._list,
            "tasks/result": self._result,
            "tasks/update": self._update,
            "tasks/cancel": self._cancel,
        }

    def wants(self, call: Call, tool: Tool) -> bool:
        """Return whether a call of this tool becomes a task.

        Raises:
            RpcError: The tool requires or forbids tasks, contrary to the client's request.
        """
        support = tool.tasks.support if tool.tasks is not None else ""
        if call.dialect.has_core_tasks:
            return _is_wanted(call.params, tool.name, support)
        if support == "required" and call.dialect.offers_tasks:
            call.dialect.require_tasks()
        return support in {"optional", "required"} and call.dialect.has_task_extension

    def begin(self, call: Call, tool: Tool, completed: JsonObject) -> None:
        """Answer a call with a task, and run it in its own thread."""
        task = self._new_task(call, tool, completed)
        with task.lock:
            call.reply(task.created_result())
        self._start(task, call, tool, completed)

    def _new_task(self, call: Call, _tool: Tool, _completed: JsonObject) -> Task:
        task = Task(str(uuid.uuid4()), terms(call), call.wire, call.connection.subscriptions)
        self._store.add(task)
        return task

    def known_ids(self, call: Call, wanted: object) -> Iterable[str]:
        """Return the tasks that a listener may subscribe to.

        Raises:
            RpcError: It asked for tasks but did not declare the extension.
        """
        if isinstance(wanted, dict) and "taskIds" in wanted:
            call.dialect.require_tasks()
        return [task.id for task in self._store.all(is_core=False)]

    def close(self) -> None:
        self._is_closing = True
        for is_core in (True, False):
            for task in self._store.all(is_core=is_core):
                if task.cancel is not None:
                    task.cancel()

    def _start(self, task: Task, call: Call, tool: Tool, completed: JsonObject) -> None:
        call.task = task
        task.cancel = call.cancel
        name = f"task {task.id}"
        threading.Thread(
            target=self._run, args=(task, call, tool, completed), name=name, daemon=True
        ).start()

    def _run(self, task: Task, call: Call, tool: Tool, completed: JsonObject) -> None:
        try:
            result = tool.serve(call, completed)
        except RpcError as error:
            task.fail(error)
        except CancelledCallError:
            if not self._is_closing:
                task.change("cancelled", "Stopped, as requested")
        except PeerGoneError:
            return
        except Exception as error:  # noqa: BLE001 - the task must end
            task.fail(RpcError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        else:
            if result is not None:
                task.finish(result)

    def _known(self, call: Call) -> Task:
        call.dialect.require_tasks()
        task_id = call.params.get("taskId")
        is_core = not call.dialect.is_per_request
        task = self._store.get(task_id, is_core=is_core) if isinstance(task_id, str) else None
        if task is None:
            raise RpcError(INVALID_PARAMS, "Task not found or expired")
        return task

    def _get(self, call: Call) -> None:
        task = self._known(call)
        with task.lock:
            call.reply(task.shape())

    def _list(self, call: Call) -> JsonObject:
        return {"tasks": [task.shape() for task in self._store.all(is_core=True)]}

    def _result(self, call: Call) -> JsonObject:
        """Wait for the end and return the result of the call."""
        task = self._known(call)
        task.awaited(1)
        try:
            while not (task.has_ended or task.is_gone):
                call.sleep(_POLL_S)
        finally:
            task.awaited(-1)
        if error := task.state.error:
            raise RpcError(error["code"], error["message"], error.get("data"))
        if task.state.result is None:
            raise RpcError(REQUEST_CANCELLED, "The task was cancelled or has expired")
        return {**task.state.result, "_meta": task.related}

    def _update(self, call: Call) -> JsonObject:
        self._known(call).deliver(call.params.get("inputResponses"))
        return {}

    def _cancel(self, call: Call) -> JsonObject | None:
        task = self._known(call)
        if call.dialect.is_per_request:
            task.stop()
            return {}
        with task.lock:
            if task.has_ended:
                text = f"Cannot cancel a task that is {task.state.status}"
                raise RpcError(INVALID_PARAMS, text)
            task.change("cancelled", "Cancelled by the client")
            call.reply(task.shape())
        task.stop()
        return None


def _is_wanted(params: JsonObject, tool: str, support: str) -> bool:
    """True if the client of revision 2025-11-25 requests a task, which the tool must allow."""
    if "task" not in params:
        if support == "required":
            raise RpcError(METHOD_NOT_FOUND, f"{tool} must be run as a task")
        return False
    if support not in {"optional", "required"}:
        raise RpcError(METHOD_NOT_FOUND, f"{tool} cannot be run as a task")
    wanted = params["task"]
    ttl = wanted.get("ttl", 0) if isinstance(wanted, dict) else None
    if isinstance(ttl, bool) or not isinstance(ttl, int) or ttl < 0:
        raise RpcError(INVALID_PARAMS, "task must be an object whose ttl is in milliseconds")
    return True


def terms(call: Call) -> Terms:
    """Return the terms of the task that a call becomes."""
    if call.dialect.is_per_request:
        return Terms(is_core=False, ttl_ms=_HOUR_MS)
    wanted = call.params.get("task")
    return Terms(is_core=True, ttl_ms=wanted.get("ttl") if isinstance(wanted, dict) else None)


_CLOSING_TIME_S: Final = 0.3


class Server:
    """One connection with one client.

    Lines are read in the thread that calls `run`; each request is served in a daemon thread, which
    neither delays others nor keeps the process alive.
    """

    def __init__(
        self,
        wire: Wire,
        negotiation: Negotiation,
        tools: Sequence[Tool],
        *,
        state_dir: Path | None = None,
    ) -> None:
        """Serve `tools`; resumable work is kept in `state_dir`, or a default folder."""
        self._wire = wire
        self._negotiation = negotiation
        subscriptions = self._make_subscriptions()
        folder = state_dir or default_state_dir()
        self._connection = Connection(wire, self._make_questions(wire), subscriptions, folder)
        self._tasks = self._make_tasks(self._connection)
        content = self._make_content(tools, self._tasks)
        self._methods = {**content.methods(), **self._tasks.methods()}
        self._calls: dict[object, tuple[Call, threading.Thread]] = {}
        self._lock = threading.Lock()

    def _make_questions(self, wire: Wire) -> Questions:
        return Questions(wire)

    def _make_subscriptions(self) -> Subscriptions:
        return Subscriptions()

    def _make_tasks(self, connection: Connection) -> TaskService:
        return TaskService(connection)

    def _make_content(self, tools: Sequence[Tool], tasks: TaskService) -> "Content":
        return Content(tools, tasks)

    def run(self) -> None:
        """Serve until the client closes its end of stdin."""
        for line in self._wire.lines():
            self.receive(line)

    def receive(self, line: bytes) -> None:
        """Handle one line: a message, a batch if the revision has batches, or anything else."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            return self._refuse(RpcError(PARSE_ERROR, f"Not JSON: {error}"))
        session = self._negotiation.session
        if isinstance(message, list) and session is not None and session.has_batches:
            for member in message:
                self._receive_one(member)
            return None
        return self._receive_one(message)

    def close(self) -> None:
        """Cancel running calls and give them a moment to end."""
        self._tasks.close()
        calls = self._open()
        for call, _ in calls:
            call.cancel()
        for _, thread in calls:
            thread.join(_CLOSING_TIME_S / len(calls))

    def _open(self) -> list[tuple[Call, threading.Thread]]:
        with self._lock:
            return list(self._calls.values())

    def _receive_one(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return self._refuse(RpcError(INVALID_REQUEST, "Not a JSON-RPC 2.0 message"))
        method, params = message.get("method"), message.get("params", {})
        if method is None and ("result" in message or "error" in message):
            return self._connection.questions.answered(message)
        if not isinstance(method, str) or not isinstance(params, dict):
            return self._refuse(RpcError(INVALID_REQUEST, "method or params has the wrong type"))
        if "id" not in message:
            return self._notified(method, params)
        return self._requested(message["id"], method, params)

    def _refuse(self, error: RpcError) -> None:
        self._wire.send(error_reply(None, error))

    def _notified(self, method: str, params: JsonObject) -> None:
        if method == "notifications/initialized":
            self._negotiation.initialized()
        elif method == "notifications/cancelled":
            self._cancel(params.get("requestId"))

    def _cancel(self, request_id: object) -> None:
        """Cancel that call; an unknown or ended one is ignored."""
        for call, _ in self._open():
            if call.id == request_id:
                call.cancel()

    def _requested(self, request_id: Any, method: str, params: JsonObject) -> None:
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            return self._refuse(RpcError(INVALID_REQUEST, "id must be a string or an integer"))
        try:
            self._begin(request_id, method, params)
        except RpcError as error:
            self._wire.send(error_reply(request_id, error))
        return None

    def _begin(self, request_id: RequestId, method: str, params: JsonObject) -> None:
        if method == "initialize":
            return self._wire.send(result_reply(request_id, self._negotiation.initialize(params)))
        dialect = self._negotiation.dialect(method, params)
        if method == "server/discover":
            result = dialect.dress(method, self._negotiation.discover())
            return self._wire.send(result_reply(request_id, result))
        if method not in self._methods:
            raise RpcError(METHOD_NOT_FOUND, f"No method {method}")
        return self._start(self._make_call(dialect, request_id, method, params))

    def _make_call(
        self, dialect: Dialect, request_id: RequestId, method: str, params: JsonObject
    ) -> Call:
        return Call(self._connection, dialect, request_id, method, params)

    def _start(self, call: Call) -> None:
        name = f"{call.method} {call.id}"
        thread = threading.Thread(target=self._serve, args=(call,), name=name, daemon=True)
        with self._lock:
            if self._key(call) in self._calls:
                raise RpcError(INVALID_REQUEST, f"Request {call.id!r} is still pending")
            self._calls[self._key(call)] = call, thread
        thread.start()

    def _key(self, call: Call) -> object:
        return call.id

    def _serve(self, call: Call) -> None:
        try:
            self._answer(call)
        except PeerGoneError:
            return
        finally:
            with self._lock:
                del self._calls[self._key(call)]

    def _answer(self, call: Call) -> None:
        try:
            result = self._methods[call.method](call)
        except InputRequiredError as asked:
            call.reply(call.asking(asked))
        except RpcError as error:
            call.fail(error)
        except CancelledCallError:
            return
        except PeerGoneError:
            raise
        except Exception as error:  # noqa: BLE001 - the client must get a reply
            call.fail(RpcError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        else:
            if result is not None:
                call.reply(result)


_LONG_S: Final = 3_600


class Content:
    """Serves `tools/…`, `resources/…`, `prompts/…`, subscriptions and the log level."""

    def __init__(self, tools: Sequence[Tool], tasks: TaskService) -> None:
        """Serve `tools`; calls that become tasks are passed to `tasks`."""
        self._tools = {tool.name: tool for tool in tools}
        self._tasks = tasks

    def methods(self) -> dict[str, Method]:
        return {
            "ping": lambda _call: {},
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": resources.list_resources,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
            "resources/subscribe": _subscribe,
            "resources/unsubscribe": _unsubscribe,
            "prompts/list": resources.list_prompts,
            "prompts/get": resources.get_prompt,
            "logging/setLevel": _set_level,
            "subscriptions/listen": self._listen,
        }

    def _list_tools(self, call: Call) -> JsonObject:
        return {"tools": [tool.listed(call.dialect) for tool in self._offered(call).values()]}

    def _offered(self, call: Call) -> dict[str, Tool]:
        extra = {EXTRA.name: EXTRA} if "tools" in call.connection.extras else {}
        return {**self._tools, **extra}

    def _chosen(self, call: Call) -> Tool:
        """The tool that the call names; `RpcError` if there is none."""
        name, offered = call.params.get("name"), self._offered(call)
        if not isinstance(name, str) or name not in offered:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        return offered[name]

    def _call_tool(self, call: Call) -> JsonObject | None:
        tool = self._chosen(call)
        becomes_task = self._tasks.wants(call, tool)
        completed = tool.completed(call.params.get("arguments", {}))
        if becomes_task:
            self._tasks.begin(call, tool, completed)
            return None
        return tool.serve(call, completed)

    def _listen(self, call: Call) -> JsonObject | None:
        """Serve a subscription until it is cancelled."""
        subscriptions, wanted = call.connection.subscriptions, call.params.get("notifications")
        known_ids = self._tasks.known_ids(call, wanted)
        listener = subscriptions.listen(call.id, wanted, known_ids, call.push)
        try:
            while True:
                call.sleep(_LONG_S)
        finally:
            subscriptions.stop(listener)


def extra_tool(_call: Call) -> JsonObject:
    return text_result("This tool was added by change_list.")


EXTRA: Final = Tool(extra_tool, "Extra tool", "Added and removed by change_list.", NO_ARGUMENTS)
"""The tool that `change_list` adds and removes."""


def _subscribe(call: Call) -> JsonObject:
    call.connection.subscriptions.subscribe(call.params.get("uri"))
    return {}


def _unsubscribe(call: Call) -> JsonObject:
    call.connection.subscriptions.unsubscribe(call.params.get("uri"))
    return {}


def _set_level(call: Call) -> JsonObject:
    call.connection.log_level.set(call.params.get("level"))
    return {}

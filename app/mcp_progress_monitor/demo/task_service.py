"""The methods `tasks/…`, and calls that become tasks."""

import threading
import uuid
from collections.abc import Iterable
from typing import Final

from mcp_progress_monitor.demo.call import Call, CancelledCallError, Connection, Method
from mcp_progress_monitor.demo.tasks import Store, Task, Terms
from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    JsonObject,
    PeerGoneError,
    RpcError,
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
        """Whether a call of this tool becomes a task.

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

    def _new_task(self, call: Call, _tool: Tool, completed: JsonObject) -> Task:
        task = Task(
            str(uuid.uuid4()), terms(call, completed), call.wire, call.connection.subscriptions
        )
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
                _end_cancelled(task, call)
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
    """Whether the client of revision 2025-11-25 requests a task, which the tool must allow."""
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


def terms(call: Call, completed: JsonObject) -> Terms:
    is_core = not call.dialect.is_per_request
    wanted = call.params.get("task")
    ttl_ms: int | None = _HOUR_MS
    if is_core:
        ttl_ms = wanted.get("ttl") if isinstance(wanted, dict) else None
    if completed["ttl_s"]:
        ttl_ms = round(completed["ttl_s"] * 1000)
    return Terms(is_core, ttl_ms, completed["poll_ms"], completed["notifies"])


def _end_cancelled(task: Task, call: Call) -> None:
    if call.on_cancel == "error":
        task.fail(RpcError(REQUEST_CANCELLED, "Request cancelled"))
    elif call.on_cancel == "result":
        task.finish(text_result("Stopped early, as requested."))
    else:
        task.change("cancelled", "Stopped, as requested")

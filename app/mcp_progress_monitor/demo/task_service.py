"""The methods `tasks/…`, and calls turning into tasks."""

import threading
import uuid
from collections.abc import Callable, Iterable
from typing import Final

from mcp_progress_monitor.demo.call import Call, CancelledCallError, Connection, Method
from mcp_progress_monitor.demo.eras import Dialect
from mcp_progress_monitor.demo.questions import Replay
from mcp_progress_monitor.demo.tasks import Origin, Store, Task, Terms, restore, terms_of
from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    JsonObject,
    PeerGoneError,
    RpcError,
    page,
    text_result,
)

_LOOK_EVERY_S: Final = 0.02
_HOUR_MS: Final = 3_600_000


class TaskService:
    """All tasks of one server, each running in a thread of its own."""

    def __init__(self, connection: Connection, store: Store, page_size: int) -> None:
        """Keep tasks in `store`; list `page_size` at a time, 0 for all."""
        self.find: Callable[[str], Tool | None] = _find_nothing
        """Finds a tool by its name, to go on with a task of a server before us."""
        self._connection = connection
        self._store = store
        self._page_size = page_size
        self._is_open = False
        self._is_closing = False
        self._lock = threading.Lock()

    def methods(self) -> dict[str, Method]:
        """Return what each method name does."""
        return {
            "tasks/get": self._get,
            "tasks/list": self._list,
            "tasks/result": self._result,
            "tasks/update": self._update,
            "tasks/cancel": self._cancel,
        }

    def wants(self, call: Call, tool: Tool) -> bool:
        """Tell whether a call of this tool becomes a task.

        Raises:
            RpcError: The tool runs only as a task, or never, and the client wants otherwise.
        """
        traits = tool.tasks
        if traits is not None and traits.becomes != "as_wanted":
            return traits.becomes == "always"
        support = traits.support if traits is not None else ""
        if call.dialect.has_core_tasks:
            return _is_wanted(call.params, tool.name, support)
        if support == "required" and call.dialect.offers_tasks:
            call.dialect.require_tasks()
        return support in {"optional", "required"} and call.dialect.has_task_extension

    def begin(self, call: Call, tool: Tool, completed: JsonObject) -> None:
        """Answer a call with a task, and go on with it in a thread of its own."""
        self._open()
        terms = _terms(call, completed)
        task = Task(str(uuid.uuid4()), terms, call.wire, call.connection.news)
        task.state.message = "Begun"
        if tool.tasks is not None and tool.tasks.prepare is not None:
            tool.tasks.prepare(task, completed)
        origin = {
            "tool": tool.name,
            "arguments": completed,
            "version": call.dialect.version,
            "client": call.dialect.client,
        }
        self._store.add(task, origin)
        with task.lock:
            call.reply(task.created_result())
        self._start(task, call, tool, completed)

    def known_ids(self, call: Call, wanted: object) -> Iterable[str]:
        """Return the tasks that a listener may hear of.

        Raises:
            RpcError: It asked for tasks and did not declare the extension.
        """
        if isinstance(wanted, dict) and "taskIds" in wanted:
            call.dialect.require_tasks()
            self._open()
        return [task.id for task in self._store.all(is_core=False)]

    def close(self) -> None:
        """Stop all work and leave it as it is, for the next server to go on with."""
        self._is_closing = True
        self._store.close()
        for is_core in (True, False):
            for task in self._store.all(is_core=is_core):
                if task.cancel is not None:
                    task.cancel()

    def _open(self) -> None:
        """Go on with the tasks of the server before us, once."""
        with self._lock:
            if self._is_open:
                return
            self._is_open = True
            for saved, origin in self._store.saved():
                self._go_on(saved, origin)

    def _go_on(self, saved: JsonObject, origin: Origin) -> None:
        connection = self._connection
        task = Task(
            saved["id"], terms_of(saved), connection.wire, connection.news, saved["created"]
        )
        self._store.add(restore(saved, task), origin)
        tool = self.find(origin["tool"])
        if task.has_ended or tool is None:
            return
        dialect = Dialect(origin["version"], origin["client"])
        call = Call(connection, dialect, task.id, "tools/call", {})
        call.replay = Replay(task.state.answers)
        if tool.tasks is not None and tool.tasks.prepare is not None:
            tool.tasks.prepare(task, origin["arguments"])
        self._start(task, call, tool, origin["arguments"])

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
        except Exception as error:  # noqa: BLE001 - the client must learn that its task is over
            task.fail(RpcError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        else:
            if result is not None:
                task.finish(result)

    def _known(self, call: Call) -> Task:
        call.dialect.require_tasks()
        self._open()
        task_id = call.params.get("taskId")
        is_core = not call.dialect.is_per_request
        task = self._store.get(task_id, is_core=is_core) if isinstance(task_id, str) else None
        if task is None:
            raise RpcError(INVALID_PARAMS, "Task not found or expired")
        task.has_client = True
        return task

    def _get(self, call: Call) -> None:
        task = self._known(call)
        with task.lock:
            call.reply(task.shape())
            task.polled()

    def _list(self, call: Call) -> JsonObject:
        self._open()
        shapes = [task.shape() for task in self._store.all(is_core=True)]
        return page("tasks", shapes, self._page_size, call.params.get("cursor"))

    def _result(self, call: Call) -> JsonObject:
        """Wait for the end and answer as the call would have been answered."""
        task = self._known(call)
        if (early := task.faults.has_early_result) and not task.has_ended:
            return {**early, "_meta": task.related}
        task.awaited(1)
        try:
            while not (task.has_ended or task.is_gone):
                call.sleep(_LOOK_EVERY_S)
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
            _ask_to_stop(task)
            return {}
        with task.lock:
            if task.has_ended:
                words = f"Cannot cancel a task that is {task.state.status}"
                raise RpcError(INVALID_PARAMS, words)
            if not task.faults.ignores_cancel:
                task.change("cancelled", "Cancelled by the client")
            call.reply(task.shape())
        _ask_to_stop(task)
        return None


def _find_nothing(_name: str) -> None:
    """Know no tools."""


def _ask_to_stop(task: Task) -> None:
    if task.cancel is not None and not task.faults.ignores_cancel:
        task.cancel()


def _is_wanted(params: JsonObject, tool: str, support: str) -> bool:
    """Whether the client of the core wants a task, and may."""
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


def _terms(call: Call, completed: JsonObject) -> Terms:
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

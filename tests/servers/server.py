"""The demo server with whatever else its options can make of it: pages, faults, saved tasks."""

import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call, Connection
from mcp_progress_monitor.demo.eras import Dialect, Negotiation
from mcp_progress_monitor.demo.questions import Replay
from mcp_progress_monitor.demo.server import Content, Server
from mcp_progress_monitor.demo.subscriptions import Subscriptions
from mcp_progress_monitor.demo.task_service import TaskService, terms
from mcp_progress_monitor.demo.tasks import Task, Terms
from mcp_progress_monitor.demo.tool import Tool, record
from mcp_progress_monitor.demo.wire import INVALID_PARAMS, JsonObject, RequestId, RpcError, Wire
from tests.servers.faulty_tasks import FaultyTask, FaultyTraits, prepare
from tests.servers.saved_tasks import Origin, TaskStore


class FaultyServer(Server):
    """A demo server that can misbehave as a whole."""

    def __init__(
        self,
        wire: Wire,
        negotiation: Negotiation,
        tools: Sequence[Tool],
        *,
        page_size: int = 0,
        ignored_methods: Iterable[str] = (),
        state_dir: Path | None = None,
        later_tools: Sequence[Tool] = (),
        acknowledges: bool = True,
        store: TaskStore | None = None,
        has_many_clients: bool = False,
    ) -> None:
        """Serve `tools`; requests for `ignored_methods` get no answer at all.

        Once a tool was called there are `later_tools`, if any, instead. Without `acknowledges` no
        listener is told that it is one. Servers of one process share their `store` of tasks. With
        `has_many_clients` ids are unique only for each owner.
        """
        self._page_size = page_size
        self._ignored = frozenset(ignored_methods)
        self._later_tools = later_tools
        self._acknowledges = acknowledges
        self._store = store or TaskStore()
        self._has_many_clients = has_many_clients
        super().__init__(wire, negotiation, tools, state_dir=state_dir)

    def join(self, timeout_s: float) -> None:
        """Wait until no request is being served, at most `timeout_s` for each."""
        for _, thread in self._open():
            thread.join(timeout_s)

    def cancel(self, owner: object) -> None:
        """Cancel all calls of that owner: it no longer waits for them."""
        for call, _ in self._open():
            if call.owner is owner:
                call.cancel()

    def cancel_all(self) -> None:
        """Cancel all calls, and leave tasks alone."""
        for call, _ in self._open():
            call.cancel()

    def _make_subscriptions(self, wire: Wire) -> Subscriptions:
        return Subscriptions(wire) if self._acknowledges else SilentNews(wire)

    def _make_tasks(self, connection: Connection) -> "FaultyTaskService":
        return FaultyTaskService(connection, self._store, self._page_size)

    def _make_content(self, tools: Sequence[Tool], tasks: TaskService) -> Content:
        content = ChangingContent(tools, tasks, self._page_size, self._later_tools)
        if isinstance(tasks, FaultyTaskService):
            tasks.tools = {tool.name: tool for tool in tools}
        return content

    def _begin(self, request_id: RequestId, method: str, params: JsonObject, owner: object) -> None:
        if method in self._ignored:
            return self._wire.began(owner)
        return super()._begin(request_id, method, params, owner)

    def _key(self, call: Call) -> object:
        return (call.owner, call.id) if self._has_many_clients else call.id


class SilentNews(Subscriptions):
    """Acknowledges no listener."""

    def _acknowledge(self, listener: Any) -> None:
        pass


class ChangingContent(Content):
    """Lists tools in pages, and changes them once one was called."""

    def __init__(
        self,
        tools: Sequence[Tool],
        tasks: TaskService,
        page_size: int,
        later_tools: Sequence[Tool] = (),
    ) -> None:
        """List at most `page_size` tools in one answer; 0 lists all of them."""
        super().__init__(tools, tasks)
        self._page_size = page_size
        self._later_tools = {tool.name: tool for tool in later_tools or tools}

    def _list_tools(self, call: Call) -> JsonObject:
        return page("tools", super()._list_tools(call), self._page_size, call)

    def _chosen(self, call: Call) -> Tool:
        tool = super()._chosen(call)
        self._tools = self._later_tools
        return tool


class FaultyTaskService(TaskService):
    """Tasks with faults, in pages, and those of a server before."""

    def __init__(self, connection: Connection, store: TaskStore, page_size: int) -> None:
        """List `page_size` tasks at a time, 0 for all; continue those that were saved."""
        super().__init__(connection, store)
        self.tools: dict[str, Tool] = {}
        """By name, to continue tasks of a server before."""
        self._saved = store
        self._page_size = page_size
        self._is_open = False
        self._opening = threading.Lock()

    def wants(self, call: Call, tool: Tool) -> bool:
        """Tell whether a call of this tool becomes a task, perhaps against the rules."""
        if isinstance(tool.tasks, FaultyTraits) and tool.tasks.becomes != "as_wanted":
            return tool.tasks.becomes == "always"
        return super().wants(call, tool)

    def known_ids(self, call: Call, wanted: object) -> Iterable[str]:
        """Return the tasks that a listener may hear of, saved ones included."""
        if isinstance(wanted, dict) and "taskIds" in wanted:
            call.dialect.require_tasks()
            self._continue_saved()
        return super().known_ids(call, wanted)

    def close(self) -> None:
        """Stop all work and leave it as it is, for the next server to continue."""
        self._saved.close()
        super().close()

    def _new_task(self, call: Call, tool: Tool, completed: JsonObject) -> FaultyTask:
        self._continue_saved()
        task = self._task(str(uuid.uuid4()), terms(call, completed))
        prepare(tool.tasks, task, completed)
        origin = {
            "tool": tool.name,
            "arguments": completed,
            "version": call.dialect.version,
            "client": call.dialect.client,
        }
        self._saved.keep(task, origin)
        return task

    def _task(self, identity: str, agreed: Terms) -> FaultyTask:
        return FaultyTask(identity, agreed, self._connection.wire, self._connection.subscriptions)

    def _continue_saved(self) -> None:
        with self._opening:
            if not self._is_open:
                self._is_open = True
                for saved, origin in self._saved.saved():
                    self._continue(saved, origin)

    def _continue(self, saved: JsonObject, origin: Origin) -> None:
        task = self._task(saved["id"], Terms(**saved["terms"]))
        task.restore(saved)
        self._saved.keep(task, origin)
        tool = self.tools.get(origin["tool"])
        if task.has_ended or tool is None:
            return
        dialect = Dialect(origin["version"], origin["client"])
        call = Call(self._connection, dialect, task.id, "tools/call", {})
        call.replay = Replay(task.state.answers)
        prepare(tool.tasks, task, origin["arguments"])
        self._start(task, call, tool, origin["arguments"])

    def _known(self, call: Call) -> Task:
        call.dialect.require_tasks()
        self._continue_saved()
        task = super()._known(call)
        if isinstance(task, FaultyTask):
            task.has_client = True
        return task

    def _get(self, call: Call) -> None:
        task = self._known(call)
        with task.lock:
            super()._get(call)
            if isinstance(task, FaultyTask):
                task.polled()

    def _list(self, call: Call) -> JsonObject:
        self._continue_saved()
        return page("tasks", super()._list(call), self._page_size, call)

    def _result(self, call: Call) -> JsonObject:
        task = self._known(call)
        early = task.faults.has_early_result if isinstance(task, FaultyTask) else None
        if early and not task.has_ended:
            return {**early, "_meta": task.related}
        return super()._result(call)


class LyingNegotiation(Negotiation):
    """Claims `answered_version` in every handshake, whatever it speaks."""

    def __init__(
        self,
        versions: Sequence[str],
        answered_version: str | None = None,
        *,
        offers_tasks: bool = True,
    ) -> None:
        """Serve `versions`; without `answered_version`, tell the truth."""
        super().__init__(versions, offers_tasks=offers_tasks)
        self._answered_version = answered_version

    def initialize(self, params: JsonObject) -> JsonObject:
        """Answer `initialize`."""
        result = super().initialize(params)
        if self._answered_version is not None:
            result["protocolVersion"] = self._answered_version
        return result


_IS_SURE: Final[JsonObject] = {"type": "boolean", "description": "Confirm"}


@dataclass(frozen=True, slots=True)
class ChangedTool(Tool):
    """A tool as a later version has it: it needs one argument more, `is_sure`."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of everything a client may pass."""
        before = Tool.schema.__get__(self)  # slots leave `super()` without its class
        return record("", **before["properties"], is_sure=_IS_SURE)

    def serve(self, call: Call, completed: JsonObject) -> JsonObject | None:
        """Run with arguments that were checked."""
        own = {name: value for name, value in completed.items() if name != "is_sure"}
        return Tool.serve(self, call, own)


def changed(tool: Tool) -> ChangedTool:
    """Return the tool as a later version has it."""
    return ChangedTool(
        tool.run, tool.title, tool.description, tool.arguments, tool.lasts, tool.tasks
    )


def page(member: str, whole: JsonObject, size: int, call: Call) -> JsonObject:
    """Return the entries that the call's cursor points at, and the next cursor if there are more.

    Raises:
        RpcError: We never gave out this cursor.
    """
    if not size:
        return whole
    entries, cursor = whole[member], call.params.get("cursor")
    cursors = {f"{member}-from-{start}": start for start in range(size, len(entries), size)}
    if cursor is not None and cursor not in cursors:
        raise RpcError(INVALID_PARAMS, f"Unknown cursor: {cursor}")
    start = cursors.get(str(cursor), 0)
    result: JsonObject = {member: entries[start : start + size]}
    if start + size < len(entries):
        result["nextCursor"] = f"{member}-from-{start + size}"
    return result

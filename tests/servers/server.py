"""The demo server with the faults of its options: pagination, misbehavior, saved tasks."""

import contextlib
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call, Connection
from mcp_progress_monitor.demo.eras import Dialect, Negotiation
from mcp_progress_monitor.demo.questions import Replay, Subscriptions
from mcp_progress_monitor.demo.server import Content, Server, TaskService, terms
from mcp_progress_monitor.demo.tasks import Task, Terms
from mcp_progress_monitor.demo.tool import Tool, record
from mcp_progress_monitor.demo.wire import (
    INVALID_PARAMS,
    JsonObject,
    PeerGoneError,
    RequestId,
    RpcError,
    Wire,
)
from tests.servers import events
from tests.servers.asking import TokenQuestions
from tests.servers.call import FaultyCall, FaultyTool, SharedWire
from tests.servers.faulty_tasks import (
    FaultyTask,
    FaultyTraits,
    Origin,
    TaskStore,
    prepare,
    store_in,
)
from tests.servers.options import Options
from tests.servers.tools import TOOLS


class FaultyServer(Server):
    """A demo server with faults of the whole server."""

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
        offers_events: bool = False,
    ) -> None:
        """Serve `tools`; requests for `ignored_methods` get no reply.

        After the first call, `later_tools`, if any, replace the tools. Without `acknowledges`,
        subscriptions are not acknowledged. Servers in one process share a `store` of tasks. With
        `has_many_clients`, IDs are unique per owner only.
        """
        self._page_size = page_size
        self._ignored = frozenset(ignored_methods)
        self._later_tools = later_tools
        self._acknowledges = acknowledges
        self._store = store or TaskStore()
        self._has_many_clients = has_many_clients
        super().__init__(wire, negotiation, tools, state_dir=state_dir)
        if offers_events:
            self._methods |= events.methods()

    def join(self, timeout_s: float) -> None:
        """Wait until no request is being served, at most `timeout_s` per request."""
        for _, thread in self._open():
            thread.join(timeout_s)

    def cancel(self, owner: object) -> None:
        """Cancel all calls of an owner that no longer waits for them."""
        for call, _ in self._open():
            if _owner(call) is owner:
                call.cancel()

    def cancel_all(self) -> None:
        """Cancel all calls, but not tasks."""
        for call, _ in self._open():
            call.cancel()

    def _make_questions(self, wire: Wire) -> TokenQuestions:
        return TokenQuestions(wire)

    def _notified(self, method: str, params: JsonObject) -> None:
        questions = self._connection.questions
        if method == "notifications/progress" and isinstance(questions, TokenQuestions):
            questions.progressed(params)
        super()._notified(method, params)

    def _make_subscriptions(self) -> Subscriptions:
        return Subscriptions() if self._acknowledges else SilentSubscriptions()

    def _make_tasks(self, connection: Connection) -> "FaultyTaskService":
        return FaultyTaskService(connection, self._store, self._page_size)

    def _make_content(self, tools: Sequence[Tool], tasks: TaskService) -> Content:
        content = ChangingContent(tools, tasks, self._page_size, self._later_tools)
        if isinstance(tasks, FaultyTaskService):
            tasks.tools = {tool.name: tool for tool in tools}
        return content

    def receive(self, line: bytes, owner: object = None) -> None:
        """Handle one line of `owner`, the origin of the line if there are several."""
        with self._serving(owner):
            super().receive(line)

    def _serving(self, owner: object) -> contextlib.AbstractContextManager[None]:
        wire = self._wire
        return wire.serving(owner) if isinstance(wire, SharedWire) else contextlib.nullcontext()

    def _begin(self, request_id: RequestId, method: str, params: JsonObject) -> None:
        if method not in self._ignored:
            super()._begin(request_id, method, params)
        elif isinstance(self._wire, SharedWire):
            self._wire.began(self._wire.owner)

    def _make_call(
        self, dialect: Dialect, request_id: RequestId, method: str, params: JsonObject
    ) -> FaultyCall:
        return FaultyCall(self._connection, dialect, request_id, method, params)

    def _start(self, call: Call) -> None:
        if isinstance(self._wire, SharedWire):
            self._wire.began(_owner(call))
        try:
            super()._start(call)
        except RpcError:
            self._ended(call)
            raise

    def _serve(self, call: Call) -> None:
        with self._serving(_owner(call)):
            super()._serve(call)
        self._ended(call)

    def _ended(self, call: Call) -> None:
        if isinstance(self._wire, SharedWire):
            self._wire.ended(_owner(call))

    def _key(self, call: Call) -> object:
        return (_owner(call), call.id) if self._has_many_clients else call.id


def _owner(call: Call) -> object:
    return call.owner if isinstance(call, FaultyCall) else None


class SilentSubscriptions(Subscriptions):
    """Subscriptions that are not acknowledged."""

    def _acknowledge(self, listener: Any) -> None:
        pass


class ChangingContent(Content):
    """Lists tools in pages, and changes them after the first call."""

    def __init__(
        self,
        tools: Sequence[Tool],
        tasks: TaskService,
        page_size: int,
        later_tools: Sequence[Tool] = (),
    ) -> None:
        """List at most `page_size` tools per page; 0 for all."""
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
    """Tasks with faults, listed in pages, including those of an earlier server."""

    def __init__(self, connection: Connection, store: TaskStore, page_size: int) -> None:
        """List `page_size` tasks per page, 0 for all; continue saved tasks."""
        super().__init__(connection, store)
        self.tools: dict[str, Tool] = {}
        """By name, to continue tasks of an earlier server."""
        self._saved = store
        self._page_size = page_size
        self._is_open = False
        self._opening = threading.Lock()

    def wants(self, call: Call, tool: Tool) -> bool:
        """Return whether a call of this tool becomes a task, possibly against the rules."""
        if isinstance(tool.tasks, FaultyTraits) and tool.tasks.becomes != "as_required":
            return tool.tasks.becomes == "always"
        return super().wants(call, tool)

    def known_ids(self, call: Call, wanted: object) -> Iterable[str]:
        """Return the tasks that can be subscribed to, including saved ones."""
        if isinstance(wanted, dict) and "taskIds" in wanted:
            call.dialect.require_tasks()
            self._continue_saved()
        return super().known_ids(call, wanted)

    def close(self) -> None:
        """Stop all work, so that the next server can continue it."""
        self._saved.close()
        super().close()

    def _new_task(self, call: Call, tool: Tool, completed: JsonObject) -> FaultyTask:
        self._continue_saved()
        agreed = replace(terms(call), poll_ms=completed["poll_ms"])
        if completed["ttl_s"]:
            agreed = replace(agreed, ttl_ms=round(completed["ttl_s"] * 1000))
        task = self._task(str(uuid.uuid4()), agreed)
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
        call = FaultyCall(self._connection, dialect, task.id, "tools/call", {})
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
    """Answers every handshake with `answered_version`, regardless of the actual revision."""

    def __init__(
        self,
        versions: Sequence[str],
        answered_version: str | None = None,
        *,
        offers_tasks: bool = True,
        offers_events: bool = False,
    ) -> None:
        """Serve `versions`; without `answered_version`, answer correctly."""
        super().__init__(versions, offers_tasks=offers_tasks)
        self._answered_version = answered_version
        self._offers_events = offers_events

    def initialize(self, params: JsonObject) -> JsonObject:
        """Answer `initialize`."""
        result = self._extended(super().initialize(params))
        if self._answered_version is not None:
            result["protocolVersion"] = self._answered_version
        return result

    def discover(self) -> JsonObject:
        """Answer `server/discover`."""
        return self._extended(super().discover())

    def _extended(self, result: JsonObject) -> JsonObject:
        if not self._offers_events:
            return result
        declared = result["capabilities"]
        extensions = {**declared.get("extensions", {}), **events.EXTENSIONS}
        return {**result, "capabilities": {**declared, "extensions": extensions}}


_IS_SURE: Final[JsonObject] = {"type": "boolean", "description": "Confirm"}


@dataclass(frozen=True, slots=True)
class ChangedTool(FaultyTool):
    """A later version of a tool, which requires another argument, `is_sure`."""

    @property
    def schema(self) -> JsonObject:
        """The input schema."""
        before = FaultyTool.schema.__get__(self)  # slots leave `super()` without its class
        return record("", **before["properties"], is_sure=_IS_SURE)

    def serve(self, call: Call, completed: JsonObject) -> JsonObject | None:
        """Run with validated arguments."""
        own = {name: value for name, value in completed.items() if name != "is_sure"}
        return FaultyTool.serve(self, call, own)


def changed(tool: Tool) -> ChangedTool:
    """Return a later version of the tool."""
    return ChangedTool(tool.run, tool.title, tool.description, tool.arguments, tool.tasks)


def page(member: str, whole: JsonObject, size: int, call: Call) -> JsonObject:
    """Return the page that the call's cursor names, and the next cursor if there are more.

    Raises:
        RpcError: The cursor is unknown.
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


_WELCOME: Final = (
    b"Welcome to Not An MCP Server 4.2!\n"
    b"Listening on http://localhost:8080/ ...\n"
    b"Type 'help' for help.\n"
)


def run(options: Options, wire: Wire) -> int:
    """Serve one client according to the profile; return the exit code of the process."""
    if options.ignores_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(options.start_delay_s)
    try:
        return _BROKEN.get(options.profile, _serve)(options, wire)
    except PeerGoneError:
        return 0
    finally:
        time.sleep(options.linger_s if options.ignores_eof else options.shutdown_delay_s)


def make_server(
    options: Options, wire: Wire, store: TaskStore | None = None, *, has_many_clients: bool = False
) -> FaultyServer:
    """Return a server with these options."""
    return FaultyServer(
        wire,
        LyingNegotiation(
            options.versions,
            options.answered_version,
            offers_tasks=options.offers_tasks,
            offers_events=options.offers_events,
        ),
        TOOLS,
        page_size=options.page_size,
        ignored_methods=options.ignored_methods,
        state_dir=options.state_dir,
        later_tools=[changed(tool) for tool in TOOLS] if options.changes_tools else (),
        acknowledges=options.acknowledges,
        store=store or store_in(options.state_dir),
        has_many_clients=has_many_clients,
        offers_events=options.offers_events,
    )


def _serve(options: Options, wire: Wire) -> int:
    server = make_server(options, wire)
    server.run()
    if not options.ignores_eof:
        server.close()
    return 0


def _stay_silent(_options: Options, wire: Wire) -> int:
    """Read everything, but never reply."""
    for _ in wire.lines():
        continue
    return 0


def _exit_immediately(options: Options, _wire: Wire) -> int:
    """Fail like a server without its configuration."""
    sys.stderr.write("demo server: DEMO_API_KEY is not set\n")
    sys.stderr.write("demo server: set it and start me again\n")
    return options.exit_code


def _print_rubbish(_options: Options, wire: Wire) -> int:
    """Behave like another program, with a prompt and an error for every line."""
    wire.send_bytes(_WELCOME)
    for line in wire.lines():
        wire.send_bytes(b"> Unknown command: " + line[:40].strip() + b"\n")
    return 0


_BROKEN: Final[dict[str, Callable[[Options, Wire], int]]] = {
    "silent": _stay_silent,
    "exit": _exit_immediately,
    "rubbish": _print_rubbish,
}

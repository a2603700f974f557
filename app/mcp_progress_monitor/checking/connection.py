"""The state of one connection during a check: what was negotiated, requests, tasks and tools."""

from __future__ import annotations

import collections
import hashlib
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from mcp_progress_monitor.findings.finding import Finding, Rule
from mcp_progress_monitor.protocol.eras import PER_REQUEST, as_object
from mcp_progress_monitor.protocol.facts import RequestMade, Side
from mcp_progress_monitor.protocol.frames import at_of, server_name
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    INITIALIZE,
    META,
    VERSION_KEY,
)
from mcp_progress_monitor.tracker import titles

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import PlainTick

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

ALIKE_KEPT: Final = 64  # of equal open calls; comparing with all takes squared time in a flood
ENDED_KEPT: Final = 4096  # of ended requests, tasks, ids and resume tokens, each


class Evidence(NamedTuple):
    """A violation of a rule: in which frame, of which request, by whom.

    `request` is the number of a request's frame, None for the connection itself. Evidence that
    `replaces` is more informative than earlier evidence, and shown instead.
    """

    finding: Finding
    frame: int
    request: int | None
    by: Side
    replaces: bool = False


class JudgedCall:
    """One request of either side, and what is known of it between its frame and its reply."""

    __slots__ = (
        "at",
        "by",
        "cancelled_at",
        "echo_at",
        "first_tick_at",
        "id",
        "is_timeout",
        "message_at",
        "message_number",
        "meta",
        "method",
        "number",
        "of_task",
        "params",
        "progress",
        "resume_token",
        "shares_token",
        "silence_s",
        "task_was_over",
        "tick_at",
        "title",
        "token",
        "total",
        "was_asked",
        "work",
    )

    def __init__(self, fact: RequestMade) -> None:
        self.number = fact.number
        self.by = fact.sender
        self.id = fact.id
        self.method = fact.method
        self.params = fact.params
        self.meta = as_object(fact.params.get(META))
        self.title = titles.name(fact)
        self.token = fact.token
        self.resume_token = fact.resume_token
        self.at = self.message_at = fact.at
        self.message_number = fact.number  # the frame of the last message about it
        self.first_tick_at: float | None = None
        self.tick_at: float | None = None
        self.progress: int | float | None = None
        self.total: int | float | None = None
        self.was_asked = False  # the other side has asked a question meanwhile
        self.cancelled_at: float | None = None
        self.echo_at: float | None = None  # the first message about it after its cancel
        self.shares_token = False  # with another open request
        self.is_timeout = False
        self.silence_s = 0.0  # the longest reported time without a message about it
        self.work: bytes | None = None  # a digest of the request (`work_of`), if it is compared
        self.of_task: str | None = None
        self.task_was_over = False

    def work_of(self) -> bytes:
        """A digest of method and parameters without `_meta`, equal for repeated calls."""
        params = {name: value for name, value in self.params.items() if name != META}
        return hashlib.sha256(canonical({"method": self.method, "params": params})).digest()

    @property
    def capabilities(self) -> JsonObject:
        """The client capabilities in the request (2026-07-28)."""
        return as_object(self.meta.get(CAPABILITIES_KEY))

    def note_message(self, number: int, at: float) -> None:
        self.message_at = at
        self.message_number = number
        self.was_asked = False

    def note_tick(
        self, number: int, at: float, progress: int | float | None, total: int | float | None
    ) -> None:
        self.note_message(number, at)
        self.tick_at = at
        self.progress, self.total = progress, total

    def breaks(self, rule: Rule, frame: int, *arguments: Any, by: Side = Side.SERVER) -> Evidence:
        return Evidence(Finding(rule, arguments), frame, self.number, by)


class TaskRecord:
    """The known state of a task."""

    __slots__ = ("began", "began_at", "poll_count", "result_frame", "status", "updated_s")

    def __init__(self) -> None:
        self.began: int | None = None  # the request that created it, if known
        self.began_at = 0.0
        self.status = ""
        self.poll_count = 0
        self.result_frame: int | None = None
        self.updated_s: float | None = None


class ToolRecord(NamedTuple):
    """A tool's support of tasks, and a digest of each part of its definition."""

    support: str
    parts: dict[str, str]


class ServerMemory:
    """Remembers a server across its connections: tools, tasks and resume tokens."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools: dict[str, ToolRecord] = {}
        self.baseline: dict[str, str] = {}  # digests of tools from an earlier report
        self.tasks: dict[str, TaskRecord] = {}
        self.completed: dict[str, int] = {}
        """Resume tokens of completed operations, with the frame that completed them."""
        self.chains: dict[str, list[str]] = {}
        """The tokens of each unfinished operation, by the newest of them."""

    def task(self, id_: str) -> TaskRecord:
        return keep(self.tasks, id_, self.tasks.get(id_) or TaskRecord())


class JudgedConnection:
    """The state of one connection, shared by all checks."""

    def __init__(self, id_: str, server: ServerMemory) -> None:
        self.id = id_
        self.server = server
        self.is_opened = False  # recorded from the start, so that nothing is missing
        self.is_http = False
        self.is_streamable = False  # over HTTP, and not HTTP+SSE
        self.fastest_s = math.inf  # the shortest time of a reply
        self.revision: str | None = None
        self.capabilities: JsonObject = {}
        self.client_capabilities: JsonObject = {}  # of the handshake
        self.undeclared: dict[tuple[Side, str], tuple[Side, str]] = {}
        """The capability that either side did not declare, by who would use it in which method."""
        self.client = ""
        self.is_initialize_answered = False
        self.is_initialized = False
        self.calls: dict[int, JudgedCall] = {}
        self.last_ticks: dict[int, PlainTick] = {}
        """The newest ticks by their requests, until `apply_last_ticks`."""
        self.ticks_of_second: collections.Counter[int] = collections.Counter()
        """The number of ticks of each request since `begin_second` last started counting."""
        self.flooding: set[int] = set()
        """The requests with too many ticks in this second."""
        self._second_at = -math.inf
        self._of_client: dict[int, JudgedCall] = {}
        self._alike: dict[bytes, dict[int, JudgedCall]] = {}
        self.ended: collections.OrderedDict[int, JudgedCall] = collections.OrderedDict()
        self.ids: dict[tuple[Side, Any], int] = {}
        self.listens: dict[Any, Listen] = {}
        self.streams: dict[Any, EventStream] = {}
        self.is_discovered = False  # `capabilities` are from `server/discover`
        self.logging: set[int] = set()  # open requests that asked for log messages
        self.was_logging = False
        self.tool_calls = 0
        self.with_token = 0
        self.is_change_announced = False
        self.early: dict[str, tuple[Evidence | None, float]] = {}
        """Statuses, with their times, of tasks that have not been created yet, by task; None for
        one that was reported."""

    @property
    def is_per_request(self) -> bool:
        return self.revision == PER_REQUEST

    def apply_last_ticks(self) -> None:
        """Update the calls with their newest ticks, before anything else is checked."""
        for request in list(self.last_ticks):
            self.apply_last_tick(request)

    def apply_last_tick(self, request: int) -> JudgedCall | None:
        """Update an open request with its newest tick, and return it."""
        tick, call = self.last_ticks.pop(request, None), self.calls.get(request)
        if tick is not None and call is not None:
            call.note_tick(tick[0], at_of(tick), tick[4], tick[5])
        return call

    def begin_second(self, at: float) -> None:
        """Start counting from zero if a second has passed since the count began."""
        if at - self._second_at >= 1.0:
            self._second_at = at
            self.ticks_of_second.clear()
            self.flooding.clear()

    def call_of(self, number: int | None) -> JudgedCall | None:
        """An open or recently ended request, by the number of its frame."""
        return None if number is None else self.calls.get(number) or self.ended.get(number)

    def about(self, number: int | None) -> int | None:
        """The request that a message about `number` belongs to: for a task, the one creating it."""
        call = self.call_of(number)
        record = None if call is None else self.server.tasks.get(call.of_task or "")
        return number if record is None or record.began is None else record.began

    def begin(self, fact: RequestMade) -> JudgedCall:
        call = self.calls[fact.number] = JudgedCall(fact)
        if fact.sender is Side.CLIENT:
            self._of_client[fact.number] = call
            self._learn_client(call)
        else:
            for each in self._of_client.values():  # a server may have thousands of its own open
                each.was_asked = True
        return call

    def end(self, call: JudgedCall) -> None:
        if self.calls.pop(call.number, None) is not None:
            self._of_client.pop(call.number, None)
            keep(self.ended, call.number, call)
            self._forget_work(call)
        self.logging.discard(call.number)

    def repeats_of(self, call: JudgedCall) -> tuple[JudgedCall, ...]:
        """The newest open calls equal to `call`, which is added to them.

        Uses digests: comparing each new call with all open ones took a minute for 1,400.
        """
        call.work = call.work_of()
        alike = self._alike.setdefault(call.work, {})
        others = tuple(alike.values())
        alike[call.number] = call
        if len(alike) > ALIKE_KEPT:
            del alike[next(iter(alike))]
        return others

    def _forget_work(self, call: JudgedCall) -> None:
        alike = self._alike.get(call.work or b"")
        if alike is not None:
            alike.pop(call.number, None)
            if not alike:
                del self._alike[call.work or b""]

    def close(self) -> None:
        self.calls.clear()
        self.last_ticks.clear()
        self.ticks_of_second.clear()
        self.flooding.clear()
        self._of_client.clear()
        self._alike.clear()
        self.logging.clear()
        self.listens.clear()
        self.streams.clear()

    def _learn_client(self, call: JudgedCall) -> None:
        if call.method == INITIALIZE:
            info = call.params.get("clientInfo")
        elif VERSION_KEY in call.meta:
            info = call.meta.get(CLIENT_KEY)
        else:
            return
        name = as_object(info).get("name")
        self.client = name if isinstance(name, str) else self.client

    def breaks(self, rule: Rule, frame: int, *arguments: Any, by: Side = Side.SERVER) -> Evidence:
        return Evidence(Finding(rule, arguments), frame, None, by)


class Listen(NamedTuple):
    """A subscription: its request, the notifications asked for, whether it was acknowledged."""

    call: JudgedCall
    requested: JsonObject
    is_acknowledged: bool = False


class EventStream(NamedTuple):
    """An `events/stream`: its request, and the frame that ended it, None while it is open."""

    call: JudgedCall
    end: int | None = None


def memory_of(servers: dict[str, ServerMemory], connection: str) -> ServerMemory:
    """The memory of a connection's server, created if necessary."""
    name = server_name(connection)
    return keep(servers, name, servers.get(name) or ServerMemory(name))


def keep(table: MutableMapping[_Key, _Value], key: _Key, value: _Value) -> _Value:
    """Add to a table of bounded size, dropping its oldest entry."""
    table[key] = value
    if len(table) > ENDED_KEPT:
        del table[next(iter(table))]
    return value

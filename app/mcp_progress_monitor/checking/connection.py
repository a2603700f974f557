"""What a judge remembers of one connection: its agreement, its requests, tasks and tools."""

from __future__ import annotations

import collections
import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from mcp_progress_monitor.findings.finding import Finding, Rule
from mcp_progress_monitor.protocol.eras import PER_REQUEST, as_object
from mcp_progress_monitor.protocol.facts import RequestMade, Side
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    INITIALIZE,
    META,
    VERSION_KEY,
)
from mcp_progress_monitor.tracker import requests

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from mcp_progress_monitor.protocol.facts import JsonObject

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

MOST_A_SECOND: Final = 50  # ticks of a request
ENDED_KEPT: Final = 4096  # ended requests, tasks, ids and resume tokens that are remembered, each


class Evidence(NamedTuple):
    """A rule that was broken: in which frame, about which request, by whom.

    `request` is the number of a request's frame, None where it is the connection itself. One that
    `replaces` says more than those before it, and is shown in their place.
    """

    finding: Finding
    frame: int
    request: int | None
    by: Side
    replaces: bool = False


class JudgedCall:
    """One request of either side, from its frame to its reply, and what came in between."""

    __slots__ = (
        "at",
        "burst",
        "burst_at",
        "by",
        "cancelled_at",
        "heard_at",
        "heard_in",
        "id",
        "is_asked",
        "is_flooding",
        "is_timeout",
        "meta",
        "method",
        "number",
        "of_task",
        "params",
        "progress",
        "resume_token",
        "silence_s",
        "task_was_over",
        "tick_at",
        "ticks",
        "title",
        "token",
        "total",
        "work",
    )

    def __init__(self, fact: RequestMade) -> None:
        self.number = fact.number
        self.by = fact.sender
        self.id = fact.id
        self.method = fact.method
        self.params = fact.params
        self.meta = as_object(fact.params.get(META))
        self.title = requests.name(fact)
        self.token = fact.token
        self.resume_token = fact.resume_token
        self.at = self.heard_at = fact.at
        self.heard_in = fact.number  # the frame of the last message about it
        self.ticks = 0
        self.tick_at: float | None = None
        self.progress: int | float | None = None
        self.total: int | float | None = None
        self.burst, self.burst_at = 0, fact.at
        self.is_flooding = False
        self.is_asked = False  # the other side waited for an answer of this side meanwhile
        self.cancelled_at: float | None = None
        self.is_timeout = False
        self.silence_s = 0.0  # the longest time without a message about it that was stated
        self.work: bytes | None = None  # what it asks for (`work_of`), where that is compared
        self.of_task: str | None = None
        self.task_was_over = False

    def work_of(self) -> bytes:
        """A digest of what it asks for, without `_meta`: equal for the same call made again."""
        params = {name: value for name, value in self.params.items() if name != META}
        return hashlib.sha256(canonical({"method": self.method, "params": params})).digest()

    @property
    def capabilities(self) -> JsonObject:
        """The capabilities that the client declared with it (2026-07-28)."""
        return as_object(self.meta.get(CAPABILITIES_KEY))

    def hear(self, number: int, at: float) -> None:
        self.heard_at = at
        self.heard_in = number
        self.is_asked = False

    def take_ticks(
        self,
        number: int,
        at: float,
        count: int,
        progress: int | float | None,
        total: int | float | None,
    ) -> bool:
        """Take so many ticks, `progress` in the last; whether they begin a flood."""
        self.heard_at = self.tick_at = at
        self.heard_in = number
        self.is_asked = False
        self.ticks += count
        self.progress, self.total = progress, total
        if at - self.burst_at >= 1.0:
            self.burst, self.burst_at, self.is_flooding = count, at, False
        else:
            self.burst += count
        is_flood = self.burst > MOST_A_SECOND and not self.is_flooding
        if is_flood:
            self.is_flooding = True
        return is_flood

    def breaks(self, rule: Rule, frame: int, *arguments: Any, by: Side = Side.SERVER) -> Evidence:
        return Evidence(Finding(rule, arguments), frame, self.number, by)


class TaskRecord:
    """A task of a server, as its messages have told of it."""

    __slots__ = ("asked_count", "began", "began_at", "result_frame", "status", "updated_s")

    def __init__(self) -> None:
        self.began: int | None = None  # the request that began it; None when that was not seen
        self.began_at = 0.0
        self.status = ""
        self.asked_count = 0
        self.result_frame: int | None = None
        self.updated_s: float | None = None


class ToolRecord(NamedTuple):
    """A tool's definition: its support of tasks, and a digest for each part of it."""

    support: str
    parts: dict[str, str]


class ServerMemory:
    """What is known of a server across its connections: the tools and tasks it told of."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools: dict[str, ToolRecord] = {}
        self.baseline: dict[str, str] = {}  # the tools' digests of an earlier report
        self.tasks: dict[str, TaskRecord] = {}
        self.completed: dict[str, int] = {}
        """Resume tokens of completed operations, with the frame that completed them."""
        self.chains: dict[str, list[str]] = {}
        """The tokens of each operation that goes on, by the newest of them."""

    def task(self, id_: str) -> TaskRecord:
        return keep(self.tasks, id_, self.tasks.get(id_) or TaskRecord())


class JudgedConnection:
    """The state of one connection, which all checks read and the judge alone changes."""

    def __init__(self, id_: str, server: ServerMemory) -> None:
        self.id = id_
        self.server = server
        self.is_opened = False  # its beginning was seen: what did not happen, did not
        self.is_http = False
        self.revision: str | None = None
        self.capabilities: JsonObject = {}
        self.client = ""
        self.is_initialize_answered = False
        self.is_initialized = False
        self.calls: dict[int, JudgedCall] = {}
        self._alike: dict[bytes, dict[int, JudgedCall]] = {}
        self.ended: collections.OrderedDict[int, JudgedCall] = collections.OrderedDict()
        self.ids: dict[tuple[Side, Any], int] = {}
        self.listens: dict[Any, Listen] = {}
        self.logging: set[int] = set()  # open requests that asked for log messages
        self.was_logging = False
        self.tool_calls = 0
        self.with_token = 0
        self.is_change_announced = False
        self.early: dict[str, tuple[Evidence | None, float]] = {}
        """Statuses of tasks whose creation was not heard of yet, by the task, with their times;
        None for one that was stated."""

    @property
    def is_per_request(self) -> bool:
        return self.revision == PER_REQUEST

    def call_of(self, number: int | None) -> JudgedCall | None:
        """A request by the number of its frame, open or ended not long ago."""
        return None if number is None else self.calls.get(number) or self.ended.get(number)

    def about(self, number: int | None) -> int | None:
        """What a message about a request is about: for one about a task, what began that."""
        call = self.call_of(number)
        record = None if call is None else self.server.tasks.get(call.of_task or "")
        return number if record is None or record.began is None else record.began

    def begin(self, fact: RequestMade) -> JudgedCall:
        call = self.calls[fact.number] = JudgedCall(fact)
        if fact.sender is Side.CLIENT:
            self._learn_client(call)
        else:
            for each in self.calls.values():
                each.is_asked = each.is_asked or each.by is Side.CLIENT
        return call

    def end(self, call: JudgedCall) -> None:
        if self.calls.pop(call.number, None) is not None:
            keep(self.ended, call.number, call)
            self._forget_work(call)
        self.logging.discard(call.number)

    def made_again(self, call: JudgedCall) -> tuple[JudgedCall, ...]:
        """The open calls that ask for the same; from now on `call` is one of them.

        Found by a digest: to compare each new call with all open ones took a minute for 1,400.
        """
        call.work = call.work_of()
        alike = self._alike.setdefault(call.work, {})
        others = tuple(alike.values())
        alike[call.number] = call
        return others

    def _forget_work(self, call: JudgedCall) -> None:
        alike = self._alike.get(call.work or b"")
        if alike is not None:
            alike.pop(call.number, None)
            if not alike:
                del self._alike[call.work or b""]

    def close(self) -> None:
        self.calls.clear()
        self._alike.clear()
        self.logging.clear()
        self.listens.clear()

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
    """A subscription: its request, what it asks for, whether it was acknowledged."""

    call: JudgedCall
    asked: JsonObject
    is_acknowledged: bool = False


def memory_of(servers: dict[str, ServerMemory], connection: str) -> ServerMemory:
    """The memory of a connection's server, made where there is none."""
    name = server_name(connection)
    return keep(servers, name, servers.get(name) or ServerMemory(name))


def keep(table: MutableMapping[_Key, _Value], key: _Key, value: _Value) -> _Value:
    """Enter something into a table, from which the oldest goes when it is full."""
    table[key] = value
    if len(table) > ENDED_KEPT:
        del table[next(iter(table))]
    return value

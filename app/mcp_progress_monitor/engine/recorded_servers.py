"""The servers of a recording, from the events and messages of their connections."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import as_object, client_info_of, era_of
from mcp_progress_monitor.protocol.facts import (
    ConnectionClosed,
    ConnectionNegotiated,
    ConnectionOpened,
    NotificationReceived,
    RequestAnswered,
    RequestMade,
    Side,
    StderrReceived,
)
from mcp_progress_monitor.protocol.frames import Channel, FactRun, Frame, server_name
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import (
    Elided,
    NotJsonError,
    TooDeepError,
    read_value,
)
from mcp_progress_monitor.protocol.messages import (
    EVENT,
    LIST_EVENTS,
    LIST_PROMPTS,
    LIST_RESOURCES,
    LIST_SKILLS,
    LIST_TOOLS,
    POLL_EVENTS,
)
from mcp_progress_monitor.protocol.offers import (
    LISTS,
    EventType,
    Prompt,
    Resource,
    Skill,
    Tool,
    declares,
    definition_changes,
    read_list_result,
)
from mcp_progress_monitor.protocol.refusal import refused
from mcp_progress_monitor.sessions.connection.lists import LatestEvents, UpdateCounts
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from mcp_progress_monitor.snapshots.settings import UNCHANGED
from mcp_progress_monitor.snapshots.watched import Gaps, TapEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.protocol.facts import Fact, JsonObject
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_LISTS: Final = {kind.method: kind for kind in LISTS}
_LONGEST: Final = 4 * 1024 * 1024  # bytes of the largest page that is read; it takes about 50 ms
_ERRORS_SHOWN: Final = 5
_LIST_REQUESTS_KEPT: Final = 1000
_ITEMS_KEPT: Final = 100_000
_POLLS_KEPT: Final = 100  # that wait for a reply


class RecordedOffers:
    """The newest lists of one connection, page by page."""

    def __init__(self, connection: str) -> None:
        self._connection = connection
        self._list_requests: dict[int, tuple[str, bool]] = {}
        self._items: dict[str, tuple[Any, ...]] = {}
        self._errors: dict[str, ErrorDetails] = {}

    def unlisted(self, capabilities: JsonObject) -> frozenset[str]:
        """Methods of the lists that a server with these capabilities has, but never returned."""
        return frozenset(
            kind.method
            for kind in LISTS
            if declares(capabilities, kind.capability)
            and kind.method not in self._items
            and kind.method not in self._errors
        )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools; empty if unknown."""
        return self._items.get(LIST_TOOLS, ())

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources; empty if unknown."""
        return self._items.get(LIST_RESOURCES, ())

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts; empty if unknown."""
        return self._items.get(LIST_PROMPTS, ())

    @property
    def events(self) -> tuple[EventType, ...]:
        """The types of events; empty if unknown."""
        return self._items.get(LIST_EVENTS, ())

    @property
    def skills(self) -> tuple[Skill, ...]:
        """The skills; empty if unknown."""
        return self._items.get(LIST_SKILLS, ())

    @property
    def error(self) -> ErrorDetails | None:
        """Why one of the lists is unknown; None if all are known."""
        return next(iter(self._errors.values()), None)

    def take(self, fact: Fact, frames: Sequence[Frame]) -> bool:
        """Update the lists from a request or a reply; whether one has changed."""
        if isinstance(fact, RequestMade):
            if fact.method in _LISTS and fact.sender is Side.CLIENT:
                self._list_requests[fact.number] = fact.method, "cursor" in fact.params
                if len(self._list_requests) > _LIST_REQUESTS_KEPT:
                    del self._list_requests[next(iter(self._list_requests))]
            return False
        if not isinstance(fact, RequestAnswered):
            return False
        request = self._list_requests.pop(fact.request or 0, None)
        if request is None:
            return False
        method, goes_on = request
        self._answer(method, fact, frames, goes_on=goes_on)
        return True

    def _answer(
        self, method: str, fact: RequestAnswered, frames: Sequence[Frame], *, goes_on: bool
    ) -> None:
        if not goes_on:
            self._items.pop(method, None)
            self._errors.pop(method, None)
        if fact.result is None:
            self._errors[method] = refused(method, fact.error, self._connection)
            return
        try:
            page = _LISTS[method].read(_whole(method, fact, fact.result, frames))
        except NotJsonError as error:
            what = f"Cannot read the server's response to {method}"
            self._errors[method] = ErrorDetails(what, self._connection, detail=str(error))
            return
        items = (*self._items.get(method, ()), *page.items)
        self._items[method] = items[:_ITEMS_KEPT]
        if page.errors:
            what = f"The server's response to {method} has invalid entries"
            detail = "\n".join(page.errors[:_ERRORS_SHOWN])
            self._errors.setdefault(method, ErrorDetails(what, self._connection, detail=detail))


def _whole(
    method: str, fact: RequestAnswered, result: JsonObject, frames: Sequence[Frame]
) -> JsonObject:
    """The result, decoded again if parts of it were too large to be read with the message."""
    key = _LISTS[method].member
    if not isinstance(result.get(key), Elided) or fact.size > _LONGEST:
        return result
    raw = next(frame.raw for frame in frames if frame.number == fact.number)
    return read_list_result(raw, key)


SERVERS_KEPT: Final = 1000  # the most servers listed
_STDERR_TAIL: Final = 20
_UNKNOWN: Final = "unknown"
_HEADERS_KEPT: Final = 200
_LONGEST_WORD: Final = 200
_LONGEST_CLIENT: Final = 120
_REPLY: Final = (RequestMade, RequestAnswered)


class _Server:
    """One server, from its newest connection."""

    def __init__(self, name: str) -> None:
        self.stderr: collections.deque[str] = collections.deque(maxlen=_STDERR_TAIL)
        self.offers = RecordedOffers(name)
        self.bare = ServerSnapshot(name, _definition(name, {}))
        self.updates = UpdateCounts()
        self.events = LatestEvents()
        self.polls: collections.deque[int] = collections.deque(maxlen=_POLLS_KEPT)
        self.client: JsonObject = {}  # the client's description of itself
        self.end: TapEnd | None = None
        self.gaps = Gaps()

    def snapshot(self) -> ServerSnapshot:
        bare, offers = self.bare, self.offers
        return bare._replace(
            tools=offers.tools,
            unlisted=offers.unlisted(bare.capabilities),
            resources=offers.resources,
            prompts=offers.prompts,
            events=offers.events,
            skills=offers.skills,
            latest_events=self.events.newest_last,
            stderr_tail=tuple(self.stderr),
            own_settings=UNCHANGED,  # as of a live one, which it equals
            error=bare.error or offers.error,
            resource_updates=self.updates.newest_last,
        )


class RecordedServers:
    """All servers by name, in the order of their first appearance."""

    def __init__(self) -> None:
        self._servers: dict[str, _Server] = {}
        self._left_out = False
        self._handlers: dict[type, Callable[[_Server, Any], None]] = {
            ConnectionOpened: _on_opened,
            ConnectionNegotiated: _on_negotiated,
            ConnectionClosed: _on_closed,
            StderrReceived: _on_stderr,
        }

    @property
    def errors(self) -> list[ErrorDetails]:
        """A report that there were too many servers to list."""
        what = f"The recording has more than {SERVERS_KEPT:,} servers; only these are listed"
        return [ErrorDetails(what)] if self._left_out else []

    def clear(self) -> None:
        """Forget all servers: the recording is read again from its beginning."""
        self._servers.clear()
        self._left_out = False

    def names(self) -> tuple[str, ...]:
        return tuple(self._servers)

    def snapshots(self) -> list[ServerSnapshot]:
        """A snapshot of each server."""
        return [server.snapshot() for server in self._servers.values()]

    def snapshot(self, name: str) -> ServerSnapshot:
        """A snapshot of one server; `UserError` if it does not exist."""
        if name not in self._servers:
            raise UserError(ErrorDetails("No such server", name))
        return self._servers[name].snapshot()

    def knows(self, connection: str) -> bool:
        return server_name(connection) in self._servers

    def key_of(self, connection: str) -> str:
        name = server_name(connection)
        known = self._servers.get(name)
        return name if known is None else known.bare.definition.fingerprint

    def take(self, frames: Sequence[Frame], facts: FactRun) -> frozenset[str]:
        """Update the servers from a chunk; the names of those whose snapshot changed."""
        name = server_name(frames[0].connection)
        server = self._servers.get(name) or self._new(name)
        if server is None:
            return frozenset()
        is_new = server.bare.connection is None
        if is_new:
            server.bare = server.bare._replace(connection=frames[0].connection)
        return frozenset({name}) if self._learn(server, frames, facts) or is_new else frozenset()

    def client_of(self, name: str) -> JsonObject:
        """The client's description of itself; empty if unknown."""
        known = self._servers.get(name)
        return {} if known is None else known.client

    def client_name(self, name: str, tap: JsonObject) -> str:
        """The name of a server's client: the one given to its tap, else its own.

        The user gave the former; clients on an SDK often call themselves "mcp".

        Empty if neither is known. `tap` is the tap's entry in the header of its recording.
        """
        info = self.client_of(name)
        for given in (tap.get("client"), info.get("title"), info.get("name")):
            if isinstance(given, str) and given.strip():
                return formatting.one_line(given.strip(), _LONGEST_CLIENT)
        return ""

    def end_of(self, name: str) -> TapEnd | None:
        """Return how the newest connection of a server ended; None while it is open."""
        known = self._servers.get(name)
        return None if known is None else known.end

    def gaps_of(self, name: str) -> Gaps:
        """The gaps in the recording of a server's tap."""
        known = self._servers.get(name)
        return Gaps() if known is None else known.gaps

    def _learn(self, server: _Server, frames: Sequence[Frame], facts: FactRun) -> bool:
        is_changed = False
        for fact in facts.others:
            handler = self._handlers.get(type(fact))
            if handler is not None:
                handler(server, fact)
                is_changed = True
            elif type(fact) in _REPLY:
                is_changed |= server.offers.take(fact, frames)
                is_changed |= isinstance(fact, RequestMade) and _learn_client(server, fact)
                is_changed |= _learn_polled(server, fact)
            elif isinstance(fact, NotificationReceived):
                is_changed |= server.updates.note(fact) or server.events.note(fact)
        # After the facts: who ended a session decides whether it failed.
        is_event = frames[0].channel is Channel.EVENT
        return (is_event and _learn_events(server, frames)) or is_changed

    def _new(self, name: str) -> _Server | None:
        if len(self._servers) >= SERVERS_KEPT:
            self._left_out = True
            return None
        server = self._servers[name] = _Server(name)
        return server


def _definition(name: str, detail: JsonObject) -> ServerDefinition:
    """The definition of a server from its start event; only the names of variables are known."""
    if isinstance(detail.get("url"), str):
        found = _http_definition(name, detail)
        if found is not None:
            return found
    args, cwd, env = detail.get("args"), detail.get("cwd"), detail.get("env")
    try:
        return StdioDefinition(
            name=name or _UNKNOWN,
            command=detail.get("command") or _UNKNOWN,
            args=tuple(args) if isinstance(args, list) else (),
            cwd=cwd if isinstance(cwd, str) else None,
            env=dict.fromkeys(env, "") if isinstance(env, list) else {},
        )
    except (ValidationError, TypeError):
        return StdioDefinition(name=name or _UNKNOWN, command=_UNKNOWN)


def _http_definition(name: str, detail: JsonObject) -> HttpDefinition | None:
    """The definition of a server with a URL; only the names of headers are known.

    None if the recorded values are invalid.
    """
    headers, transport = detail.get("headers"), detail.get("transport")
    names = headers[:_HEADERS_KEPT] if isinstance(headers, list) else []
    try:
        return HttpDefinition(
            name=name or _UNKNOWN,
            url=detail["url"],
            transport="sse" if transport == "sse" else "http",
            headers={each: "" for each in names if isinstance(each, str)},
            auth="oauth" if detail.get("auth") == "oauth" else "headers",
        )
    except ValueError:
        return None


def _on_opened(server: _Server, fact: ConnectionOpened) -> None:
    """Reset a server for a new connection."""
    name, pid = server.bare.name, fact.detail.get("pid")
    server.stderr.clear()
    server.offers = RecordedOffers(fact.connection)
    server.updates = UpdateCounts()
    server.events = LatestEvents()
    server.polls.clear()
    server.client, server.end, server.gaps = {}, None, Gaps()
    server.bare = ServerSnapshot(
        name,
        _definition(name, fact.detail),
        connection=fact.connection,
        state=ServerState.CONNECTING,
        pid=pid if type(pid) is int else None,
    )


def _on_negotiated(server: _Server, fact: ConnectionNegotiated) -> None:
    server.bare = server.bare._replace(
        state=ServerState.CONNECTED,
        revision=fact.revision,
        era=era_of(fact.revision),
        server_info=fact.server_info,
        capabilities=fact.capabilities,
        instructions=fact.instructions,
    )


def _on_closed(server: _Server, fact: ConnectionClosed) -> None:
    if fact.is_wanted:
        server.bare = server.bare._replace(state=ServerState.CLOSED)
        return
    if server.bare.state is ServerState.FAILED:
        return  # `failed` says why
    code = fact.exit_code
    with_code = f" with exit code {code}" if code is not None and code >= 0 else ""
    before = "" if server.bare.state is ServerState.CONNECTED else " before it was connected"
    stderr = [f"  {line}" for line in server.stderr]
    detail = "\n".join(("Last lines of standard error:", *stderr)) if stderr else ""
    what = f"{fact.reason or 'The connection ended'}{with_code}{before}"
    error = ErrorDetails(what, server.bare.definition.address, detail=detail)
    server.bare = server.bare._replace(state=ServerState.FAILED, error=error)


def _learn_client(server: _Server, fact: RequestMade) -> bool:
    """Learn the client's description of itself; whether it changed."""
    found = client_info_of(fact.method, fact.params) if fact.sender is Side.CLIENT else {}
    if not found or found == server.client:
        return False
    server.client = found
    return True


def _learn_polled(server: _Server, fact: Fact) -> bool:
    """Learn the events in the reply to an `events/poll`; whether there were any."""
    if isinstance(fact, RequestMade):
        if fact.method == POLL_EVENTS:
            server.polls.append(fact.number)
        return False
    if not isinstance(fact, RequestAnswered) or fact.request not in server.polls:
        return False
    server.polls.remove(fact.request or 0)
    listed = (fact.result or {}).get("events")
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    for event in found:
        server.events.note(NotificationReceived(*fact[:5], EVENT, event, ()))
    return bool(found)


def _learn_events(server: _Server, frames: Sequence[Frame]) -> bool:
    """Learn of gaps, changed tools and who ended the session; whether anything changed."""
    is_changed = False
    for frame in frames:
        if not any(event in frame.raw for event in _EVENTS) or len(frame.raw) > OVERSIZED:
            continue
        try:
            fields = as_object(read_value(frame.raw).value)
        except (NotJsonError, TooDeepError):
            continue
        if fields.get("event") == "not_recorded":
            server.gaps = _with_gap(server.gaps, fields)
            is_changed = True
        elif fields.get("event") == "definitions_changed":
            changes = tuple(definition_changes(fields))
            server.bare = server.bare._replace(tool_changes=changes)
            is_changed = True
        elif fields.get("event") == "closed":
            _end(server, fields)
            is_changed = True
    return is_changed


_EVENTS: Final = (b'"not_recorded"', b'"closed"', b'"definitions_changed"')


def _with_gap(known: Gaps, fields: JsonObject) -> Gaps:
    messages, size = (_natural(fields.get(name)) for name in ("messages", "bytes"))
    why = fields.get("why")
    return Gaps(
        known.messages + messages, known.bytes + size, why if isinstance(why, str) else known.why
    )


def _natural(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _end(server: _Server, fields: JsonObject) -> None:
    """Record how a session ended. If the client or its tap ended it, it has not failed."""
    code = fields.get("exit_code")
    reason, signal, ended_by = (
        _text(fields.get(name)) for name in ("reason", "signal", "ended_by")
    )
    exit_code = code if type(code) is int else None
    server.end = TapEnd(reason, exit_code, signal or None, ended_by)
    if ended_by in {"client", "tap"}:
        server.bare = server.bare._replace(state=ServerState.CLOSED, error=None)


def _text(value: object) -> str:
    return value[:_LONGEST_WORD] if isinstance(value, str) else ""


def _on_stderr(server: _Server, fact: StderrReceived) -> None:
    server.stderr.append(fact.line.rstrip())

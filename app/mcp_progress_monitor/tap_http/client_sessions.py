"""Assigns requests to client sessions, each of which is a connection of the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.protocol.eras import PER_REQUEST, as_object
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Kind, decode
from mcp_progress_monitor.protocol.messages import INITIALIZE, META, VERSION_KEY
from mcp_progress_monitor.sessions.transport.http.endpoint import SESSION
from mcp_progress_monitor.sessions.transport.http.receive_queue import ReceiveQueue
from mcp_progress_monitor.sessions.transport.http.record import ExchangeRecorder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.framing import Framer

SESSIONS_KEPT: Final = 1000
"""The most open sessions; beyond that, the longest idle one counts as ended."""
_MESSAGES: Final = frozenset({Kind.REQUEST, Kind.NOTIFICATION, Kind.RESULT, Kind.ERROR, Kind.BATCH})


class MessageOutline(NamedTuple):
    """The relevant parts of a client's message; `id` is None unless it is a request."""

    is_message: bool
    id: str | int | float | None = None
    method: str | None = None
    revision: str | None = None

    @property
    def is_request(self) -> bool:
        return self.id is not None


def outline(raw: bytes, headers: Mapping[str, str]) -> MessageOutline:
    """Read a request's body, or if that is large, its headers."""
    revision = headers.get("mcp-protocol-version")
    if len(raw) > OVERSIZED:
        return MessageOutline(raw[:1] in {b"{", b"["}, None, headers.get("mcp-method"), revision)
    envelope = decode(raw)
    named = as_object(as_object(envelope.params).get(META)).get(VERSION_KEY)
    id_ = envelope.id if envelope.kind is Kind.REQUEST else None
    is_message = envelope.kind in _MESSAGES and b'"jsonrpc"' in raw
    return MessageOutline(
        is_message, id_, envelope.method, named if isinstance(named, str) else revision
    )


class TappedRequest(NamedTuple):
    """The parts of a request that identify its session; header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    message: MessageOutline | None

    @property
    def is_listening(self) -> bool:
        """Whether it opens a stream that belongs to no request."""
        return self.method == "GET" and "text/event-stream" in self.headers.get("accept", "")


class ClientSession:
    """One client's session with the server: a connection of the recording."""

    def __init__(self, framer: Framer, clock: Clock, agent: str) -> None:
        self.agent = agent  # the client's `User-Agent`
        self.framer = framer
        self.inbound = ReceiveQueue(framer, clock)
        self.record = ExchangeRecorder(self.inbound)
        self.id: str | None = None  # the session id from the server
        self.is_legacy_sse = False  # whether it uses HTTP+SSE, with all replies on one stream
        self.is_established = False
        """Whether a handshake succeeded, or a request of 2026-07-28 was made."""
        self.is_listening = False
        self.is_over = False
        self.open_ids: set[str | int | float] = set()  # requests whose exchanges are open
        self.broken: dict[str, int] = {}
        """Requests whose streams broke before their replies, by the id of the last event."""

    def may_take(self, asked: TappedRequest) -> bool:
        """Whether a request without a session id can belong to this session."""
        if self.id is not None or self.is_legacy_sse:
            return False
        if asked.is_listening:
            return not self.is_listening
        if asked.message is None:
            return True
        if asked.message.method == INITIALIZE:
            return not (self.is_established or self.open_ids)
        return asked.message.id not in self.open_ids


class ClientSessions:
    """All sessions, identified by session id, by the URL posted to, or by client.

    Without the first two, requests of one client belong to one session unless they reuse an id of
    an open request.
    """

    def __init__(self, make: Callable[[str, TappedRequest], ClientSession]) -> None:
        self._make = make
        self._open: dict[ClientSession, None] = {}
        """Open sessions, the longest idle first."""
        self._by_id: dict[str, ClientSession] = {}
        self._by_target: dict[str, ClientSession] = {}

    @property
    def open(self) -> list[ClientSession]:
        return list(self._open)

    def is_endpoint(self, target: str) -> bool:
        return target in self._by_target

    def of(self, asked: TappedRequest) -> ClientSession:
        """The session of a request, a new one if none is found."""
        session = self._known(asked) or self._begin(asked)
        self._open[session] = self._open.pop(session, None)
        return session

    def idle_too_many(self) -> ClientSession | None:
        """The longest idle session, if there are too many."""
        return next(iter(self._open)) if len(self._open) > SESSIONS_KEPT else None

    def name(self, session: ClientSession, id_: str) -> None:
        session.id = id_
        self._by_id[id_] = session

    def post_to(self, session: ClientSession, target: str) -> None:
        session.is_legacy_sse = True
        self._by_target[target] = session

    def end(self, session: ClientSession) -> None:
        session.is_over = True
        self._open.pop(session, None)
        for names in (self._by_id, self._by_target):
            for name in [name for name, each in names.items() if each is session]:
                del names[name]

    def _known(self, asked: TappedRequest) -> ClientSession | None:
        id_ = asked.headers.get(SESSION)
        if id_ is not None:
            return self._by_id.get(id_)
        if asked.target in self._by_target:
            return self._by_target[asked.target]
        agent = asked.headers.get("user-agent", "")
        of_client = [each for each in reversed(self._open) if each.agent == agent]
        if asked.message is None and not asked.is_listening and of_client:
            return of_client[0]
        return next((each for each in of_client if each.may_take(asked)), None)

    def _begin(self, asked: TappedRequest) -> ClientSession:
        session = self._make(asked.headers.get("user-agent", ""), asked)
        if (id_ := asked.headers.get(SESSION)) is not None:
            self.name(session, id_)
            session.is_established = True
        return session


def is_per_request(message: MessageOutline | None) -> bool:
    """Whether a message is of 2026-07-28, in which closing a stream cancels its request."""
    return message is not None and message.revision == PER_REQUEST

"""Records what passes a tap, from queued copies: nothing is parsed before it was passed on."""

from __future__ import annotations

import json
import math
import re
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import anyio
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import formatting
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.eras import PER_REQUEST, as_object
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Kind, decode
from mcp_progress_monitor.protocol.messages import INITIALIZE, META, VERSION_KEY
from mcp_progress_monitor.protocol.secrets import is_secret_header, shown_url
from mcp_progress_monitor.sessions.transport.http.endpoint import SESSION
from mcp_progress_monitor.sessions.transport.http.receive_queue import ReceiveQueue
from mcp_progress_monitor.sessions.transport.http.record import ExchangeRecorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.tap_http.addresses import TapAddresses
    from mcp_progress_monitor.tap_http.changes import HttpChanges
    from mcp_progress_monitor.tap_http.sign_in import TapSignIn

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
        """True if it opens a stream that belongs to no request."""
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

    def may_take(self, request: TappedRequest) -> bool:
        """Return whether a request without a session id can belong to this session."""
        if self.id is not None or self.is_legacy_sse:
            return False
        if request.is_listening:
            return not self.is_listening
        if request.message is None:
            return True
        if request.message.method == INITIALIZE:
            return not (self.is_established or self.open_ids)
        return request.message.id not in self.open_ids


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

    def of(self, request: TappedRequest) -> ClientSession:
        """The session of a request, a new one if none is found."""
        session = self._known(request) or self._begin(request)
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

    def _known(self, request: TappedRequest) -> ClientSession | None:
        id_ = request.headers.get(SESSION)
        if id_ is not None:
            return self._by_id.get(id_)
        if request.target in self._by_target:
            return self._by_target[request.target]
        agent = request.headers.get("user-agent", "")
        of_client = [each for each in reversed(self._open) if each.agent == agent]
        if request.message is None and not request.is_listening and of_client:
            return of_client[0]
        return next((each for each in of_client if each.may_take(request)), None)

    def _begin(self, request: TappedRequest) -> ClientSession:
        session = self._make(request.headers.get("user-agent", ""), request)
        if (id_ := request.headers.get(SESSION)) is not None:
            self.name(session, id_)
            session.is_established = True
        return session


def is_per_request(message: MessageOutline | None) -> bool:
    """Return whether a message is of 2026-07-28, in which closing a stream cancels its request."""
    return message is not None and message.revision == PER_REQUEST


MOST_WAITING: Final = 64 * 1024 * 1024
"""The most bytes waiting for the disk or for the end of their message; more are dropped."""
FULL: Final = f"more than {formatting.size(MOST_WAITING)} were waiting to be recorded"
_INTERNAL: Final = "An exchange could not be recorded, because of an internal error"
STOPPED: Final = "The tap was stopped"
_GATHER_S: Final = 0.02
"""How long frames are gathered before they are written, except for the first after a pause."""
LEFT_S: Final = 10.0
RESUMED_S: Final = 60.0
"""How long a client may take to resume a stream that it closed itself, and any other stream."""
_NOT_RESUMED: Final = "The client did not resume the stream of the reply"
_PROXY_HEADERS: Final = frozenset({"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"})
_PAUSE_S: Final = 0.005
"""How long to wait before parsing what has passed, since a reply may be about to pass."""
_TOO_MANY: Final = "Too many sessions are open; this one was idle for longest"


class _Step(NamedTuple):
    """Something that passed and has not been recorded yet, with its size in bytes."""

    pieces: Iterator[None]
    when: float
    at: float
    size: int


class _Break(NamedTuple):
    """A stream that broke before the reply to `request`, and counts as lost at `due_at`."""

    session: ClientSession
    request: int
    due_at: float


class FrameSink(Protocol):
    """Writes frames."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes that have not been written yet."""

    @property
    def is_gathering(self) -> bool:
        """True if `hand_over` has something to do."""

    def take(self, frames: Sequence[Frame]) -> None:
        """Take frames of one connection, to be written by `hand_over` at the latest."""

    def hand_over(self) -> None:
        """Write what was taken."""


class TapRecorder:
    """Queues what passed and makes frames of it; `run` it in a task, and `close` it last."""

    def __init__(
        self,
        name: str,
        addresses: TapAddresses,
        journal: FrameSink,
        report: Callable[[str], None],
        clock: Clock | None = None,
        numbers: FrameNumbers | None = None,
        changes: HttpChanges | None = None,
        sign_in: TapSignIn | None = None,
        *,
        rewrites_auth: bool = False,
    ) -> None:
        """Connections are named `name#1` and so on; `report` gets lines for the user.

        `changes` are made to what passes; `sign_in` signs the requests, or clients sign in through
        a tap that `rewrites_auth`.
        """
        self.changes = changes
        self.sign_in = sign_in
        self._can_sign_in = sign_in is not None or rewrites_auth
        self.addresses = addresses
        self.journal = journal
        self.sessions = ClientSessions(self.begin_session)
        self.held_bytes = 0  # bytes of messages whose end has not come
        self._name = name
        self._report = report
        self._clock = clock or Clock()
        self._now = self._stamp()
        self._numbers = numbers or FrameNumbers()
        self.count = 0  # sessions so far
        self._steps: deque[_Step] = deque()
        self._step_bytes = 0
        self._at_work: Iterator[None] = iter(())
        self._is_some = anyio.Event()
        self._broken: dict[int, _Break] = {}
        self._has_reported_sign_in = self._has_reported_failure = False

    # Called by the proxy: nothing here waits

    def has_room(self, size: int) -> bool:
        waiting = self._step_bytes + self.held_bytes + self.journal.waiting_bytes
        return waiting + size <= MOST_WAITING

    def put(self, pieces: Iterator[None], size: int = 0) -> None:
        """Queue a step, which is run piece by piece after those before it."""
        self._steps.append(_Step(pieces, *self._stamp(), size))
        self._step_bytes += size
        self._is_some.set()

    def is_endpoint(self, target: str) -> bool:
        """Return whether MCP messages are posted to a target."""
        path = target.partition("?")[0]
        return path == self.addresses.path or self.sessions.is_endpoint(target)

    # Recording

    async def run(self) -> None:
        due = 0.0
        while True:
            while self._steps:
                self._at_work = self._next_step()
                for _ in self._at_work:
                    await checkpoint()
            if self.journal.is_gathering and (now := anyio.current_time()) >= due:
                self.journal.hand_over()
                due = now + _GATHER_S
            wait_s = self._end_broken()
            if self._steps:
                continue
            until = due if self.journal.is_gathering else math.inf
            self._is_some = anyio.Event()
            with anyio.CancelScope(deadline=min(until, anyio.current_time() + wait_s)):
                await self._is_some.wait()
            if self._steps:
                await anyio.sleep(_PAUSE_S)

    def work(self) -> None:
        for _ in self._at_work:  # finish an interrupted step
            pass
        while self._steps:
            for _ in self._next_step():
                pass

    def close(self) -> None:
        """Record what is left, and the end of all sessions."""
        self.work()
        self._now = self._stamp()
        for session in self.sessions.open:
            try:
                self.end_session(session, STOPPED, "tap")
            except Exception as error:  # noqa: BLE001  # the other sessions end as well
                self.report_failure(error)

    def take_sent(self, session: ClientSession, raw: bytes) -> int:
        """Record a client's message; returns the number of its frame."""
        frame = session.framer.sent(raw, *self._now)
        self.journal.take([frame])
        return frame.number

    def drain(self, session: ClientSession) -> Iterator[None]:
        """Record what is in a session's queue, pausing by yielding."""
        for frames in session.inbound.waiting():
            self.journal.take(frames)
            yield

    def end_session(self, session: ClientSession, reason: str, ended_by: str) -> None:
        if session.is_over:
            return
        self.sessions.end(session)
        session.inbound.record_event(
            "closed",
            reason=reason,
            exit_code=None,
            signal=None,
            ended_by=ended_by,
            wanted=ended_by != "server",
        )
        for _ in self.drain(session):
            pass

    def broken(
        self, session: ClientSession, last: str, request: int, *, retry_s: float, is_left: bool
    ) -> None:
        """The stream of a reply broke after the event `last`; `is_left` if the client closed it.

        If the client does not resume it in time, the call counts as lost.
        """
        session.broken[last] = request
        wait_s = LEFT_S if is_left else max(RESUMED_S, 3 * retry_s)
        self._broken[request] = _Break(session, request, self._now[1] + wait_s)

    def resumed(self, session: ClientSession, last: str) -> int:
        """A client resumes a stream after that event; returns the request whose reply is due."""
        request = session.broken.pop(last)
        self._broken.pop(request, None)
        return request

    def _end_broken(self) -> float:
        """Record streams that were not resumed in time; returns seconds until the next is due."""
        now = self._clock.monotonic() if self._broken else 0.0
        for each in [each for each in self._broken.values() if each.due_at <= now]:
            del self._broken[each.request]
            if not each.session.is_over:
                self.put(self._lost(each))
        return min((each.due_at - now for each in self._broken.values()), default=math.inf)

    def _lost(self, stream: _Break) -> Iterator[None]:
        session, request = stream.session, stream.request
        session.inbound.record_event(
            "call_ended", request=request, outcome="lost", text=_NOT_RESUMED
        )
        yield from self.drain(session)

    def report_sign_in(self, session: ClientSession, exchange: int, found: SignInRefusal) -> None:
        """Record why a client cannot sign in, and report it to the user once."""
        if self._can_sign_in:
            return
        known = {name: value for name, value in found._asdict().items() if value is not None}
        session.inbound.record_event(
            "sign_in_required", exchange=exchange, **known, text=found.text
        )
        if not self._has_reported_sign_in:
            self._has_reported_sign_in = True
            self._report(found.text)

    def report_failure(self, error: Exception) -> str:
        """Report once that something could not be recorded; returns the reason."""
        why = formatting.one_line(f"{_INTERNAL}: {type(error).__name__}: {error}")
        if not self._has_reported_failure:
            self._has_reported_failure = True
            self._report(f"{why}. It is forwarded nevertheless.")
        return why

    def _stamp(self) -> tuple[float, float]:
        return self._clock.wall(), self._clock.monotonic()

    def _next_step(self) -> Iterator[None]:
        step = self._steps.popleft()
        self._now = (step.when, step.at)
        try:
            yield from step.pieces
            idle = self.sessions.idle_too_many()
            if idle is not None:
                self.end_session(idle, _TOO_MANY, "tap")
        except Exception as error:  # noqa: BLE001  # what is watched must go on
            self.report_failure(error)
        self._step_bytes -= step.size

    def begin_session(self, agent: str, request: TappedRequest) -> ClientSession:
        self.count += 1
        framer = Framer(f"{self._name}#{self.count}", self._numbers)
        clock = Clock(monotonic=lambda: self._now[1], wall=lambda: self._now[0])
        session = ClientSession(framer, clock, agent)
        session.inbound.record_event("opened", **self.opening(request))
        opening = None if self.changes is None else self.changes.opening()
        if opening is not None:
            session.inbound.record_event("script", **opening)
        return session

    def opening(self, request: TappedRequest) -> dict[str, object]:
        is_legacy_sse = request.is_listening and SESSION not in request.headers
        return {
            "url": self.addresses.shown,
            "transport": "sse" if is_legacy_sse else "http",
            "headers": sorted(name for name in request.headers if _is_of_server(name)),
            "auth": "oauth" if self._can_sign_in else "headers",
            "listen": self.addresses.shown_own,
        }


def _is_of_server(header: str) -> bool:
    """Return whether a header, of which only the name is recorded, may be needed by the server."""
    name = header.lower()
    return is_secret_header(name) or (name.startswith("x-") and name not in _PROXY_HEADERS)


WELL_KNOWN: Final = "/.well-known/"
_PROTECTED: Final = "/.well-known/oauth-protected-resource"
RESOURCE_METADATA: Final = re.compile(
    r'resource[_]metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))', re.IGNORECASE
)
_BEARER: Final = re.compile(r"\bBearer\b", re.IGNORECASE)
_WAY_OUT: Final = (
    "Run the tap in a terminal with --oauth: it signs in itself, and the client needs no sign-in. "
    "With --rewrite-auth, the client signs in through the tap. Or give it a token in a header."
)


class SignInRefusal(NamedTuple):
    """Why a client cannot sign in through the tap, which cannot pass on OAuth."""

    why: str
    resource: str | None = None
    resource_metadata: str | None = None

    @property
    def text(self) -> str:
        return f"{self.why} {_WAY_OUT}"


def sign_in_refusal(
    status: int, request: Mapping[str, str], headers: Mapping[str, str], addresses: TapAddresses
) -> SignInRefusal | None:
    """The refusal in a response (RFC 9728 5.1; RFC 6750 3); None if a token was wrong.

    Header names are in lower case.
    """
    challenge = headers.get("www-authenticate", "")
    if status != 401 or not _BEARER.search(challenge):
        return None
    found = RESOURCE_METADATA.search(challenge)
    if found is None and "authorization" in request:
        return None
    metadata = None if found is None else found[1] or found[2]
    why = (
        f"{addresses.shown} requires sign-in with OAuth. Clients sign in for the URL that they "
        f"use ({addresses.shown_own}), and the server's tokens are not for that one."
    )
    return SignInRefusal(why, None, None if metadata is None else shown_url(metadata))


def metadata_refusal(target: str, body: bytes, addresses: TapAddresses) -> SignInRefusal | None:
    """The refusal that follows from a server's metadata for another URL (RFC 9728 3.3)."""
    if not target.startswith(_PROTECTED):
        return None
    try:
        resource = json.loads(body)["resource"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(resource, str) or resource.rstrip("/") in {
        addresses.own.rstrip("/"),
        addresses.origin,
    }:
        return None
    resource = shown_url(resource)
    why = (
        f"The server's OAuth metadata is for {resource!r}. Clients compare that with the URL "
        f"that they use ({addresses.shown_own}) and refuse to sign in."
    )
    return SignInRefusal(why, resource)

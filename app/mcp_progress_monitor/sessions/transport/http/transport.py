"""The HTTP transport: each message a POST; received data becomes frames in wire order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import __version__
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Kind, decode
from mcp_progress_monitor.protocol.messages import INITIALIZE, INITIALIZED
from mcp_progress_monitor.protocol.outline import first_byte
from mcp_progress_monitor.secrets.references import names_in, resolved
from mcp_progress_monitor.sessions.transport.base import Loss, Transport
from mcp_progress_monitor.sessions.transport.http import errors
from mcp_progress_monitor.sessions.transport.http.client import PROBE, HttpRequest
from mcp_progress_monitor.sessions.transport.http.endpoint import (
    EVENTS,
    JSON,
    SESSION,
    HttpEndpoint,
    read_http_message,
)
from mcp_progress_monitor.sessions.transport.http.errors import (
    BrokenError,
    HttpRefusedError,
    UnreachableError,
)
from mcp_progress_monitor.sessions.transport.http.receive_queue import MOST_BYTES
from mcp_progress_monitor.sessions.transport.http.streams import (
    REFUSAL_S,
    LegacySseStream,
    Listening,
    Resumption,
    read_rest,
    read_stream,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.sessions.transport.base import TransportResources, WireLine
    from mcp_progress_monitor.sessions.transport.http.client import HttpReply
    from mcp_progress_monitor.sessions.transport.http.endpoint import HttpMessage
    from mcp_progress_monitor.sessions.transport.http.streams import StreamOutcome
    from mcp_progress_monitor.snapshots.definitions import HttpDefinition
    from mcp_progress_monitor.snapshots.doctor import HttpNote

_LIMIT_S: Final = 5.0
_TRIES: Final = 2  # a kept connection may end just when it is reused: that proves nothing


async def end_unless_there(site: HttpEndpoint, request: int) -> None:
    """End the connection if the response to `request` was lost because the server has gone.

    Not while other responses may still arrive: each probes in turn, and the last one counts. A
    server that sends any response, or none for a short time, stays connected.
    """
    if site.revision is None or site.is_legacy_sse:
        return  # the opening reports its own failures
    async with site.probing:
        await site.inbound.passed()
        if site.failure is not None or site.others(request):
            return
        details = await _why_not_there(site)
        if details is not None and not site.others(request):
            site.unreachable(details)


async def _why_not_there(site: HttpEndpoint) -> ErrorDetails | None:
    with anyio.move_on_after(_LIMIT_S):
        for _ in range(_TRIES):
            try:
                # Not a message, so that it has no effect; any response will do.
                asked = HttpRequest("OPTIONS", site.url, site.headers("*/*"), PROBE)
                async with site.wire.exchange(asked):
                    return None
            except UnreachableError as error:
                return error.details
            except HttpRefusedError:
                return None
            except BrokenError:
                continue
    return None


_MOST_RETRIES: Final = 3
_LONGEST_RETRY_S: Final = 60.0
_BUSY: Final = frozenset({429, 503})
_OF_LEGACY_SSE: Final = frozenset({400, 404, 405})
"""How servers of HTTP+SSE may answer a POST ("Backwards Compatibility", 2025-03-26 and later)."""
_NO_JSON: Final = frozenset({Kind.GARBAGE, Kind.BLANK, Kind.PARTIAL})
_ACCEPTED: Final = f"{JSON}, {EVENTS}"
_ERROR_BYTES: Final = 1024 * 1024
"""How much of an error response is read; a longer one is not a message."""
_HEADER_MISMATCH: Final = -32020
_NOT_TAKEN_UP: Final = "Streams of 2026-07-28 cannot be resumed."
_POSTED_TO_ANNOUNCED: Final = (
    "The server gave this URL for messages, and now rejects them: it may have "
    "been restarted, or ended the session. Reconnect."
)
_NEVER_CAME: Final = "The server may have processed it."


class Post:
    """One message being sent, until nothing more can arrive for it."""

    def __init__(self, site: HttpEndpoint, message: HttpMessage) -> None:
        self._site = site
        self._message = message
        self._ending: StreamOutcome | None = None
        self._has_messages = False
        self._headers: dict[str, str] = {}
        self._was_corrected = False

    async def run(self) -> bool:
        """Send it, again if the server asks for that; whether the server accepted it."""
        site, request = self._site, self._message.frame
        if self._message.is_request:
            site.begin(request)
        try:
            return await self._delivered()
        except UnreachableError as error:
            self._lose(Loss("lost", error.details))
            if not site.others(request):
                site.unreachable(error.details)
        except BrokenError as error:
            self._lose(errors.broken(error.reason, _NEVER_CAME, site.address))
            await end_unless_there(site, request)
        except HttpRefusedError as error:
            self._lose(error.loss)
        finally:
            site.end(request)
        return False

    async def _delivered(self) -> bool:
        attempt = 0
        while True:
            had_correction = self._was_corrected
            answer, wait_s = await self._once(attempt)
            if self._was_corrected and not had_correction:
                continue
            if wait_s is None:
                if await self._switches_to_legacy(answer):
                    continue
                return await self._settled(answer)
            attempt += 1
            fields = {"request": self._message.frame, "attempt": attempt}
            if self._message.is_request:
                self._site.inbound.record_event(
                    "stream_broken", **fields, reason=answer.line, retry_s=wait_s
                )
            await anyio.sleep(wait_s)
            if self._message.is_request:
                if not self._site.line.is_due(self._message.frame):
                    return False
                self._site.inbound.record_event("stream_resumed", **fields)

    async def _switches_to_legacy(self, answer: errors.HttpAnswer) -> bool:
        """Return whether the server is one of 2024-11-05, to which the message is posted again."""
        is_refused = answer.status in _OF_LEGACY_SSE and not self._has_messages
        if not is_refused or self._message.method != INITIALIZE or self._site.is_legacy_sse:
            return False
        return await self._site.switch_to_legacy(answer.line)

    async def _once(self, attempt: int) -> tuple[errors.HttpAnswer, float | None]:
        """Post it once and read the response; seconds until it is posted again, if it is."""
        site, message = self._site, self._message
        self._headers = headers = site.headers(_ACCEPTED, message)
        request = HttpRequest("POST", site.url, headers, "message", message.raw, message.frame)
        async with site.wire.exchange(request) as reply:
            self._note_session(reply.answer)
            wait_s = _wait_s(reply.answer, attempt)
            if wait_s is not None:
                return await read_rest(site, reply), wait_s
            if reply.answer.status < 300 and reply.answer.kind == EVENTS:
                self._ending = await read_stream(site, reply)
                return reply.answer, None
            return await self._read_body(reply), None

    def _note_session(self, answer: errors.HttpAnswer) -> None:
        if self._message.method == INITIALIZE and answer.status < 300:
            self._site.session = answer.headers.get(SESSION) or None

    async def _read_body(self, reply: HttpReply) -> errors.HttpAnswer:
        """Read a body, a message or not; the response with the beginning of it."""
        site, answer = self._site, reply.answer
        may_be_long = answer.status < 400 and answer.kind == JSON
        most = MOST_BYTES if may_be_long else _ERROR_BYTES
        body, is_whole = await reply.read(most, REFUSAL_S if answer.status >= 400 else None)
        self._has_messages = is_whole and is_message(body, answer)
        if self._has_messages and await self._is_corrected(body, answer):
            self._has_messages = False
        if self._has_messages:
            inbound = site.inbound
            inbound.put(inbound.body(reply.exchange.number, body, inbound.stamp()))
        elif body:
            site.record.body(reply.exchange, body, max(reply.size, len(body)))
        if not is_whole and may_be_long:
            self._lose(errors.too_large(max(reply.size, len(body)), most, site.address))
        await site.inbound.passed()
        unreadable = "" if self._has_messages else _unreadable(body, answer)
        shown = site.record.redactor.body(body[: 4 * 1024])
        return answer._replace(body=shown, unreadable=unreadable)

    async def _is_corrected(self, body: bytes, answer: errors.HttpAnswer) -> bool:
        """Return whether to repeat a call, once, with headers that were unknown before.

        Source: 2026-07-28 "Custom Headers from Tool Parameters", "Client Behavior": a client whose
        schema of the tool is missing or stale lists the tools, then makes the request again.
        """
        site, message = self._site, self._message
        may_be_stale = message.tool is not None and site.is_per_request(message)
        if not may_be_stale or self._was_corrected or not _is_mismatch(body, answer):
            return False
        await site.line.list_tools()
        headers = site.headers(_ACCEPTED, message)
        if headers == self._headers or not site.line.is_due(message.frame):
            return False  # it would be refused again
        self._was_corrected = True
        changed = sorted(name for name, _ in headers.items() ^ self._headers.items())
        site.inbound.record_event(
            "request_repeated",
            request=message.frame,
            reason=f"{answer.line}, header mismatch",
            headers=list(dict.fromkeys(changed)),
        )
        return True

    async def _settled(self, answer: errors.HttpAnswer) -> bool:
        """Complete the exchange once everything was read."""
        site, message = self._site, self._message
        if self._ending is not None:
            await self._after_stream(self._ending)
            return True
        is_waiting = message.is_request and site.line.is_due(message.frame)
        is_forgotten = answer.status == 404 and site.session is not None
        if is_forgotten and (is_waiting or not message.is_request):
            self._lose(_forgotten(site.address))
            site.forget()
            return False
        is_elsewhere = answer.status == 202 and site.is_listening
        is_elsewhere = is_elsewhere or (site.is_legacy_sse and answer.status < 300)
        if is_waiting and is_elsewhere and not site.is_legacy_sse:
            site.expect_on_stream(message.frame, self._loss(answer))
        elif is_waiting and not is_elsewhere:
            self._lose(self._loss(answer))
        return answer.status < 300

    def _loss(self, answer: errors.HttpAnswer) -> Loss:
        """Say why a request got no reply, although its response is complete."""
        where = self._site.address
        if answer.status >= 400:
            loss = errors.refused(answer, where)
            is_place_unknown = self._site.is_legacy_sse and answer.status in _OF_LEGACY_SSE
            return errors.with_hint(loss, _POSTED_TO_ANNOUNCED) if is_place_unknown else loss
        if answer.status >= 300:
            return errors.redirected(answer, where, self._site.record.redactor)
        if self._has_messages:
            return errors.no_reply(answer, where)
        return errors.no_message(answer, where)

    async def _after_stream(self, ending: StreamOutcome) -> None:
        site, message = self._site, self._message
        if not message.is_request or not site.line.is_due(message.frame):
            return
        if site.is_per_request(message) and ending.too_large is None:
            self._lose(errors.broken(ending.reason, _NOT_TAKEN_UP, site.address))
            await end_unless_there(site, message.frame)
            return
        resumption = Resumption(site, message.frame, ending)
        await resumption.run()
        if resumption.is_given_up:
            await end_unless_there(site, message.frame)

    def _lose(self, loss: Loss) -> None:
        if self._message.is_request:
            self._site.lose(self._message.frame, loss)


def _wait_s(answer: errors.HttpAnswer, attempt: int) -> float | None:
    """Return how long to wait before a message is sent again; None if it is not."""
    after_s = answer.retry_after_s
    if answer.status not in _BUSY or after_s is None or attempt >= _MOST_RETRIES:
        return None
    return after_s if after_s <= _LONGEST_RETRY_S else None


def _forgotten(where: str) -> Loss:
    what = "The server no longer knows the request's session"
    return Loss("lost", ErrorDetails(what, where, "Reconnect, then re-issue the request."))


def _unreadable(body: bytes, answer: errors.HttpAnswer) -> str:
    """Say why a body declared as JSON cannot be read; empty if it can."""
    if answer.kind != JSON or not body or len(body) > OVERSIZED:
        return ""
    envelope = decode(body)
    return envelope.violations[0] if envelope.kind in _NO_JSON and envelope.violations else ""


def _is_mismatch(body: bytes, answer: errors.HttpAnswer) -> bool:
    """Return whether the headers of a request were refused, before anything was done."""
    if answer.status < 400 or len(body) > OVERSIZED:
        return False
    return as_object(decode(body).error).get("code") == _HEADER_MISMATCH


def is_message(body: bytes, answer: errors.HttpAnswer) -> bool:
    """Return whether a body is to be read as JSON-RPC, even if it violates the protocol."""
    if len(body) > OVERSIZED:
        begin = first_byte(body)  # bounded by how much white space is skipped in one step
        return body[begin : begin + 1] in {b"{", b"["}
    kind = decode(body).kind
    if answer.status >= 400 or kind is Kind.INVALID:
        return b'"jsonrpc"' in body and kind not in _NO_JSON
    return kind not in _NO_JSON


_OURSELVES: Final = f"mcp-progress-monitor/{__version__}"
_IN_TURN_S: Final = 5.0
"""How long a notification or a reply of ours may take before later messages are sent."""
_NO_REQUEST_S: Final = 30.0
"""How long it may take in total: nothing waits for the server's response."""
_LINGER_S: Final = 30.0
"""How long a stream is read after its request was settled: late messages are shown, too."""
_LOOK_S: Final = 5.0
_TRIAL_S: Final = 5.0  # how long a server may take to prove that it is one of 2024-11-05
_FAREWELL_S: Final = 1.5


class _Open:
    """A request with an open response; `settled_at` is when it was first seen settled."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.settled_at: float | None = None


class HttpTransport(Transport):
    """Speaks to a server by URL: Streamable HTTP of any revision, or HTTP+SSE of 2024-11-05."""

    is_http = True

    def __init__(
        self, definition: HttpDefinition, framer: Framer, clock: Clock, means: TransportResources
    ) -> None:
        """References in the values of headers are resolved when it is opened."""
        is_legacy_sse = definition.fingerprint in means.older
        self.has_handshake = definition.transport == "sse" or is_legacy_sse
        self._definition = definition
        self._framer = framer
        self._clock = clock
        self._means = means
        self._site: HttpEndpoint | None = None
        self._legacy_sse: LegacySseStream | None = None
        self._slices: Iterator[Sequence[Frame]] = iter(())
        self._ready = anyio.Event()
        self._is_closed = False
        self._tasks: TaskGroup | None = None
        self._idle = anyio.Event()
        self._posts: dict[int, _Open] = {}

    @property
    def failure(self) -> ErrorDetails | None:
        return None if self._site is None else self._site.failure

    @property
    def notes(self) -> Sequence[HttpNote]:
        return () if self._site is None else self._site.record.notes

    @property
    def last_byte_at(self) -> float | None:
        """When the last byte of a body arrived."""
        return None if self._site is None else self._site.record.last_byte_at

    def attach(self, line: WireLine) -> None:
        definition = self._definition
        secret = [name for name, value in definition.headers.items() if names_in(value)]
        self._site = HttpEndpoint(
            definition, self._framer, self._clock, secret, line, self._switch_to_legacy
        )
        self._site.is_legacy_sse = self.has_handshake
        if self._site.is_legacy_sse:
            self._legacy_sse = LegacySseStream(self._site)

    def agreed(self, revision: str) -> None:
        self._server.revision = revision

    @property
    def _server(self) -> HttpEndpoint:
        if self._site is None:
            raise anyio.ClosedResourceError
        return self._site

    async def open(self) -> JsonObject:
        """Create the client; the server is contacted with the first message."""
        definition = self._definition
        where = f"the headers of {definition.name}"
        means = self._means
        headers = await resolved(definition.headers, means.keyring, where, asked=means.asked)
        auth = None
        if definition.auth == "oauth":
            from mcp_progress_monitor.sessions.transport.http.oauth import (
                auth_for,  # only to sign in
            )

            auth = await auth_for(definition, means, definition.name)
        self._server.record.redactor.learn(definition.headers, headers, definition.url)
        given = {name.lower() for name in headers}
        ours = {} if "user-agent" in given else {"User-Agent": _OURSELVES}
        self._server.wire.open({**ours, **headers}, auth, definition.address)
        return {
            "url": definition.address,
            "transport": definition.transport,
            "headers": sorted(definition.headers),
            "auth": definition.auth,
        }

    async def watch(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        """Read responses until the connection is closed."""
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._ready.set()
                if self._legacy_sse is not None:
                    tasks.start_soon(self._read_legacy_sse, self._legacy_sse)
                await self._tidy()
        finally:
            self._tasks = None
            self._idle.set()

    async def _read_legacy_sse(self, older: LegacySseStream) -> None:
        await older.run()
        if not older.is_found:  # it may have been replaced by another server
            self._means.older.discard(self._definition.fingerprint)

    async def _switch_to_legacy(self, reason: str) -> bool:
        """Test whether the server is one of 2024-11-05, and continue in that way if it is."""
        site, older = self._server, LegacySseStream(self._server, is_trial=True)
        if self._tasks is None or self._is_closed:
            return False
        self._tasks.start_soon(older.run)
        with anyio.move_on_after(_TRIAL_S):
            await older.reached()
        if not older.is_found:
            older.stop()
            return False
        self._legacy_sse, site.is_legacy_sse = older, True
        self._means.older.add(self._definition.fingerprint)
        text = f"The server answered {reason}; trying HTTP+SSE of 2024-11-05 instead"
        site.inbound.record_event("transport_changed", transport="sse", reason=text)
        return True

    async def receive(self) -> Sequence[Frame]:
        while True:
            for frames in self._slices:
                if frames:
                    return frames
                await checkpoint()  # inside a message of many megabytes
            try:
                self._slices = await self._server.inbound.next()
            except anyio.EndOfStream:
                if not await self._has_more():
                    raise

    async def _has_more(self) -> bool:
        """At the end of a failed connection: let its requests end, and report it."""
        if self._is_closed or self._tasks is None:
            return False
        self._tasks.cancel_scope.cancel()
        with anyio.move_on_after(_FAREWELL_S, shield=True):
            await self._idle.wait()
        self._server.inbound.put_end_last()
        return True

    async def send(self, raw: bytes, frame: int) -> None:
        """Post one message. Requests are posted in parallel, everything else is awaited."""
        await self._ready.wait()
        site = self._server
        message = read_http_message(raw, frame)
        if self._legacy_sse is not None:
            await self._legacy_sse.reached()
        if site.failure is not None or self._is_closed or self._tasks is None:
            raise anyio.ClosedResourceError
        if message.is_request:
            self._posts[frame] = _Open()
            self._tasks.start_soon(self._request, message, self._posts[frame])
            return
        over = anyio.Event()
        self._tasks.start_soon(self._post, message, over)
        with anyio.move_on_after(_IN_TURN_S):
            await over.wait()

    async def _post(self, message: HttpMessage, over: anyio.Event) -> None:
        """Post anything but a request; a server that does not respond delays others for a while."""
        site, is_taken = self._server, False
        with anyio.move_on_after(_NO_REQUEST_S):
            is_taken = await Post(site, message).run()
        over.set()
        if is_taken and message.method == INITIALIZED and not site.is_legacy_sse:
            await Listening(site).run()

    async def _request(self, message: HttpMessage, opened: _Open) -> None:
        try:
            with opened.scope:
                await Post(self._server, message).run()
        finally:
            self._posts.pop(message.frame, None)

    async def abandon(self, frame: int) -> None:
        if frame in self._posts:
            self._posts[frame].scope.cancel()

    def reconnect_stream(self, frame: int) -> bool:
        """Resume the stream of a request immediately; whether it is being resumed."""
        again = None if self._site is None else self._site.resume_now.get(frame)
        if again is not None:
            again()
        return again is not None

    async def _tidy(self) -> None:
        """Close responses that stay open long after their request was settled."""
        while True:
            await anyio.sleep(_LOOK_S)
            now = self._clock.monotonic()
            for frame, opened in list(self._posts.items()):
                if self._server.line.is_due(frame):
                    continue
                opened.settled_at = now if opened.settled_at is None else opened.settled_at
                if now - opened.settled_at >= _LINGER_S:
                    opened.scope.cancel()

    async def close(self) -> None:
        """Close all streams, and end the session if there is one."""
        site = self._site
        if site is None or self._is_closed:
            return
        self._is_closed = True
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
            with anyio.move_on_after(_FAREWELL_S, shield=True):
                await self._idle.wait()
        with anyio.move_on_after(_FAREWELL_S, shield=True):
            await self._end_session(site)
        await site.wire.close()
        site.inbound.put(None)

    async def _end_session(self, site: HttpEndpoint) -> None:
        if site.session is None:
            return
        headers = site.headers("*/*")
        site.session = None
        try:
            async with site.wire.exchange(HttpRequest("DELETE", site.url, headers, "end")):
                return
        except (UnreachableError, BrokenError, HttpRefusedError):
            return  # it is recorded; the server ends the session in its own time

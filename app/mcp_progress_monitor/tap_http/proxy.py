"""Passes requests to the server and responses back, with as few changes as possible.

Changed are: `Host`, which names the server and comes first; `Accept-Encoding`, which disables
compression; `Expect`, which is handled here; `Upgrade`, which is removed; `Location` and the URL of
the `endpoint` event of HTTP+SSE, in which the server's origin is replaced by the tap's. A script
(`faults`) may change messages. All other headers keep names, values and order. Chunk boundaries may
change, and trailers are removed. Nothing is retried, unless the tap signs in (`sign_in`): then
`Authorization` is the user's, and a request is sent again with a new token. A tap through which
clients sign in (`rewrite_auth`) also answers the requests of a sign-in, and names itself in
`WWW-Authenticate`. The tap itself responds only with 502 if the server cannot be reached or signed
in to, with 403 to a host or origin that is not local, and to malformed HTTP.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

import anyio
import h11
import httpx2

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.transport.http.client import (
    NO_RESPONSE,
    NoRouteError,
    make_breakable,
    route_through,
)
from mcp_progress_monitor.sessions.transport.http.endpoint import EVENTS, JSON, SESSION
from mcp_progress_monitor.sessions.transport.http.errors import (
    UnreachableError,
    no_client,
    translated,
)
from mcp_progress_monitor.sessions.transport.http.proxies import proxy_for
from mcp_progress_monitor.tap_http.addresses import EndpointRewriter
from mcp_progress_monitor.tap_http.exchange import CLIENT_GONE, COMPLETE, NOT_SENT, TappedExchange
from mcp_progress_monitor.tap_http.recorder import STOPPED, outline
from mcp_progress_monitor.tap_http.upstream import (
    BEFORE_WAIT,
    CHUNK,
    GONE,
    LARGEST_HEAD,
    DirectTransport,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from anyio.abc import SocketStream

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.tap_http.changes import ChangedExchange
    from mcp_progress_monitor.tap_http.recorder import TapRecorder
    from mcp_progress_monitor.tap_http.rewrite_auth import AuthRewriter

    RawHeaders = list[tuple[bytes, bytes]]

_CLOSING_S: Final = 2.0
_HALF_CLOSED_S: Final = 1.0
"""How long a client that sends nothing more waits if its server cannot be told so."""
_LIMITS: Final = httpx2.Limits(
    max_connections=1, max_keepalive_connections=1, keepalive_expiry=None
)


_LARGEST_FORM: Final = 64 * 1024
_CHANGEABLE: Final = frozenset({EVENTS, JSON})
_NO_TUNNELS: Final = "The tap forwards to one server and does not open tunnels"


class _ClientGoneError(Exception):
    """The client closed its connection."""


class _RequestBody(httpx2.AsyncByteStream):
    """The body of a request, as the client sends it."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        """Do nothing."""


class ProxyConnection:
    """One connection of a client, and its connection to the server."""

    def __init__(
        self, stream: SocketStream, recorder: TapRecorder, rewriter: AuthRewriter | None = None
    ) -> None:
        """Serve `stream`; `rewriter` answers the requests of clients' sign-ins."""
        self._stream = stream
        self._sign_ins = rewriter
        self._recorder = recorder
        self._addresses = recorder.addresses
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)
        self._upstream: httpx2.AsyncBaseTransport | None = None
        self._held = b""
        self._asked: dict[str, str] = {}  # the headers of the last request
        self._root = httpx2.URL(recorder.addresses.upstream_url("/"))
        self._has_request = anyio.Event()
        self._is_asked = anyio.Event()
        self._has_left = False

    async def serve(self) -> None:
        """Pass on requests until the client, or the server, ends the connection."""
        try:
            async with self._stream:
                with contextlib.suppress(_ClientGoneError):
                    while await self._next():
                        self._http.start_next_cycle()
        finally:
            if self._upstream is not None:
                with anyio.move_on_after(_CLOSING_S, shield=True):
                    await self._upstream.aclose()

    async def _next(self) -> bool:
        """Pass on the next request; returns whether another one may follow."""
        try:
            event = await self._event()
        except h11.RemoteProtocolError as error:
            await self._answer(error.error_status_hint, f"Not valid HTTP: {error}")
            return False
        if not isinstance(event, h11.Request):
            return False
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        self._asked = headers
        if not self._addresses.is_target(event.target) and event.method != b"CONNECT":
            await self._answer(400, "The request's target is not a path or a URL")
            return False
        rewriter = self._sign_ins
        method, target = _text(event.method), _text(self._addresses.target(event.target))
        if rewriter is not None and rewriter.is_browsed(method, target):
            headers.pop("sec-fetch-site", None)
        is_tunnel = event.method == b"CONNECT"
        refusal = _NO_TUNNELS if is_tunnel else self._addresses.refusal(headers)
        if refusal:
            await self._answer(403, refusal)
            return False
        if rewriter is not None and rewriter.handles(target):
            return await self._rewritten(rewriter, method, target, headers)
        is_complete = await self._pass_on(event)
        is_idle = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        return is_complete and is_idle

    async def _rewritten(
        self, rewriter: AuthRewriter, method: str, target: str, headers: dict[str, str]
    ) -> bool:
        """Answer a request of a client's sign-in; returns whether another one may follow."""
        body = b""
        try:
            async for piece in self._received():
                body += piece
                if len(body) > _LARGEST_FORM:
                    await self._answer(413, f"More than {formatting.size(_LARGEST_FORM)} were sent")
                    return False
            status, fields, content = await rewriter.answered(
                self._recorder, method, target, headers, body
            )
            length = [] if status == 204 else [("Content-Length", str(len(content)))]
            raw = [(n.encode(), v.encode("latin-1", "replace")) for n, v in [*fields, *length]]
            self._hold(h11.Response(status_code=status, headers=raw))
            await self._send_data(content)
            await self._send(h11.EndOfMessage())
        except UserError as error:
            await self._answer(502, error.details.as_text())
            return False
        except (_ClientGoneError, h11.ProtocolError):
            return False
        return True

    async def _pass_on(self, event: h11.Request) -> bool:
        """Pass on a request and its response; returns whether both are complete."""
        target = self._addresses.target(event.target).decode("latin-1")
        headers = [(_text(name), _text(value)) for name, value in event.headers.raw_items()]
        exchange = TappedExchange(self._recorder, event.method.decode("ascii"), target, headers)
        self._has_request, self._is_asked = anyio.Event(), anyio.Event()
        reason, ended_by = STOPPED, "tap"
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_client, tasks.cancel_scope)
                reason, ended_by = await self._exchanged(event, exchange, target)
                tasks.cancel_scope.cancel()
            if ended_by == "tap":
                reason, ended_by = CLIENT_GONE, "client"
        finally:
            if self._has_left and reason != COMPLETE:
                reason, ended_by = CLIENT_GONE, "client"
            exchange.ended(reason, ended_by)
        return reason == COMPLETE

    async def _watch_client(self, scope: anyio.CancelScope) -> None:
        """Cancel `scope` when the client closes its connection after the request.

        It may also have closed its side alone, which looks the same, and wait for the reply. The
        server is told the same way, and goes on or gives up, as without the tap.
        """
        await self._has_request.wait()
        try:
            data = await self._stream.receive(CHUNK)
        except anyio.EndOfStream:
            self._has_left = True
            if not await self._has_told_server():
                scope.cancel()
        except GONE:
            scope.cancel()
        else:
            self._http.receive_data(data)  # the next request, handled later

    async def _has_told_server(self) -> bool:
        """Close the client's side of the connection to the server; False if that is impossible."""
        changes = self._recorder.changes
        if changes is not None and changes.may_drop:  # a reply that a script dropped never comes
            return False
        if self._recorder.sign_in is not None:  # it may have to send the request again
            return False
        with anyio.move_on_after(_HALF_CLOSED_S):
            await self._is_asked.wait()
            if isinstance(self._upstream, DirectTransport) and await self._upstream.send_eof():
                return True
            await anyio.sleep_forever()
        return False

    async def _before_wait(self) -> None:
        self._is_asked.set()
        await self._flush()

    async def _exchanged(
        self, event: h11.Request, exchange: TappedExchange, target: str
    ) -> tuple[str, str]:
        """Pass on one request and its response; returns the reason of the end, and who ended it."""
        changed = self._changed(event, exchange, target)
        where = self._addresses.shown
        try:
            request = await self._request(event, exchange, target, changed)
            if request is None:
                return COMPLETE, "server"
            response = await self._response(request, exchange)
        except _ClientGoneError:
            return CLIENT_GONE, "client"
        except h11.RemoteProtocolError as error:
            is_cut = self._http.trailing_data[1]
            why = CLIENT_GONE if is_cut else f"the client's request is not valid HTTP: {error}"
            return why, "client"
        except UserError as error:  # from signing in
            return await self._unreachable(event, exchange, error.details)
        except NoRouteError as error:
            return await self._unreachable(event, exchange, no_client(error.cause, where))
        except NO_RESPONSE as error:
            failure = translated(error, where, 0.0)
            if isinstance(failure, UnreachableError):
                return await self._unreachable(event, exchange, failure.details)
            return f"broken: {failure}", "server"
        try:
            return await self._respond(event, exchange, response, changed)
        finally:
            with anyio.move_on_after(_CLOSING_S, shield=True):
                await response.aclose()

    async def _request(
        self,
        event: h11.Request,
        exchange: TappedExchange,
        target: str,
        changed: ChangedExchange | None,
    ) -> httpx2.Request | None:
        """The request for the server; None if a script has dropped it."""
        headers = self._to_server(event.headers.raw_items())
        pieces = self._body(event, exchange)
        if changed is not None and event.method == b"POST":
            body = await self._changed_body(exchange, changed)
            if body is None:
                return None
            pieces, headers = _whole(body), _with_length(headers, len(body))
        elif not _has_body(event.headers):
            async for _ in pieces:  # none, but this marks the request as complete
                pass
        return httpx2.Request(
            event.method.decode("ascii"),
            self._root,
            headers=headers,
            stream=_RequestBody(pieces),
            extensions={"target": target.encode("latin-1"), BEFORE_WAIT: self._before_wait},
        )

    async def _response(self, request: httpx2.Request, exchange: TappedExchange) -> httpx2.Response:
        """The server's response; `UserError` if the tap has to sign in and cannot."""
        send, sign_in = self._connection().handle_async_request, self._recorder.sign_in
        if sign_in is None:
            return await send(request)
        response = await sign_in.answered(request, send)
        exchange.signed(request.headers)
        return response

    def _connection(self) -> httpx2.AsyncBaseTransport:
        """The connection to the server, used for all requests; `NoRouteError` if there is none."""
        if self._upstream is None:
            proxy = proxy_for(str(self._root))
            self._upstream = DirectTransport() if proxy is None else route_through(proxy, _LIMITS)
        return self._upstream

    async def _unreachable(
        self, event: h11.Request, exchange: TappedExchange, error: ErrorDetails
    ) -> tuple[str, str]:
        """Respond with 502 after the client has sent everything: it may not read earlier."""
        if self._http.their_state is h11.SEND_BODY:
            with anyio.move_on_after(_CLOSING_S), contextlib.suppress(h11.RemoteProtocolError):
                async for _ in self._body(event, exchange):
                    pass
        await self._answer(502, error.as_text())
        return f"{NOT_SENT}: {error.what}", "server"

    async def _received(self) -> AsyncIterator[bytes]:
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        while isinstance(piece := await self._event(), h11.Data):
            yield bytes(piece.data)

    async def _body(self, event: h11.Request, exchange: TappedExchange) -> AsyncIterator[bytes]:
        """The request's body in pieces, recorded before the last one is passed on."""
        left = _length(_with_one_length(event.headers))
        async for data in self._received():
            exchange.sent(data)
            if left is not None:
                left -= len(data)
                if not left:
                    exchange.sent_all()
            yield data
        exchange.sent_all()
        self._has_request.set()

    def _changed(
        self, event: h11.Request, exchange: TappedExchange, target: str
    ) -> ChangedExchange | None:
        """The changes to a request; None without any, or if it is not about MCP."""
        changes = self._recorder.changes
        if changes is None or not self._recorder.is_endpoint(target):
            return None
        session = dict(event.headers).get(SESSION.encode(), b"")
        return changes.exchange(_text(session), exchange.changed, exchange.received)

    async def _changed_body(
        self, exchange: TappedExchange, changed: ChangedExchange
    ) -> bytes | None:
        """A request's body changed by a script; None if it is dropped.

        The sender of a dropped request waits for its reply; other messages are acknowledged.
        """
        raw = b"".join([piece async for piece in self._received()])
        self._has_request.set()
        data, fields = await changed.message("client", raw)
        if data:
            exchange.sent(data)
        exchange.sent_all()
        if fields is not None:
            exchange.changed(fields)
        if data is None:
            if outline(raw, {}).is_request:
                await anyio.sleep_forever()  # until the client disconnects
            headers = [("Content-Length", "0")]
            exchange.answered(202, "Accepted", "HTTP/1.1", headers)
            await self._send(h11.Response(status_code=202, headers=headers, reason="Accepted"))
            await self._send(h11.EndOfMessage())
        return data

    async def _respond(
        self,
        event: h11.Request,
        exchange: TappedExchange,
        response: httpx2.Response,
        changed: ChangedExchange | None,
    ) -> tuple[str, str]:
        rewriter = self._rewriter(event, response)

        async def pass_on(piece: bytes) -> None:
            exchange.received(piece)
            await self._send_data(piece if rewriter is None else rewriter.pass_on(piece))

        kind = _kind(response)
        try:
            async with contextlib.aclosing(_body_of(response)) as pieces:
                if changed is None or kind not in _CHANGEABLE:
                    await self._send_head(exchange, response)
                    async for piece in pieces:
                        await pass_on(piece)
                elif kind == EVENTS:
                    await self._send_head(exchange, response, without_length=True)
                    await changed.stream(pieces, pass_on)
                else:
                    body = b"".join([piece async for piece in pieces])
                    await self._answer_changed(exchange, response, changed, body, pass_on)
            await self._send_data(b"" if rewriter is None else rewriter.rest())
            await self._send(h11.EndOfMessage())
        except _ClientGoneError:
            return CLIENT_GONE, "client"
        except h11.LocalProtocolError as error:
            return f"broken: the response is not valid HTTP ({error})", "server"
        except NO_RESPONSE as error:
            with contextlib.suppress(_ClientGoneError):
                await self._flush()
            return f"broken: {translated(error, self._addresses.shown, 0.0)}", "server"
        return COMPLETE, "server"

    async def _send_head(
        self,
        exchange: TappedExchange,
        response: httpx2.Response,
        *,
        length: int | None = None,
        without_length: bool = False,
    ) -> None:
        """Pass on a response's head, optionally with another `length` or without one."""
        raw: RawHeaders = response.headers.raw
        if length is not None:
            raw = _with_length(raw, length)
        elif without_length:
            raw = [each for each in raw if each[0].lower() != b"content-length"]
        reason: bytes = response.extensions.get("reason_phrase", b"")
        headers = [(_text(name), _text(value)) for name, value in raw]
        status = response.status_code
        exchange.answered(status, _text(reason), response.http_version, headers)
        head = h11.Response(status_code=status, headers=self._to_client(raw), reason=reason)
        self._hold(head)
        await self._send_data(b"")

    async def _answer_changed(
        self,
        exchange: TappedExchange,
        response: httpx2.Response,
        changed: ChangedExchange,
        body: bytes,
        pass_on: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Pass on a response with a single message, changed by a script."""
        data, fields = await changed.message("server", body)
        if fields is not None:
            exchange.changed(fields)
        if data is None:
            await anyio.sleep_forever()  # until the client disconnects
        else:
            await self._send_head(exchange, response, length=len(data))
            await pass_on(data)

    def _rewriter(self, event: h11.Request, response: httpx2.Response) -> EndpointRewriter | None:
        """A rewriter for a legacy SSE stream; None for any other response."""
        names = {name for name, _ in event.headers}
        is_stream = response.headers.get("content-type", "").lower().startswith(EVENTS)
        is_plain = response.headers.get("content-encoding", "identity") == "identity"
        is_legacy_sse = event.method == b"GET" and SESSION.encode() not in names
        may_grow = "content-length" not in response.headers
        return (
            EndpointRewriter(self._addresses)
            if is_stream and is_plain and is_legacy_sse and may_grow
            else None
        )

    def _to_server(self, headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
        sent: RawHeaders = []
        for name, value in _with_one_length(headers):
            match name.lower():
                case b"host":
                    sent.append((name, self._addresses.authority))
                case b"accept-encoding":
                    sent.append((name, b"identity"))
                case b"expect" | b"upgrade" | b"http2-settings" | b"proxy-connection":
                    pass
                case b"connection" if b"upgrade" in value.lower():
                    pass
                case _:
                    sent.append((name, value))
        if not any(name.lower() == b"accept-encoding" for name, _ in sent):
            sent.append((b"Accept-Encoding", b"identity"))
        return sent

    def _to_client(self, headers: RawHeaders) -> RawHeaders:
        rewriter = self._sign_ins
        passed: RawHeaders = []
        for name, value in _with_one_length(headers):
            match name.lower():
                case b"location":
                    text = self._addresses.rewritten(_text(value))
                case b"www-authenticate" if rewriter is not None:
                    text = rewriter.challenge(_text(value), self._asked)
                case _:
                    passed.append((name, value))
                    continue
            passed.append((name, text.encode("latin-1", "replace")))
        return passed

    async def _answer(self, status: int, text: str) -> None:
        body = f"mcp-progress-monitor tap: {text}\n".encode(errors="replace")
        headers = [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        with contextlib.suppress(_ClientGoneError):
            reason = _REASONS.get(status, "Bad Request")
            await self._send(h11.Response(status_code=status, headers=headers, reason=reason))
            await self._send(h11.Data(data=body))
            await self._send(h11.EndOfMessage())

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if isinstance(self._upstream, DirectTransport):
                await self._upstream.flush()
            try:
                data = await self._stream.receive(CHUNK)
            except anyio.EndOfStream:
                data = b""
            except GONE as error:
                raise _ClientGoneError from error
            self._http.receive_data(data)

    async def _send_data(self, data: bytes) -> None:
        """Send part of the body, together with more of it if that is available."""
        if data:
            self._hold(h11.Data(data=data))
        may_hold = isinstance(self._upstream, DirectTransport) and self._recorder.changes is None
        if len(self._held) > CHUNK or not may_hold:
            await self._flush()

    async def _send(self, event: h11.Event) -> None:
        self._hold(event)
        await self._flush()

    def _hold(self, event: h11.Event) -> None:
        self._held += self._http.send(event) or b""

    async def _flush(self) -> None:
        """Send what was held back to be sent with more."""
        if not self._held:
            return
        held, self._held = self._held, b""
        try:
            await self._stream.send(held)
        except GONE as error:
            raise _ClientGoneError from error


_REASONS: Final = {403: "Forbidden", 413: "Content Too Large", 502: "Bad Gateway"}


async def _body_of(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The undecoded body in pieces; closing the generator early is allowed."""
    if "network_stream" in response.extensions:  # with a proxy in between
        make_breakable(response)
    stream = response.stream
    pieces = aiter(stream) if isinstance(stream, httpx2.AsyncByteStream) else None
    if not isinstance(pieces, AsyncGenerator):
        return
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            yield piece


def _has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name in {b"content-length", b"transfer-encoding"} for name, _ in headers)


def _with_one_length(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """The headers without a length beside a transfer coding, which overrides it.

    Otherwise two programs could disagree where a message ends (RFC 9112, section 6.3).
    """
    every = list(headers)
    if not any(name.lower() == b"transfer-encoding" for name, _ in every):
        return every
    return [each for each in every if each[0].lower() != b"content-length"]


def _length(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The length of a request's body; None if it is not declared."""
    values = [value for name, value in headers if name == b"content-length"]
    return int(values[0]) if values and values[0].isdigit() else None


def _with_length(headers: RawHeaders, length: int) -> RawHeaders:
    others = [
        each for each in headers if each[0].lower() not in {b"content-length", b"transfer-encoding"}
    ]
    return [*others, (b"Content-Length", str(length).encode())]


async def _whole(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _kind(response: httpx2.Response) -> str:
    """The media type of a response; empty if it is compressed or has none."""
    if response.headers.get("content-encoding", "identity") != "identity":
        return ""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _text(value: bytes) -> str:
    return value.decode("latin-1")

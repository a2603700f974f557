"""The connection from a tap to its server: what is at hand goes in one piece."""

from __future__ import annotations

import contextlib
import select
import ssl
from typing import TYPE_CHECKING, Final

import anyio
import h11
import httpx2
from anyio.abc import SocketAttribute

from mcp_progress_monitor.sessions.transport.http.client import NoRouteError, trusted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from socket import socket

    from anyio.abc import ByteStream

CHUNK: Final = 64 * 1024
LARGEST_HEAD: Final = 256 * 1024
GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)
BEFORE_WAIT: Final = "before_wait"
"""The request extension with a function to call before waiting for the server."""
_USUAL_PORTS: Final = {"http": 80, "https": 443}


class DirectTransport(httpx2.AsyncBaseTransport):
    """Sends one request at a time, on one connection as long as that lasts."""

    def __init__(self) -> None:
        self._stream: ByteStream | None = None
        self._socket: socket
        self._http = _connection()
        self._held = b""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the response's body is read as it arrives.

        Available parts of the request are sent together: see `flush`. `NoRouteError` if there are
        no trusted certificates.
        """
        await self._connect(request.url)
        before_wait: Callable[[], Awaitable[None]] = request.extensions[BEFORE_WAIT]
        try:
            await self._send(request)
            event = await self._event(before_wait)
            while isinstance(event, h11.InformationalResponse) and event.status_code != 101:
                event = await self._event(before_wait)
        except BaseException:
            await self.aclose()
            raise
        if not isinstance(event, h11.Response | h11.InformationalResponse):
            raise httpx2.RemoteProtocolError(f"{type(event).__name__} in place of a response")
        return httpx2.Response(
            event.status_code,
            headers=list(event.headers.raw_items()),
            stream=_Body(self, before_wait),
            extensions={
                "http_version": b"HTTP/" + event.http_version,
                "reason_phrase": event.reason,
            },
        )

    async def flush(self) -> None:
        """Send what was held back; call it before waiting for more of the request."""
        if self._held and self._stream is not None:
            held, self._held = self._held, b""
            with contextlib.suppress(*GONE):  # it may have responded before closing
                await self._stream.send(held)

    async def send_eof(self) -> bool:
        """Close this side of the connection; returns whether that is possible, unlike with TLS."""
        if not isinstance(self._stream, anyio.abc.SocketStream):
            return False
        with contextlib.suppress(*GONE, OSError):
            await self._stream.send_eof()
        return True

    async def body(self, before_wait: Callable[[], Awaitable[None]]) -> AsyncGenerator[bytes, None]:
        is_whole = False
        try:
            while isinstance(event := await self._event(before_wait), h11.Data):
                yield bytes(event.data)
            is_whole = True
        finally:
            if not is_whole:
                await self.aclose()

    async def end_exchange(self) -> None:
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            await self.aclose()

    async def aclose(self) -> None:
        stream, self._stream = self._stream, None
        self._held = b""
        if stream is not None:
            with anyio.CancelScope(shield=True):
                await anyio.aclose_forcefully(stream)

    async def _connect(self, url: httpx2.URL) -> None:
        if self._stream is not None and not _is_readable(self._socket):
            return
        await self.aclose()  # anything readable between two requests is the end
        self._http = _connection()
        tls = _trusted() if url.scheme == "https" else None
        host, port = url.raw_host.decode("ascii").strip("[]"), url.port or _USUAL_PORTS[url.scheme]
        try:
            if tls is None:
                self._stream = await anyio.connect_tcp(host, port)
            else:
                self._stream = await anyio.connect_tcp(
                    host, port, ssl_context=tls, tls_hostname=host, tls_standard_compatible=False
                )
        except (OSError, ssl.SSLError, anyio.EndOfStream, *GONE) as error:
            raise httpx2.ConnectError(str(error)) from error
        self._socket = self._stream.extra(SocketAttribute.raw_socket)  # noqa: S610  # of anyio

    async def _send(self, request: httpx2.Request) -> None:
        try:
            head = h11.Request(
                method=request.method,
                headers=request.headers.raw,
                target=request.extensions["target"],
            )
            self._hold(self._http.send(head))
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error
        if isinstance(request.stream, httpx2.AsyncByteStream):
            async for piece in request.stream:
                self._hold(self._http.send(h11.Data(data=piece)))
                if len(self._held) > CHUNK:
                    await self.flush()
        self._hold(self._http.send(h11.EndOfMessage()))
        await self.flush()

    def _hold(self, data: bytes | None) -> None:
        self._held += data or b""

    async def _event(
        self, before_wait: Callable[[], Awaitable[None]]
    ) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        http = self._http
        while True:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx2.RemoteProtocolError(str(error)) from error
            if event is not h11.NEED_DATA:
                return event
            await before_wait()
            data = await self._receive()
            if not data and http.their_state is h11.SEND_RESPONSE:
                text = "Server disconnected without sending a response."
                raise httpx2.RemoteProtocolError(text)
            http.receive_data(data)

    async def _receive(self) -> bytes:
        if self._stream is None:
            raise httpx2.ReadError("")
        try:
            return await self._stream.receive(CHUNK)
        except anyio.EndOfStream:
            return b""
        except GONE as error:
            raise httpx2.ReadError(str(error)) from error


class _Body(httpx2.AsyncByteStream):
    """A response's body, and the end of its exchange."""

    def __init__(
        self, transport: DirectTransport, before_wait: Callable[[], Awaitable[None]]
    ) -> None:
        self._transport = transport
        self._before_wait = before_wait

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        return self._transport.body(self._before_wait)

    async def aclose(self) -> None:
        await self._transport.end_exchange()


def _trusted() -> ssl.SSLContext:
    try:
        tls = trusted()
    except OSError as error:
        raise NoRouteError(error) from error
    tls.set_alpn_protocols(["http/1.1"])
    return tls


def _connection() -> h11.Connection:
    return h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)


def _is_readable(idle: socket) -> bool:
    """Return whether an idle connection is readable, which usually means that it has ended."""
    number = idle.fileno()
    if number < 0:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))

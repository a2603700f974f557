"""The HTTP client of one connection: recorded requests; redirects within one origin."""

from __future__ import annotations

import contextlib
import http.cookiejar
import io
import os
import ssl
import weakref
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import httpx2
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.secrets import shown_url
from mcp_progress_monitor.sessions.transport.base import Loss
from mcp_progress_monitor.sessions.transport.http import errors, oauth_callback
from mcp_progress_monitor.sessions.transport.http.errors import (
    BrokenError,
    HttpRefusedError,
    UnreachableError,
    no_client,
    translated,
)
from mcp_progress_monitor.sessions.transport.http.proxies import Routes, is_choice_needed

if TYPE_CHECKING:
    import urllib.request
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    import httpcore2

    from mcp_progress_monitor.sessions.transport.http.errors import HttpAnswer
    from mcp_progress_monitor.sessions.transport.http.record import (
        ExchangeRecorder,
        RecordedExchange,
        Redactor,
    )

_BODY_CLOSING_S: Final = 2.0


class BodyReader(httpx2.AsyncByteStream):
    """Closes everything within it when it is closed, in the same task."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, network: httpcore2.AsyncNetworkStream | None
    ) -> None:
        """The body `stream`, which arrives over `network`; None if that is unknown."""
        self._stream = stream
        self._network = network

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        is_whole = False
        try:
            async for chunk in chunks:
                yield chunk
            is_whole = True
        finally:
            if not is_whole:
                await self._break_off(chunks)

    async def _break_off(self, chunks: AsyncIterator[bytes]) -> None:
        """Let the client read on over a closed connection, which ends all its iterators.

        They cannot be reached to be closed, and a connection left within a body is useless.
        """
        with anyio.move_on_after(_BODY_CLOSING_S, shield=True):
            if self._network is not None:
                await self._network.aclose()
            with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
                async for _ in chunks:
                    pass

    async def aclose(self) -> None:
        await self._stream.aclose()


def make_breakable(response: httpx2.Response) -> None:
    """Allow the body of an unread response to be left in the middle."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = BodyReader(response.stream, response.extensions.get("network_stream"))


_Key = tuple[tuple[str, int], ...]
_held: Final[weakref.WeakValueDictionary[_Key, ssl.SSLContext]] = weakref.WeakValueDictionary()


def trusted() -> ssl.SSLContext:
    """The certificates of the system, or of SSL_CERT_FILE and SSL_CERT_DIR.

    Read again for a new connection once one of the files has changed. `OSError` if unreadable.
    """
    key = _key()
    found = _held.get(key)
    if found is None:
        found = _held[key] = httpx2.create_ssl_context()
    return found


def _key() -> _Key:
    paths = ssl.get_default_verify_paths()
    given = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return tuple(
        (path or "", _changed_ns(path))
        for path in (*given, paths.openssl_cafile, paths.openssl_capath)
    )


def _changed_ns(path: str | None) -> int:
    try:
        return os.stat(path).st_mtime_ns if path else 0  # noqa: PTH116  # four for a connection
    except OSError:
        return 0


_LARGEST: Final = 1024 * 1024
_LARGEST_PACKED: Final = 64 * 1024
"""Bytes of a body that is compressed although not requested: it may grow thousandfold."""
_LIMIT_S: Final = 30.0


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends if it is too large or takes too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, largest: int) -> None:
        self.is_cut = False
        self._stream = stream
        self._room = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        deadline = anyio.current_time() + _LIMIT_S
        chunks = self._stream.__aiter__()
        try:
            while self._room >= 0:
                chunk = None
                # Around each chunk, not around the loop: a scope must not be open during a yield.
                with anyio.CancelScope(deadline=deadline) as scope:
                    chunk = await anext(chunks, b"")
                if scope.cancelled_caught or chunk is None:
                    break
                if not chunk:
                    return
                self._room -= len(chunk)
                yield chunk
            self.is_cut = True
        finally:
            if isinstance(chunks, AsyncGenerator):  # else it is left to the garbage collector
                await chunks.aclose()

    async def aclose(self) -> None:
        await self._stream.aclose()


async def read_answer(response: httpx2.Response) -> httpx2.Response:
    """Read an authorization server's whole response. `UserError` if it is too long or slow."""
    if await _is_cut(response, _LARGEST):
        raise oauth_callback.too_large(formatting.size(_LARGEST), str(response.request.url))
    return response


async def read_refusal(response: httpx2.Response) -> None:
    await _is_cut(response, _LARGEST_PACKED)


async def _is_cut(response: httpx2.Response, largest: int) -> bool:
    is_packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    if response.is_closed or not isinstance(response.stream, httpx2.AsyncByteStream):
        return False
    body = _Bounded(response.stream, _LARGEST_PACKED if is_packed else largest)
    response.stream = body
    await response.aread()
    return body.is_cut


_MOST_REDIRECTIONS: Final = 5
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
_KEPT_METHOD: Final = frozenset({301, 302, 307, 308})
_REDIRECTIONS: Final = _KEPT_METHOD | {303}
_BODILESS: Final = frozenset({204, 304})
_CLOSING_S: Final = 2.0
PROBE: Final = "probe"
"""The purpose of a request that only probes the server; no sign-in is started for it."""
_REQUEST: Final = "app.request"
_EXCHANGE: Final = "app.exchange"


class HttpRequest(NamedTuple):
    """A request to send. `purpose` and `message` are for the recording."""

    method: str
    url: str
    headers: Mapping[str, str]
    purpose: str
    content: bytes = b""
    message: int | None = None


class HttpReply:
    """A response whose head has arrived."""

    def __init__(
        self,
        response: httpx2.Response,
        exchange: RecordedExchange,
        limit_s: float,
        on_bytes: Callable[[], None],
    ) -> None:
        """The response of `exchange`; `on_bytes` is called whenever some of its body arrived."""
        self.exchange = exchange
        self.reason = "closed by this client"
        self.answer = errors.HttpAnswer(
            response.status_code, response.reason_phrase, response.headers, now=exchange.when
        )
        self._response = response
        self._limit_s = limit_s
        self._on_bytes = on_bytes

    @property
    def size(self) -> int:
        return self._response.num_bytes_downloaded

    async def pour(
        self, take: Callable[[bytes], bool], room: Callable[[], Awaitable[None]]
    ) -> None:
        """Pass the body to `take` as it arrives; if that returns True, wait for `room`.

        Raises:
            BrokenError: the body is incomplete.
        """
        is_packed = "content-encoding" in self._response.headers
        try:
            async with contextlib.aclosing(self._body()) as chunks:
                async for chunk in chunks:
                    self._on_bytes()
                    if take(chunk):
                        await room()
                    elif is_packed:
                        # A few bytes unpack to pieces of 1 MiB each, which arrive without a wait.
                        await checkpoint()
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            broken = translated(error, shown_url(str(self._response.url)), self._limit_s)
            self.reason = f"broken: {broken}"
            raise BrokenError(str(broken)) from error
        self.reason = "complete"

    async def read(self, most: int, limit_s: float | None = None) -> tuple[bytes, bool]:
        """The body up to `most` bytes, or what arrives in `limit_s`; whether it is complete.

        `BrokenError` as in `pour`.
        """
        # Joined as it arrives: one step at the end would take long for a body of many megabytes,
        # and twice the memory.
        held = io.BytesIO()

        def take(chunk: bytes) -> bool:
            held.write(chunk)
            return held.tell() > most

        try:
            with anyio.move_on_after(limit_s) as scope:
                await self.pour(take, _stop)
        except _StoppedError:
            self.reason = f"too large: more than {most} bytes"
        if scope.cancelled_caught:
            self.reason = f"too slow: not complete within {limit_s:g} s"
        size = held.tell()
        held.truncate(most)
        # Exactly the received bytes, not a copy.
        return held.getvalue(), size <= most and not scope.cancelled_caught

    async def close(self) -> None:
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await self._response.aclose()

    def _body(self) -> AsyncGenerator[bytes, None]:
        # Uncompressed bodies need not pass the decoder.
        response = self._response
        is_plain = "content-encoding" not in response.headers
        return response.aiter_raw() if is_plain else response.aiter_bytes()


class _AsciiCookies(http.cookiejar.DefaultCookiePolicy):
    """Ignores cookies beyond ASCII (RFC 6265, 4.1.1), which could not be sent back."""

    def set_ok(self, cookie: http.cookiejar.Cookie, request: urllib.request.Request) -> bool:
        text = f"{cookie.name}{cookie.value}{cookie.path}{cookie.domain}"
        return text.isascii() and super().set_ok(cookie, request)


class HttpClient:
    """Sends requests for one connection. `open` it once, `close` it at the end."""

    def __init__(self, record: ExchangeRecorder, limit_s: float) -> None:
        """Connecting may take `limit_s`; later steps are not limited here."""
        self._record = record
        self._limit_s = limit_s
        self._client: httpx2.AsyncClient | None = None

    def open(self, headers: Mapping[str, str], auth: httpx2.Auth | None, where: str) -> None:
        """Create the client, which sends `headers` with each request.

        `UserError` if that fails. Proxies and certificates are those of the system and the
        environment.
        """
        client = new_client(httpx2.Timeout(None, connect=self._limit_s), where, headers, auth)
        client.event_hooks = {"request": [self._on_request], "response": [self._on_response]}
        self._client = client

    async def close(self) -> None:
        if self._client is not None:
            with anyio.move_on_after(_CLOSING_S, shield=True):
                await self._client.aclose()

    @contextlib.asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncIterator[HttpReply]:
        """Send a request and yield its response, which is closed afterwards.

        Redirects within the origin are followed.

        Raises:
            UnreachableError: nothing of it was sent.
            BrokenError: it was sent, and no response came.
            RefusedError: its answer leads elsewhere, or signing in failed.
        """
        reply = await self._reply(request)
        try:
            yield reply
        finally:
            await reply.close()
            self._record.ended(reply.exchange, reply.size, reply.reason)

    async def _reply(self, request: HttpRequest) -> HttpReply:
        for _ in range(_MOST_REDIRECTIONS):
            reply = await self._answered(request)
            if reply.answer.status not in _REDIRECTIONS:
                return reply
            await reply.close()
            self._record.ended(reply.exchange, reply.size, reply.reason)
            request = _redirected(request, reply.answer, self._record.redactor)
        raise HttpRefusedError(errors.redirected_for_ever(reply.answer, self._shown(request.url)))

    async def _answered(self, request: HttpRequest) -> HttpReply:
        if self._client is None:
            raise anyio.ClosedResourceError
        made = None
        try:
            made = self._client.build_request(
                request.method,
                request.url,
                headers=_encoded(request.headers),
                content=request.content or None,
                extensions={
                    "timeout": self._client.timeout.as_dict(),
                    "trace": _Retirement(),
                    _REQUEST: request,
                },
            )
            auth = None if request.purpose == PROBE else httpx2.USE_CLIENT_DEFAULT
            response = await self._client.send(made, stream=True, auth=auth)
        except UserError as error:  # from signing in
            self._end(made, f"not sent: {error.details.what}")
            raise HttpRefusedError(Loss("failed", error.details)) from error
        except NoRouteError as error:
            details = no_client(error.cause, self._shown(request.url))
            self._end(made, f"not sent: {details.what}")
            raise UnreachableError(details) from error
        except NO_RESPONSE as error:
            failure = translated(error, self._shown(request.url), self._limit_s)
            self._end(made, f"broken: {failure}")
            raise failure from error
        except BaseException:
            self._end(made, "closed by this client")
            raise
        return HttpReply(response, made.extensions[_EXCHANGE], self._limit_s, self._record.heard)

    def _shown(self, url: str) -> str:
        return self._record.redactor.url(url)

    def _end(self, made: httpx2.Request | None, reason: str) -> None:
        exchange = None if made is None else made.extensions.get(_EXCHANGE)
        if exchange is not None:
            self._record.ended(exchange, 0, reason)

    async def _on_request(self, made: httpx2.Request) -> None:
        """Record a request: ours, and those of the sign-in."""
        request: HttpRequest | None = made.extensions.get(_REQUEST)
        if _EXCHANGE in made.extensions:  # sent again, now signed
            self._record.ended(made.extensions[_EXCHANGE], 0, "complete")
        made.extensions[_EXCHANGE] = self._record.sent(
            made.method,
            str(made.url),
            _headers(made.headers),
            "auth" if request is None else request.purpose,
            None if request is None else request.message,
        )

    async def _on_response(self, response: httpx2.Response) -> None:
        make_breakable(response)
        exchange = response.request.extensions[_EXCHANGE]
        retirement = response.request.extensions.get("trace")
        if isinstance(retirement, _Retirement) and _is_open_ended(response):
            retirement.stream = response.extensions.get("network_stream")
        self._record.answered(
            exchange,
            response.status_code,
            response.reason_phrase,
            response.http_version,
            _headers(response.headers),
        )
        if _REQUEST not in response.request.extensions:
            # An authorization server's response: bounded, since it may be anyone's.
            await read_answer(response)
            self._record.ended(exchange, response.num_bytes_downloaded, "complete")


def new_client(
    timeout: httpx2.Timeout,
    where: str,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """A client for requests to `where`, which follows no redirects; `UserError` if that fails."""
    try:
        return httpx2.AsyncClient(
            headers=_encoded(headers or {}),
            cookies=http.cookiejar.CookieJar(_AsciiCookies()),
            auth=auth,
            verify=trusted(),
            timeout=timeout,
            limits=_LIMITS,
            transport=Routes(route_through) if is_choice_needed() else None,
        )
    except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:
        raise UserError(no_client(error, where)) from error


def is_token_refused(response: httpx2.Response) -> bool:
    """Return whether a token is missing or refused, or lacks rights (RFC 6750, 3.1)."""
    challenge = response.headers.get("WWW-Authenticate", "")
    is_too_weak = response.status_code == 403 and "insufficient_scope" in challenge
    return response.status_code == 401 or is_too_weak


class _Retirement:
    """Closes a connection whose end is that of a body, before the client reuses it.

    The client would keep it until the system reports its end. With TLS that is after the next
    request was sent on it, in vain.
    """

    def __init__(self) -> None:
        self.stream: httpcore2.AsyncNetworkStream | None = None

    async def __call__(self, event: str, _info: object) -> None:
        if self.stream is not None and event.endswith("response_closed.started"):
            await self.stream.aclose()


def _is_open_ended(response: httpx2.Response) -> bool:
    headers = response.headers
    has_end = "content-length" in headers or "transfer-encoding" in headers
    return not has_end and response.status_code not in _BODILESS


def route_through(proxy: str | None, limits: httpx2.Limits = _LIMITS) -> httpx2.AsyncHTTPTransport:
    """The connection pool for a proxy, or for none; `NoRouteError` if the proxy is unsupported."""
    try:
        return httpx2.AsyncHTTPTransport(
            verify=trusted(), limits=limits, proxy=proxy, trust_env=False
        )
    except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:
        raise NoRouteError(error) from error


NO_RESPONSE: Final = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)


class NoRouteError(Exception):
    """Requests would need a proxy that cannot be used, because of `cause`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _StoppedError(Exception):
    """Enough of a body was read."""


async def _stop() -> None:
    raise _StoppedError


def _headers(headers: httpx2.Headers) -> list[tuple[str, str]]:
    encoding = headers.encoding
    return [
        (name.decode(encoding, "replace"), value.decode(encoding, "replace"))
        for name, value in headers.raw
    ]


def _encoded(headers: Mapping[str, str]) -> httpx2.Headers:
    """Headers whose values may be any text: server-assigned ids need not be ASCII."""
    return httpx2.Headers(dict(headers), encoding="utf-8")


def _redirected(request: HttpRequest, answer: HttpAnswer, redactor: Redactor) -> HttpRequest:
    """The redirected request; `RefusedError` if it must not be followed."""
    here = httpx2.URL(request.url)
    refused = errors.redirected(answer, redactor.url(request.url), redactor)
    try:
        there = here.join(answer.headers["location"])
    except (KeyError, httpx2.InvalidURL) as error:
        raise HttpRefusedError(refused) from error
    keeps_method = answer.status in _KEPT_METHOD or request.method == "GET"
    if not keeps_method or not is_same_origin(here, there):
        raise HttpRefusedError(refused)
    return request._replace(url=str(there.copy_with(userinfo=here.userinfo)))


def is_same_origin(here: httpx2.URL, there: httpx2.URL) -> bool:
    """True if credentials for `here` may be sent to `there`: the same origin, or that with TLS."""
    if there.userinfo:
        return False
    if (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port):
        return True
    is_upgrade = (here.scheme, there.scheme) == ("http", "https")
    return is_upgrade and here.host == there.host and here.port is None and there.port is None

"""The HTTP client of one connection: requests, each on record; redirections within one origin."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import httpx2
from anyio.lowlevel import checkpoint

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.protocol.secret_names import shown_url
from mcp_progress_monitor.sessions.http import certificates, refusals
from mcp_progress_monitor.sessions.http.breaking_off import make_breakable
from mcp_progress_monitor.sessions.http.failures import (
    BrokenError,
    RefusedError,
    UnreachableError,
    no_client,
    translated,
)
from mcp_progress_monitor.sessions.http.proxies import Routes, is_choice_needed
from mcp_progress_monitor.sessions.http.sign_in_body import read_answer
from mcp_progress_monitor.sessions.transport import Loss

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping

    import httpcore2

    from mcp_progress_monitor.sessions.http.record import Exchange, Record
    from mcp_progress_monitor.sessions.http.refusals import Answer
    from mcp_progress_monitor.sessions.http.secrecy import Secrecy

_MOST_REDIRECTIONS: Final = 5
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
_KEPT_METHOD: Final = frozenset({301, 302, 307, 308})
_REDIRECTIONS: Final = _KEPT_METHOD | {303}
_BODILESS: Final = frozenset({204, 304})
_CLOSING_S: Final = 2.0
PROBE: Final = "probe"
"""The purpose of a request that only looks whether the server is there; nobody signs in for it."""
_REQUEST: Final = "app.request"
_EXCHANGE: Final = "app.exchange"


class Request(NamedTuple):
    """A request to be made. `purpose` and `message` are for the record."""

    method: str
    url: str
    headers: Mapping[str, str]
    purpose: str
    content: bytes = b""
    message: int | None = None


class Reply:
    """A response whose head is there."""

    def __init__(
        self,
        response: httpx2.Response,
        exchange: Exchange,
        limit_s: float,
        on_bytes: Callable[[], None],
    ) -> None:
        """The response of `exchange`; `on_bytes` is called whenever some of its body came."""
        self.exchange = exchange
        self.reason = "closed by us"
        self.answer = refusals.Answer(
            response.status_code, response.reason_phrase, response.headers, now=exchange.when
        )
        self._response = response
        self._limit_s = limit_s
        self._on_bytes = on_bytes

    @property
    def size(self) -> int:
        """Bytes of its body that came."""
        return self._response.num_bytes_downloaded

    async def pour(
        self, take: Callable[[bytes], bool], room: Callable[[], Awaitable[None]]
    ) -> None:
        """Give the body to `take` as it comes; where that says so, `room` is waited for.

        Raises:
            BrokenError: the body did not come to its end.
        """
        is_packed = "content-encoding" in self._response.headers
        try:
            async with contextlib.aclosing(self._body()) as chunks:
                async for chunk in chunks:
                    self._on_bytes()
                    if take(chunk):
                        await room()
                    elif is_packed:
                        # The pieces that a few bytes unpack to, of 1 MiB each, come without a wait.
                        await checkpoint()
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            broken = translated(error, shown_url(str(self._response.url)), self._limit_s)
            self.reason = f"broken: {broken}"
            raise BrokenError(str(broken)) from error
        self.reason = "complete"

    async def read(self, most: int, limit_s: float | None = None) -> tuple[bytes, bool]:
        """The body as far as `most` bytes, or as it comes in `limit_s`; whether that is all of it.

        `BrokenError` as in `pour`.
        """
        # Joined as it comes: one step at the end would take long for a body of many megabytes, and
        # twice its room.
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
            self.reason = f"too slow: not all of it came within {limit_s:g} s"
        size = held.tell()
        held.truncate(most)
        # The very bytes, no copy.
        return held.getvalue(), size <= most and not scope.cancelled_caught

    async def close(self) -> None:
        """Read no more; also when cancelled."""
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await self._response.aclose()

    def _body(self) -> AsyncGenerator[bytes, None]:
        # What is not compressed need not go through the decoder as well.
        response = self._response
        is_plain = "content-encoding" not in response.headers
        return response.aiter_raw() if is_plain else response.aiter_bytes()


class Wire:
    """Makes requests for one connection. `open` it once, `close` it at the end."""

    def __init__(self, record: Record, limit_s: float) -> None:
        """Connecting may take `limit_s`; what comes after that is not limited here."""
        self._record = record
        self._limit_s = limit_s
        self._client: httpx2.AsyncClient | None = None

    def open(self, headers: Mapping[str, str], auth: httpx2.Auth | None, where: str) -> None:
        """Make the client, which sends `headers` with each request. `ProblemError` if it cannot be.

        Proxies and certificates are those of the system and the environment.
        """
        try:
            self._client = httpx2.AsyncClient(
                headers=_encoded(headers),
                auth=auth,
                verify=certificates.trusted(),
                timeout=httpx2.Timeout(None, connect=self._limit_s),
                limits=_LIMITS,
                transport=Routes(_way) if is_choice_needed() else None,
                event_hooks={"request": [self._on_request], "response": [self._on_response]},
            )
        except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:
            raise ProblemError(no_client(error, where)) from error

    async def close(self) -> None:
        """Close what connections are left."""
        if self._client is not None:
            with anyio.move_on_after(_CLOSING_S, shield=True):
                await self._client.aclose()

    @contextlib.asynccontextmanager
    async def exchange(self, request: Request) -> AsyncIterator[Reply]:
        """Make a request and give its response, which is closed afterwards.

        Redirections within the origin are followed.

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

    async def _reply(self, request: Request) -> Reply:
        for _ in range(_MOST_REDIRECTIONS):
            reply = await self._answered(request)
            if reply.answer.status not in _REDIRECTIONS:
                return reply
            await reply.close()
            self._record.ended(reply.exchange, reply.size, reply.reason)
            request = _redirected(request, reply.answer, self._record.secrecy)
        raise RefusedError(refusals.redirected_for_ever(reply.answer, self._shown(request.url)))

    async def _answered(self, request: Request) -> Reply:
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
        except ProblemError as error:  # of signing in
            self._end(made, f"not sent: {error.problem.what}")
            raise RefusedError(Loss("failed", error.problem)) from error
        except _NoWayError as error:
            problem = no_client(error.cause, self._shown(request.url))
            self._end(made, f"not sent: {problem.what}")
            raise UnreachableError(problem) from error
        except _NO_RESPONSE as error:
            failure = translated(error, self._shown(request.url), self._limit_s)
            self._end(made, f"broken: {failure}")
            raise failure from error
        except BaseException:
            self._end(made, "closed by us")
            raise
        return Reply(response, made.extensions[_EXCHANGE], self._limit_s, self._record.heard)

    def _shown(self, url: str) -> str:
        return self._record.secrecy.url(url)

    def _end(self, made: httpx2.Request | None, reason: str) -> None:
        exchange = None if made is None else made.extensions.get(_EXCHANGE)
        if exchange is not None:
            self._record.ended(exchange, 0, reason)

    async def _on_request(self, made: httpx2.Request) -> None:
        """Put a request on record: ours, and what is asked to sign it."""
        request: Request | None = made.extensions.get(_REQUEST)
        if _EXCHANGE in made.extensions:  # sent again, signed now
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
            # An authorization server's answer: bounded, for it may be anyone's.
            await read_answer(response)
            self._record.ended(exchange, response.num_bytes_downloaded, "complete")


class _Retirement:
    """Closes a connection whose end is that of a body, before the client takes it for free.

    It would keep it until the system tells that it is gone. With TLS that is after the next
    request was sent on it, in vain.
    """

    def __init__(self) -> None:
        self.stream: httpcore2.AsyncNetworkStream | None = None

    async def __call__(self, event: str, _info: object) -> None:
        """What the client calls with each step that it takes."""
        if self.stream is not None and event.endswith("response_closed.started"):
            await self.stream.aclose()


def _is_open_ended(response: httpx2.Response) -> bool:
    headers = response.headers
    has_end = "content-length" in headers or "transfer-encoding" in headers
    return not has_end and response.status_code not in _BODILESS


def _way(proxy: str | None) -> httpx2.AsyncHTTPTransport:
    """The way through a proxy, or none; `_NoWayError` where nobody speaks to such a one."""
    try:
        return httpx2.AsyncHTTPTransport(
            verify=certificates.trusted(), limits=_LIMITS, proxy=proxy, trust_env=False
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        raise _NoWayError(error) from error


_NO_RESPONSE: Final = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)


class _NoWayError(Exception):
    """Requests would have to go through a proxy that cannot be used, because of `cause`."""

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
    """Headers whose values may be any text: ids of servers need not be ASCII."""
    return httpx2.Headers(dict(headers), encoding="utf-8")


def _redirected(request: Request, answer: Answer, secrecy: Secrecy) -> Request:
    """The request to make instead; `RefusedError` where we do not go."""
    here = httpx2.URL(request.url)
    refused = refusals.redirected(answer, secrecy.url(request.url), secrecy)
    try:
        there = here.join(answer.headers["location"])
    except (KeyError, httpx2.InvalidURL) as error:
        raise RefusedError(refused) from error
    keeps_method = answer.status in _KEPT_METHOD or request.method == "GET"
    if not keeps_method or not is_same_origin(here, there):
        raise RefusedError(refused)
    return request._replace(url=str(there.copy_with(userinfo=here.userinfo)))


def is_same_origin(here: httpx2.URL, there: httpx2.URL) -> bool:
    """Whether credentials for `here` may be sent to `there`: its origin, or that with TLS."""
    if there.userinfo:
        return False
    if (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port):
        return True
    is_upgrade = (here.scheme, there.scheme) == ("http", "https")
    return is_upgrade and here.host == there.host and here.port is None and there.port is None

"""Why a server could not be reached over HTTP, or what a response without a reply means."""

from __future__ import annotations

import ast
import email.utils
import errno
import http.client
import os
import re
import socket
import ssl
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.request import getproxies

import httpx2

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.secrets import shown_url
from mcp_progress_monitor.sessions.transport.base import Loss
from mcp_progress_monitor.sessions.transport.http.proxies import proxy_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_progress_monitor.sessions.transport.http.record import Redactor

_SERVER: Final = "The server"
_PROXY_HINT: Final = (
    "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the environment, and the "
    "system's proxy settings."
)
_SOCKS_HINT: Final = (
    "Remove it from the environment (ALL_PROXY, HTTP_PROXY, HTTPS_PROXY) or the "
    "system's settings, use an HTTP proxy instead, or add the server's host to "
    "NO_PROXY."
)
_AUTHORITY: Final = (
    "Add its authority to the system's certificates, or set SSL_CERT_FILE to a "
    "file that contains it."
)
_CERTIFICATES_HINT: Final = (
    "Set SSL_CERT_FILE to a PEM file, or unset it to use the system's certificates."
)
_CUT: Final = ("incomplete chunked read", "complete message body", "unexpectedly closed")
_SAID: Final = 200
_SENT: Final = 60
_QUOTED_BYTES: Final = re.compile(r" b['\"].*", re.DOTALL)
"""The value of an invalid header: it may be a secret, such as one with a trailing line feed."""
_LITERAL: Final = r"b(?:'(?:[^\\']|\\.)*'|\"(?:[^\\\"]|\\.)*\")"
_SENT_BYTES: Final = re.compile(rf"\bbytearray\(({_LITERAL})\)|\b({_LITERAL})", re.DOTALL)
"""The server's data in Python's notation, as the client quotes it."""
_TLS_HINTS: Final = (
    (
        "certificate verify failed: self",
        f"The certificate is not signed by a trusted authority. {_AUTHORITY}",
    ),
    ("unable to get local issuer", f"The certificate's authority is unknown. {_AUTHORITY}"),
    ("has expired", "The server needs a new certificate; also check this computer's date."),
    (
        "hostname mismatch",
        "The certificate is for another host: use the host name in the certificate.",
    ),
    (
        "ip address mismatch",
        "The certificate is for another host: use the host name in the certificate.",
    ),
    ("wrong version number", "The server does not use TLS there: try http:// or another port."),
    ("record layer failure", "The server does not use TLS there: try http:// or another port."),
)


class UnreachableError(Exception):
    """No request reached the server: nothing was sent."""

    def __init__(self, details: ErrorDetails) -> None:
        super().__init__(details.what)
        self.details = details


class BrokenError(Exception):
    """A request was sent, and its response did not arrive, or is incomplete."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HttpRefusedError(Exception):
    """A request is not sent, or its response not followed, although the server is reachable."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(loss.details.what)
        self.loss = loss


def translated(error: Exception, where: str, limit_s: float) -> UnreachableError | BrokenError:
    """The meaning of an exception of the HTTP client for a request to `where`."""
    if isinstance(error, httpx2.ConnectTimeout):
        return UnreachableError(_too_slow(where, limit_s))
    if isinstance(error, httpx2.ProxyError):
        what = f"{_named(_proxy_to(where))} rejected the request to the server"
        return UnreachableError(ErrorDetails(what, where, _PROXY_HINT, str(error)))
    if isinstance(error, httpx2.ConnectError):
        return UnreachableError(_not_connected(error, where))
    if isinstance(
        error, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError
    ):
        hint = "Check the URL and the headers in the server's definition."
        said = _QUOTED_BYTES.sub("", str(error))
        return UnreachableError(
            ErrorDetails("The URL or headers are not valid for a request", where, hint, said)
        )
    if isinstance(error, httpx2.DecodingError):
        return BrokenError("its compressed content cannot be decoded")
    return BrokenError(_break(error, _proxy_to(where)))


def no_client(error: Exception, where: str) -> ErrorDetails:
    """Say why no client can be created: the environment names an unusable proxy or certificates."""
    if isinstance(error, ImportError):  # its message about a SOCKS proxy without the library
        through = (proxy_for(where) or "", *getproxies().values())
        socks = next((url for url in through if url.startswith("socks")), None)
        who = _named(socks and shown_url(socks))
        what = f"{who} uses SOCKS, and SOCKS support is not installed"
        return ErrorDetails(what, where, _SOCKS_HINT)
    certificates = os.environ.get("SSL_CERT_FILE")
    if isinstance(error, OSError) and certificates:
        named = formatting.one_line(certificates, _SAID)
        what = f"Cannot read the certificates in {named}, set by SSL_CERT_FILE"
        return ErrorDetails(what, where, _CERTIFICATES_HINT, str(error))
    hint = "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY in the environment, and SSL_CERT_FILE."
    return ErrorDetails("Cannot create an HTTP client", where, hint, str(error))


def _too_slow(where: str, limit_s: float) -> ErrorDetails:
    proxy = _proxy_to(where)
    who = _SERVER if proxy is None else _named(proxy)
    hint = "Check the address and the network; a firewall may be dropping the packets."
    hint = hint if proxy is None else f"{hint} {_PROXY_HINT}"
    return ErrorDetails(f"{who} could not be reached within {limit_s:g} s", where, hint)


def _break(error: Exception, proxy: str | None) -> str:
    said = _SENT_BYTES.sub(_visible_bytes, str(error))
    said = formatting.one_line(said, _SAID)
    if "without sending a response" in said:
        who = "the server" if proxy is None else f"the server, or the proxy {proxy} in front of it,"
        return f"{who} closed the connection without a response"
    if any(text in said for text in _CUT):
        return "the connection ended in the middle of the response"
    if isinstance(error, httpx2.ReadError) and not said:
        return "the connection was lost"
    if isinstance(error, httpx2.RemoteProtocolError):
        sent = "the data from the server" if proxy is None else f"the data from the proxy {proxy}"
        return f"{sent} is not valid HTTP ({said})"
    return said or type(error).__name__


def _visible_bytes(quoted: re.Match[str]) -> str:
    """Received bytes as visible text of bounded length."""
    sent: bytes = ast.literal_eval(quoted[1] or quoted[2])
    return f"“{formatting.one_line(sent.decode(errors='replace'), _SENT)}”"


def _not_connected(error: httpx2.ConnectError, where: str) -> ErrorDetails:
    """The reason that connecting failed: that of the proxy, if any, except for TLS."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return _tls(cause, where)
    proxy = _proxy_to(where)
    details = _not_joined(causes, str(error), where, _named(proxy) if proxy else _SERVER)
    return details._replace(hint=_PROXY_HINT) if proxy else details


def _not_joined(causes: Sequence[BaseException], detail: str, where: str, who: str) -> ErrorDetails:
    said = detail.lower()
    numbers = {cause.errno for cause in causes if isinstance(cause, OSError)}
    is_unnamed = any(isinstance(cause, socket.gaierror) for cause in causes)
    if is_unnamed or "name or service" in said or "getaddrinfo" in said:
        whose = f"{_SERVER}'s" if who == _SERVER else f"{who}: its"
        what = f"{whose} name could not be resolved"
        return ErrorDetails(what, where, "Check the spelling and the network.", detail)
    if errno.ECONNREFUSED in numbers or "refused" in said:
        what = f"{who} refused the connection: nothing is listening there"
        return ErrorDetails(what, where, "Check that it is running, and check its port.")
    if numbers & {errno.ECONNRESET, errno.ECONNABORTED}:
        what = f"{who} closed the connection immediately"
        return ErrorDetails(what, where, "Check that it is running and serves HTTP there.")
    if numbers & {errno.ENETUNREACH, errno.EHOSTUNREACH}:
        what = f"No route to {_inner(who)}"
        return ErrorDetails(
            what, where, "Check the network, and whether a VPN is required.", detail
        )
    hint = "Check the address, and that the server is running."
    return ErrorDetails(f"{who} could not be reached", where, hint, detail)


def _named(proxy: str | None) -> str:
    return "The proxy" if proxy is None else f"The proxy {proxy}"


def _inner(who: str) -> str:
    return who.replace("The", "the", 1)


def _proxy_to(where: str) -> str | None:
    proxy = proxy_for(where)
    return None if proxy is None else formatting.one_line(shown_url(proxy), _SAID)


def _tls(error: ssl.SSLError, where: str) -> ErrorDetails:
    said = str(error).lower()
    hint = next(
        (hint for text, hint in _TLS_HINTS if text in said),
        "Check that the address starts with https:// and that its certificate is valid.",
    )
    if (proxy := _proxy_to(where)) is not None:
        hint += f" Or the proxy {proxy} is the cause. {_PROXY_HINT}"
    return ErrorDetails(
        "Cannot establish a secure connection to the server", where, hint, str(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        cause = todo.pop(0)
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        todo += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            todo += cause.exceptions


_QUOTED: Final = 300
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_REASON: Final = 80
_LONGEST_DATE: Final = 40
_HINTS: Final = {
    400: "The server's message, if any, says what it rejected.",
    401: "The server requires authentication: set a header such as Authorization "
    "(--header), or sign in with OAuth (--oauth); in the window, edit the server.",
    403: "The credentials do not grant access: check the header, token or account.",
    404: "Check the path of the URL: MCP servers are often at /mcp. Legacy servers "
    "are at /sse and need the transport sse (--transport sse).",
    405: "Check the path of the URL. A server that accepts only GET there may be from "
    "2024-11-05, which needs the transport sse (--transport sse).",
    406: "The server can return neither JSON nor an event stream there: check that it "
    "is an MCP server.",
    407: "The proxy requires authentication: add the user name and password to "
    "HTTP_PROXY or HTTPS_PROXY.",
    408: "The request was too slow for the server or its proxy: try again.",
    410: "The URL is permanently gone: ask the server's operator for the new one.",
    413: "Payload too large for the server or its proxy. Send a smaller request.",
    414: "The URL is too long for the server or its proxy: check its parameters.",
    415: "The server does not accept JSON there: check that it is an MCP server.",
    429: "Too many requests: wait a while, then try again.",
    431: "The headers are too long for the server or its proxy: check those in the "
    "server's definition.",
    502: "The server's proxy could not reach it: check that the server is running.",
    503: "The server is not ready or overloaded: wait a while, then try again.",
    504: "The server did not respond to its proxy in time. For long calls, the server "
    "should return an event stream, which starts immediately, or the proxy needs "
    "a longer timeout.",
}
_MAY_BE_OLDER: Final = frozenset({400, 404, 405, 406, 415, 422, 500, 501})
"""Responses of servers of the handshake era to a first message that is not `initialize`."""


class HttpAnswer(NamedTuple):
    """A response, with the beginning of its body unless that is a message.

    `now` is when it arrived, in seconds since the epoch; `unreadable` says why its body, declared
    as JSON, cannot be read.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes = b""
    now: float = 0.0
    unreadable: str = ""

    @property
    def kind(self) -> str:
        """The media type, in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def odd_charset(self) -> str:
        """The declared encoding of its text, if it is not UTF-8."""
        found = _CHARSET.search(self.headers.get("content-type", ""))
        charset = "" if found is None else found[1].lower()
        return "" if charset in {"utf-8", "utf8", "us-ascii"} else charset

    @property
    def line(self) -> str:
        """The status, with its registered name if that is what the server calls it."""
        return f"{self.status} {self.reason}" if self._is_named else str(self.status)

    @property
    def evidence(self) -> str:
        """The server's own name for the status, and the beginning of the body."""
        name = "" if self._is_named else formatting.one_line(self.reason, _REASON)
        lines = (
            name and f"Status: {self.status} {name}",
            self.said and f"Response body: {self.said}",
        )
        return "\n".join(filter(None, lines))

    @property
    def _is_named(self) -> bool:
        return self.reason == http.client.responses.get(self.status)

    @property
    def retry_after_s(self) -> float | None:
        """How long to wait before the next try, if the server says so: a number or a date."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdigit():
            return float(value) if len(value) < 10 else None
        then = _seconds_of(value)
        if then is None:
            return None
        # By the server's own clock, if it sends the time.
        now = _seconds_of(self.headers.get("date", ""))
        return max(then - (self.now if now is None else now), 0.0)

    @property
    def said(self) -> str:
        return formatting.one_line(self.body[: 4 * _QUOTED].decode(errors="replace"), _QUOTED)


def refused(answer: HttpAnswer, where: str) -> Loss:
    what = f"The server answered {answer.line}"
    asked = answer.headers.get("www-authenticate") if answer.status == 401 else None
    detail = f"It requires: {formatting.one_line(asked, 120)}" if asked else ""
    hint = _HINTS.get(answer.status, _usual_hint(answer.status))
    pause_s = answer.retry_after_s
    if pause_s:
        what += f", and asks to retry after {formatting.duration(pause_s)}"
    error = ErrorDetails(what, where, hint, _evidence(detail, answer))
    return Loss("failed", error, answer.status in _MAY_BE_OLDER)


def with_hint(loss: Loss, hint: str) -> Loss:
    return loss._replace(details=loss.details._replace(hint=hint))


def no_message(answer: HttpAnswer, where: str) -> Loss:
    """A response without an error status, and without a message."""
    if not answer.body:
        return _nothing(answer, where)
    if answer.unreadable:
        return _unreadable(answer, where)
    kind = formatting.one_line(answer.kind, _REASON) or "none"
    what = f"The server answered {answer.line}, not an MCP message"
    hint = "Check the URL: it seems to be a web page or another service, not an MCP server."
    detail = _evidence(f"Content type: {kind}", answer)
    return Loss("failed", ErrorDetails(what, where, hint, detail), may_be_older=True)


def _unreadable(answer: HttpAnswer, where: str) -> Loss:
    reason = formatting.one_line(answer.unreadable, _QUOTED)
    what = f"The server answered {answer.line} with invalid JSON"
    hint = (
        "The response was cut off on the way, or the server has a bug: check its "
        "log. Traffic shows what was received."
    )
    detail = _evidence(reason, answer)
    return Loss("failed", ErrorDetails(what, where, hint, detail), may_be_older=True)


def _nothing(answer: HttpAnswer, where: str) -> Loss:
    what = f"The server answered {answer.line} with an empty body instead of a reply"
    hint = "If the URL is correct, the server has a bug: check its log."
    return Loss("failed", ErrorDetails(what, where, hint, answer.evidence), may_be_older=True)


def no_reply(answer: HttpAnswer, where: str) -> Loss:
    """Messages arrived, but no reply among them."""
    what = f"The server answered {answer.line} without a reply to the request"
    hint = "Traffic shows what was received. The server may have used another id than the request."
    return Loss("failed", ErrorDetails(what, where, hint, answer.evidence), may_be_older=True)


def redirected_for_ever(answer: HttpAnswer, where: str) -> Loss:
    what = f"The server answered {answer.line} repeatedly: too many redirects"
    hint = "The server or its proxy is misconfigured. Check the URL, with or "
    return Loss("failed", ErrorDetails(what, where, f"{hint}without a trailing slash."))


def redirected(answer: HttpAnswer, where: str, redactor: Redactor) -> Loss:
    """A redirect that is not followed."""
    if not answer.headers.get("location"):
        return _nowhere(answer, where)
    to = formatting.one_line(redactor.url(answer.headers["location"]), _QUOTED)
    what = f"The server answered {answer.line}, a redirect that was not followed"
    hint = (
        "Requests and their credentials are not sent to another host, or with "
        "another method, automatically: use that URL if you trust it."
    )
    return Loss("failed", ErrorDetails(what, where, hint, f"It redirects to {to}"))


def _nowhere(answer: HttpAnswer, where: str) -> Loss:
    what = f"The server answered {answer.line}, a redirect without a location"
    hint = (
        "Check the URL: MCP servers do not answer this way. It may be a cache or another service."
    )
    return Loss("failed", ErrorDetails(what, where, hint))


def too_large(size: int, most: int, where: str) -> Loss:
    what = (
        f"The server sent a message larger than {formatting.size(most)} "
        f"({formatting.size(size)} so far): its response was closed"
    )
    hint = "Request less data at a time. The request can be re-issued; its work may run twice."
    return Loss("failed", ErrorDetails(what, where, hint))


def broken(reason: str, why_not: str, where: str, said: str = "") -> Loss:
    """A response that ended before the reply; `why_not` says why it is not resumed.

    `said` is what the server answered to the attempt.
    """
    what = "The response ended before the reply"
    hint = f"{why_not} The request can be re-issued; its work may then run twice."
    detail = "\n".join(filter(None, (reason, said)))
    return Loss("lost", ErrorDetails(what, where, hint, detail), may_be_older=True)


def _seconds_of(date: str) -> float | None:
    """An HTTP date in seconds since the epoch; None if it is invalid."""
    if not date.endswith("GMT") or len(date) > _LONGEST_DATE:
        return None
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def _usual_hint(status: int) -> str:
    if status >= 500:
        return "The server or its proxy failed: check its log."
    return "Check the URL and the headers in the server's definition."


def _evidence(detail: str, answer: HttpAnswer) -> str:
    return "\n".join(filter(None, (detail, answer.evidence)))

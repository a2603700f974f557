"""Why a server could not be reached over HTTP, or its answer broke off, in words."""

from __future__ import annotations

import ast
import errno
import os
import re
import socket
import ssl
from typing import TYPE_CHECKING, Final
from urllib.request import getproxies

import httpx2

from mcp_progress_monitor import text
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.protocol.secret_names import shown_url
from mcp_progress_monitor.sessions.http.proxies import proxy_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.sessions.transport import Loss

_SERVER: Final = "The server"
_PROXY_HINT: Final = (
    "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the environment, and the system's proxy."
)
_SOCKS_HINT: Final = (
    "Take it out of the environment (ALL_PROXY, HTTP_PROXY, HTTPS_PROXY) or the system's settings, "
    "name an HTTP proxy there, or let NO_PROXY name the server's host."
)
_AUTHORITY: Final = (
    "Add its authority to the system's certificates, or name a file with it in SSL_CERT_FILE."
)
_CERTIFICATES_HINT: Final = (
    "Let it name a file of certificates in PEM form, or take it out of the environment: then those "
    "of the system are used."
)
_CUT: Final = ("incomplete chunked read", "complete message body", "unexpectedly closed")
_SAID: Final = 200
_SENT: Final = 60
_QUOTED_BYTES: Final = re.compile(r" b['\"].*", re.DOTALL)
"""The value of a header that cannot be sent: it may be a secret, as one that ends with a line."""
_LITERAL: Final = r"b(?:'(?:[^\\']|\\.)*'|\"(?:[^\\\"]|\\.)*\")"
_SENT_BYTES: Final = re.compile(rf"\bbytearray\(({_LITERAL})\)|\b({_LITERAL})", re.DOTALL)
"""What the server sent, as the client quotes it: in the form that Python writes."""
_TLS_HINTS: Final = (
    (
        "certificate verify failed: self",
        f"The certificate was signed by nobody this system trusts. {_AUTHORITY}",
    ),
    (
        "unable to get local issuer",
        f"The certificate's authority is unknown here. {_AUTHORITY}",
    ),
    ("has expired", "The server needs a new certificate; check this machine's date as well."),
    ("hostname mismatch", "The certificate is for another host: use the name it was made for."),
    ("ip address mismatch", "The certificate is for another host: use the name it was made for."),
    ("wrong version number", "The server does not speak TLS there: try http:// or another port."),
    ("record layer failure", "The server does not speak TLS there: try http:// or another port."),
)


class UnreachableError(Exception):
    """No request got to the server: nothing of it was sent."""

    def __init__(self, problem: Problem) -> None:
        """Because of `problem`."""
        super().__init__(problem.what)
        self.problem = problem


class BrokenError(Exception):
    """A request was sent, and its response did not come, or not to its end."""

    def __init__(self, reason: str) -> None:
        """Because of `reason`, words that go on after "broken: "."""
        super().__init__(reason)
        self.reason = reason


class RefusedError(Exception):
    """A request is not made, or its answer not followed, though the server is there."""

    def __init__(self, loss: Loss) -> None:
        """Because of `loss`."""
        super().__init__(loss.problem.what)
        self.loss = loss


def translated(error: Exception, where: str, limit_s: float) -> UnreachableError | BrokenError:
    """An exception of the HTTP client, as what it means for a request to `where`."""
    if isinstance(error, httpx2.ConnectTimeout):
        return UnreachableError(_too_slow(where, limit_s))
    if isinstance(error, httpx2.ProxyError):
        what = f"{_named(_proxy_to(where))} does not let requests through to the server"
        return UnreachableError(Problem(what, where, _PROXY_HINT, str(error)))
    if isinstance(error, httpx2.ConnectError):
        return UnreachableError(_not_connected(error, where))
    if isinstance(
        error, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError
    ):
        hint = "Check the address and the headers in the server's definition."
        said = _QUOTED_BYTES.sub("", str(error))
        return UnreachableError(Problem("No request can be made of this", where, hint, said))
    if isinstance(error, httpx2.DecodingError):
        return BrokenError("its compressed content cannot be read")
    return BrokenError(_break(error, _proxy_to(where)))


def no_client(error: Exception, where: str) -> Problem:
    """Why no client can be made: the environment names a proxy or certificates it cannot use."""
    if isinstance(error, ImportError):  # what it says of a SOCKS proxy without its library
        through = (proxy_for(where) or "", *getproxies().values())
        socks = next((url for url in through if url.startswith("socks")), None)
        who = _named(socks and shown_url(socks))
        what = f"{who} needs SOCKS, which this program cannot speak as it is installed"
        return Problem(what, where, _SOCKS_HINT)
    certificates = os.environ.get("SSL_CERT_FILE")
    if isinstance(error, OSError) and certificates:
        named = text.one_line(certificates, _SAID)
        what = f"The certificates in {named}, which SSL_CERT_FILE names, cannot be read"
        return Problem(what, where, _CERTIFICATES_HINT, str(error))
    hint = "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY in the environment, and SSL_CERT_FILE."
    return Problem("No HTTP client can be made", where, hint, str(error))


def _too_slow(where: str, limit_s: float) -> Problem:
    proxy = _proxy_to(where)
    who = _SERVER if proxy is None else _named(proxy)
    hint = "Check the address and the network; a firewall may swallow what is sent to it."
    hint = hint if proxy is None else f"{hint} {_PROXY_HINT}"
    return Problem(f"{who} could not be reached within {limit_s:g} s", where, hint)


def _break(error: Exception, proxy: str | None) -> str:
    said = _SENT_BYTES.sub(_plainly, str(error))
    said = text.one_line(said, _SAID)
    if "without sending a response" in said:
        who = "the server" if proxy is None else f"the server, or the proxy {proxy} before it,"
        return f"{who} closed the connection without an answer"
    if any(words in said for words in _CUT):
        return "the connection ended within the answer"
    if isinstance(error, httpx2.ReadError) and not said:
        return "the connection was lost"
    if isinstance(error, httpx2.RemoteProtocolError):
        sent = "what the server sent" if proxy is None else f"what came from the proxy {proxy}"
        return f"{sent} is no HTTP ({said})"
    return said or type(error).__name__


def _plainly(quoted: re.Match[str]) -> str:
    """Bytes that were sent, as text of bounded length that can be seen."""
    sent: bytes = ast.literal_eval(quoted[1] or quoted[2])
    return f"“{text.one_line(sent.decode(errors='replace'), _SENT)}”"


def _not_connected(error: httpx2.ConnectError, where: str) -> Problem:
    """Why there is no connection: with a proxy it was one to that, but for TLS."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return _tls(cause, where)
    proxy = _proxy_to(where)
    problem = _not_joined(causes, str(error), where, _named(proxy) if proxy else _SERVER)
    return problem._replace(hint=_PROXY_HINT) if proxy else problem


def _not_joined(causes: Sequence[BaseException], detail: str, where: str, who: str) -> Problem:
    said = detail.lower()
    numbers = {cause.errno for cause in causes if isinstance(cause, OSError)}
    is_unnamed = any(isinstance(cause, socket.gaierror) for cause in causes)
    if is_unnamed or "name or service" in said or "getaddrinfo" in said:
        whose = f"{_SERVER}'s" if who == _SERVER else f"{who}: its"
        what = f"{whose} name cannot be looked up"
        return Problem(what, where, "Check its spelling, and the network.", detail)
    if errno.ECONNREFUSED in numbers or "refused" in said:
        what = f"{who} refused the connection: nothing listens there"
        return Problem(what, where, "Check that it is running, and its port.")
    if numbers & {errno.ECONNRESET, errno.ECONNABORTED}:
        what = f"{who} ended the connection as soon as it was made"
        return Problem(what, where, "Check that it is running, and that it speaks HTTP there.")
    if numbers & {errno.ENETUNREACH, errno.EHOSTUNREACH}:
        what = f"There is no way to {_inner(who)}"
        return Problem(what, where, "Check the network, and a VPN that it may need.", detail)
    hint = "Check the address, and that the server is running."
    return Problem(f"{who} could not be reached", where, hint, detail)


def _named(proxy: str | None) -> str:
    return "The proxy" if proxy is None else f"The proxy {proxy}"


def _inner(who: str) -> str:
    """The words as they stand within a sentence."""
    return who.replace("The", "the", 1)


def _proxy_to(where: str) -> str | None:
    """The proxy that requests to `where` go through, to be shown; None without."""
    proxy = proxy_for(where)
    return None if proxy is None else text.one_line(shown_url(proxy), _SAID)


def _tls(error: ssl.SSLError, where: str) -> Problem:
    said = str(error).lower()
    hint = next(
        (hint for words, hint in _TLS_HINTS if words in said),
        "Check the address: is it https:// there, and is its certificate sound?",
    )
    if (proxy := _proxy_to(where)) is not None:
        hint += f" Or it is the proxy {proxy}. {_PROXY_HINT}"
    return Problem("No secure connection to the server can be made", where, hint, str(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception and what it came of, those of groups as well."""
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

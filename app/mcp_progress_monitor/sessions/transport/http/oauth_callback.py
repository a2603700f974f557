"""The page that a browser returns to after a sign-in, and the errors of signing in.

The page is open for one response, on this machine. Imports neither httpx2 nor the SDK.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.protocol.secrets import shown_url

if TYPE_CHECKING:
    from anyio.abc import Listener, SocketStream

HOST: Final = "127.0.0.1"
"""The loopback address rather than a name, which may resolve elsewhere (RFC 8252, 8.3)."""
PATH: Final = "/callback"
REGISTERED_PORT: Final = 47815
"""The redirect port for a client ID that was registered manually. Clients that register dynamically
use any free port."""
_LONGEST: Final = 16 * 1024  # bytes of a request's head; longer ones are refused
_PATIENCE_S: Final = 10.0  # how long a request may take to arrive
_MOST: Final = 16  # requests that are read in parallel; others wait
_TEXT_LIMIT: Final = 500
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)

_DONE: Final = "You are signed in. You can close this page."
_REFUSED: Final = "The sign-in was refused. You can close this page."
_STRANGE: Final = "This response does not belong to a sign-in in progress."


class CallbackAnswer(NamedTuple):
    """The authorization server's response through the browser (RFC 6749, 4.1.2; RFC 9207).

    Either `code`, or `error` with its description: untrusted and bounded.
    """

    code: str = ""
    state: str = ""
    issuer: str | None = None
    error: str = ""
    description: str = ""


class OAuthCallback:
    """A page for browsers to return to; accepts the first response with the right state.

    Anything else, from other programs or web pages on this machine, is refused and changes nothing.
    Holds a port until it is closed.
    """

    def __init__(self, listener: Listener[SocketStream], port: int) -> None:
        self.port = port
        self.strangers = 0  # requests to the page without the right state
        self._listener = listener
        self._state = ""
        self._answer: CallbackAnswer | None = None
        self._came = anyio.Event()
        self._turns = anyio.Semaphore(_MOST)

    @classmethod
    async def open(cls, port: int = 0) -> Self:
        """Listen on a port of this machine; 0 uses any that is free.

        Raises:
            UserError: there is none, or `port` is taken.
        """
        try:
            found = await anyio.create_tcp_listener(local_host=HOST, local_port=port)
        except OSError as error:
            what = "Cannot open the page that the browser returns to after sign-in"
            hint = "Stop the program that uses this port, and connect again." if port else ""
            reason = error.strerror or str(error)
            raise UserError(ErrorDetails(what, f"{HOST}:{port}", hint, reason)) from error
        listener = found.listeners[0]
        return cls(listener, listener.extra(SocketAttribute.local_port))  # noqa: S610 - not Django

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}{PATH}"

    async def answer(self, state: str) -> CallbackAnswer:
        """Wait for the browser; `state` proves that it belongs to our sign-in."""
        self._state = state
        async with anyio.create_task_group() as group:
            group.start_soon(self._listener.serve, self._serve)
            await self._came.wait()
            group.cancel_scope.cancel()
        return self._answer or CallbackAnswer()

    async def close(self) -> None:
        await self._listener.aclose()

    async def _serve(self, stream: SocketStream) -> None:
        async with self._turns, stream:
            with contextlib.suppress(*_GONE), anyio.move_on_after(_PATIENCE_S):
                head = await _head(stream)
                status, text = self._taken(head)
                await stream.send(_page(status, text, with_body=not head.startswith(b"HEAD ")))
                await stream.send_eof()
        if self._answer is not None:  # not earlier: the waiting task closes the page
            self._came.set()

    def _taken(self, head: bytes) -> tuple[str, str]:
        """Status and text for the browser; keeps the response if it is the right one."""
        method, target = _request_line(head)
        if method not in {"GET", "HEAD"} or target is None:
            return "400 Bad Request", _STRANGE
        path, _, query = target.partition("?")
        if path != PATH:
            return "404 Not Found", _STRANGE
        answer = _answer(query)
        if not self._is_ours(answer) or not (answer.code or answer.error):
            self.strangers += 1
            return "400 Bad Request", _STRANGE
        if method == "GET" and self._answer is None:
            self._answer = answer
        return "200 OK", _REFUSED if answer.error else _DONE

    def _is_ours(self, answer: CallbackAnswer) -> bool:
        given, wanted = answer.state.encode(), self._state.encode()
        return bool(wanted) and secrets.compare_digest(given, wanted)


async def _head(stream: SocketStream) -> bytes:
    """A request up to the empty line, or up to the limit."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) <= _LONGEST:
        head += await stream.receive(_LONGEST)
    return head


def _request_line(head: bytes) -> tuple[str, str | None]:
    """Method and target; None for an invalid request."""
    if b"\r\n\r\n" not in head:
        return "", None
    words = head.partition(b"\r\n")[0].decode("ascii", "replace").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return "", None
    return words[0], words[1]


def _answer(query: str) -> CallbackAnswer:
    """The parameters; of several with one name, the first."""
    try:
        found = parse_qs(query, max_num_fields=50)
    except ValueError:
        return CallbackAnswer()
    first = {name: values[0] for name, values in found.items()}
    return CallbackAnswer(
        first.get("code", ""),
        first.get("state", ""),
        first.get("iss"),
        one_line(first.get("error", ""), _TEXT_LIMIT),
        one_line(first.get("error_description", ""), _TEXT_LIMIT),
    )


def state_in(url: str) -> str:
    return parse_qs(urlsplit(url).query).get("state", [""])[0]


def _page(status: str, text: str, *, with_body: bool) -> bytes:
    """A page of plain text, without scripts or caching."""
    body = f"{text}\n".encode()
    head = (
        f"HTTP/1.1 {status}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")


_LONGEST_SHOWN: Final = 2000
_AGAIN: Final = "Connect again to sign in."
_REGISTER: Final = (
    "Register this program there manually with the redirect URI "
    f"http://{HOST}:{REGISTERED_PORT}{PATH}, and enter the client ID in the "
    "server's settings."
)
_ADVICE: Final = (
    ("Registration failed", "The authorization server does not support client registration"),
    ("Invalid registration", "The authorization server's client registration is invalid"),
    (
        "Authorization server registered",
        "The authorization server's client registration cannot be used",
    ),
    ("Token exchange failed", "The authorization server did not issue a token"),
    ("Invalid token response", "The authorization server's token response is invalid"),
    ("State parameter mismatch", "The browser returned from another sign-in"),
    ("Authorization response", "The browser returned from another authorization server"),
    (
        "Authorization server metadata issuer",
        "The authorization server's issuer does not match its metadata",
    ),
    ("Protected resource ", "The server's metadata is for another server"),
    ("Protected resource metadata request", "The server does not publish where to sign in"),
)
"""Prefixes of the SDK's messages, and their meanings; the longest match counts."""
_HIDDEN: Final = re.compile(
    r'("[\w-]*(?:token|secret|code|assertion)"\s*:\s*)"[^"]*"', re.IGNORECASE
)


def host_of(url: str) -> str:
    """Scheme, host and port of a URL: its query may contain secrets."""
    parts = urlsplit(url)
    return visible(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"[:300])


def place(url: str) -> str:
    """A URL without its query: for people who read the sign-in file."""
    return host_of(url) + visible(urlsplit(url).path[:300])


def refused(answer: CallbackAnswer, url: str) -> UserError:
    """The authorization server returned an error, quoted as received."""
    text = f"{answer.error}: {answer.description}" if answer.description else answer.error
    is_denial = answer.error == "access_denied"
    what = "The sign-in was denied" if is_denial else "The authorization server refused the sign-in"
    return UserError(ErrorDetails(what, host_of(url), _AGAIN, text))


def too_late(limit_s: float, strangers: int, url: str) -> UserError:
    detail = ""
    if strangers:
        detail = f"Responses that belong to no sign-in in progress: {strangers}."
    what = f"Sign-in was not completed within {limit_s / 60:g} minutes"
    return UserError(ErrorDetails(what, host_of(url), _AGAIN, detail))


def not_permitted(url: str) -> UserError:
    """A URL that credentials are not sent to."""
    what = "The server requests sign-in at an address that is not encrypted"
    hint = "Contact the server's operator: authorization servers must use https."
    return UserError(ErrorDetails(what, host_of(url), hint))


def too_large(limit: str, url: str) -> UserError:
    what = f"The authorization server's response is larger than {limit}, or took too long"
    return UserError(ErrorDetails(what, host_of(url), "Contact its operator."))


def unusable_resource(fault: str, server: str) -> UserError:
    what = "The server's sign-in metadata is not usable"
    return UserError(ErrorDetails(what, server, "Contact the server's operator.", visible(fault)))


def another_resource(resource: str, url: str, server: str) -> UserError:
    """The server's metadata, at another origin, is that of another server (RFC 9728, 3.3)."""
    what = "The server's sign-in metadata belongs to another server"
    hint = "Do not sign in. Contact the server's operator."
    detail = f"The metadata at {place(url)} is for {place(resource)}, not for {server}."
    return UserError(ErrorDetails(what, server, hint, detail))


def without_metadata(server: str, fault: str) -> UserError:
    """An authorization server without metadata, or with malformed or someone else's."""
    what = "The authorization server publishes no usable metadata"
    hint = "Contact its operator. No other server is used instead."
    return UserError(ErrorDetails(what, place(server), hint, visible(fault)))


def without_pkce(issuer: str, methods: list[str]) -> UserError:
    """An authorization server whose codes could be stolen: it does not declare PKCE."""
    what = "The authorization server does not support PKCE, so signing in is not safe"
    hint = (
        'Contact its operator: its metadata must list "S256" in code_challenge_methods_supported.'
    )
    listed = one_line(", ".join(methods), 200)
    detail = f"code_challenge_methods_supported: {listed or 'missing or empty'}"
    return UserError(ErrorDetails(what, place(issuer), hint, detail))


def without_registration(issuer: str) -> UserError:
    """An authorization server without client registration."""
    what = "The authorization server does not support client registration"
    return UserError(ErrorDetails(what, place(issuer), _REGISTER))


def not_renewed(status: int, url: str) -> UserError:
    """The authorization server has a temporary error; the tokens are kept."""
    what = f"Cannot refresh the sign-in: the authorization server answered {status}"
    return UserError(ErrorDetails(what, host_of(url), "Try again later; you stay signed in."))


def failed(error: Exception, server: str) -> UserError:
    said = str(error)
    found = max((each for each in _ADVICE if said.startswith(each[0])), key=_length, default=None)
    what = "Sign-in failed" if found is None else found[1]
    hint = _REGISTER if said.startswith("Registration failed") else _AGAIN
    if said.startswith("State parameter mismatch"):
        said = ""  # it quotes both states
    return UserError(ErrorDetails(what, server, hint, shown_url(_readable(said))))


def _length(each: tuple[str, str]) -> int:
    return len(each[0])


def _readable(said: str) -> str:
    """The text of a response, bounded, with an OAuth error's own description first."""
    start = said.find("{")
    try:
        document = json.loads(said[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and isinstance(document.get("error"), str):
        described = document.get("error_description")
        parts = [document["error"], described if isinstance(described, str) else ""]
        return one_line(": ".join(filter(None, parts)), _LONGEST_SHOWN)
    return visible(_HIDDEN.sub(r'\1"(hidden)"', said[:_LONGEST_SHOWN]), keep_line_ends=True)

"""Where a browser comes back to after a sign-in: a page on this machine, open for one answer."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from anyio.abc import Listener, SocketStream

HOST: Final = "127.0.0.1"
"""The loopback address and no name: names may lead elsewhere (RFC 8252, section 8.3)."""
PATH: Final = "/callback"
REGISTERED_PORT: Final = 47815
"""Where browsers come back to for a client id that was registered by hand. Clients that register
themselves take any free port."""
_LONGEST: Final = 16 * 1024
"""Bytes of a request's head; what is longer is refused."""
_PATIENCE_S: Final = 10.0
"""How long a request may take to arrive."""
_MOST: Final = 16
"""Requests that are read at once; others wait for their turn."""
_LONGEST_WORDS: Final = 500
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)

_DONE: Final = "This program has what it needs. You can close this page."
_REFUSED: Final = "The sign-in was refused. You can close this page."
_STRANGE: Final = "This is not the answer to a sign-in that is waited for here."


class Answer(NamedTuple):
    """What the authorization server sent the browser back with (RFC 6749, 4.1.2; RFC 9207).

    Either `code`, or `error` with what it says about it: untrusted, and bounded.
    """

    code: str = ""
    state: str = ""
    issuer: str | None = None
    error: str = ""
    description: str = ""


class Callback:
    """A page that browsers are sent back to; takes the first answer that has the right state.

    Whatever else comes, from other programs or web pages on this machine, is turned away and
    changes nothing. Holds a port until it is closed.
    """

    def __init__(self, listener: Listener[SocketStream], port: int) -> None:
        self.port = port
        self.strangers = 0
        """Requests to the page that had not the right state."""
        self._listener = listener
        self._state = ""
        self._answer: Answer | None = None
        self._came = anyio.Event()
        self._turns = anyio.Semaphore(_MOST)

    @classmethod
    async def open(cls, port: int = 0) -> Self:
        """Take a port of this machine; 0 takes any that is free.

        Raises:
            ProblemError: there is none, or `port` is taken.
        """
        try:
            found = await anyio.create_tcp_listener(local_host=HOST, local_port=port)
        except OSError as error:
            what = "The page that a browser comes back to after a sign-in cannot be opened"
            hint = "End the program that uses this port, and connect again." if port else ""
            reason = error.strerror or str(error)
            raise ProblemError(Problem(what, f"{HOST}:{port}", hint, reason)) from error
        listener = found.listeners[0]
        return cls(listener, listener.extra(SocketAttribute.local_port))  # noqa: S610 - not Django

    @property
    def address(self) -> str:
        """The redirect URI."""
        return f"http://{HOST}:{self.port}{PATH}"

    async def answer(self, state: str) -> Answer:
        """Wait for the browser; `state` is what proves that it comes from our sign-in."""
        self._state = state
        async with anyio.create_task_group() as group:
            group.start_soon(self._listener.serve, self._serve)
            await self._came.wait()
            group.cancel_scope.cancel()
        return self._answer or Answer()

    async def close(self) -> None:
        """Give the port back."""
        await self._listener.aclose()

    async def _serve(self, stream: SocketStream) -> None:
        """Answer one request, and end its connection."""
        async with self._turns, stream:
            with contextlib.suppress(*_GONE), anyio.move_on_after(_PATIENCE_S):
                head = await _head(stream)
                status, words = self._taken(head)
                await stream.send(_page(status, words, with_body=not head.startswith(b"HEAD ")))
                await stream.send_eof()
        if self._answer is not None:  # not before: who waits for it closes the page
            self._came.set()

    def _taken(self, head: bytes) -> tuple[str, str]:
        """Status and words for the browser; takes up the answer if it is the one."""
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

    def _is_ours(self, answer: Answer) -> bool:
        given, wanted = answer.state.encode(), self._state.encode()
        return bool(wanted) and secrets.compare_digest(given, wanted)


async def _head(stream: SocketStream) -> bytes:
    """A request up to the empty line, or as much of it as is ever read."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) <= _LONGEST:
        head += await stream.receive(_LONGEST)
    return head


def _request_line(head: bytes) -> tuple[str, str | None]:
    """Method and target; None when that is no request that we read."""
    if b"\r\n\r\n" not in head:
        return "", None
    words = head.partition(b"\r\n")[0].decode("ascii", "replace").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return "", None
    return words[0], words[1]


def _answer(query: str) -> Answer:
    """The parameters; the first of several of one name."""
    try:
        found = parse_qs(query, max_num_fields=50)
    except ValueError:
        return Answer()
    first = {name: values[0] for name, values in found.items()}
    return Answer(
        first.get("code", ""),
        first.get("state", ""),
        first.get("iss"),
        one_line(first.get("error", ""), _LONGEST_WORDS),
        one_line(first.get("error_description", ""), _LONGEST_WORDS),
    )


def state_in(url: str) -> str:
    """The state that an authorization URL carries; empty if it has none."""
    return parse_qs(urlsplit(url).query).get("state", [""])[0]


def _page(status: str, words: str, *, with_body: bool) -> bytes:
    """A page of plain text, which runs nothing and is kept nowhere."""
    body = f"{words}\n".encode()
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

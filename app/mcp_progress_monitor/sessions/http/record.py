"""Exchanges over HTTP put on record: events in wire order, without credentials; notes of the last.

A connection's exchanges count up from 1. What the events tell is in `Framer.event`.
"""

from __future__ import annotations

import base64
import dataclasses
from collections import deque
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.sessions.doctor import HttpNote
from mcp_progress_monitor.sessions.http.secrecy import Secrecy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_progress_monitor.sessions.http.intake import Intake

BODY_KEPT: Final = 64 * 1024
"""Of a body that is no message so much is kept."""
_NOTES: Final = 20
_NOTED_BODY: Final = 500
_TELLING: Final = (
    "allow",
    "content-encoding",
    "content-length",
    "content-type",
    "location",
    "mcp-protocol-version",
    "retry-after",
    "server",
    "via",
    "www-authenticate",
)

Headers = list[tuple[str, str]]


@dataclasses.dataclass(slots=True)
class Exchange:
    """One request over HTTP, from its first byte to the end of its response."""

    number: int
    purpose: str
    request: str
    at: float
    when: float = 0.0
    """When the head of its response was there, in seconds since the epoch."""
    status: int | None = None
    headers: Headers = dataclasses.field(default_factory=list)
    words: str = "no answer yet"
    body: str = ""
    is_over: bool = False


class Record:
    """Tells of the exchanges of one connection, into its intake."""

    def __init__(self, intake: Intake, secret_names: Iterable[str] = ()) -> None:
        """Values of headers called `secret_names` are hidden, beside those of known names."""
        self.secrecy = Secrecy(secret_names)
        self.last_byte_at: float | None = None
        """When the last byte of a response's body came."""
        self._intake = intake
        self._count = 0
        self._last: deque[Exchange] = deque(maxlen=_NOTES)

    @property
    def notes(self) -> tuple[HttpNote, ...]:
        """The last exchanges, oldest first."""
        return tuple(
            HttpNote(each.request, each.status, each.words, _telling(each.headers), each.body)
            for each in self._last
        )

    def sent(
        self, method: str, url: str, headers: Headers, purpose: str, message: int | None
    ) -> Exchange:
        """A request goes out; `message` is the number of the frame that it carries."""
        self._count += 1
        address = self.secrecy.url(url)
        at = self._intake.clock.monotonic()
        exchange = Exchange(self._count, purpose, f"{method} {address}", at)
        self._last.append(exchange)
        carried = {} if message is None else {"message": message}
        self._intake.tell(
            "http_request",
            exchange=exchange.number,
            method=method,
            url=address,
            headers=self.secrecy.headers(headers),
            purpose=purpose,
            **carried,
        )
        return exchange

    def answered(
        self, exchange: Exchange, status: int, reason: str, version: str, headers: Headers
    ) -> None:
        """The head of a response is there."""
        exchange.when = self._intake.clock.wall()
        shown = self.secrecy.headers(headers)
        exchange.status, exchange.headers, exchange.words = status, shown, reason
        self._intake.tell(
            "http_response",
            exchange=exchange.number,
            status=status,
            reason=reason,
            version=version,
            headers=shown,
            after_s=round(self._intake.clock.monotonic() - exchange.at, 6),
        )

    def heard(self) -> None:
        """Bytes of a response's body came, whatever becomes of them."""
        self.last_byte_at = self._intake.clock.monotonic()

    def body(self, exchange: Exchange, kept: bytes, size: int) -> None:
        """A body that is no message: its beginning, and how long it is as far as it was read."""
        kept = kept[:BODY_KEPT]
        shown = self.secrecy.body(kept)
        exchange.body = shown[:_NOTED_BODY].decode(errors="replace")
        self._intake.tell(
            "http_body",
            exchange=exchange.number,
            bytes=size,
            is_cut=size > len(kept),
            **_as_text(shown),
        )

    def ended(self, exchange: Exchange, size: int, reason: str) -> None:
        """No more comes of a response, of which there were `size` bytes; told once."""
        if exchange.is_over:
            return
        exchange.is_over = True
        if reason != "complete":
            exchange.words = f"{exchange.words}; {reason}" if exchange.status else reason
        self._intake.tell("http_ended", exchange=exchange.number, bytes=size, reason=reason)


def _as_text(body: bytes) -> Mapping[str, str]:
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _telling(headers: Headers) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in headers if name.lower() in _TELLING)

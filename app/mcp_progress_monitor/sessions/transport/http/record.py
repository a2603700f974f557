"""Records HTTP exchanges: events in wire order, credentials redacted; keeps the last ones."""

from __future__ import annotations

import base64
import dataclasses
import re
import urllib.parse
from collections import deque
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.secrets import HIDDEN_VALUE, is_secret_header, shown_url
from mcp_progress_monitor.secrets.references import REFERENCE
from mcp_progress_monitor.snapshots.doctor import HttpNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_progress_monitor.sessions.transport.http.receive_queue import ReceiveQueue

__all__ = ["Redactor", "hidden", "shown_url"]

_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Digest|Negotiate|ApiKey|Token|DPoP) +", re.IGNORECASE)
_SHORTEST: Final = 8  # shorter values are too common to search for
_ADDRESSES: Final = frozenset({"location", "content-location", "link", "referer", "refresh"})


def hidden(value: str) -> str:
    """Describe a credential without showing it: its length, and its scheme."""
    scheme = _SCHEME.match(value)
    begin = scheme[0] if scheme else ""
    return f"{begin}(hidden, {len(value) - len(begin)} characters)"


class Redactor:
    """Hides the secrets of one connection: by the names of headers, and by known values."""

    def __init__(self, header_names: Iterable[str] = ()) -> None:
        """Headers in `header_names` are hidden, besides those with well-known names."""
        self._names = {name.lower() for name in header_names}
        self._values: list[str] = []

    def learn(self, written: Mapping[str, str], sent: Mapping[str, str], url: str) -> None:
        """Add the values that are sent: headers as written and as resolved, and the URL's."""
        found = _of_url(url)
        for name, value in sent.items():
            found += _referred(written.get(name, ""), value)
            if is_secret_header(name):
                found.append(_SCHEME.sub("", value, count=1))
        long = {value for value in found if len(value) >= _SHORTEST}
        forms = {form for value in long for form in (value, urllib.parse.quote(value, safe=""))}
        self._values = sorted(forms, key=len, reverse=True)

    def url(self, url: str) -> str:
        return self.text(shown_url(url))

    def text(self, text: str) -> str:
        """A text without values known to be secret."""
        for value in self._values:
            text = text.replace(value, HIDDEN_VALUE)
        return text

    def body(self, body: bytes) -> bytes:
        """Bytes that are not a message, without these values."""
        for value in self._values:
            body = body.replace(value.encode(), HIDDEN_VALUE.encode())
        return body

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name, self._header(name, value)) for name, value in headers]

    def _header(self, name: str, value: str) -> str:
        if name.lower() in self._names or is_secret_header(name):
            return hidden(value)
        return self.url(value) if name.lower() in _ADDRESSES else self.text(value)


def _referred(written: str, sent: str) -> list[str]:
    parts = REFERENCE.split(written)[::3]  # kind and name are between
    if len(parts) == 1:
        return []
    found = re.fullmatch("(.*?)".join(map(re.escape, parts)), sent, re.DOTALL)
    return list(found.groups()) if found else []


def _of_url(url: str) -> list[str]:
    """The password, the values of secret parameters and the keys in the path, as in a URL."""
    shown = shown_url(url)
    if shown == url:
        return []
    parts = urllib.parse.urlsplit(url)
    pairs = (part.partition("=") for part in re.split("[&;]", parts.query))
    kept = {part.partition("=")[2] for part in re.split("[&;]", urllib.parse.urlsplit(shown).query)}
    values = [value for _, _, value in pairs if value not in kept]
    path, shown_path = (urllib.parse.urlsplit(each).path.split("/") for each in (url, shown))
    values += [a for a, b in zip(path, shown_path, strict=False) if a != b]
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    return [form for value in (*values, password) for form in (value, urllib.parse.unquote(value))]


BODY_KEPT: Final = 64 * 1024  # how much is recorded of a body that is not a message
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
class RecordedExchange:
    """One request over HTTP, from its first byte to the end of its response."""

    number: int
    purpose: str
    request: str
    at: float
    when: float = 0.0  # when the head of its response arrived, in seconds since the epoch
    status: int | None = None
    headers: Headers = dataclasses.field(default_factory=list)
    reason: str = "no answer yet"
    body: str = ""
    is_over: bool = False


class ExchangeRecorder:
    """Reports the exchanges of one connection to its queue."""

    def __init__(self, inbound: ReceiveQueue, secret_names: Iterable[str] = ()) -> None:
        """Values of headers in `secret_names` are hidden, besides those with well-known names."""
        self.redactor = Redactor(secret_names)
        self.last_byte_at: float | None = None  # when the last byte of a response's body arrived
        self._inbound = inbound
        self._count = 0
        self._last: deque[RecordedExchange] = deque(maxlen=_NOTES)

    @property
    def notes(self) -> tuple[HttpNote, ...]:
        return tuple(
            HttpNote(each.request, each.status, each.reason, _telling(each.headers), each.body)
            for each in self._last
        )

    def sent(
        self,
        method: str,
        url: str,
        headers: Headers,
        purpose: str,
        message: int | None,
        body: str = "",
    ) -> RecordedExchange:
        """A request is sent; `message` is the number of the frame that it carries.

        `body` is what it carries instead, without secrets.
        """
        self._count += 1
        address = self.redactor.url(url)
        at = self._inbound.clock.monotonic()
        exchange = RecordedExchange(self._count, purpose, f"{method} {address}", at)
        self._last.append(exchange)
        carried: dict[str, object] = {} if message is None else {"message": message}
        if body:
            carried["body"] = body
        self._inbound.record_event(
            "http_request",
            exchange=exchange.number,
            method=method,
            url=address,
            headers=self.redactor.headers(headers),
            purpose=purpose,
            **carried,
        )
        return exchange

    def answered(
        self, exchange: RecordedExchange, status: int, reason: str, version: str, headers: Headers
    ) -> None:
        exchange.when = self._inbound.clock.wall()
        shown = self.redactor.headers(headers)
        exchange.status, exchange.headers, exchange.reason = status, shown, reason
        self._inbound.record_event(
            "http_response",
            exchange=exchange.number,
            status=status,
            reason=reason,
            version=version,
            headers=shown,
            after_s=round(self._inbound.clock.monotonic() - exchange.at, 6),
        )

    def heard(self) -> None:
        """Bytes of a response's body arrived."""
        self.last_byte_at = self._inbound.clock.monotonic()

    def body(self, exchange: RecordedExchange, kept: bytes, size: int) -> None:
        """A body that is not a message: its beginning, and its length as far as it was read."""
        kept = kept[:BODY_KEPT]
        shown = self.redactor.body(kept)
        exchange.body = shown[:_NOTED_BODY].decode(errors="replace")
        self._inbound.record_event(
            "http_body",
            exchange=exchange.number,
            bytes=size,
            is_cut=size > len(kept),
            **_as_text(shown),
        )

    def ended(self, exchange: RecordedExchange, size: int, reason: str) -> None:
        """A response has ended, after `size` bytes; reported once."""
        if exchange.is_over:
            return
        exchange.is_over = True
        if reason != "complete":
            exchange.reason = f"{exchange.reason}; {reason}" if exchange.status else reason
        self._inbound.record_event(
            "http_ended", exchange=exchange.number, bytes=size, reason=reason
        )


def _as_text(body: bytes) -> Mapping[str, str]:
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _telling(headers: Headers) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in headers if name.lower() in _TELLING)

"""HTTP sessions as HAR 1.2: one entry per exchange, without secrets."""

from __future__ import annotations

import base64
import binascii
import json
import re
import urllib.parse
import uuid
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import __version__
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.exports.frames import event_fields, frames_at, of_kind
from mcp_progress_monitor.exports.options import no_share
from mcp_progress_monitor.exports.redaction import NOTE, REMOVED, Redaction
from mcp_progress_monitor.formatting import iso, number
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind, server_name
from mcp_progress_monitor.protocol.http_events import BodyRebuilder
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode
from mcp_progress_monitor.protocol.messages import META, PROGRESS_TOKEN
from mcp_progress_monitor.protocol.secrets import (
    HIDDEN_VALUE,
    is_secret_header,
    is_secret_parameter,
    is_secret_setting,
    shown_url,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource, OnShare
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.recording.timeline import Timeline

BODY_KEPT: Final = 32 * 1024 * 1024
"""The most bytes of a response's body; a comment says how many were omitted."""
_HEADERS_KEPT: Final = 500


class HarExchange:
    """A request and its response, from validated values of the recording.

    `message` is the frame with the request's body, if it has one.
    """

    def __init__(self, begun: Frame, fields: JsonObject, message: Frame | None) -> None:
        self.begun = begun
        self.number = fields.get("exchange")
        self.method = text_of(fields, "method") or "POST"
        self.url = text_of(fields, "url")
        self.purpose = text_of(fields, "purpose")
        self.headers = headers_of(fields)
        self.message = message
        self.is_chosen = False
        self.answered: Frame | None = None
        self.status = 0
        self.reason = ""
        self.version = ""
        self.answer_headers: list[tuple[str, str]] = []
        self.parts: list[bytes] = []
        self.kept = 0
        self.left_out = 0
        self.last_at = begun.at
        self.ended: Frame | None = None
        self.ending = ""
        self.size: int | None = None

    def answer(self, frame: Frame, fields: JsonObject) -> None:
        status = fields.get("status")
        self.answered = frame
        self.status = status if type(status) is int and 0 <= status <= 999 else 0
        self.reason = text_of(fields, "reason")
        self.version = text_of(fields, "version")
        self.answer_headers = headers_of(fields)

    def add(self, part: bytes, at: float) -> None:
        self.last_at = max(self.last_at, at)
        if self.kept + len(part) > BODY_KEPT or self.left_out:
            self.left_out += len(part)
            return
        self.kept += len(part)
        self.parts.append(part)

    def add_body(self, frame: Frame, fields: JsonObject, body: bytes) -> None:
        self.add(body, frame.at)
        size = fields.get("bytes")
        if fields.get("is_cut") is True and type(size) is int:
            self.left_out += max(size - len(body), 0)

    def end(self, frame: Frame, fields: JsonObject) -> None:
        size = fields.get("bytes")
        self.ended, self.ending = frame, text_of(fields, "reason")
        self.size = size if type(size) is int and size >= 0 else None


def body_of(fields: JsonObject) -> bytes:
    """The body in an event, as text or base64."""
    text, coded = fields.get("text"), fields.get("base64")
    if isinstance(text, str):
        return text.encode(errors="replace")
    if isinstance(coded, str):
        try:
            return base64.b64decode(coded, validate=True)
        except (binascii.Error, ValueError):
            return b""
    return b""


def text_of(fields: JsonObject, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def headers_of(fields: JsonObject) -> list[tuple[str, str]]:
    """The valid names and values, in order."""
    found: Any = fields.get("headers")
    pairs: list[tuple[str, str]] = []
    for pair in found[:_HEADERS_KEPT] if isinstance(found, list) else ():
        match pair:
            case [str(name), str(value)]:
                pairs.append((name, value))
            case _:
                pass
    return pairs


_HIDDEN: Final = re.compile(r"\(hidden, \d+ characters\)")
_WAS_HIDDEN: Final = (
    "Credentials were not recorded: they are replaced by "
    f'"(hidden, N characters)", or by {HIDDEN_VALUE} in URLs.'
)
_NOT_ENDED: Final = "The exchange was still open at export, or its end was not recorded"
_UNKNOWN_VERSION: Final = "HTTP/1.1"
_EARLIEST: Final = "1970-01-01T00:00:00Z"


def entry_of(exchange: HarExchange, redaction: Redaction, text: str) -> dict[str, Any]:
    """The entry; `text` is a placeholder for the response's body, which may be long."""
    url = _url(exchange.url, redaction)
    version = exchange.version or _UNKNOWN_VERSION
    timings = _timings(exchange)
    sent = _headers(exchange.headers, redaction)
    received = _headers(exchange.answer_headers, redaction)
    body = None if exchange.message is None else redaction.raw(exchange.message.raw)
    request: dict[str, Any] = {
        "method": exchange.method,
        "url": url,
        "httpVersion": version,
        "cookies": [],
        "headers": sent,
        "queryString": _query(url),
        "headersSize": -1,
        "bodySize": 0 if exchange.message is None else len(exchange.message.raw),
    }
    if body is not None:
        kind = _value(exchange.headers, "content-type") or "application/json"
        request["postData"] = {"mimeType": kind, "text": body.decode(errors="replace")}
    entry = {
        "startedDateTime": iso(exchange.begun.when) or _EARLIEST,
        "time": round(sum(timings.values()), 3),
        "request": request,
        "response": _response(exchange, received, version, redaction, text),
        "cache": {},
        "timings": timings,
        "connection": exchange.begun.connection,
        "_mcp": _mcp(exchange),
    }
    comment = _comment(exchange, body)
    return {**entry, "comment": comment} if comment else entry


def is_text(parts: Sequence[bytes]) -> bool:
    """Return whether each part of a body can be written unchanged."""
    try:
        for part in parts:
            part.decode()
    except UnicodeDecodeError:
        return False
    return True


def _response(
    exchange: HarExchange,
    headers: list[dict[str, str]],
    version: str,
    redaction: Redaction,
    text: str,
) -> dict[str, Any]:
    content: dict[str, Any] = {
        "size": exchange.kept + exchange.left_out,
        "mimeType": _value(exchange.answer_headers, "content-type"),
        "text": text,
    }
    if not is_text(exchange.parts):
        content["encoding"] = "base64"
    if exchange.left_out:
        left = number(exchange.left_out)
        content["comment"] = f"Truncated: the last {left} bytes are omitted"
    location = _value(exchange.answer_headers, "location")
    return {
        "status": exchange.status,
        "statusText": exchange.reason,
        "httpVersion": version,
        "cookies": [],
        "headers": headers,
        "content": content,
        "redirectURL": _url(location, redaction) if location else "",
        "headersSize": -1,
        "bodySize": -1 if exchange.size is None else exchange.size,
    }


def _timings(exchange: HarExchange) -> dict[str, float]:
    """Milliseconds until the response started, and from then to its end or newest byte."""
    begun_at, answered, ended = exchange.begun.at, exchange.answered, exchange.ended
    end_at = exchange.last_at if ended is None else max(ended.at, exchange.last_at)
    answered_at = end_at if answered is None else min(answered.at, end_at)
    return {
        "send": 0,
        "wait": round(max(answered_at - begun_at, 0.0) * 1000, 3),
        "receive": round(max(end_at - answered_at, 0.0) * 1000, 3),
    }


def _mcp(exchange: HarExchange) -> dict[str, Any]:
    known: dict[str, Any] = {
        "connection": exchange.begun.connection,
        "server": server_name(exchange.begun.connection),
        "exchange": exchange.number,
        "purpose": exchange.purpose or None,
        "ended": exchange.ending or None,
    }
    message = exchange.message
    if message is not None:
        known["message"] = message.number
    if message is not None and len(message.raw) <= OVERSIZED:
        envelope = decode(message.raw, is_complete=message.is_complete)
        token = as_object(as_object(envelope.params).get(META)).get(PROGRESS_TOKEN)
        known["method"] = envelope.method
        known["requestId"] = envelope.id
        known[PROGRESS_TOKEN] = token if isinstance(token, str | int | float) else None
    return known


def _comment(exchange: HarExchange, body: bytes | None) -> str:
    values = [value for _, value in (*exchange.headers, *exchange.answer_headers)]
    is_hidden = HIDDEN_VALUE in exchange.url or any(map(_HIDDEN.search, values))
    if exchange.purpose == "auth":
        is_hidden = is_hidden or any(b"(hidden, " in part for part in exchange.parts)
    parts = [_WAS_HIDDEN if is_hidden else ""]
    if exchange.ended is None:
        parts.append(f"{_NOT_ENDED}.")
    elif exchange.ending not in {"", "complete"}:
        parts.append(f"Ended early: {exchange.ending}.")
    if body is None and exchange.method == "POST" and exchange.purpose != "auth":
        parts.append("The message sent is no longer in the recording.")
    return " ".join(filter(None, parts))


def _headers(pairs: list[tuple[str, str]], redaction: Redaction) -> list[dict[str, str]]:
    return [{"name": name, "value": _header(name, value, redaction)} for name, value in pairs]


def _header(name: str, value: str, redaction: Redaction) -> str:
    if redaction.with_secrets or _HIDDEN.search(value):
        return value
    if is_secret_setting(name) or is_secret_header(name):
        redaction.count += 1
        return REMOVED
    return redaction.text(value)


def _url(url: str, redaction: Redaction) -> str:
    if redaction.with_secrets:
        return url
    try:
        parts = urllib.parse.urlsplit(url)
        pairs = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return redaction.text(url)
    if (path := shown_url(parts.path)) != parts.path:
        redaction.count += 1
        parts = parts._replace(path=path)
        url = parts.geturl()
    if any(is_secret_parameter(name) for name, _ in pairs):
        redaction.count += 1
        clean = [(name, REMOVED if is_secret_parameter(name) else value) for name, value in pairs]
        url = parts._replace(query=urllib.parse.urlencode(clean)).geturl()
    return redaction.text(url)


def _query(url: str) -> list[dict[str, str]]:
    try:
        query = urllib.parse.urlsplit(url).query
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    except ValueError:
        return []
    return [{"name": name, "value": value} for name, value in pairs]


def _value(pairs: list[tuple[str, str]], name: str) -> str:
    return next((value for key, value in pairs if key.lower() == name), "")


NO_HTTP: Final = ErrorDetails(
    "Cannot export as HAR: the recording has no HTTP exchanges",
    hint="Export as JSON Lines (all messages), CSV (progress ticks) or an HTML report.",
)
OPEN_KEPT: Final = 2000
"""The most open exchanges; beyond that, the oldest is written without an end."""
_BEGIN: Final = b'{"event":"http_request"'
_AT_ONCE: Final = 256


def check_http(timeline: Timeline) -> None:
    """`UserError` if the session has no HTTP exchange."""
    for places in of_kind(timeline, FrameKind.EVENT, timeline.first, timeline.end):
        for place in places:
            frame = timeline.frame(place, len(_BEGIN))
            if frame is not None and frame.raw == _BEGIN:
                return
    raise UserError(NO_HTTP)


class Har:
    """Makes the file, with every exchange that has any of the chosen frames."""

    def __init__(
        self, source: ExportSource, redaction: Redaction, on_share: OnShare = no_share
    ) -> None:
        self._on_share = on_share
        self._timeline = source.timeline
        self._redaction = redaction
        self._open: dict[tuple[str, int], HarExchange] = {}
        self._bodies: dict[str, BodyRebuilder] = {}
        self._sent: dict[str, set[int]] = {}
        """Chosen messages, by connection, whose HTTP request has not been found yet."""
        self._piped: set[str] = set()
        """Open connections to stdio servers, whose messages have no exchange."""
        self._is_first = True

    def pieces(self, wanted: Iterable[Sequence[int]] | None) -> Iterator[bytes]:
        """The file in pieces, with empty ones as pauses; `wanted` are places, None for all."""
        yield self._head()
        end = self._timeline.end
        chosen = None if wanted is None else _Chosen(wanted)
        for segment, rows in self._timeline.stretches(self._timeline.first, end):
            first, stop = segment.first + rows.start, segment.first + rows.stop
            for start in range(first, stop, _AT_ONCE):
                places = range(start, min(start + _AT_ONCE, stop))
                for frames in frames_at(self._timeline, places):
                    for place, frame in frames:
                        is_chosen = chosen is None or chosen.has(place)
                        yield from self._take(frame, is_chosen=is_chosen)
                if wanted is None:
                    self._on_share(places.stop / end)
                yield b""
        for key in list(self._open):
            yield from self._close(key)
        yield b"]}}\n"

    def _head(self) -> bytes:
        log: dict[str, object] = {
            "version": "1.2",
            "creator": {"name": "MCP Progress Monitor", "version": __version__},
        }
        if not self._redaction.with_secrets:
            log["comment"] = NOTE
        return json.dumps({"log": log}, ensure_ascii=False).encode()[:-2] + b', "entries": ['

    def _take(self, frame: Frame, *, is_chosen: bool) -> Iterator[bytes]:
        if frame.channel is Channel.EVENT:
            yield from self._event(frame, is_chosen=is_chosen)
        elif frame.channel is Channel.SENT:
            if is_chosen and frame.connection not in self._piped:
                self._sent.setdefault(frame.connection, set()).add(frame.number)
        elif frame.channel is Channel.RECEIVED:
            self._received(frame, is_chosen=is_chosen)

    def _received(self, frame: Frame, *, is_chosen: bool) -> None:
        """Add a message to its body; an element of a batch was added with the batch."""
        bodies = self._bodies.get(frame.connection)
        if bodies is None or bodies.exchange is None:
            return
        exchange = self._open.get((frame.connection, bodies.exchange))
        if exchange is not None and is_chosen:
            exchange.is_chosen = True
        if frame.part is None:
            clean = self._redaction.raw(frame.raw)
            self._add(frame, bodies.message(clean), clean)

    def _add(self, frame: Frame, parts: list[tuple[int, bytes]], clean: bytes = b"") -> None:
        """Add parts of bodies; `clean` is a part without secrets."""
        for of, part in parts:
            exchange = self._open.get((frame.connection, of))
            if exchange is not None:
                is_clean = bool(clean) and clean in part
                exchange.add(part if is_clean else self._redaction.raw(part), frame.at)

    def _event(self, frame: Frame, *, is_chosen: bool) -> Iterator[bytes]:
        fields = event_fields(frame)
        name, number = fields.get("event"), fields.get("exchange")
        if name in {"closed", "failed"}:
            yield from self._close_all(frame.connection)
            self._sent.pop(frame.connection, None)
            self._piped.discard(frame.connection)
        elif name == "opened" and "command" in fields:
            self._piped.add(frame.connection)
        if type(number) is not int:
            return
        key = (frame.connection, number)
        if name == "http_request":
            yield from self._begin(key, frame, fields)
        if (exchange := self._open.get(key)) is None:
            return
        exchange.is_chosen = exchange.is_chosen or is_chosen
        if name == "http_ended":
            exchange.end(frame, fields)
            yield from self._close(key)
        else:
            self._note(exchange, frame, fields)

    def _note(self, exchange: HarExchange, frame: Frame, fields: JsonObject) -> None:
        match fields.get("event"):
            case "http_response":
                exchange.answer(frame, fields)
            case "http_events":
                bodies = self._bodies.setdefault(frame.connection, BodyRebuilder())
                self._add(frame, bodies.bodies_of(fields))
            case "http_body":
                exchange.add_body(frame, fields, self._redaction.raw(body_of(fields)))
            case _:
                pass

    def _begin(self, key: tuple[str, int], frame: Frame, fields: JsonObject) -> Iterator[bytes]:
        yield from self._close(key)
        if len(self._open) >= OPEN_KEPT:
            yield from self._close(next(iter(self._open)))
        number = fields.get("message")
        number = self._timeline.number_here(frame.connection, number) if number else None
        place = self._timeline.place_of(number) if type(number) is int else None
        message = None if place is None else self._timeline.frame(place)
        if message is not None and message.channel is not Channel.SENT:
            message = None
        self._open[key] = exchange = HarExchange(frame, fields, message)
        sent = self._sent.get(frame.connection, set())
        if message is not None and message.number in sent:
            sent.discard(message.number)
            exchange.is_chosen = True

    def _close_all(self, connection: str) -> Iterator[bytes]:
        for key in [key for key in self._open if key[0] == connection]:
            yield from self._close(key)

    def _close(self, key: tuple[str, int]) -> Iterator[bytes]:
        exchange = self._open.pop(key, None)
        if exchange is None or not exchange.is_chosen:
            return
        mark = uuid.uuid4().hex
        entry = json.dumps(entry_of(exchange, self._redaction, mark), ensure_ascii=False)
        before, _, after = entry.partition(mark)
        yield (b"\n" if self._is_first else b",\n") + _encoded(before)
        self._is_first = False
        yield from _body(exchange.parts)
        yield _encoded(after)


class _Chosen:
    """Increasing places, queried in increasing order."""

    def __init__(self, slices: Iterable[Sequence[int]]) -> None:
        self._places = (place for places in slices for place in places)
        self._next: int | None = next(self._places, None)

    def has(self, place: int) -> bool:
        while self._next is not None and self._next < place:
            self._next = next(self._places, None)
        return self._next == place


def _body(parts: list[bytes]) -> Iterator[bytes]:
    """A body as the content of a JSON string: as text, or in base64 if it is not UTF-8."""
    if not is_text(parts):
        yield base64.b64encode(b"".join(parts))
        return
    for part in parts:
        yield _encoded(json.dumps(part.decode(), ensure_ascii=False)[1:-1])


def _encoded(text: str) -> bytes:
    """UTF-8, with lone surrogates replaced by question marks."""
    return text.encode(errors="replace")

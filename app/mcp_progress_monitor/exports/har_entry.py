"""The entry of HAR 1.2 that an exchange becomes, without secrets unless they are asked for."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.exports.jsonl import iso
from mcp_progress_monitor.exports.redaction import REMOVED
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.frame import server_name
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode
from mcp_progress_monitor.protocol.secret_names import (
    HIDDEN_VALUE,
    is_secret_header,
    is_secret_parameter,
    is_secret_setting,
)
from mcp_progress_monitor.text import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.exports.har_exchange import Exchange
    from mcp_progress_monitor.exports.redaction import Redaction

_HIDDEN: Final = re.compile(r"\(hidden, \d+ characters\)")
_WAS_HIDDEN: Final = (
    "Credentials were hidden when this was recorded, and are not known any more: "
    f'"(hidden, N characters)" stands in their place, {HIDDEN_VALUE} in a URL.'
)
_NOT_ENDED: Final = "The exchange had not ended when this was exported, or its end was not recorded"
_UNKNOWN_VERSION: Final = "HTTP/1.1"
_EARLIEST: Final = "1970-01-01T00:00:00Z"


def entry_of(exchange: Exchange, redaction: Redaction, text: str) -> dict[str, Any]:
    """The entry; `text` stands for the response's body, which may be too long to hold twice."""
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
    """Whether each part of a body can be written as it is."""
    try:
        for part in parts:
            part.decode()
    except UnicodeDecodeError:
        return False
    return True


def _response(
    exchange: Exchange,
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
        content["comment"] = f"The body is cut: its last {left} bytes are left out"
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


def _timings(exchange: Exchange) -> dict[str, float]:
    """Milliseconds: until the response began, and from then to the end, or the newest byte."""
    begun_at, answered, ended = exchange.begun.at, exchange.answered, exchange.ended
    end_at = exchange.last_at if ended is None else max(ended.at, exchange.last_at)
    answered_at = end_at if answered is None else min(answered.at, end_at)
    return {
        "send": 0,
        "wait": round(max(answered_at - begun_at, 0.0) * 1000, 3),
        "receive": round(max(end_at - answered_at, 0.0) * 1000, 3),
    }


def _mcp(exchange: Exchange) -> dict[str, Any]:
    """What HAR has no place for."""
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
        token = as_object(as_object(envelope.params).get("_meta")).get("progressToken")
        known["method"] = envelope.method
        known["requestId"] = envelope.id
        known["progressToken"] = token if isinstance(token, str | int | float) else None
    return known


def _comment(exchange: Exchange, body: bytes | None) -> str:
    """What is to be said of an entry; empty for most."""
    values = [value for _, value in (*exchange.headers, *exchange.answer_headers)]
    is_hidden = HIDDEN_VALUE in exchange.url or any(map(_HIDDEN.search, values))
    if exchange.purpose == "auth":
        is_hidden = is_hidden or any(b"(hidden, " in part for part in exchange.parts)
    parts = [_WAS_HIDDEN if is_hidden else ""]
    if exchange.ended is None:
        parts.append(f"{_NOT_ENDED}.")
    elif exchange.ending not in {"", "complete"}:
        parts.append(f"It ended before its time: {exchange.ending}.")
    if body is None and exchange.method == "POST" and exchange.purpose != "auth":
        parts.append("The message that it sent is not in the recording any more.")
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
    """A URL whose query tells no secret."""
    if redaction.with_secrets:
        return url
    try:
        parts = urllib.parse.urlsplit(url)
        pairs = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return redaction.text(url)
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
    """The value of a header by its name in lower case."""
    return next((value for key, value in pairs if key.lower() == name), "")

"""What one row of the log says of a frame, made only for rows that are painted or filtered."""

from __future__ import annotations

import enum
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from app.models.json_text import compact
from app.models.log_head import LARGE, head_of
from app.protocol.frame import Channel
from app.protocol.jsonrpc import Kind, decode
from app.text import one_line, summary

if TYPE_CHECKING:
    from app.protocol.frame import Frame
    from app.protocol.jsonrpc import Envelope

SUMMARY_LENGTH = 400
"""Characters of a summary; the details show the whole."""

PROGRESS = "notifications/progress"

_LOOKS_TYPED = re.compile(r"[-+.\d\s\"].*|true|false|null|", re.DOTALL)


class LogKind(enum.Enum):
    """What a frame is to someone reading the log."""

    REQUEST = "request"
    REPLY = "reply"
    ERROR = "error reply"
    PROGRESS = "progress"
    NOTIFICATION = "notification"
    STDERR = "stderr"
    EVENT = "event"
    UNREADABLE = "unreadable"
    BATCH = "batch"
    LARGE = "large"
    """Too large to be told at once, and its first bytes do not tell."""


class LogRow(NamedTuple):
    """The words of one row: `key` is the progress token if there is one, otherwise the id."""

    kind: LogKind
    method: str
    key: str
    summary: str


_BY_CHANNEL = {Channel.STDERR: LogKind.STDERR, Channel.EVENT: LogKind.EVENT}
_BY_KIND = {
    Kind.REQUEST: LogKind.REQUEST,
    Kind.RESULT: LogKind.REPLY,
    Kind.ERROR: LogKind.ERROR,
    Kind.NOTIFICATION: LogKind.NOTIFICATION,
    Kind.BATCH: LogKind.BATCH,
}
_BY_OPENING = {b"{": LogKind.LARGE, b"[": LogKind.BATCH}
_LARGE_KINDS = {
    "request": LogKind.REQUEST,
    "notification": LogKind.NOTIFICATION,
    "result": LogKind.REPLY,
    "error": LogKind.ERROR,
}


def kind_of(frame: Frame) -> LogKind:
    """Say what `frame` is; decodes messages, so it costs some microseconds."""
    of_channel = _BY_CHANNEL.get(frame.channel)
    if of_channel is not None:
        return of_channel
    if len(frame.raw) > LARGE:
        return _of_large(frame.raw).kind
    return _kind(decode(frame.raw, is_complete=frame.is_complete))


def describe(frame: Frame) -> LogRow:
    """Return the words of `frame`'s row; all of them safe to show and of bounded length."""
    if frame.channel is Channel.STDERR:
        return LogRow(LogKind.STDERR, "", "", _head(frame.raw))
    if frame.channel is Channel.EVENT:
        return _event(frame)
    if len(frame.raw) > LARGE:
        return _of_large(frame.raw)
    envelope = decode(frame.raw, is_complete=frame.is_complete)
    kind = _kind(envelope)
    method = envelope.method if isinstance(envelope.method, str) else ""
    return LogRow(kind, one_line(method), _key(kind, envelope), _summary(kind, envelope, frame.raw))


def _of_large(raw: bytes) -> LogRow:
    """Tell a large message by its ends; only the details read all of it."""
    head = head_of(raw)
    if head is not None:
        return LogRow(_LARGE_KINDS[head.kind], one_line(head.method), head.id, _head(raw))
    kind = _BY_OPENING.get(raw[:64].lstrip()[:1], LogKind.UNREADABLE)
    return LogRow(kind, "", "", _head(raw))


def _kind(envelope: Envelope) -> LogKind:
    if envelope.kind is Kind.NOTIFICATION and envelope.method == PROGRESS:
        return LogKind.PROGRESS
    return _BY_KIND.get(envelope.kind, LogKind.UNREADABLE)


def _event(frame: Frame) -> LogRow:
    """Our own events are JSON objects with an `event` key, not JSON-RPC: read them anew."""
    fields = _event_fields(frame.raw)
    name = str(fields.pop("event", ""))
    words = ", ".join(f"{key}: {compact(value, 120)}" for key, value in fields.items())
    return LogRow(LogKind.EVENT, one_line(name), "", words[:SUMMARY_LENGTH])


def _event_fields(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw)
    except ValueError:
        return {"event": raw[:SUMMARY_LENGTH].decode(errors="replace")}
    return fields if isinstance(fields, dict) else {}


def _key(kind: LogKind, envelope: Envelope) -> str:
    """The token names what a reader follows; a message without one is named by its id."""
    params = envelope.params if isinstance(envelope.params, dict) else {}
    if kind is LogKind.PROGRESS:
        return _value(params, "progressToken")
    meta = params.get("_meta")
    if isinstance(meta, dict) and "progressToken" in meta:
        return _value(meta, "progressToken")
    return "" if envelope.id is None else _plain(envelope.id)


def _value(members: dict[str, Any], name: str) -> str:
    return _plain(members[name]) if name in members else ""


def _plain(value: Any) -> str:
    """A string without quotes, unless it could be taken for a number."""
    if isinstance(value, str) and not _LOOKS_TYPED.fullmatch(value[:80]):
        return one_line(value, 80)
    return compact(value, 80)


def _summary(kind: LogKind, envelope: Envelope, raw: bytes) -> str:
    match kind:
        case LogKind.UNREADABLE | LogKind.BATCH:
            return _head(raw)
        case LogKind.REPLY:
            return _result(envelope.result)
        case LogKind.ERROR:
            return _error(envelope.error)
        case _:
            return _params(envelope)


def _head(raw: bytes) -> str:
    return one_line(raw[: 4 * SUMMARY_LENGTH].decode(errors="backslashreplace"), SUMMARY_LENGTH)


def _params(envelope: Envelope) -> str:
    params = envelope.params
    if not isinstance(params, dict):
        return "" if params is None else compact(params, SUMMARY_LENGTH)
    if envelope.method == PROGRESS:
        return _progress(params)
    shown = {name: value for name, value in params.items() if name != "_meta"}
    named = [key for key in ("name", "uri") if isinstance(shown.get(key), str)][:1]
    words = [one_line(shown.pop(key), SUMMARY_LENGTH) for key in named]
    rest = shown.get("arguments", shown) if named else shown
    if isinstance(rest, dict):
        words.append(summary(rest, SUMMARY_LENGTH))
    elif rest is not None:
        words.append(compact(rest, SUMMARY_LENGTH))
    return " ".join(words).rstrip()


def _progress(params: dict[str, Any]) -> str:
    """`632/1000 Processing batch 632`: exact numbers as received, whatever their type."""
    words = compact(params["progress"], 60) if "progress" in params else "?"
    if params.get("total") is not None:
        words += "/" + compact(params["total"], 60)
    message = params.get("message")
    if isinstance(message, str):
        words += " " + one_line(message, SUMMARY_LENGTH)
    elif message is not None:
        words += " " + compact(message, SUMMARY_LENGTH)
    return words


def _result(result: Any) -> str:
    """The text of a tool's first content block where there is one: what a reader looks for."""
    if isinstance(result, dict):
        content = result.get("content")
        first = content[0] if isinstance(content, list) and content else None
        if isinstance(first, dict) and isinstance(first.get("text"), str):
            mark = "isError: " if result.get("isError") is True else ""
            return mark + one_line(first["text"], SUMMARY_LENGTH)
    return compact(result, SUMMARY_LENGTH)


def _error(error: Any) -> str:
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return f"{compact(error.get('code'), 40)} {one_line(error['message'], SUMMARY_LENGTH)}"
    return compact(error, SUMMARY_LENGTH)

"""The text of one row: a message, a connection event or an HTTP event.

Made only for rows that are painted; of a large message only the first bytes are read.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.formatting import count, duration, elide, number, one_line, size, summary
from mcp_progress_monitor.protocol.frames import FrameKind
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.protocol.messages import META, PROGRESS, PROGRESS_TOKEN
from mcp_progress_monitor.wording.json_values import compact

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.jsonrpc import Envelope

LARGE = 64 * 1024  # bytes of a message that are read for a row; larger ones are not decoded for it

_ENDS = 2_048
_SIMPLE = rb'("(?:[^"\\]|\\.)*+"|-?[0-9][0-9.eE+-]*+)'
_MEMBER = re.compile(rb'\s*+"(jsonrpc|id|method)"\s*+:\s*+' + _SIMPLE + rb"\s*+,")


class Head(NamedTuple):
    """The simple members before the payload as text; empty if absent."""

    method: str
    id: str


def head_of(raw: bytes) -> Head:
    """Read the method and the id if they precede the payload."""
    members: dict[bytes, bytes] = {}
    pos = raw[:_ENDS].find(b"{") + 1
    while pos and (match := _MEMBER.match(raw, pos, pos + _ENDS)):
        members[match[1]] = match[2]
        pos = match.end()
    return Head(_words(members.get(b"method")), _words(members.get(b"id")))


def _words(value: bytes | None) -> str:
    return "" if value is None else one_line(value.decode(errors="replace").strip('"'), 80)


_LONG_EVENT: Final = 300


def summary_of(name: str, fields: dict[str, Any]) -> str:
    """The text of an event, whatever a recording has; empty if its fields are shown instead."""
    reader = _EVENT_READERS.get(name)
    return "" if reader is None else reader(fields)


def _connection_closed(fields: dict[str, Any]) -> str:
    code = fields.get("exit_code")
    reason = _event_text(fields, "reason")
    is_told = type(code) is not int or str(code) in reason
    ended = "" if is_told else f"exit code {code}"
    unread = fields.get("unread")
    left = f"{size(unread)} unread" if type(unread) is int else ""
    return _joined(reason, ended, left, _event_text(fields, "outlook"))


def _failed(fields: dict[str, Any]) -> str:
    return _joined(*(_event_text(fields, name) for name in ("what", "where", "hint")))


def _restarting(fields: dict[str, Any]) -> str:
    return _event_text(fields, "reason")


def _plain_text(fields: dict[str, Any]) -> str:
    return _event_text(fields, "text")


def _call_ended(fields: dict[str, Any]) -> str:
    return _joined(_event_text(fields, "outcome"), _event_text(fields, "text"))


def _output_checked(fields: dict[str, Any]) -> str:
    for name, words in (
        ("problems", "The result violates the tool's output schema: {}"),
        ("unchecked", "The result was checked only in part: {}"),
    ):
        listed = fields.get(name)
        texts = (
            [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
        )
        if texts:
            return words.format(one_line("; ".join(texts), _LONG_EVENT))
    return ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _event_text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return one_line(value, _LONG_EVENT) if isinstance(value, str) else ""


_EVENT_READERS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "closed": _connection_closed,
    "failed": _failed,
    "restarting": _restarting,
    "transport_changed": _restarting,
    "call_ended": _call_ended,
    "output_checked": _output_checked,
    "timed_out": _call_ended,
    "sign_in_required": _plain_text,
    "client_log": _plain_text,
}


_LONG: Final = 300
_LONGEST_NUMBER: Final = 15
_HEADERS_SHOWN: Final = 10
_CUT: Final = re.compile(rb'\{"event":"(http_[a-z]{1,20})","exchange":(\d{1,15})\D')


class EventTexts(NamedTuple):
    """The texts of the method and summary columns."""

    method: str
    summary: str


def words_of(name: str, fields: dict[str, Any]) -> EventTexts | None:
    """The texts of an HTTP event, from whatever a recording has; None for other events."""
    reader = _HTTP_READERS.get(name)
    return None if reader is None else reader(fields)


def words_of_cut(raw: bytes) -> EventTexts | None:
    """The texts of an event of which only the beginning was read; None for other events."""
    found = _CUT.match(raw)
    if found is None:
        return None
    words = f"large, of exchange {found[2].decode()}"
    return EventTexts(found[1].decode(), words)


def _request(fields: dict[str, Any]) -> EventTexts:
    method, purpose = _text(fields, "method", 20), _text(fields, "purpose", 20)
    path = _path(_text(fields, "url", 2000))
    summary = "{request} → exchange {exchange}".format(
        request=f"{method} {path}".strip(), exchange=_number(fields, "exchange")
    )
    why = _PURPOSES.get(purpose, "")
    return EventTexts(method, f"{summary}, {why}" if why else summary)


def _response(fields: dict[str, Any]) -> EventTexts:
    status, after_s = _number(fields, "status"), _seconds(fields, "after_s")
    kind = _content_type(fields.get("headers")) or _text(fields, "reason", 60)
    words = f"{status} {kind}".strip()
    if after_s is not None:
        words = f"{words} after {duration(after_s)}"
    return EventTexts(status, f"{words}, {_of_exchange(fields)}")


def _events(fields: dict[str, Any]) -> EventTexts:
    found = fields.get("events")
    entries = [e for e in found if isinstance(e, dict)] if isinstance(found, list) else []
    total = sum(_count(entry) for entry in entries)
    words = f"{count(total, 'event')} {'of exchange {}'.format(_number(fields, 'exchange'))}"
    last = next((id_ for entry in reversed(entries) if (id_ := _last_id(entry)) is not None), None)
    if last is not None:
        words += f", last id {one_line(last, 80)}"
    return EventTexts("http_events", words)


def _last_id(entry: dict[str, Any]) -> str | None:
    ids = entry.get("ids")
    found = ids[-1] if isinstance(ids, list) and ids else entry.get("id")
    return found if isinstance(found, str) else None


def _count(entry: dict[str, Any]) -> int:
    """The number of events in an entry; one without a message counts as well."""
    times = entry.get("count")
    is_sound = type(times) is int and 0 < times < 10**_LONGEST_NUMBER
    return times if is_sound and isinstance(times, int) else 1


def _body(fields: dict[str, Any]) -> EventTexts:
    known = _size(fields) or "unknown size"
    words = f"body of {known}, {_of_exchange(fields)}"
    said = _text(fields, "text", _LONG)
    return EventTexts("http_body", f"{words}: {said}" if said else words)


def _ended(fields: dict[str, Any]) -> EventTexts:
    parts = [_text(fields, "reason", _LONG), _size(fields)]
    words = "end of exchange {}".format(_number(fields, "exchange"))
    told = ", ".join(part for part in parts if part)
    return EventTexts("http_ended", f"{words}: {told}" if told else words)


def _broken(fields: dict[str, Any]) -> EventTexts:
    words = "stream of request {} broke".format(_number(fields, "request"))
    reason, retry_s = _text(fields, "reason", _LONG), _seconds(fields, "retry_s")
    words = f"{words}: {reason}" if reason else words
    if retry_s is not None:
        words += f"; reconnecting in {duration(retry_s)}"
    return EventTexts("stream_broken", words + _place(fields))


def _resumed(fields: dict[str, Any]) -> EventTexts:
    words = "stream of request {} resumed".format(_number(fields, "request"))
    return EventTexts("stream_resumed", words + _place(fields))


def _closed(fields: dict[str, Any]) -> EventTexts:
    words = "stream of request {} closed, which cancels it".format(_number(fields, "request"))
    reason = _text(fields, "reason", _LONG)
    return EventTexts("stream_closed", f"{words}: {reason}" if reason else words)


def _repeated(fields: dict[str, Any]) -> EventTexts:
    request, reason = _number(fields, "request"), _text(fields, "reason", _LONG)
    found = fields.get("headers")
    names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    words = f"request {request} repeated with other headers"
    words = f"{words}: {reason}" if reason else words
    changed = one_line(", ".join(names[:_HEADERS_SHOWN]), _LONG)
    return EventTexts("request_repeated", f"{words}; {changed}" if changed else words)


def _place(fields: dict[str, Any]) -> str:
    last, attempt = _text(fields, "last_event_id", 80), _number(fields, "attempt")
    words = f" from event {last}" if last else ""
    return words + (f", attempt {attempt}" if attempt != "?" else "")


def _of_exchange(fields: dict[str, Any]) -> str:
    return "exchange {}".format(_number(fields, "exchange"))


def _path(url: str) -> str:
    """The part of a URL that the server is asked for."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return url
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _content_type(headers: Any) -> str:
    for pair in headers if isinstance(headers, list) else ():
        match pair:
            case [str(name), str(value)] if name.lower() == "content-type":
                return one_line(value.partition(";")[0], 80)
            case _:
                pass
    return ""


def _text(fields: dict[str, Any], name: str, most: int) -> str:
    value = fields.get(name)
    return one_line(elide(value, most), most) if isinstance(value, str) else ""


def _number(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    is_sound = type(value) is int and abs(value) < 10**_LONGEST_NUMBER
    return number(value).replace(",", "") if is_sound and isinstance(value, int) else "?"


def _seconds(fields: dict[str, Any], name: str) -> float | None:
    value: Any = fields.get(name)
    return value if type(value) in (int, float) and 0 <= value < 1e9 else None


def _size(fields: dict[str, Any]) -> str:
    """The recorded size; empty without one."""
    value: Any = fields.get("bytes")
    is_sound = type(value) is int and 0 <= value < 10**_LONGEST_NUMBER
    return size(value) if is_sound else ""


_PURPOSES: Final = {
    "listen": "to listen",
    "resume": "to resume a stream",
    "end": "to end the session",
    "auth": "to sign in",
    "probe": "to check whether the server is reachable",
}
_HTTP_READERS: Final[dict[str, Callable[[dict[str, Any]], EventTexts]]] = {
    "http_request": _request,
    "http_response": _response,
    "http_events": _events,
    "http_body": _body,
    "http_ended": _ended,
    "stream_broken": _broken,
    "stream_resumed": _resumed,
    "stream_closed": _closed,
    "request_repeated": _repeated,
}


SUMMARY_LENGTH = 400  # characters of a summary; the details show all of it


_LOOKS_TYPED = re.compile(r"[-+.\d\s\"].*|true|false|null|", re.DOTALL)


class TrafficRow(NamedTuple):
    """The texts of one row: `key` is the progress token if there is one, otherwise the id.

    For an event, `method` is its name.
    """

    method: str
    key: str
    summary: str


def describe(frame: Frame, kind: FrameKind, *, is_whole: bool = True) -> TrafficRow:
    """Return the texts of a frame's row, safe to show and of bounded length.

    If `raw` are only the first bytes, what precedes the payload is read.
    """
    if kind is FrameKind.STDERR:
        return TrafficRow("", "", _head(frame.raw))
    if kind is FrameKind.EVENT:
        return _event(frame)
    if not is_whole:
        head = head_of(frame.raw)
        return TrafficRow(head.method, head.id, _head(frame.raw))
    envelope = decode(frame.raw, is_complete=frame.is_complete)
    method = envelope.method if isinstance(envelope.method, str) else ""
    return TrafficRow(one_line(method), _key(envelope), _summary(kind, envelope, frame.raw))


def _event(frame: Frame) -> TrafficRow:
    """Our own events are JSON objects with an `event` key, not JSON-RPC."""
    fields = _event_fields(frame.raw)
    name = str(fields.pop("event", ""))
    of_http = words_of(name, fields) or (None if fields else words_of_cut(frame.raw))
    if of_http is not None:
        return TrafficRow(of_http.method, "", of_http.summary[:SUMMARY_LENGTH])
    listed = ", ".join(f"{key}: {compact(value, 120)}" for key, value in fields.items())
    words = summary_of(name, fields) or listed
    return TrafficRow(one_line(name), "", words[:SUMMARY_LENGTH])


def _event_fields(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw)
    except ValueError:
        return {"event": raw[:SUMMARY_LENGTH].decode(errors="replace")}
    return fields if isinstance(fields, dict) else {}


def _key(envelope: Envelope) -> str:
    """The token, which readers follow, or else the id."""
    params = envelope.params if isinstance(envelope.params, dict) else {}
    if envelope.method == PROGRESS and envelope.id is None:
        return _value(params, PROGRESS_TOKEN)
    meta = params.get(META)
    if isinstance(meta, dict) and PROGRESS_TOKEN in meta:
        return _value(meta, PROGRESS_TOKEN)
    return "" if envelope.id is None else plain(envelope.id)


def _value(members: dict[str, Any], name: str) -> str:
    return plain(members[name]) if name in members else ""


def plain(value: Any) -> str:
    """Return a token or an id; a string without quotes, unless it looks like a number."""
    if isinstance(value, str) and not _LOOKS_TYPED.fullmatch(value[:80]):
        return one_line(value, 80)
    return compact(value, 80)


def _summary(kind: FrameKind, envelope: Envelope, raw: bytes) -> str:
    match kind:
        case FrameKind.UNREADABLE | FrameKind.BATCH:
            return _head(raw)
        case FrameKind.REPLY:
            return _result(envelope.result)
        case FrameKind.ERROR:
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
    shown = {name: value for name, value in params.items() if name != META}
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
    """The text of a tool's first content block, if there is one: what readers look for."""
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

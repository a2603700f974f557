"""The texts in the cells of Traffic, made for painted rows and kept for the next paint."""

from __future__ import annotations

import enum
import json
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from mcp_progress_monitor import formatting
from mcp_progress_monitor.formatting import count, duration, one_line, size, summary
from mcp_progress_monitor.protocol.frames import Channel, FrameKind, server_name
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.protocol.messages import (
    DISCOVER,
    META,
    NOTIFICATIONS,
    OF_NOTIFICATIONS,
    PROGRESS,
    PROGRESS_TOKEN,
)
from mcp_progress_monitor.protocol.offers import definition_changes
from mcp_progress_monitor.recording.index import NONE, Segment
from mcp_progress_monitor.wording.content import compact
from mcp_progress_monitor.wording.result_summary import result_summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.gui.common.labels import ServerTitles
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.jsonrpc import Envelope
    from mcp_progress_monitor.recording.timeline import Timeline

LARGE = 256 * 1024
"""Bytes of a message that are read for a row, in a millisecond; larger ones are not decoded."""

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
    return Head(_member_text(members.get(b"method")), _member_text(members.get(b"id")))


def _member_text(value: bytes | None) -> str:
    return "" if value is None else one_line(value.decode(errors="replace").strip('"'), 80)


_LONG: Final = 300
_LONGEST_NUMBER: Final = 15
_HEADERS_SHOWN: Final = 10
_CUT: Final = re.compile(rb'\{"event":"(http_[a-z]{1,20})","exchange":(\d{1,15})\D')


class EventTexts(NamedTuple):
    """The texts of the method and summary columns."""

    method: str
    summary: str


def event_texts(name: str, fields: dict[str, Any]) -> EventTexts | None:
    """The texts of an event, from whatever a recording has; None to list its fields instead."""
    if name in _SHOWN_FIELDS:
        summary = _joined(*(_text(fields, each) for each in _SHOWN_FIELDS[name]))
    elif name in _READERS:
        summary = _READERS[name](fields)
    else:
        return None
    method = name
    if name == "http_request":
        method = _text(fields, "method", 20)
    elif name == "http_response":
        method = _number(fields, "status")
    return EventTexts(method, summary) if summary else None


def texts_of_cut(raw: bytes) -> EventTexts | None:
    """The texts of an HTTP event of which only the beginning was read; None for other events."""
    found = _CUT.match(raw)
    if found is None:
        return None
    return EventTexts(found[1].decode(), f"large, of exchange {found[2].decode()}")


def _connection_closed(fields: dict[str, Any]) -> str:
    code = fields.get("exit_code")
    reason = _text(fields, "reason")
    is_shown = type(code) is not int or str(code) in reason
    unread = fields.get("unread")
    left = f"{size(unread)} unread" if type(unread) is int else ""
    return _joined(reason, "" if is_shown else f"exit code {code}", left, _text(fields, "outlook"))


def _output_checked(fields: dict[str, Any]) -> str:
    for name, text in (
        ("problems", "The result violates the tool's output schema: {}"),
        ("unchecked", "The result was checked only in part: {}"),
    ):
        listed = fields.get(name)
        texts = [e for e in listed if isinstance(e, str)] if isinstance(listed, list) else []
        if texts:
            return text.format(one_line("; ".join(texts), _LONG))
    return ""


def _definitions_changed(fields: dict[str, Any]) -> str:
    names = ", ".join(tool for tool, _diff in definition_changes(fields))
    return f"Changed since the last session: {one_line(names, _LONG)}" if names else ""


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _detailed(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text


def _request(fields: dict[str, Any]) -> str:
    request = f"{_text(fields, 'method', 20)} {_path(_text(fields, 'url', 2000))}".strip()
    why = _PURPOSES.get(_text(fields, "purpose", 20), "")
    return f"{request} → {_exchange(fields)}" + (f", {why}" if why else "")


def _response(fields: dict[str, Any]) -> str:
    after_s = _seconds(fields, "after_s")
    kind = _content_type(fields.get("headers")) or _text(fields, "reason", 60)
    text = f"{_number(fields, 'status')} {kind}".strip()
    if after_s is not None:
        text = f"{text} after {duration(after_s)}"
    return f"{text}, {_exchange(fields)}"


def _events(fields: dict[str, Any]) -> str:
    found = fields.get("events")
    entries = [e for e in found if isinstance(e, dict)] if isinstance(found, list) else []
    total = sum(_count(entry) for entry in entries)
    text = f"{count(total, 'event')} of {_exchange(fields)}"
    last = next((id_ for entry in reversed(entries) if (id_ := _last_id(entry)) is not None), None)
    return text if last is None else f"{text}, last id {one_line(last, 80)}"


def _last_id(entry: dict[str, Any]) -> str | None:
    ids = entry.get("ids")
    found = ids[-1] if isinstance(ids, list) and ids else entry.get("id")
    return found if isinstance(found, str) else None


def _count(entry: dict[str, Any]) -> int:
    """The number of events in an entry; one without a message counts as well."""
    times: Any = entry.get("count")
    return times if type(times) is int and 0 < times < 10**_LONGEST_NUMBER else 1


def _body(fields: dict[str, Any]) -> str:
    text = f"body of {_size(fields) or 'unknown size'}, {_exchange(fields)}"
    return _detailed(text, _text(fields, "text"))


def _ended(fields: dict[str, Any]) -> str:
    parts = filter(None, [_text(fields, "reason"), _size(fields)])
    return _detailed(f"end of {_exchange(fields)}", ", ".join(parts))


def _broken(fields: dict[str, Any]) -> str:
    retry_s = _seconds(fields, "retry_s")
    text = _detailed(f"{_stream(fields)} broke", _text(fields, "reason"))
    if retry_s is not None:
        text += f"; reconnecting in {duration(retry_s)}"
    return text + _place(fields)


def _resumed(fields: dict[str, Any]) -> str:
    return f"{_stream(fields)} resumed{_place(fields)}"


def _closed(fields: dict[str, Any]) -> str:
    return _detailed(f"{_stream(fields)} closed, which cancels it", _text(fields, "reason"))


def _repeated(fields: dict[str, Any]) -> str:
    found = fields.get("headers")
    names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    text = f"request {_number(fields, 'request')} repeated with other headers"
    changed = one_line(", ".join(names[:_HEADERS_SHOWN]), _LONG)
    return _joined(_detailed(text, _text(fields, "reason")), changed)


def _stream(fields: dict[str, Any]) -> str:
    return f"stream of request {_number(fields, 'request')}"


def _exchange(fields: dict[str, Any]) -> str:
    return f"exchange {_number(fields, 'exchange')}"


def _place(fields: dict[str, Any]) -> str:
    last, attempt = _text(fields, "last_event_id", 80), _number(fields, "attempt")
    text = f" from event {last}" if last else ""
    return text + (f", attempt {attempt}" if attempt != "?" else "")


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


def _text(fields: dict[str, Any], name: str, most: int = _LONG) -> str:
    value = fields.get(name)
    return one_line(value, most) if isinstance(value, str) else ""


def _number(fields: dict[str, Any], name: str) -> str:
    value: Any = fields.get(name)
    return str(value) if type(value) is int and abs(value) < 10**_LONGEST_NUMBER else "?"


def _seconds(fields: dict[str, Any], name: str) -> float | None:
    value: Any = fields.get(name)
    return value if type(value) in (int, float) and 0 <= value < 1e9 else None


def _size(fields: dict[str, Any]) -> str:
    """The recorded size; empty without one."""
    value: Any = fields.get("bytes")
    return size(value) if type(value) is int and 0 <= value < 10**_LONGEST_NUMBER else ""


_PURPOSES: Final = {
    "listen": "to listen",
    "resume": "to resume a stream",
    "end": "to end the session",
    "auth": "to sign in",
    "probe": "to check whether the server is reachable",
}
_SHOWN_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "failed": ("what", "where", "hint"),
    "restarting": ("reason",),
    "transport_changed": ("reason",),
    "call_ended": ("outcome", "text"),
    "timed_out": ("outcome", "text"),
    "sign_in_required": ("text",),
    "client_log": ("text",),
}
"""Events whose summary is the text of some of their fields."""
_READERS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "closed": _connection_closed,
    "output_checked": _output_checked,
    "definitions_changed": _definitions_changed,
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


def short_method(method: str) -> str:
    """The name of a notification of MCP without what they all begin with; other names unchanged."""
    return method.removeprefix(OF_NOTIFICATIONS) if method in NOTIFICATIONS else method


def _event(frame: Frame) -> TrafficRow:
    """Our own events are JSON objects with an `event` key, not JSON-RPC."""
    fields = _event_fields(frame.raw)
    name = str(fields.pop("event", ""))
    texts = event_texts(name, fields) or (None if fields else texts_of_cut(frame.raw))
    if texts is None:
        listed = ", ".join(f"{key}: {compact(value, 120)}" for key, value in fields.items())
        texts = EventTexts(one_line(name), listed)
    return TrafficRow(texts.method, "", texts.summary[:SUMMARY_LENGTH])


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
    parts = [one_line(shown.pop(key), SUMMARY_LENGTH) for key in named]
    rest = shown.get("arguments", shown) if named else shown
    if isinstance(rest, dict):
        parts.append(summary(rest, SUMMARY_LENGTH))
    elif rest is not None:
        parts.append(compact(rest, SUMMARY_LENGTH))
    return " ".join(parts).rstrip()


def _progress(params: dict[str, Any]) -> str:
    """`632/1000 Processing batch 632`: exact numbers as received, whatever their type."""
    text = compact(params["progress"], 60) if "progress" in params else "?"
    if params.get("total") is not None:
        text += "/" + compact(params["total"], 60)
    message = params.get("message")
    if isinstance(message, str):
        text += " " + one_line(message, SUMMARY_LENGTH)
    elif message is not None:
        text += " " + compact(message, SUMMARY_LENGTH)
    return text


def _result(result: Any) -> str:
    text = result_summary(result, SUMMARY_LENGTH) if isinstance(result, dict) else ""
    return text[:SUMMARY_LENGTH] or compact(result, SUMMARY_LENGTH)


def _error(error: Any) -> str:
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return f"{compact(error.get('code'), 40)} {one_line(error['message'], SUMMARY_LENGTH)}"
    return compact(error, SUMMARY_LENGTH)


class Reached(NamedTuple):
    """The values of a progress notification; a total that is absent is empty."""

    progress: str
    total: str


def _reached(frame: Frame | None) -> Reached:
    envelope = None if frame is None else decode(frame.raw, is_complete=frame.is_complete)
    params = None if envelope is None else envelope.params
    if not isinstance(params, dict) or "progress" not in params:
        return Reached("?", "")
    total = params.get("total")
    return Reached(_short(params["progress"]), "" if total is None else _short(total))


_LARGEST: Final = 1e15  # of numbers that are written without an exponent


def _short(value: Any) -> str:
    """A number with at most four digits behind its point, or any other value as received."""
    is_short = not isinstance(value, float) or not abs(value) < _LARGEST
    return compact(value, 60) if is_short else f"{value:.4f}".rstrip("0").rstrip(".")


_Row = TypeVar("_Row")

_REMEMBERED: Final = 2_000  # rows whose texts are kept: several screens full

# The columns' numbers are those of `TrafficColumn`.
_TIME, _SERVER, _METHOD, _KEY, _SUMMARY = 0, 3, 5, 6, 7
_REPLIES: Final = (FrameKind.REPLY, FrameKind.ERROR)
_DIRECTIONS: Final = {
    Channel.SENT: "→ sent",
    Channel.RECEIVED: "← received",
    Channel.STDERR: "← stderr",
    Channel.EVENT: "· event",
}


class _Known(NamedTuple):
    """Index entry of a row; `method` and `key` are None if it does not have them."""

    kind: FrameKind
    texts: tuple[str, ...]
    method: str | None
    key: str | None


class TrafficCells:
    """Texts of cells by place and column.

    Most come from the timeline's index; only the summary, ids and unusual methods need the frame's
    bytes, of which at most `LARGE` are read.
    """

    def __init__(self, timeline: Timeline, titles: ServerTitles) -> None:
        self._timeline = timeline
        self._known: dict[int, _Known] = {}
        self._read: dict[int, TrafficRow] = {}
        self._folds: dict[int, tuple[tuple[int, int], str]] = {}
        self._titles = titles

    def forget(self) -> None:
        """Forget all texts: the frames have changed."""
        self._known.clear()
        self._read.clear()
        self._folds.clear()

    def kind(self, place: int) -> FrameKind | None:
        """Return the kind of the frame at `place`; None if it is gone."""
        known = self._index_row(place)
        return None if known is None else known.kind

    def is_expected(self, place: int) -> bool:
        """True if it is an error that our own request provokes from servers of earlier revisions.

        They need not know `server/discover`, which only finds out their revision.
        """
        if self.kind(place) is not FrameKind.ERROR:
            return False
        request = self._timeline.request_of(place)
        found = None if request is None else self._timeline.columns.locate(request)
        if request is None or found is None:
            return False
        is_ours = self._timeline.source(*found).channel is Channel.SENT
        return is_ours and self.text(request, _METHOD) == DISCOVER

    def text(self, place: int, column: int) -> str:
        """Return the text of a cell, except the time difference; empty if the frame is gone."""
        known = self._index_row(place)
        if known is None:
            return ""
        if column == _KEY:
            return self._key(place, known)
        if column == _METHOD:
            return self._method(place, known)
        if column == _SERVER:
            return self._titles.text(known.texts[_SERVER])
        if column == _SUMMARY:
            text = self._content(place, known.kind).summary
            if known.kind is FrameKind.ERROR and self.is_expected(place):
                return f"{text} — expected from servers before 2026-07-28"
            return text
        return known.texts[column]

    def tip(self, place: int, column: int) -> str:
        if column == _TIME:
            found = self._timeline.columns.locate(place)
            if found is None:
                return ""
            when = self._timeline.columns.when(place, found[0].ats[found[1]])
            return formatting.date_and_clock(when)
        if column == _METHOD:
            return self._whole_method(place)
        known = self._index_row(place) if column == _SERVER else None
        return "" if known is None else self._titles.tip(known.texts[_SERVER])

    def delta(self, place: int, previous: int) -> str:
        """Return the seconds from the frame at `previous` to that at `place`, to the millisecond.

        Empty if one of them is gone.
        """
        one, other = (self._timeline.columns.locate(each) for each in (place, previous))
        if one is None or other is None:
            return ""
        return formatting.since(one[0].ats[one[1]] - other[0].ats[other[1]])

    def ticks(self, first: int, last: int, number: int) -> str:
        """Return the summary of so many progress notifications of one request."""
        known = self._folds.get(first)
        if known is None or known[0] != (last, number):
            known = ((last, number), self._ticks(first, last, number))
            _remember(self._folds, first, known)
        return known[1]

    def _ticks(self, first: int, last: int, number: int) -> str:
        ends = [self._timeline.columns.locate(place) for place in (first, last)]
        ats = [found[0].ats[found[1]] for found in ends if found is not None]
        begin, end = (_reached(self._timeline.frame(place, LARGE)) for place in (first, last))
        span = formatting.duration(ats[-1] - ats[0]) if ats else "?"
        total = f" of {end.total}" if end.total else ""
        return f"{count(number, 'tick')}, {begin.progress} to {end.progress}{total}, {span}"

    def _whole_method(self, place: int) -> str:
        """The name of a message's method, if only a part of it is in its cell."""
        known = self._index_row(place)
        if known is None or known.kind in _REPLIES:
            return ""
        method = self._content(place, known.kind).method if known.method is None else known.method
        return "" if short_method(method) == method else method

    def _method(self, place: int, known: _Known) -> str:
        """The short name of a message's method; for a reply that of its request."""
        if known.kind in _REPLIES:
            request = self._timeline.request_of(place)
            return "" if request is None else self.text(request, _METHOD)
        method = self._content(place, known.kind).method if known.method is None else known.method
        return short_method(method)

    def _key(self, place: int, known: _Known) -> str:
        if known.key is not None:
            return known.key
        key = self._content(place, known.kind).key
        if key or known.kind not in _REPLIES:
            return key
        # An id after a large result is that of its request.
        request = self._timeline.request_of(place)
        return "" if request is None else self._content(request, FrameKind.REQUEST).key

    def _index_row(self, place: int) -> _Known | None:
        known = self._known.get(place)
        if known is None:
            found = self._timeline.columns.locate(place)
            if found is None:
                return None
            known = self._made(place, *found)
            _remember(self._known, place, known)
        return known

    def _made(self, place: int, segment: Segment, row: int) -> _Known:
        columns = self._timeline.columns
        source = self._timeline.source(segment, row)
        kind = FrameKind(segment.kinds[row] & Segment.KIND)
        took_s = self._timeline.duration_s(place)
        took = "" if took_s is None else formatting.duration(took_s)
        if took_s is not None and 0 <= took_s < 0.001:
            took = "< 1 ms"  # `0 ms` would not look like a measured time
        text = (
            formatting.clock(columns.when(place, segment.ats[row])),
            "",
            _DIRECTIONS[source.channel],
            formatting.one_line(server_name(source.connection), 80),
            kind.word,
            "",
            "",
            "",
            f"{segment.sizes[row]:,}",
            took,
            formatting.number(self._timeline.number(place)),
        )
        method = columns.methods.value(segment.methods[row]) or ""
        is_known = segment.methods[row] != columns.methods.many and kind is not FrameKind.EVENT
        token: Any = columns.tokens.value(segment.tokens[row])
        is_named = segment.tokens[row] not in (NONE, columns.tokens.many)
        return _Known(
            kind,
            text,
            formatting.one_line(method) if is_known else None,
            plain(token) if is_named else None,
        )

    def _content(self, place: int, kind: FrameKind) -> TrafficRow:
        row = self._read.get(place)
        if row is None:
            size = self._timeline.size(place)
            frame = self._timeline.frame(place, LARGE)
            if frame is None or (size and not frame.raw):
                return TrafficRow("", "", "(bytes no longer available)")
            row = describe(frame, kind, is_whole=size <= LARGE)
            _remember(self._read, place, row)
        return row


def _remember(rows: dict[int, _Row], place: int, row: _Row) -> None:
    if len(rows) >= _REMEMBERED:
        del rows[next(iter(rows))]
    rows[place] = row


class TrafficColumn(enum.IntEnum):
    """The columns, in their first order."""

    TIME = 0
    DELTA = 1
    DIRECTION = 2
    SERVER = 3
    KIND = 4
    METHOD = 5
    KEY = 6
    SUMMARY = 7
    SIZE = 8
    DURATION = 9
    NUMBER = 10


RIGHT_ALIGNED: Final = frozenset(
    {TrafficColumn.DELTA, TrafficColumn.SIZE, TrafficColumn.DURATION, TrafficColumn.NUMBER}
)
"""Columns of numbers."""
HEADERS: Final = (
    ("Time", "Local time"),
    ("Δ s", "Seconds since the row above"),
    ("⇄", "Direction: whether the message was sent or received"),
    ("Server", "Name of the server"),
    ("Kind", "Kind of message"),
    ("Method", "Method of the request or notification; of a reply, that of its request"),
    ("Token / id", "Progress token of the message or of its request; otherwise the id"),
    ("Summary", "Summary of the message"),
    ("Size", "Size in bytes without the line ending"),
    ("Duration", "Time from request to reply"),
    ("No.", "Number of the message in the session; “Go to message” selects one"),
)
"""The title of each column, and its tool tip."""

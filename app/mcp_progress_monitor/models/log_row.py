"""What one row of the log says of a frame's content, made only for rows that are painted."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.models.json_text import compact
from mcp_progress_monitor.models.log_events import summary_of
from mcp_progress_monitor.models.log_head import head_of
from mcp_progress_monitor.models.log_http import words_of, words_of_cut
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.text import one_line, summary

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.protocol.jsonrpc import Envelope

SUMMARY_LENGTH = 400
"""Characters of a summary; the details show the whole."""

PROGRESS = "notifications/progress"

_LOOKS_TYPED = re.compile(r"[-+.\d\s\"].*|true|false|null|", re.DOTALL)


class LogRow(NamedTuple):
    """The words of one row: `key` is the progress token if there is one, otherwise the id.

    `method` is an event's name where the frame is one.
    """

    method: str
    key: str
    summary: str


def describe(frame: Frame, kind: FrameKind, *, is_whole: bool = True) -> LogRow:
    """Return the words of `frame`'s row; all of them safe to show and of bounded length.

    Where `raw` are the first bytes only, what stands before the payload is read.
    """
    if kind is FrameKind.STDERR:
        return LogRow("", "", _head(frame.raw))
    if kind is FrameKind.EVENT:
        return _event(frame)
    if not is_whole:
        head = head_of(frame.raw)
        return LogRow(head.method, head.id, _head(frame.raw))
    envelope = decode(frame.raw, is_complete=frame.is_complete)
    method = envelope.method if isinstance(envelope.method, str) else ""
    return LogRow(one_line(method), _key(envelope), _summary(kind, envelope, frame.raw))


def _event(frame: Frame) -> LogRow:
    """Our own events are JSON objects with an `event` key, not JSON-RPC: read them anew."""
    fields = _event_fields(frame.raw)
    name = str(fields.pop("event", ""))
    of_http = words_of(name, fields) or (None if fields else words_of_cut(frame.raw))
    if of_http is not None:
        return LogRow(of_http.method, "", of_http.summary[:SUMMARY_LENGTH])
    listed = ", ".join(f"{key}: {compact(value, 120)}" for key, value in fields.items())
    words = summary_of(name, fields) or listed
    return LogRow(one_line(name), "", words[:SUMMARY_LENGTH])


def _event_fields(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw)
    except ValueError:
        return {"event": raw[:SUMMARY_LENGTH].decode(errors="replace")}
    return fields if isinstance(fields, dict) else {}


def _key(envelope: Envelope) -> str:
    """The token names what a reader follows; a message without one is named by its id."""
    params = envelope.params if isinstance(envelope.params, dict) else {}
    if envelope.method == PROGRESS and envelope.id is None:
        return _value(params, "progressToken")
    meta = params.get("_meta")
    if isinstance(meta, dict) and "progressToken" in meta:
        return _value(meta, "progressToken")
    return "" if envelope.id is None else plain(envelope.id)


def _value(members: dict[str, Any], name: str) -> str:
    return plain(members[name]) if name in members else ""


def plain(value: Any) -> str:
    """Return a token or an id; a string without quotes, unless it could be taken for a number."""
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

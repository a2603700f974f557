"""What the log says of the events of HTTP: requests, responses, what came on them, streams."""

from __future__ import annotations

import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.text import count, duration, elide, number, one_line, size

if TYPE_CHECKING:
    from collections.abc import Callable

_LONG: Final = 300
_LONGEST_NUMBER: Final = 15
_HEADERS_SHOWN: Final = 10
_CUT: Final = re.compile(rb'\{"event":"(http_[a-z]{1,20})","exchange":(\d{1,15})\D')


class EventWords(NamedTuple):
    """What stands in the columns for the method and for the summary."""

    method: str
    summary: str


def words_of(name: str, fields: dict[str, Any]) -> EventWords | None:
    """The words for an event of HTTP, from whatever a recording has; None for any other event."""
    reader = _READERS.get(name)
    return None if reader is None else reader(fields)


def words_of_cut(raw: bytes) -> EventWords | None:
    """The words for an event of which only the beginning was read; None for any other event."""
    found = _CUT.match(raw)
    if found is None:
        return None
    words = _tr("large, of exchange {}").format(found[2].decode())
    return EventWords(found[1].decode(), words)


def _request(fields: dict[str, Any]) -> EventWords:
    method, purpose = _text(fields, "method", 20), _text(fields, "purpose", 20)
    path = _path(_text(fields, "url", 2000))
    summary = _tr("{request} → exchange {exchange}").format(
        request=f"{method} {path}".strip(), exchange=_number(fields, "exchange")
    )
    why = _PURPOSES.get(purpose, "")
    return EventWords(method, f"{summary}, {_tr(why)}" if why else summary)


def _response(fields: dict[str, Any]) -> EventWords:
    status, after_s = _number(fields, "status"), _seconds(fields, "after_s")
    kind = _content_type(fields.get("headers")) or _text(fields, "reason", 60)
    words = f"{status} {kind}".strip()
    if after_s is not None:
        words = _tr("{response} after {time}").format(response=words, time=duration(after_s))
    return EventWords(status, f"{words}, {_of_exchange(fields)}")


def _events(fields: dict[str, Any]) -> EventWords:
    found = fields.get("events")
    entries = [e for e in found if isinstance(e, dict)] if isinstance(found, list) else []
    total = sum(_count(entry) for entry in entries)
    words = f"{count(total, 'event')} {_tr('of exchange {}').format(_number(fields, 'exchange'))}"
    last = next((id_ for entry in reversed(entries) if (id_ := _last_id(entry)) is not None), None)
    if last is not None:
        words += _tr(", last id {}").format(one_line(last, 80))
    return EventWords("http_events", words)


def _last_id(entry: dict[str, Any]) -> str | None:
    """The id of the last event that an entry tells of."""
    ids = entry.get("ids")
    found = ids[-1] if isinstance(ids, list) and ids else entry.get("id")
    return found if isinstance(found, str) else None


def _count(entry: dict[str, Any]) -> int:
    """How many events an entry tells of: one without a message is one as well."""
    times = entry.get("count")
    is_sound = type(times) is int and 0 < times < 10**_LONGEST_NUMBER
    return times if is_sound and isinstance(times, int) else 1


def _body(fields: dict[str, Any]) -> EventWords:
    known = _size(fields) or _tr("unknown size")
    words = _tr("body of {size}, {exchange}").format(size=known, exchange=_of_exchange(fields))
    said = _text(fields, "text", _LONG)
    return EventWords("http_body", f"{words}: {said}" if said else words)


def _ended(fields: dict[str, Any]) -> EventWords:
    parts = [_text(fields, "reason", _LONG), _size(fields)]
    words = _tr("end of exchange {}").format(_number(fields, "exchange"))
    told = ", ".join(part for part in parts if part)
    return EventWords("http_ended", f"{words}: {told}" if told else words)


def _broken(fields: dict[str, Any]) -> EventWords:
    words = _tr("stream of request {} broke").format(_number(fields, "request"))
    reason, retry_s = _text(fields, "reason", _LONG), _seconds(fields, "retry_s")
    words = f"{words}: {reason}" if reason else words
    if retry_s is not None:
        words += _tr("; trying again in {}").format(duration(retry_s))
    return EventWords("stream_broken", words + _place(fields))


def _resumed(fields: dict[str, Any]) -> EventWords:
    words = _tr("stream of request {} taken up again").format(_number(fields, "request"))
    return EventWords("stream_resumed", words + _place(fields))


def _closed(fields: dict[str, Any]) -> EventWords:
    words = _tr("stream of request {} closed, which cancels it").format(_number(fields, "request"))
    reason = _text(fields, "reason", _LONG)
    return EventWords("stream_closed", f"{words}: {reason}" if reason else words)


def _repeated(fields: dict[str, Any]) -> EventWords:
    request, reason = _number(fields, "request"), _text(fields, "reason", _LONG)
    found = fields.get("headers")
    names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    words = _tr("request {} made again with other headers").format(request)
    words = f"{words}: {reason}" if reason else words
    changed = one_line(", ".join(names[:_HEADERS_SHOWN]), _LONG)
    return EventWords("request_repeated", f"{words}; {changed}" if changed else words)


def _place(fields: dict[str, Any]) -> str:
    last, attempt = _text(fields, "last_event_id", 80), _number(fields, "attempt")
    words = _tr(" from event {}").format(last) if last else ""
    return words + (_tr(", attempt {}").format(attempt) if attempt != "?" else "")


def _of_exchange(fields: dict[str, Any]) -> str:
    return _tr("exchange {}").format(_number(fields, "exchange"))


def _path(url: str) -> str:
    """What of a URL the server is asked for."""
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
    """The size that is told, empty where that is none."""
    value: Any = fields.get("bytes")
    is_sound = type(value) is int and 0 <= value < 10**_LONGEST_NUMBER
    return size(value) if is_sound else ""


def _tr(words: str) -> str:
    return QCoreApplication.translate("LogHttp", words)


_PURPOSES: Final = {
    "listen": "to listen",
    "resume": "to take up a stream",
    "end": "to end the session",
    "auth": "to sign in",
    "probe": "to see whether the server is there",
}
_READERS: Final[dict[str, Callable[[dict[str, Any]], EventWords]]] = {
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

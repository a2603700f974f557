"""One line about a frame, and one word for what it is: what a list of frames shows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from app.protocol.eras import as_object
from app.protocol.frame import Channel
from app.protocol.jsonrpc import OVERSIZED, Envelope, Kind, decode
from app.protocol.progress import PROGRESS
from app.protocol.reading import Elided, NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from app.protocol.frame import Frame

_ENCODER = json.JSONEncoder(ensure_ascii=False)

LONGEST = 300
"""Longest summary, in characters."""

OVERSIZED_KIND = "large"
STDERR_KIND = "stderr"
EVENT_KIND = "event"
PROGRESS_KIND = "progress"

# Line ends, control characters, and the marks that turn the direction of text around.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


def kind_of(frame: Frame) -> str:
    """One word: `progress`, a `Kind`'s value, `stderr`, `event`, or `large` if undecoded.

    Decodes the frame, but never an oversized one: that costs the same for any size.
    """
    if frame.channel is Channel.STDERR:
        return STDERR_KIND
    if frame.channel is Channel.EVENT:
        return EVENT_KIND
    if len(frame.raw) > OVERSIZED:
        return OVERSIZED_KIND
    return kind_word(decode(frame.raw, is_complete=frame.is_complete))


def kind_word(message: Envelope) -> str:
    """The word of `kind_of` for a decoded message."""
    return PROGRESS_KIND if message.method == PROGRESS else message.kind.value


def summarise(frame: Frame) -> str:
    """One line of plain text of at most `LONGEST` characters, without control characters."""
    if frame.channel is Channel.STDERR:
        return _plain(frame.raw[: LONGEST * 4].decode(errors="replace"))
    if frame.channel is Channel.EVENT:
        return _plain(_event(frame.raw))
    if len(frame.raw) > OVERSIZED:
        head = frame.raw[: LONGEST * 4].decode(errors="replace")
        return _plain(f"{len(frame.raw) / OVERSIZED:,.1f} MiB: {head}")
    return summarise_message(decode(frame.raw, is_complete=frame.is_complete), frame.raw)


def summarise_message(message: Envelope, raw: bytes) -> str:
    """The line of `summarise` for a decoded message, of which `raw` are the bytes."""
    match message.kind:
        case Kind.REQUEST:
            return _plain(f"{message.method} #{_compact(message.id)}{_arguments(message.params)}")
        case Kind.NOTIFICATION if message.method == PROGRESS:
            return _plain(_progress(as_object(message.params)))
        case Kind.NOTIFICATION:
            return _plain(f"{message.method}{_arguments(message.params)}")
        case Kind.RESULT:
            return _plain(f"result of #{_compact(message.id)} {_compact(message.result)}")
        case Kind.ERROR:
            return _plain(f"error of #{_compact(message.id)} {_error(message.error)}")
        case Kind.BLANK:
            return "blank line"
        case _:
            return _plain(raw[: LONGEST * 4].decode(errors="replace"))


def _progress(params: dict[str, Any]) -> str:
    total = f"/{_compact(params['total'])}" if "total" in params else ""
    text = params.get("message", "")
    words = text if isinstance(text, str) else _compact(text)
    token, progress = _compact(params.get("progressToken")), _compact(params.get("progress"))
    return f"progress {token} {progress}{total} {words}"


def _arguments(params: Any) -> str:
    """Parameters without `_meta`; the name of a tool or prompt in front."""
    if not isinstance(params, dict):
        return "" if params is None else f" {_compact(params)}"
    rest = {key: value for key, value in params.items() if key != "_meta"}
    name = rest.pop("name", None) if isinstance(rest.get("name"), str) else None
    words = [] if name is None else [name]
    shown = rest.get("arguments", {}) if set(rest) <= {"arguments"} else rest
    if shown:
        words.append(_compact(shown))
    return "".join(f" {word}" for word in words)


def _error(error: Any) -> str:
    members = as_object(error)
    text = members.get("message")
    if not isinstance(text, str):
        return _compact(error)
    return f"{_compact(members['code'])} {text}" if "code" in members else text


def _event(raw: bytes) -> str:
    try:
        fields = as_object(read_value(raw).value)
    except (NotJsonError, TooDeepError):
        return raw[: LONGEST * 4].decode(errors="replace")
    name = str(fields.pop("event", "event"))
    return f"{name} " + ", ".join(
        f"{key}: {value if isinstance(value, str) else _compact(value)}"
        for key, value in fields.items()
    )


def _compact(value: Any) -> str:
    """`value` as JSON, no more of it than a summary may show."""
    if isinstance(value, dict):
        value = {key: "…" if isinstance(item, Elided) else item for key, item in value.items()}
    text = ""
    for piece in _ENCODER.iterencode(value):
        text += piece
        if len(text) > LONGEST:
            break
    return text


def _plain(text: str) -> str:
    line = _UNPRINTABLE.sub(" ", text[: LONGEST * 4]).strip()
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"

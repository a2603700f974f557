"""Replies as they came: the exact JSON of a message's member, every digit of it."""

from __future__ import annotations

import functools
import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from mcp_progress_monitor.protocol.hidden import HIDDEN, TOKEN
from mcp_progress_monitor.protocol.outline import finish, object_spans
from mcp_progress_monitor.protocol.reading import NotJsonError

if TYPE_CHECKING:
    from collections.abc import Callable

_UNSAFE = re.compile("[\n\r\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Ends of lines for some readers, and what a terminal or the eye would obey."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_HIDDEN = f'"{HIDDEN}"'


def exact_result(raw: bytes) -> str:
    """The JSON of a reply's result as `exact_member` gives it, but for its resume token.

    Tokens stay out of terminals and files: who has one can go on with the work.
    """
    return _without_token(exact_member(raw, "result"))


def exact_outcome(raw: bytes) -> str:
    """The result of a call as `exact_result` gives it, also where a task states it in its own.

    That is how 2026-07-28 has it: the reply to `tasks/get` is the task with what became of it.
    """
    exact = exact_result(raw)
    if not (exact.startswith("{") and '"taskId"' in exact):
        return exact
    names = {span.key for span in finish(object_spans(exact.encode()))}
    is_task = {"taskId", "status", "result"} <= names and "content" not in names
    return _without_token(exact_member(exact.encode(), "result")) if is_task else exact


def indented(exact: str) -> str:
    """The same JSON over several lines, every digit kept; as it is where it cannot be laid out."""
    try:
        return msgspec.json.format(exact, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return exact


def exact_data(error: bytes) -> str:
    """The JSON of an error's data as `exact_member` gives it, but for a resume token in it."""
    return _without_token(exact_member(error, "data"))


def _without_token(value: str) -> str:
    may_have_one = TOKEN in value or "\\u" in value  # a name may be written in escapes
    if not may_have_one:
        return value
    return _with_hidden(_with_hidden(value, TOKEN), "_meta", TOKEN)


def _with_hidden(text: str, name: str, *inner: str) -> str:
    """Valid JSON with the value of an object's member hidden; with `inner`, of a member of that."""
    raw = text.encode()
    if not text.startswith("{") or _plain_member(raw, name) is None:
        return text
    for span in reversed(finish(object_spans(raw))):
        if span.key == name:
            value = raw[span.start : span.end].decode()
            hidden = _with_hidden(value, *inner) if inner else _HIDDEN
            raw = raw[: span.start] + hidden.encode() + raw[span.end :]
    return raw.decode()


def exact_member(raw: bytes, name: str) -> str:
    """The JSON of a message's member as sent, every digit of every number kept, on one line.

    Control and direction characters are escaped, which changes no value. JSON that is only nearly
    JSON is made valid: text instead of `NaN`, U+FFFD for broken UTF-8, the last of several members
    of one name. `"null"` when there is no such member.
    """
    found = _plain_member(raw, name)
    if found is None:
        return "null"
    return _on_one_line(found.decode("utf-8", "replace"))


def _plain_member(raw: bytes, name: str) -> bytes | None:
    """The valid JSON of an object's member but for its UTF-8; None when there is none.

    A reply of many megabytes is checked and cut in one go, a hundred times as fast as it would be
    read; only what is not quite JSON is walked.
    """
    try:
        value = _decoder(name)(raw)
    except (msgspec.DecodeError, RecursionError):
        return _odd_member(raw, name)
    return None if value is msgspec.UNSET else bytes(value)


@functools.lru_cache(maxsize=32)
def _decoder(name: str) -> Callable[[bytes], Any]:
    members = [("value", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET)]
    kind = msgspec.defstruct("Found", members, rename={"value": name}, gc=False)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
    return lambda raw: decoder.decode(raw).value


def _odd_member(raw: bytes, name: str) -> bytes | None:
    try:
        spans = [span for span in finish(object_spans(raw)) if span.key == name]
    except NotJsonError:
        return None
    if not spans:
        return None
    part = raw[spans[-1].start : spans[-1].end]
    return _valid(part.decode("utf-8", "replace")).encode()


def _valid(part: str) -> str:
    """`part` itself if it is JSON, otherwise what Python can make of it."""
    try:
        _CHECK.decode(_SURROGATE.sub(r"\\u0000", part))  # a lone one is JSON all the same
    except RecursionError:
        return part  # its brackets match; Python can walk it no further
    except msgspec.DecodeError:
        pass
    else:
        return part
    try:
        _STRICT.decode(part)
    except RecursionError:
        return part
    except ValueError:
        return as_json(json.loads(part, strict=False))
    return part


def _on_one_line(text: str) -> str:
    """Escape what is unsafe: each such character in all places at once, however many there are."""
    at = 0
    while found := _UNSAFE.search(text, at):
        text = text.replace(found[0], _escaped(found))
        at = found.start()
    return text


def _escaped(found: re.Match[str]) -> str:
    return " " if found[0] in "\r\n" else f"\\u{ord(found[0]):04x}"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# Numbers stay text: only their being numbers matters, and very long ones would be refused.
_CHECK = msgspec.json.Decoder(msgspec.Raw)
_STRICT = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


def as_json(value: object, *, indent: int | None = None) -> str:
    """Valid JSON in ASCII, on one line without `indent`; what JSON cannot express becomes text."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(value, separators=separators, indent=indent, allow_nan=False)
    except (TypeError, ValueError):
        value = _expressible(value)
        return json.dumps(value, separators=separators, indent=indent, allow_nan=False)


def _expressible(value: object) -> object:
    match value:
        case dict():
            return {str(key): _expressible(item) for key, item in value.items()}
        case list():
            return [_expressible(item) for item in value]
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)

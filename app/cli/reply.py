"""Replies as they came: the exact JSON of a message's member, every digit of it."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, NoReturn

from app.protocol.hidden import HIDDEN, TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = re.compile(r"[ \t\r\n]*+")
_SCALAR = re.compile(r'[^ \t\r\n,\[\]{}":]++')
_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
"""A bracket, or a whole string so that brackets within are passed over; never tried twice."""
_UNSAFE = re.compile("[\r\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Ends of lines for some readers, and what a terminal or the eye would obey."""
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
    names = {name for name, _, _ in _spans(exact)}
    is_task = {"taskId", "status", "result"} <= names and "content" not in names
    return _without_token(exact_member(exact.encode(), "result")) if is_task else exact


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
    if not text.startswith("{"):
        return text
    spans = [(start, end) for key, start, end in _spans(text) if key == name]
    for start, end in reversed(spans):
        value = text[start:end]
        text = text[:start] + (_with_hidden(value, *inner) if inner else _HIDDEN) + text[end:]
    return text


def exact_member(raw: bytes, name: str) -> str:
    """The JSON of a message's member as sent, every digit of every number kept, on one line.

    Control and direction characters are escaped, which changes no value. JSON that is only nearly
    JSON is made valid: text instead of `NaN`, U+FFFD for broken UTF-8, the last of several members
    of one name. `"null"` when there is no such member.
    """
    text = raw.decode("utf-8-sig", "replace")
    try:
        found = [text[start:end] for key, start, end in _spans(text) if key == name]
    except ValueError:
        return "null"
    return _UNSAFE.sub(_escaped, _valid(found[-1])) if found else "null"


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Every name of the object in `text`, with the place where its value's JSON starts and ends."""
    at = _skip(text, text.index("{") + 1)
    while text[at : at + 1] == '"':
        end = _end(text, at)
        key = json.loads(text[at:end], strict=False)
        start = _skip(text, _skip(text, end) + 1)
        end = _end(text, start)
        yield key, start, end
        at = _skip(text, _skip(text, end) + 1)


def _end(text: str, start: int) -> int:
    """The place behind the value that begins at `start`, however deeply it is nested."""
    scalar = _SCALAR.match(text, start)
    if scalar:
        return scalar.end()
    depth = 0
    for found in _BRACKET.finditer(text, start):
        mark = text[found.start()]
        depth += (mark in "[{") - (mark in "]}")
        if depth == 0:
            return found.end()
    raise ValueError("the JSON breaks off")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _valid(part: str) -> str:
    """`part` itself if it is JSON, otherwise what Python can make of it."""
    try:
        _STRICT.decode(part)
    except RecursionError:
        return part  # its brackets match; Python can walk it no further
    except ValueError:
        return as_json(json.loads(part, strict=False))
    return part


def _escaped(found: re.Match[str]) -> str:
    return " " if found[0] == "\r" else f"\\u{ord(found[0]):04x}"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# Numbers stay text: only their being numbers matters, and very long ones would be refused.
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

"""Outlines messages too large to decode at once: the position of each member, in slices."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.lenient_json import (
    BOM,
    Elided,
    LenientJson,
    NotJsonError,
    TooDeepError,
    read_value,
    shown,
)
from mcp_progress_monitor.protocol.messages import META, NEXT_RESUME_TOKEN, TASK_ID

T = TypeVar("T")
Slices: TypeAlias = Generator[None, None, T]  # work that pauses by yielding None and returns a T

LARGEST_DECODED = 64 * 1024
"""Largest member that is decoded, in bytes; larger ones become `Elided`.

Except a resume token, which must be sent back whole: as a string it is decoded at any size.
"""

MOST_MEMBERS = 1000
"""Members kept of one object; beyond that, only the names in `_ALWAYS_KEPT` are."""

_SLICE = 256 * 1024
_STEPS = 500
_FRUITFUL = 256
_OPENING = (b"[", b"{")
_MOST_FINDINGS = 8
_ALWAYS_KEPT = frozenset(
    {META, "isError", "resultType", "status", "task", TASK_ID, NEXT_RESUME_TOKEN}
)
_OPENED_UP = frozenset({"params", "result", "error"})
_META = frozenset({META})
_NOTHING: frozenset[str] = frozenset()

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_ATOMS = rb'[^\[\]{}"]++|' + _STRING


def _balanced(levels: int) -> bytes:
    """A pattern for brackets with balanced content, nested up to `levels` deep."""
    pattern = rb"[\[{](?:" + _ATOMS + rb")*+[\]}]"
    for _ in range(levels - 1):
        pattern = rb"[\[{](?:" + _ATOMS + rb"|" + pattern + rb")*+[\]}]"
    return pattern


@functools.cache
def _content() -> re.Pattern[bytes]:
    """Content with brackets. Large: 2 ms to compile, when a message is first outlined."""
    return re.compile(rb"(?:" + _ATOMS + rb"|" + _balanced(8) + rb")*+", re.DOTALL)


# Possessive throughout: consumed text is never tried again, so a scan is linear.
_FLAT_CONTENT = re.compile(rb"(?:" + _ATOMS + rb")*+", re.DOTALL)
_OPENINGS = re.compile(rb"[\[{]*+")
_CLOSINGS = re.compile(rb"[\]}]*+")
_TEXT = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb"-?[0-9][-+0-9.eE]*+|true|false|null|NaN|-?Infinity")
_KEY = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"[ \t\r\n]*+:[ \t\r\n]*+', re.DOTALL)


class ByteSpan(NamedTuple):
    """A member's position in the message: `raw[start:end]`; `key` is empty in an array."""

    key: str
    start: int
    end: int


def finish(slices: Slices[T]) -> T:
    """Run sliced work to its end without pausing."""
    while True:
        try:
            next(slices)
        except StopIteration as stop:
            result: T = stop.value
            return result


def outlined(raw: bytes) -> Slices[LenientJson]:
    """Read a message, with `Elided` for what is large or deep in it and in its payload.

    Of an object, the top-level members are read, those of `params`, `result` and `error`, and those
    of their `_meta`. An array's elements are skipped: it is read as an empty list if it has none,
    else as a list of one `Elided`.

    Raises:
        NotJsonError: the structure is not JSON. The inside of elided values is not checked.
    """
    start = first_byte(raw)
    findings = [Finding(rules.TOO_LARGE, (len(raw),))]
    opening = raw[start : start + 1]
    if opening == b"{":
        value: Any = yield from _object(raw, ByteSpan("", start, len(raw)), findings, _OPENED_UP)
    elif opening == b"[":
        value = [Elided(len(raw))] if (yield from _spans(raw, b"[", b"]")) else []
    else:
        end = yield from _value_end(raw, start)
        _expect_end(raw, end, len(raw))
        value = Elided(end - start)
    return LenientJson(value, tuple(findings))


def array_elements(raw: bytes) -> Slices[list[bytes]]:
    """Split the array `raw` into the exact bytes of its elements.

    Raises:
        NotJsonError: `raw` is no array, or its structure is broken.
    """
    spans = yield from _spans(raw, b"[", b"]")
    return [raw[span.start : span.end] for span in spans]


def object_members(raw: bytes) -> Slices[dict[str, bytes]]:
    """Split the object `raw` into the exact bytes of its members; the last of a name counts.

    Raises:
        NotJsonError: `raw` is no object, or its structure is broken.
    """
    spans = yield from object_spans(raw)
    return {span.key: raw[span.start : span.end] for span in spans}


def object_spans(raw: bytes) -> Slices[list[ByteSpan]]:
    """Find the members of the object `raw`, all of a name, in their order.

    Raises:
        NotJsonError: `raw` is no object, or its structure is broken.
    """
    return (yield from _spans(raw, b"{", b"}"))


def _spans(raw: bytes, opening: bytes, closing: bytes) -> Slices[list[ByteSpan]]:
    start = first_byte(raw)
    if raw[start : start + 1] != opening:
        raise _broken(raw, start)
    spans: list[ByteSpan] = []
    for span in _members(raw, start, len(raw), closing):
        if span is None:
            yield
        else:
            spans.append(span)
    return spans


def first_byte(raw: bytes) -> int:
    """The start of the JSON text, after a byte order mark and white space."""
    return _skip_space(raw, len(BOM) if raw.startswith(BOM) else 0)


def _object(
    raw: bytes, whole: ByteSpan, findings: list[Finding], opened_up: frozenset[str]
) -> Slices[dict[str, Any]]:
    """Read the members of an object, and those of its members named in `opened_up`."""
    found: dict[str, Any] = {}
    dropped = 0
    for span in _members(raw, whole.start, whole.end, b"}"):
        if span is None:
            yield
        elif len(found) < MOST_MEMBERS or span.key in _ALWAYS_KEPT or span.key in opened_up:
            if span.key in found:
                _note(findings, Finding(rules.KEY_TWICE, (shown(span.key),)))
            found[span.key] = yield from _member(raw, span, findings, opened_up)
        else:
            dropped += 1
    if dropped:
        findings.append(Finding(rules.MEMBERS_LEFT_OUT, (dropped, MOST_MEMBERS)))
    return found


def _member(
    raw: bytes, span: ByteSpan, findings: list[Finding], opened_up: frozenset[str]
) -> Slices[Any]:
    """Decode one member, open it up, or elide it."""
    size, is_too_deep = span.end - span.start, False
    if size <= LARGEST_DECODED or _is_token(raw, span):
        reading = _small_member(raw, span)
        if reading is not None:
            for finding in reading.findings:
                _note(findings, finding)
            return reading.value
        is_too_deep = True
    if span.key in opened_up and raw[span.start : span.start + 1] == b"{":
        # The content of a `_meta` is not opened up: a server could nest them endlessly.
        inner = _META if opened_up is _OPENED_UP else _NOTHING
        return (yield from _object(raw, span, findings, inner))
    return Elided(size, is_too_deep)


def _is_token(raw: bytes, span: ByteSpan) -> bool:
    """Return whether it is a resume token that can be sent back, which only strings can."""
    return span.key == NEXT_RESUME_TOKEN and raw[span.start : span.start + 1] == b'"'


def _small_member(raw: bytes, span: ByteSpan) -> LenientJson | None:
    """Decode a member of ordinary size; None when it is nested too deep."""
    try:
        return read_value(raw[span.start : span.end], span.key)
    except TooDeepError:
        return None
    except NotJsonError:
        raise _broken(raw, span.start) from None


def _note(findings: list[Finding], finding: Finding) -> None:
    if finding not in findings and len(findings) < _MOST_FINDINGS:
        findings.append(finding)


def _members(
    raw: bytes, start: int, limit: int, closing: bytes
) -> Generator[ByteSpan | None, None, None]:
    """Yield the members of the object or array in `raw[start:limit]`; None as a pause."""
    pos = _skip_space(raw, start + 1)
    if raw[pos : pos + 1] == closing:
        pos += 1
    else:
        pos = yield from _filled(raw, pos, closing)
    _expect_end(raw, pos, limit)


def _filled(raw: bytes, pos: int, closing: bytes) -> Generator[ByteSpan | None, None, int]:
    """Yield the members from `pos`, where the first begins; return the position after `closing`."""
    pause_at = pos + _SLICE
    for count in itertools.count(1):
        key = ""
        if closing == b"}":
            key, pos = _key(raw, pos)
        end = yield from _value_end(raw, pos)
        yield ByteSpan(key, pos, end)
        pos = _skip_space(raw, end)
        separator = raw[pos : pos + 1]
        if separator != b",":
            break
        pos = _skip_space(raw, pos + 1)
        if count % _STEPS == 0 or pos > pause_at:
            pause_at = pos + _SLICE
            yield None
    if separator != closing:
        raise _broken(raw, pos)
    return pos + 1


def _key(raw: bytes, pos: int) -> tuple[str, int]:
    match = _KEY.match(raw, pos)
    if match is None:
        raise _broken(raw, pos)
    text = match[1]
    key = read_value(b'"%b"' % text).value if b"\\" in text else text.decode(errors="replace")
    return key, match.end()


def _value_end(raw: bytes, pos: int) -> Slices[int]:
    opening = raw[pos : pos + 1]
    if opening == b'"':
        return (yield from _string_end(raw, pos + 1))
    if opening in _OPENING:
        return (yield from _container_end(raw, pos + 1))
    match = _SCALAR.match(raw, pos)
    if match is None:
        raise _broken(raw, pos)
    return match.end()


def _container_end(raw: bytes, pos: int) -> Slices[int]:
    depth, paused_at, is_sinking = 1, pos, False
    for step in itertools.count(1):
        begun_at = pos
        pos = _matched(_FLAT_CONTENT if is_sinking else _content(), raw, pos)
        mark = raw[pos : pos + 1]
        if mark == b'"':  # the slice ended within it
            pos = yield from _string_end(raw, pos + 1)
        elif mark in _OPENING:  # too deep for the pattern, or cut by the slice
            # If one opens directly into the next, the deep pattern would fail at each.
            is_sinking = pos - begun_at < _FRUITFUL
            end = _matched(_OPENINGS, raw, pos)
            depth += end - pos
            pos = end
        elif mark:
            end = min(_matched(_CLOSINGS, raw, pos), pos + depth)
            depth -= end - pos
            is_sinking = False
            pos = end
        elif pos >= len(raw):
            raise _broken(raw, pos)
        if depth == 0:
            break
        if pos - paused_at > _SLICE or step % _STEPS == 0:
            paused_at = pos
            yield
    return pos


def _string_end(raw: bytes, pos: int) -> Slices[int]:
    while True:
        end = _matched(_TEXT, raw, pos)
        if raw[end : end + 1] == b'"':
            return end + 1
        if end == pos:
            raise _broken(raw, len(raw))
        pos = end
        yield


def _skip_space(raw: bytes, pos: int) -> int:
    return _matched(_SPACE, raw, pos)


def _matched(pattern: re.Pattern[bytes], raw: bytes, pos: int) -> int:
    """Return where the match of `pattern` at `pos` ends, at most `_SLICE` bytes further on."""
    match = pattern.match(raw, pos, pos + _SLICE)
    return match.end() if match else pos


def _expect_end(raw: bytes, pos: int, limit: int) -> None:
    pos = _skip_space(raw, pos)
    if pos < limit:
        raise _broken(raw, pos)


def _broken(raw: bytes, pos: int) -> NotJsonError:
    where = "the end" if pos >= len(raw) else f"byte {pos + 1:,}"
    return NotJsonError(f"the JSON structure is broken at {where}")

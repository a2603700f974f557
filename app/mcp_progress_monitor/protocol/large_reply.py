"""The content of a reply that was too large to be decoded with its message, read in slices.

An outline has `Elided` for it. Its blocks are read one by one: a long string in one is decoded in a
few milliseconds, however long, a value of many members only up to a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.lenient_json import (
    Elided,
    NotJsonError,
    TooDeepError,
    read_value,
)
from mcp_progress_monitor.protocol.outline import array_elements, object_members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.outline import Slices

_CONTENT: Final = frozenset({"content", "contents", "messages", "structuredContent"})
_DECODED: Final = 1024 * 1024  # bytes of a value of many members: decoded in some 10 ms
_ELEMENTS: Final = 500_000  # of an array that is read, a few microseconds each
_GROUP: Final = 128 * 1024  # bytes of elements that are read at once
_LEVELS: Final = 4  # in the messages of a prompt: a message, its content, the resource in it


def is_outlined(result: JsonObject) -> bool:
    """Return whether content of `result` was left undecoded."""
    return any(isinstance(result.get(key), Elided) for key in _CONTENT)


def with_content(result: JsonObject, raw: bytes) -> Slices[JsonObject]:
    """Return `result` with its content, read from the message's bytes.

    What is broken, or larger than can be decoded quickly, stays elided.
    """
    try:
        members = yield from object_members(raw)
        members = yield from object_members(members.get("result", b""))
        found = dict(result)
        for key in _CONTENT & members.keys():
            if isinstance(found.get(key), Elided):
                found[key] = yield from _value(members[key], _LEVELS)
    except NotJsonError:
        return result
    return found


def _value(raw: bytes, levels: int) -> Slices[Any]:
    if raw.startswith(b'"'):
        return _text(raw)
    if len(raw) <= _DECODED:
        return _small(raw)
    if not levels or raw[:1] not in (b"[", b"{"):
        return Elided(len(raw))
    yield
    if raw.startswith(b"["):
        return (yield from _elements(raw, levels - 1))
    members = yield from object_members(raw)
    read = {}
    for key, member in members.items():
        read[key] = yield from _value(member, levels - 1)
        yield
    return read


def _elements(raw: bytes, levels: int) -> Slices[list[Any] | Elided]:
    """Read an array, its small elements many at a time: each alone takes twenty times as long."""
    elements = yield from array_elements(raw)
    if len(elements) > _ELEMENTS:
        return Elided(len(raw))
    read: list[Any] = []
    for group in _groups(elements):
        if len(group) > 1:
            whole = _small(b"[%b]" % b",".join(group))
            read += whole if isinstance(whole, list) else map(_small, group)
        else:
            read.append((yield from _value(group[0], levels)))
        yield
    return read


def _groups(elements: list[bytes]) -> Iterator[list[bytes]]:
    """Divide elements into groups of bounded size, or of one that is larger."""
    group: list[bytes] = []
    size = 0
    for element in elements:
        if group and size + len(element) > _GROUP:
            yield group
            group, size = [], 0
        group.append(element)
        size += len(element)
    if group:
        yield group


def _small(raw: bytes) -> Any:
    try:
        return read_value(raw).value
    except (NotJsonError, TooDeepError):
        return Elided(len(raw))


def _text(raw: bytes) -> Any:
    """Decode a string, which may be long: it has no keys that could be repeated."""
    import msgspec  # late: not at startup

    try:
        return msgspec.json.decode(raw, type=str)
    except (ValueError, msgspec.DecodeError):
        return _small(raw)

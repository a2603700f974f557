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
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.outline import Slices

_CONTENT: Final = frozenset({"content", "contents", "messages", "structuredContent"})
_DECODED: Final = 1024 * 1024  # bytes of a value of many members: decoded in some 10 ms
_ELEMENTS: Final = 500_000  # of an array that is read, a few microseconds each
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
    if len(raw) <= _DECODED or raw.startswith(b'"'):
        try:
            return read_value(raw).value
        except (NotJsonError, TooDeepError):
            return Elided(len(raw))
    if not levels or raw[:1] not in (b"[", b"{"):
        return Elided(len(raw))
    yield
    if raw.startswith(b"["):
        elements = yield from array_elements(raw)
        if len(elements) > _ELEMENTS:
            return Elided(len(raw))
        read_elements = []
        for element in elements:
            read_elements.append((yield from _value(element, levels - 1)))
            yield
        return read_elements
    members = yield from object_members(raw)
    read = {}
    for key, member in members.items():
        read[key] = yield from _value(member, levels - 1)
        yield
    return read

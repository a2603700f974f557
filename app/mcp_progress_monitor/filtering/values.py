"""Finding one value in a message's bytes, without decoding more than needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_progress_monitor.filtering.judging import ABSENT
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.outline import array_elements, finish, object_members, outlined
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.filtering.expression import Path
    from mcp_progress_monitor.filtering.stride import Work

_UNSET: Final = msgspec.UNSET


class Huge:
    """A value that is too large to be decoded: its JSON text."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw


class Finder:
    """Finds what lies at a path of keys and places of arrays; the whole message has none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._decode, self._decoded = _decoder(path)

    def find(self, raw: bytes) -> Any:
        """The value in a message; `ABSENT` when there is none, or what holds it is no JSON.

        Takes 0.2 µs for an ordinary message; all but the value is skipped, not decoded.
        """
        try:
            found = self._decode(raw)
        except (ValueError, RecursionError):
            return _within(_leniently(raw), self._path)
        for _ in range(self._decoded):
            if found is None:
                return ABSENT
            found = found.value
            if found is _UNSET:
                return ABSENT
        return _within(found, self._path[self._decoded :])

    def find_in_slices(self, raw: bytes) -> Work[Any]:
        """Do the same for a message of many megabytes; large values come as `Huge`."""
        for step in self._path:
            try:
                if isinstance(step, str):
                    members = yield from object_members(raw)
                    part = members.get(step)
                else:
                    elements = yield from array_elements(raw)
                    part = elements[step] if step < len(elements) else None
            except NotJsonError:
                return ABSENT
            if part is None:
                return ABSENT
            raw = part
        return Huge(raw) if len(raw) > OVERSIZED else _leniently(raw)


def _decoder(path: Path) -> tuple[Callable[[bytes], Any], int]:
    """A decoder for the members on the path, and how many of its steps it takes."""
    keys: list[str] = []
    for step in path:
        # The names of a structure's members have no escapes.
        if not isinstance(step, str) or '"' in step or "\\" in step or not step.isprintable():
            break
        keys.append(step)
    kind: Any = Any
    for key in reversed(keys):
        members = [("value", kind | msgspec.UnsetType if kind is not Any else Any, _UNSET)]
        made = msgspec.defstruct("Found", members, rename={"value": key}, gc=False)
        kind = made | None
    return msgspec.json.Decoder(kind).decode, len(keys)


def _within(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, str):
            value = value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
        else:
            is_there = isinstance(value, list) and step < len(value)
            value = value[step] if is_there else ABSENT
    return value


def _leniently(raw: bytes) -> Any:
    try:
        return read_value(raw).value
    except NotJsonError:
        return ABSENT
    except TooDeepError:
        pass
    try:
        return finish(outlined(raw)).value
    except NotJsonError:
        return ABSENT

"""Finding words in a JSON value, in the order of its tree and in small steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.models.json_text import scalar
from mcp_progress_monitor.protocol.jsonrpc import Elided

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRIDE: Final = 256
"""Values looked at between two pauses: about a tenth of a millisecond."""
_LONG: Final = 32 * 1024
"""After a string of more characters there is a pause at once."""
_NUMBER: Final = 4_000
"""Digits of a number that are searched."""


def hits(value: dict[str, Any] | list[Any], words: str) -> Iterator[tuple[int, ...] | None]:
    """Yield where names or values hold `words`, in any case; None where there may be a pause.

    A hit is the positions of members from `value` downwards, as `JsonTreeModel.reach` takes them.
    """
    needle = words.casefold()
    walks = [_members(value)]
    path = [-1]
    looked = 0
    while walks:
        position, (key, member) = next(walks[-1], (-1, ("", None)))
        if position < 0:
            walks.pop()
            path.pop()
            continue
        path[-1] = position
        if _holds(key, member, needle):
            yield tuple(path)
        looked += 1
        if not looked % _STRIDE or (isinstance(member, str) and len(member) > _LONG):
            yield None
        if isinstance(member, dict | list) and member:
            walks.append(_members(member))
            path.append(-1)


def _members(value: dict[str, Any] | list[Any]) -> Iterator[tuple[int, tuple[str | int, Any]]]:
    return enumerate(value.items() if isinstance(value, dict) else enumerate(value))


def _holds(key: str | int, value: Any, needle: str) -> bool:
    if isinstance(key, str) and needle in key.casefold():
        return True
    if isinstance(value, str):
        return needle in value.casefold()
    if isinstance(value, dict | list | Elided):
        return False
    return needle in scalar(value, _NUMBER).casefold()

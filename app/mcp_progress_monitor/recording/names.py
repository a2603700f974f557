"""Values that rows of the index have in common, each written once and named by a small number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from mcp_progress_monitor.protocol.frame import Channel

_Value = TypeVar("_Value")

NONE: Final = 0
"""The number of "there is none"."""
_LONGEST: Final = 200
"""Longer texts are not kept: the frame has them."""


class Source(NamedTuple):
    """Where frames came from: all that is alike in the rows of one connection's channel.

    `is_escaped` says that the bytes on disk have their line feeds escaped (see `format`).
    """

    connection: str
    channel: Channel
    is_complete: bool = True
    is_escaped: bool = False


class Names(Generic[_Value]):
    """Numbers from 1 for values, in order of their coming; `many` is the number of all beyond.

    A value numbered `many` has to be looked up in its frame: there were too many, or it is long.
    """

    def __init__(self, many: int) -> None:
        self.many: Final = many
        self.ids: dict[Hashable, int] = {}
        """For reading only; a token's key is its type and value (see `key_of`)."""
        self._values: list[_Value] = []

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[tuple[int, _Value]]:
        """Every number with its value."""
        return iter(enumerate(self._values, 1))

    def number(self, key: Hashable, value: _Value) -> int:
        """The number of a value, a new one if need be."""
        known = self.ids.get(key)
        if known is not None:
            return known
        if len(self._values) >= self.many - 1 or is_long(value):
            return self.many
        self._values.append(value)
        self.ids[key] = number = len(self._values)
        return number

    def value(self, number: int) -> _Value | None:
        """The value of a number; None for `NONE` and `many`."""
        return self._values[number - 1] if 0 < number <= len(self._values) else None


def is_long(value: Any) -> bool:
    """Whether a value takes more room than an index gives one."""
    return len(value) > _LONGEST if isinstance(value, str) else isinstance(value, list | dict)


def key_of(token: Any) -> Hashable:
    """The key of a token: strings and integers are their own; `7`, `"7"`, `7.0`, `true` differ."""
    kind = type(token)
    if kind is str or kind is int:
        key: Hashable = token
        return key
    return None if token is None else (kind.__name__, repr(token)[:_LONGEST])

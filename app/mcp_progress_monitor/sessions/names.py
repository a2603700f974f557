"""Names of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_LONGEST: Final = 80
"""Characters of a name: it stands before every message in a recording."""


def unique_name(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or `wanted-2`, `wanted-3` … when it is taken.

    A long name is cut, and half a character, which no file can hold, becomes a question mark.
    """
    wanted = wanted[:_LONGEST].encode(errors="replace").decode()
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name

"""Names of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def unique_name(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or `wanted-2`, `wanted-3` … when it is taken."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name

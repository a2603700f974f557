"""Row numbers as unbroken runs, the form in which Qt's models are told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def runs(rows: Iterable[int]) -> list[tuple[int, int]]:
    """Unbroken runs (first, last) of distinct `rows`, in ascending order."""
    found: list[tuple[int, int]] = []
    for row in sorted(set(rows)):
        if found and row == found[-1][1] + 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found

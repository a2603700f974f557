"""Numbers as a server sent them, which may be huge, and the fraction of a bar they make."""

from __future__ import annotations

import sys
from typing import Final

HAIR: Final = 1e-9
"""How far above its total a float may be, relative to it, and still be the whole of it."""

_LARGEST: Final = sys.float_info.max


def as_float(value: float) -> float:
    """A float for charts and rates; an integer beyond its range becomes its end."""
    try:
        return float(value)
    except OverflowError:
        return _LARGEST if value > 0 else -_LARGEST


def is_above(progress: float, total: float) -> bool:
    """Whether `progress` is clearly above `total`: integers by any amount, floats by a hair."""
    if progress <= total:
        return False
    if isinstance(progress, int) and isinstance(total, int):
        return True
    return as_float(progress) > as_float(total) * (1 + HAIR)


def fraction(progress: float | None, total: float | None) -> float | None:
    """The share of a bar that is full, 0.0 to 1.0; None when the bar must be busy.

    Busy is a total that is missing, not positive, or clearly exceeded (the project's decision,
    see `JobSnapshot`).
    """
    if progress is None or total is None or total <= 0 or is_above(progress, total):
        return None
    if progress <= 0:
        return 0.0
    if progress >= total:
        return 1.0
    try:
        return progress / total
    except OverflowError:  # a float of an integer that is beyond floats
        return as_float(progress) / as_float(total)

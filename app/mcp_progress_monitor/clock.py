"""The two clocks for stamping frames; tests pass their own.

Both have whole microseconds, as recordings do: what is read back is the same number.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


def _monotonic() -> float:
    return round(time.monotonic(), 6)


def _wall() -> float:
    return round(time.time(), 6)


class Clock(NamedTuple):
    """`monotonic` counts seconds from any origin, never backwards; `wall` since the epoch."""

    monotonic: Callable[[], float] = _monotonic
    wall: Callable[[], float] = _wall

"""The two clocks a connection stamps its frames with; tests hand in their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock(NamedTuple):
    """`monotonic` counts seconds from anywhere and never back; `wall` seconds since the epoch."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time

"""A hand on a scroll bar: up and down by small steps, as often as a screen shows a picture."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from PySide6.QtWidgets import QScrollBar

_PICTURE_S: Final = 1 / 30
_PICTURES_PER_WAY: Final = 90
"""From one end to the other in three seconds: faster than anyone reads."""


async def scroll(bar: QScrollBar, length_s: float) -> int:
    """Move `bar` back and forth over all of its range for `length_s`; how many steps it went."""
    until, step = time.perf_counter() + length_s, 0
    while time.perf_counter() < until:
        way = step % (2 * _PICTURES_PER_WAY)
        share = min(way, 2 * _PICTURES_PER_WAY - way) / _PICTURES_PER_WAY
        bar.setValue(round(bar.minimum() + share * (bar.maximum() - bar.minimum())))
        step += 1
        await anyio.sleep(_PICTURE_S)
    return step

"""A hand on a scroll bar: up and down by small steps, as often as a screen shows a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from PySide6.QtWidgets import QScrollBar

_FRAME_S: Final = 1 / 30
_FRAMES_PER_WAY: Final = 90
"""From one end to the other in three seconds: faster than anyone reads."""


class Hand:
    """Moves `bar` back and forth over all of its range; `steps` counts."""

    def __init__(self, bar: QScrollBar) -> None:
        self._bar = bar
        self.steps = 0

    async def run(self) -> None:
        """Move for ever; to be started in a task group and cancelled."""
        while True:
            way = self.steps % (2 * _FRAMES_PER_WAY)
            share = min(way, 2 * _FRAMES_PER_WAY - way) / _FRAMES_PER_WAY
            low, high = self._bar.minimum(), self._bar.maximum()
            self._bar.setValue(round(low + share * (high - low)))
            self.steps += 1
            await anyio.sleep(_FRAME_S)

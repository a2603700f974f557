"""Frames' numbers as they were when they were recorded; a file that lies names none twice."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.framing import FrameNumbers

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_NUMBER: Final = (1 << 32) - 1
_STRETCHES_KEPT: Final = 100_000


class Numbers(FrameNumbers):
    """Numbers frames on, and from another number where the recording says so.

    Frames are recorded in the order in which they were understood, and numbered as they came:
    numbers may go back, though never to one that was given.
    """

    def __init__(self, on_clash: Callable[[], None]) -> None:
        """Begin with 1; `on_clash` is called where numbers lead on to those of other frames."""
        super().__init__()
        self._on_clash = on_clash
        self._begin = self._next
        self._limit = MOST_NUMBER + 1
        # Stretches of numbers that were given, apart from the one that goes on; in order.
        self._begins: list[int] = []
        self._ends: list[int] = []

    def take(self, count: int = 1) -> int:
        """Take `count` consecutive numbers and return the first."""
        if self._next + count > self._limit:
            self._on_clash()
            self._turn(self._beyond())
            self._limit = max(self._limit, self._next + count)
        return super().take(count)

    def go_to(self, number: int) -> bool:
        """Let the next frame have `number`; False if that was given already, or cannot be."""
        if number == self._next:
            return True
        is_free = self._begin > number or number >= self._next
        if not (0 < number <= MOST_NUMBER and is_free and self._is_free(number)):
            return False
        if len(self._begins) >= _STRETCHES_KEPT:
            return False
        self._turn(number)
        return True

    def _is_free(self, number: int) -> bool:
        place = bisect.bisect_right(self._begins, number) - 1
        return place < 0 or number >= self._ends[place]

    def _beyond(self) -> int:
        """A number after all that were given."""
        return max(self._next, self._ends[-1] if self._ends else 0)

    def _turn(self, number: int) -> None:
        """Go on from another number."""
        if self._next > self._begin:
            self._keep(self._begin, self._next)
        self._begin = self._next = number
        place = bisect.bisect_right(self._begins, number)
        self._limit = self._begins[place] if place < len(self._begins) else MOST_NUMBER + 1

    def _keep(self, begin: int, end: int) -> None:
        """Note a stretch as given, joined to those that it touches."""
        place = bisect.bisect_right(self._begins, begin)
        if place < len(self._begins) and self._begins[place] == end:
            end = self._ends[place]
            del self._begins[place], self._ends[place]
        if place and self._ends[place - 1] == begin:
            self._ends[place - 1] = end
            return
        self._begins.insert(place, begin)
        self._ends.insert(place, end)

"""Numbers the frames of recordings, as their files say or together with others."""

from __future__ import annotations

import bisect
import json
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.framing import FrameNumbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.frames import Frame

MOST_NUMBER: Final = (1 << 32) - 1
_STRETCHES_KEPT: Final = 100_000
_SHIFTS_KEPT: Final = 1 << 16


class FrameNumbering(FrameNumbers):
    """Numbers frames consecutively, or from another number where the recording says so.

    Frames are recorded in the order in which they were decoded, and numbered as they arrived:
    numbers may go back, but are never reused.
    """

    def __init__(self, on_clash: Callable[[], None]) -> None:
        """Begin with 1; `on_clash` is called if numbers reach those of other frames."""
        super().__init__()
        self._on_clash = on_clash
        self._begin = self._next
        self._limit = MOST_NUMBER + 1
        # Ranges of used numbers, apart from the current one; in order.
        self._begins: list[int] = []
        self._ends: list[int] = []

    def take(self, count: int = 1) -> int:
        if self._next + count > self._limit:
            self._on_clash()
            self._turn(self._beyond())
            self._limit = max(self._limit, self._next + count)
        return super().take(count)

    def go_to(self, number: int) -> bool:
        """Give the next frame `number`; False if that is used or out of range."""
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
        """A number after all used ones."""
        return max(self._next, self._ends[-1] if self._ends else 0)

    def _turn(self, number: int) -> None:
        if self._next > self._begin:
            self._keep(self._begin, self._next)
        self._begin = self._next = number
        place = bisect.bisect_right(self._begins, number)
        self._limit = self._begins[place] if place < len(self._begins) else MOST_NUMBER + 1

    def _keep(self, begin: int, end: int) -> None:
        place = bisect.bisect_right(self._begins, begin)
        if place < len(self._begins) and self._begins[place] == end:
            end = self._ends[place]
            del self._begins[place], self._ends[place]
        if place and self._ends[place - 1] == begin:
            self._ends[place - 1] = end
            return
        self._begins.insert(place, begin)
        self._ends.insert(place, end)


class SharedNumbering(FrameNumbering):
    """Numbers the frames of a file together with those of the whole program.

    A recording refers to requests in its events by the numbers that frames have in the file:
    `number_of` returns their numbers here.
    """

    def __init__(self, shared: FrameNumbers) -> None:
        super().__init__(lambda: None)
        self._shared = shared
        self._in_file = 1
        self._begins: list[int] = []
        self._shifts: list[int] = []

    def take(self, count: int = 1) -> int:
        """Take `count` consecutive numbers of the program, and return the first."""
        first = self._shared.take(count)
        shift = first - self._in_file
        if not self._shifts or self._shifts[-1] != shift or self._begins[-1] > self._in_file:
            self._begins.append(self._in_file)
            self._shifts.append(shift)
            if len(self._begins) >= 2 * _SHIFTS_KEPT:
                del self._begins[:_SHIFTS_KEPT], self._shifts[:_SHIFTS_KEPT]
        self._in_file += count
        return first

    def go_to(self, number: int) -> bool:
        """Note the number of the next frame in the file."""
        self._in_file = number
        return True

    def number_of(self, in_file: int) -> int | None:
        """The number here of a frame with that number in the file; None if unknown."""
        # Numbers rarely go back in a file: search the newest stretch that can have it.
        if not self._begins or in_file >= self._in_file:
            return None
        if self._begins[-1] <= in_file:
            return in_file + self._shifts[-1]
        place = bisect.bisect_right(self._begins, in_file) - 1
        return in_file + self._shifts[place] if place >= 0 else None


def renumbered(event: Frame, number_of: Callable[[int], int | None]) -> Frame:
    """An event that names its request by the number that `number_of` returns for the file's."""
    if b'"request":' not in event.raw:
        return event
    try:
        fields: Any = json.loads(event.raw)
    except (ValueError, RecursionError):
        return event
    if not isinstance(fields, dict) or type(fields.get("request")) is not int:
        return event
    fields["request"] = number_of(fields["request"])
    return event._replace(raw=json.dumps(fields).encode())

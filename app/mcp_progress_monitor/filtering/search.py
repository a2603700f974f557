"""A search through a timeline, in slices: typing and painting never wait for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.filtering.stride import Stride

if TYPE_CHECKING:
    from mcp_progress_monitor.filtering.compiling import Predicate
    from mcp_progress_monitor.filtering.stride import Rows, Work
    from mcp_progress_monitor.recording.timeline import Timeline

_FIRST: Final = 256
_LARGEST: Final = 1 << 14
_QUICK_S: Final = 0.0005
"""A stride that took less is followed by a larger one: looking at the index alone is quick."""
_SLOW_S: Final = 0.05
"""One that took longer, by a smaller one: what it found is told at its end."""
_HELD_S: Final = 0.001
"""One that went on for longer without a pause, too."""


class Search:
    """Goes through the frames from `place` on, those that come meanwhile included.

    A stride is some frames of one segment. The predicate pauses while it reads their bytes, so a
    slice exceeds its budget by a stride of looking at the index (1 to 2 ms) or, in the worst
    case, by one regular expression that runs out of time (10 ms).
    """

    def __init__(self, timeline: Timeline, predicate: Predicate, place: int = 0) -> None:
        self._timeline = timeline
        self._predicate = predicate
        self._columns = timeline.columns
        self._stride: Stride | None = None
        self._work: Work[Rows] | None = None
        self._length = _FIRST
        self._spent_s = 0.0
        self._held_s = 0.0
        self.place = place
        """Everything before it has been searched."""

    @property
    def left(self) -> int:
        """How many frames have not been searched."""
        place = max(self.place, self._timeline.first)
        gap = self._timeline.gap
        gone = max(0, gap.stop - max(place, gap.start))
        return max(0, self._timeline.end - place - gone)

    @property
    def timed_out(self) -> int:
        """How often a regular expression took too long and was given up: no match."""
        return self._predicate.timed_out

    def run(self, budget_s: float) -> list[int]:
        """Search for about `budget_s` seconds; the places of the frames found, in their order."""
        begun_s = time.perf_counter()
        now_s, deadline_s = begun_s, begun_s + budget_s
        found: list[int] = []
        self._see_what_is_gone()
        while self._stride is not None or self._begin():
            self._step(found)
            now_s, before_s = time.perf_counter(), now_s
            self._spent_s += now_s - before_s
            self._held_s = max(self._held_s, now_s - before_s)
            if self._stride is None:
                self._adapt()
            if now_s >= deadline_s:
                break
        return found

    def _see_what_is_gone(self) -> None:
        """Go on behind the frames that were dropped; begin anew if all were, to come again."""
        if self._columns is not self._timeline.columns:
            self._columns = self._timeline.columns
            self.place, self._stride = 0, None
        if self.place < self._timeline.first:
            self.place, self._stride = self._timeline.first, None
        self._leave_gap()

    def _leave_gap(self) -> None:
        gap, stride = self._timeline.gap, self._stride
        if self.place in gap:
            self.place, self._stride = gap.stop, None
        elif stride is not None and gap and gap.start < stride.segment.first + stride.stop:
            self._stride = None if self.place < gap.start else stride

    def _begin(self) -> bool:
        """Take the next stride; False when there is none."""
        self.place = self._timeline.columns.after(self.place)
        found = self._timeline.columns.locate(self.place)
        if found is None:
            return False
        segment, row = found
        stop = min(len(segment), row + self._length)
        escapes = self._predicate.escapes
        escapes.refresh(self._timeline.columns.sources)
        self._stride = Stride(self._timeline, segment, row, stop, escapes.numbers)
        self._work = self._predicate.select(self._stride)
        self._spent_s = self._held_s = 0.0
        return True

    def _step(self, found: list[int]) -> None:
        """Go on with the stride until it pauses or ends."""
        stride, work = self._stride, self._work
        if stride is None or work is None:
            return
        try:
            next(work)
        except StopIteration as stop:
            first = stride.segment.first
            found += [first + row for row in stop.value]
            self.place = first + stride.stop
            self._stride = self._work = None

    def _adapt(self) -> None:
        if self._spent_s < _QUICK_S:
            self._length = min(self._length * 2, _LARGEST)
        elif self._spent_s > _SLOW_S or self._held_s > _HELD_S:
            self._length = max(self._length // 2, _FIRST)

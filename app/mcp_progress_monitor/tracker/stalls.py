"""When a job counts as stalled: silent for much longer than its usual gap between ticks."""

from __future__ import annotations

import collections
from typing import Final

STALL_LEAST_S: Final = 10.0
STALL_GAPS: Final = 5
_GAPS_KEPT: Final = 31
_SHORT_S: Final = STALL_LEAST_S / STALL_GAPS


class TickGaps:
    """The gaps between a job's ticks, valid or not, and the silence that makes it stalled."""

    __slots__ = ("_at", "_gaps", "_stall_after_s")

    def __init__(self, at: float) -> None:
        self._at: float | None = at
        self._gaps: collections.deque[float] = collections.deque(maxlen=_GAPS_KEPT)
        self._stall_after_s: float | None = STALL_LEAST_S

    def add(self, at: float) -> None:
        if self._at is None:
            self._at = at
        elif at > self._at:
            gap = at - self._at
            self._gaps.append(gap)
            self._at = at
            # Another short gap does not move a median of which five are below the least.
            if gap > _SHORT_S or self._stall_after_s != STALL_LEAST_S:
                self._stall_after_s = None

    def pause(self) -> None:
        """Ignore the silence until the next tick: nobody is working on the job."""
        self._at = None

    def stall_after_s(self) -> float:
        """The silence beyond which the job is stalled: 10 s or five median gaps, if longer."""
        if self._stall_after_s is None:
            import statistics  # late: imports fractions and decimal

            usual = statistics.median(self._gaps)
            self._stall_after_s = max(STALL_LEAST_S, STALL_GAPS * usual)
        return self._stall_after_s

    def is_stalled(self, silence_s: float) -> bool:
        """Return whether a job is stalled after this silence."""
        return silence_s > self.stall_after_s()

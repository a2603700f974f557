"""How fast a job goes, how long it will take, and when its silence means that it is stalled.

Everything is computed when read, from samples that carry their times: nothing here runs on a
clock, and a silent job's rate falls. Rules: the project's protocol decisions on progress.
"""

from __future__ import annotations

import collections
import math
from typing import Final

SAMPLE_S: Final = 0.05
"""Ticks closer together than this share one sample, so that a flood costs next to nothing."""
SMOOTHING: Final = 0.3
SHOWN_AFTER_TICKS: Final = 3
SHOWN_AFTER_S: Final = 2.0
WINDOW_TICKS: Final = 8
WINDOW_S: Final = 30.0
WINDOW_STEP_S: Final = 0.5
"""The window keeps a sample only this long after the one before: at most about 60 of them."""
LONGEST_ETA_S: Final = 100 * 86400.0
STALL_LEAST_S: Final = 10.0
STALL_GAPS: Final = 5
_GAPS_KEPT: Final = 31
_SHORT_S: Final = STALL_LEAST_S / STALL_GAPS


class Rates:
    """The smoothed rate of the ticks that broke no rule.

    Two estimates, averaged: exponential smoothing over Δprogress and Δtime separately (as tqdm
    does, so that uneven ticks weigh by their time), which follows changes; and a window over the
    last 8 ticks or 30 s, whichever is longer, which is steady. The first value is the start, so
    that a resumed job is not credited with what was done before.
    """

    __slots__ = ("_delta", "_gap", "_weight", "_window", "at", "began_at", "first_tick", "value")

    def __init__(self, at: float, value: float, first_tick: int) -> None:
        """Begin at `value`; `first_tick` is how many good ticks the job had with this one."""
        self.reset(at, value, first_tick)

    def reset(self, at: float, value: float, first_tick: int) -> None:
        """Forget everything and begin again, as when the total changed."""
        self.began_at = at
        self.first_tick = first_tick
        self.at = at
        self.value = value
        self._delta = 0.0
        self._gap = 0.0
        self._weight = 0.0
        self._window = collections.deque([(at, value)])

    def add(self, at: float, value: float) -> None:
        """Take a sample: the progress after a good tick."""
        passed = at - self.at
        if passed <= 0:
            return
        gained = value - self.value
        self.at, self.value = at, value
        if gained <= 0:  # went on from below, after a tick that broke the rules
            self._window = collections.deque([(at, value)])
            return
        self._delta += SMOOTHING * (gained - self._delta)
        self._gap += SMOOTHING * (passed - self._gap)
        self._weight += SMOOTHING * (1 - self._weight)
        # The window moves on.
        window = self._window
        if at - window[-1][0] >= WINDOW_STEP_S:
            window.append((at, value))
        while len(window) > WINDOW_TICKS and window[1][0] <= at - WINDOW_S:
            window.popleft()

    def is_known(self, now: float, ticks: int) -> bool:
        """Whether three good ticks of the job's `ticks` and two seconds have passed."""
        is_due = now - self.began_at >= SHOWN_AFTER_S
        return is_due and self._weight > 0 and ticks - self.first_tick + 1 >= SHOWN_AFTER_TICKS

    def read(self, now: float, value: float) -> float | None:
        """Progress per second at `now`, given the newest value; ask only when it `is_known`."""
        gained, passed = self._pending(now, value)
        estimate = self._blend(gained, passed)
        # Numbers near the end of a float's range make no number of a quotient.
        return estimate if math.isfinite(estimate) else None

    def _pending(self, now: float, value: float) -> tuple[float, float]:
        """What the time since the last sample adds: Δprogress and Δtime.

        Nothing within one usual gap, so that the rate does not saw between ticks. After it, time
        counts: all of it if ticks came since the sample, else the part beyond the usual gap.
        """
        usual = self._gap / self._weight
        passed = now - self.at
        if passed <= usual:
            return 0.0, 0.0
        gained = max(value - self.value, 0.0)
        return gained, passed if gained else passed - usual

    def _blend(self, gained: float, passed: float) -> float:
        """The mean of both estimates, with a pending step added to each."""
        # The correction for the bias of a young average, the weight, cancels in the quotient.
        delta, gap = self._delta, self._gap
        if passed:
            delta += SMOOTHING * (gained - delta)
            gap += SMOOTHING * (passed - gap)
        smoothed = delta / gap
        began_at, began = self._window[0]
        if self.at <= began_at:
            return smoothed
        return (smoothed + (self.value - began + gained) / (self.at - began_at + passed)) / 2


class Rhythm:
    """The usual gap between ticks, good or bad: what silence is measured by."""

    __slots__ = ("_at", "_gaps", "_stall_after_s")

    def __init__(self, at: float) -> None:
        self._at: float | None = at
        self._gaps: collections.deque[float] = collections.deque(maxlen=_GAPS_KEPT)
        self._stall_after_s: float | None = STALL_LEAST_S

    def add(self, at: float) -> None:
        """Take the time of a tick."""
        if self._at is None:
            self._at = at
        elif at > self._at:
            gap = at - self._at
            self._gaps.append(gap)
            self._at = at
            # One more gap that is short moves no median of which five are below the least.
            if gap > _SHORT_S or self._stall_after_s != STALL_LEAST_S:
                self._stall_after_s = None

    def pause(self) -> None:
        """Let the silence that follows be no gap: nobody works on the job."""
        self._at = None

    def stall_after_s(self) -> float:
        """The silence beyond which the job is stalled: 10 s or five median gaps."""
        if self._stall_after_s is None:
            import statistics  # with fractions and decimals: no start waits for them

            usual = statistics.median(self._gaps)
            self._stall_after_s = max(STALL_LEAST_S, STALL_GAPS * usual)
        return self._stall_after_s


def eta(remaining: float, rate: float | None, passed: float) -> float | None:
    """Seconds left, `passed` seconds after the tick that `remaining` and `rate` belong to.

    Counts down on the clock; `math.inf` beyond 100 days. None when the rate is unknown and when
    the time ran out with something left to do: an estimate that proved wrong is not known.
    """
    if remaining <= 0:
        return 0.0
    if rate is None:
        return None
    if rate <= 0 or remaining / LONGEST_ETA_S > rate:
        return math.inf
    left = remaining / rate - passed
    return left if left > 0 else None

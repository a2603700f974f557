"""How fast a job goes, how long it will take, and when its silence means that it is stalled.

Everything is computed when read, from samples that carry their times: nothing here runs on a
clock, and a silent job's rate falls. Rules: the project's protocol decisions on progress.
"""

from __future__ import annotations

import collections
import math
from typing import Final, NamedTuple

SAMPLE_S: Final = 0.05
"""Ticks closer together than this share one sample, so that a flood costs next to nothing."""
TIME_CONSTANT_S: Final = 6.0
"""Seconds after which a sample counts 1/e of what it did, in each of two rounds of smoothing."""
SPARSE_GAPS: Final = 2.8
"""The time constant is at least so many usual gaps: the newest of sparse ticks then counts 0.3."""
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

    Two estimates, averaged: exponential smoothing over time, which follows changes; and a window
    over the last 8 ticks or 30 s, whichever is longer, which is steady. The first value is the
    start, so that a resumed job is not credited with what was done before.

    A sample weighs by its duration, however many there are: ticks that come in bursts or late
    leave the rate of a steady job alone. Smoothing per sample, as tqdm does, remembers only the
    last few ticks, which in a flood is a fraction of a second. What is smoothed once still jumps
    with each burst; smoothed again, as indicatif does it, a sample gains its weight gradually.
    """

    __slots__ = ("_gap", "_smoothed", "_window", "at", "began_at", "first_tick", "value")

    def __init__(self, at: float, value: float, first_tick: int) -> None:
        """Begin at `value`; `first_tick` is how many good ticks the job had with this one."""
        self.reset(at, value, first_tick)

    def reset(self, at: float, value: float, first_tick: int) -> None:
        """Forget everything and begin again, as when the total changed."""
        self.began_at = at
        self.first_tick = first_tick
        self.at = at
        self.value = value
        self._gap = 0.0
        self._smoothed = _Smoothed()
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
        self._take_gap(passed)
        self._smoothed = self._smoothed.then(gained, passed, self._time_constant())
        # The window moves on.
        window = self._window
        if at - window[-1][0] >= WINDOW_STEP_S:
            window.append((at, value))
        while len(window) > WINDOW_TICKS and window[1][0] <= at - WINDOW_S:
            window.popleft()

    def is_known(self, now: float, ticks: int) -> bool:
        """Whether three good ticks of the job's `ticks` and two seconds have passed."""
        is_due = now - self.began_at >= SHOWN_AFTER_S
        is_any = self._smoothed.weight > 0
        return is_due and is_any and ticks - self.first_tick + 1 >= SHOWN_AFTER_TICKS

    def read(self, now: float, value: float) -> float | None:
        """Progress per second at `now`, given the newest value; ask only when it `is_known`."""
        gained, passed = self._pending(now, value)
        estimate = self._blend(gained, passed)
        # Numbers near the end of a float's range make no number of a quotient.
        return estimate if math.isfinite(estimate) else None

    def _take_gap(self, passed: float) -> None:
        """Let a sample's duration into the usual gap, in which most of the time passes.

        By duration as well: of bursts it is the pause between them, not the gaps within.
        """
        share = -math.expm1(-passed / max(TIME_CONSTANT_S, SPARSE_GAPS * passed))
        self._gap += (share if self._gap else 1.0) * (passed - self._gap)

    def _time_constant(self) -> float:
        return max(TIME_CONSTANT_S, SPARSE_GAPS * self._gap)

    def _pending(self, now: float, value: float) -> tuple[float, float]:
        """What the time since the last sample adds: Δprogress and Δtime.

        Nothing within one usual gap, so that the rate does not saw between ticks. After it, time
        counts: all of it if ticks came since the sample, else the part beyond the usual gap.
        """
        passed = now - self.at
        if passed <= self._gap:
            return 0.0, 0.0
        gained = max(value - self.value, 0.0)
        return gained, passed if gained else passed - self._gap

    def _blend(self, gained: float, passed: float) -> float:
        """The mean of both estimates, with a pending step added to each."""
        smoothed = self._smoothed
        if passed:
            smoothed = smoothed.then(gained, passed, self._time_constant())
        began_at, began = self._window[0]
        if self.at <= began_at:
            return smoothed.rate
        window = (self.value - began + gained) / (self.at - began_at + passed)
        return (smoothed.rate + window) / 2


class _Smoothed(NamedTuple):
    """A rate smoothed exponentially over time, twice; each a sum over the same `weight`.

    The weight is the time that counts, in seconds: dividing by it corrects a young average.
    """

    once: float = 0.0
    twice: float = 0.0
    weight: float = 0.0

    @property
    def rate(self) -> float:
        return self.twice / self.weight

    def then(self, gained: float, passed: float, time_constant: float) -> _Smoothed:
        """The same after `passed` more seconds in which `gained` was made at an even rate."""
        share = -math.expm1(-passed / time_constant)
        kept, added = 1 - share, share * time_constant
        once = kept * self.once + gained / passed * added
        weight = kept * self.weight + added
        return _Smoothed(once, kept * self.twice + once / weight * added, weight)


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

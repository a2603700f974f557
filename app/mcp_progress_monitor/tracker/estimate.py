"""How fast a job progresses, and its estimated time left."""

from __future__ import annotations

import collections
import math
import sys
from typing import Final, NamedTuple

HAIR: Final = 1e-9
"""How far above its total a float may be, relative to it, and still count as all of it."""

_LARGEST: Final = sys.float_info.max


def as_float(value: float) -> float:
    """A float for charts and rates; an integer out of range becomes the largest float."""
    try:
        return float(value)
    except OverflowError:
        return _LARGEST if value > 0 else -_LARGEST


def is_above(progress: float, total: float) -> bool:
    """Whether `progress` is clearly above `total`: integers by any amount, floats by a hair."""
    if progress <= total:
        return False
    if isinstance(progress, int) and isinstance(total, int):
        return True
    return as_float(progress) > as_float(total) * (1 + HAIR)


def fraction(progress: float | None, total: float | None) -> float | None:
    """The filled share of a bar, 0.0 to 1.0; None when the bar must be busy.

    Busy is a total that is missing, not positive, or clearly exceeded (the project's decision, see
    `JobSnapshot`).
    """
    if progress is None or total is None or total <= 0 or is_above(progress, total):
        return None
    if progress <= 0:
        return 0.0
    if progress >= total:
        return 1.0
    try:
        return progress / total
    except OverflowError:  # a float of an integer that is beyond floats
        return as_float(progress) / as_float(total)


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


class Rates:
    """The smoothed rate of the ticks that broke no rule.

    Two estimates, averaged: exponential smoothing over time, which follows changes; and a window
    over the last 8 ticks or 30 s, whichever is longer, which is steady. The first value is the
    start, so that a resumed job is not credited with what was done before.

    A sample weighs by its duration, however many there are: ticks that arrive in bursts or late do
    not change the rate of a steady job. Smoothing per sample, as tqdm does, remembers only the last
    few ticks, which in a flood is a fraction of a second. What is smoothed once still jumps with
    each burst; smoothed again, as indicatif does it, a sample gains its weight gradually.
    """

    __slots__ = ("_gap", "_smoothed", "_window", "at", "began_at", "first_tick", "value")

    def __init__(self, at: float, value: float, first_tick: int) -> None:
        """Begin at `value`; `first_tick` is how many good ticks the job had, including this one."""
        self.reset(at, value, first_tick)

    def reset(self, at: float, value: float, first_tick: int) -> None:
        """Forget everything and start again, as when the total changed."""
        self.began_at = at
        self.first_tick = first_tick
        self.at = at
        self.value = value
        self._gap = 0.0
        self._smoothed = _Smoothed()
        self._window = collections.deque([(at, value)])

    def add(self, at: float, value: float) -> None:
        """Add a sample: the progress after a good tick."""
        passed = at - self.at
        if passed <= 0:
            return
        gained = value - self.value
        self.at, self.value = at, value
        if gained <= 0:  # continued from a lower value, after a violation
            self._window = collections.deque([(at, value)])
            return
        # By duration as well: of bursts it is the pause between them, not the gaps within, and
        # most of the time passes in the usual gap.
        share = -math.expm1(-passed / max(TIME_CONSTANT_S, SPARSE_GAPS * passed))
        self._gap += (share if self._gap else 1.0) * (passed - self._gap)
        self._smoothed = self._smoothed.then(gained, passed, self._gap)
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
        gained, passed, smoothed = 0.0, now - self.at, self._smoothed
        # Within one usual gap the time since the last sample adds nothing, so that the rate does
        # not saw between ticks. After it, time counts: all of it if ticks came since the sample,
        # else the part beyond the usual gap.
        if passed <= self._gap:
            passed = 0.0
        else:
            gained = max(value - self.value, 0.0)
            passed = passed if gained else passed - self._gap
            smoothed = smoothed.then(gained, passed, self._gap)
        # The mean of both estimates, with the pending step added to each.
        estimate = smoothed.twice / smoothed.weight
        began_at, began = self._window[0]
        if self.at > began_at:
            window = (self.value - began + gained) / (self.at - began_at + passed)
            estimate = (estimate + window) / 2
        # Numbers near the end of a float's range give no finite quotient.
        return estimate if math.isfinite(estimate) else None


class _Smoothed(NamedTuple):
    """A rate smoothed exponentially over time, twice; each a sum over the same `weight`.

    The weight is the time that counts, in seconds: dividing by it corrects a young average.
    """

    once: float = 0.0
    twice: float = 0.0
    weight: float = 0.0

    def then(self, gained: float, passed: float, gap: float) -> _Smoothed:
        """The same after `passed` more seconds in which `gained` was made at an even rate.

        `gap` is the usual one between samples.
        """
        time_constant = max(TIME_CONSTANT_S, SPARSE_GAPS * gap)
        share = -math.expm1(-passed / time_constant)
        kept, added = 1 - share, share * time_constant
        once = kept * self.once + gained / passed * added
        weight = kept * self.weight + added
        return _Smoothed(once, kept * self.twice + once / weight * added, weight)


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

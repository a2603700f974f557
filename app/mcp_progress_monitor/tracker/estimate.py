"""How fast a job progresses, and its estimated time left."""

from __future__ import annotations

import collections
import itertools
import math
import operator
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

HAIR: Final = 1e-9
"""How far above its total a float may be, relative to it, and still count as equal."""

_LARGEST: Final = sys.float_info.max


def as_float(value: float) -> float:
    """A float for charts and rates; an integer out of range becomes the largest float."""
    try:
        return float(value)
    except OverflowError:
        return _LARGEST if value > 0 else -_LARGEST


def is_above(progress: float, total: float) -> bool:
    """Return whether `progress` is clearly above `total`; floats have a tolerance."""
    if progress <= total:
        return False
    if isinstance(progress, int) and isinstance(total, int):
        return True
    return as_float(progress) > as_float(total) * (1 + HAIR)


def fraction(progress: float | None, total: float | None) -> float | None:
    """The filled share of a bar, 0.0 to 1.0; None if the bar must be busy.

    Busy is a total that is missing, not positive, or clearly exceeded (see `JobSnapshot`).
    """
    if progress is None or total is None or total <= 0 or is_above(progress, total):
        return None
    if progress <= 0:
        return 0.0
    if progress >= total:
        return 1.0
    try:
        return progress / total
    except OverflowError:  # the float of an integer that is out of range
        return as_float(progress) / as_float(total)


SAMPLE_S: Final = 0.1
"""Ticks closer together than this share one sample, so that a flood costs next to nothing."""
SHOWN_AFTER_TICKS: Final = 3
SHOWN_AFTER_S: Final = 2.0
WINDOW_TICKS: Final = 12
WINDOW_S: Final = 30.0
"""How much of the past counts while the pace is constant: so many points, or so long."""
POINT_S: Final = 0.5
"""Samples within this time are one point, the newest of them: at most about 60 in the window."""
LATE_S: Final = 2.0
LATE_GAPS: Final = 2.5
LATE_OF_LONGEST: Final = 1.25
"""How late ticks may come while the pace is the same.

That is so long, so many usual gaps between points, or so much of the longest gap. What is further
from the line has another pace.
"""
TURN_POINTS: Final = 4
"""So many points, including the turn itself, make another pace: a leap does not."""
SPARKS: Final = 20
LEAST_SPARKS: Final = 4
SURE: Final = 0.1  # a time left that may be off by more than this share is shown as an interval
UNSURE: Final = 0.75  # one that may be off by more is unknown
_SILENT_S: Final = 10.0
LONGEST_ETA_S: Final = 100 * 86400.0


class Pace(NamedTuple):
    """A rate, and by what share it may be off; `gap_s` is the usual gap between points."""

    rate: float
    doubt: float
    gap_s: float
    lasted_s: float


_Points: TypeAlias = "list[tuple[float, float]]"


class Rates:
    """The pace of the valid ticks: the slope of progress over time.

    It is the least-squares line through the points of the last 30 s (or 12 ticks, if they take
    longer). Ticks that arrive in bursts, late or in uneven portions hardly move it, unlike an
    average of samples. Where progress has left the line by more than lateness explains, the pace
    has changed, and only later points count: a job that slows to half its pace is recognised after
    about 5 s.

    The first value is the start, so that a resumed job is not credited with earlier work.
    """

    __slots__ = (
        "_pace",
        "_point_from",
        "_points",
        "_recent",
        "at",
        "began_at",
        "first_tick",
        "value",
    )

    def __init__(self, at: float, value: float, first_tick: int) -> None:
        """Begin at `value`; `first_tick` is the number of valid ticks, including this one."""
        self.began_at = self.at = self._point_from = at
        self.first_tick = first_tick
        self.value = value
        self._points = collections.deque([(at, value)])
        self._pace: Pace | None = None
        self._recent: tuple[float, ...] | None = None

    def add(self, at: float, value: float) -> None:
        """Add a sample: the progress after a valid tick."""
        if at <= self.at:
            return
        is_rising = value > self.value
        self.at, self.value = at, value
        points = self._points
        if not is_rising:  # continued from a lower value, after a violation
            points.clear()
        elif at - self._point_from < POINT_S and len(points) > 1:
            points[-1] = (at, value)
            return
        points.append((at, value))
        self._point_from = at
        self._pace = self._recent = None  # recomputed twice a second, not for every tick
        while len(points) > WINDOW_TICKS and points[1][0] <= at - WINDOW_S:
            points.popleft()

    def is_known(self, now: float, ticks: int) -> bool:
        """Return whether three valid ticks of the job's `ticks` and two seconds have passed."""
        is_due = now - self.began_at >= SHOWN_AFTER_S
        return is_due and len(self._points) > 1 and ticks - self.first_tick + 1 >= SHOWN_AFTER_TICKS

    def pace(self) -> Pace | None:
        """The pace up to the newest sample; None if numbers are too large."""
        if self._pace is None and len(self._points) > 1:
            self._pace = _pace_of(list(self._points))
        return self._pace

    def recent(self) -> tuple[float, ...]:
        """The recent rates, about twenty of them, each as a share of the highest."""
        if self._recent is None:
            self._recent = _shares_of(list(self._points))
        return self._recent

    def read(self, now: float) -> float | None:
        """Progress per second at `now`; call it only if it `is_known`.

        Within one usual gap, the time since the newest sample does not count, so that the rate does
        not oscillate between ticks; in a longer silence it falls.
        """
        pace = self.pace()
        if pace is None:
            return None
        silent_s = max(now - self.at - max(pace.gap_s, POINT_S), 0.0)
        silent_due_s = min(pace.lasted_s, max(_SILENT_S, LATE_GAPS * pace.gap_s))
        return pace.rate * (silent_due_s / (silent_due_s + silent_s))


def gains(points: Sequence[tuple[float, float]], count: int) -> list[float]:
    """The progress made in each of `count` equal intervals between the first point and the last."""
    (begin, base), (end, _) = points[0], points[-1]
    values, place = [base], 0
    for mark in range(1, count + 1):
        at = end - (count - mark) * (end - begin) / count
        while points[place + 1][0] < at and place + 2 < len(points):
            place += 1
        (before, low), (after, high) = points[place], points[place + 1]
        share = (at - before) / (after - before) if after > before else 1.0
        values.append(low + (high - low) * min(max(share, 0.0), 1.0))
    return list(map(operator.sub, values[1:], values))


def _shares_of(points: _Points) -> tuple[float, ...]:
    """The rates between about twenty points, as shares of the highest; empty if there are few."""
    kept = points[:: -(-len(points) // SPARKS)]
    if len(kept) <= LEAST_SPARKS:
        return ()
    rates = [
        (value - base) / (at - begin) for (begin, base), (at, value) in itertools.pairwise(kept)
    ]
    most = max(rates)
    return tuple(rate / most for rate in rates) if 0 < most < math.inf else ()


def _pace_of(points: _Points) -> Pace | None:
    """The pace at the end of `points`, two or more, whose times and values rise.

    Sorting by rate asks for that of a thousand jobs at once, so the loops are C's: 20 µs each.
    """
    while True:
        (begin, base), (end, top) = points[0], points[-1]
        lasted_s, gained = end - begin, top - base
        if lasted_s < POINT_S:
            return None
        times = [at - begin for at, _ in points]
        # How far each point is ahead of uniform progress, in seconds.
        ahead = [(value - base) / gained * lasted_s - at + begin for at, value in points]
        gaps = list(map(operator.sub, times[1:], times))
        gap_s = sum(map(operator.mul, gaps, gaps)) / lasted_s
        off = max(max(ahead), min(ahead), key=abs)
        if not math.isfinite(off):
            return None
        turn = ahead.index(off)
        is_late = abs(off) <= max(LATE_S, LATE_GAPS * gap_s, LATE_OF_LONGEST * max(gaps))
        if is_late or len(points) - turn < TURN_POINTS or end - points[turn][0] < LATE_S:
            break
        # The point itself may be late, from before the turn.
        points = points[turn + (len(points) - turn > TURN_POINTS) :]
    # Least squares of the deviation from uniform progress.
    count = len(points)
    middle = sum(times) / count
    spread = sum(map(operator.mul, times, times)) / count - middle * middle
    common = sum(map(operator.mul, times, ahead)) / count - middle * sum(ahead) / count
    rate = (1 + common / spread) * (gained / lasted_s)
    if not math.isfinite(rate) or rate <= 0:
        return None
    # A few points are near any line.
    doubt = (1.5 * abs(off) + 0.25 * gap_s) / lasted_s * (1 + 4 / count)
    return Pace(rate, doubt, gap_s, lasted_s)


class TimeLeft(NamedTuple):
    """Seconds left: the best estimate and, if it is uncertain, the interval."""

    best_s: float | None
    span_s: tuple[float, float] | None = None


UNKNOWN_TIME: Final = TimeLeft(None)


def time_left(remaining: float, pace: Pace | None, passed: float) -> TimeLeft:
    """The time left, `passed` seconds after the tick that `remaining` and `pace` belong to.

    Counts down on the clock; `math.inf` beyond 100 days. None if the pace is unknown or too
    uncertain, and once the time ran out with work left: an estimate that proved wrong is unknown.
    """
    if remaining <= 0:
        return TimeLeft(0.0)
    if pace is None or pace.doubt > UNSURE:
        return UNKNOWN_TIME
    if remaining / LONGEST_ETA_S > pace.rate:
        return TimeLeft(math.inf)
    whole = remaining / pace.rate
    if whole <= passed:
        return UNKNOWN_TIME
    if pace.doubt <= SURE:
        return TimeLeft(whole - passed)
    low, high = whole / (1 + pace.doubt) - passed, whole / (1 - pace.doubt) - passed
    return TimeLeft(whole - passed, (max(low, 0.0), high))

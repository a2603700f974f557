"""The scales of a progress chart: where a value lies, and which round values get a line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.tracker.snapshot import ChartPoint

_LARGEST = 1e300  # beyond, differences of two values could overflow
_PARTS = (1, 2, 5, 10, 15, 20, 30)
_TIMES = (*_PARTS, *(60 * n for n in _PARTS), *(3600 * n for n in (1, 2, 3, 6, 12, 24)))


class Span(NamedTuple):
    """An axis from `low` to `high`, always of a length above zero."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where `value` lies, 0.0 at `low` and 1.0 at `high`, never outside."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def lines(self, wanted: int) -> list[float]:
        """Round values within the span, about `wanted` of them."""
        return self._lines(_round_step((self.high - self.low) / max(wanted, 1)))

    def time_lines(self, wanted: int) -> list[float]:
        """The same in seconds, at whole minutes, hours and days where the span is so long."""
        return self._lines(_round_time((self.high - self.low) / max(wanted, 1)))

    def _lines(self, step: float) -> list[float]:
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step + 1e-9)
        return [count * step for count in range(first, min(last, first + 50) + 1)]


def span(values: Iterable[float]) -> Span:
    """The span of the finite ones of `values`; zero to one when there are none."""
    usable = [value for value in values if math.isfinite(value) and abs(value) <= _LARGEST]
    if not usable:
        return Span(0.0, 1.0)
    low, high = min(usable), max(usable)
    # Equal ends, and ends too near for a float to tell apart, still make an axis.
    return Span(low, high if high - low > abs(high) * 1e-12 else low + max(1.0, abs(low) * 1e-6))


def label_places(
    wanted: Iterable[tuple[float, float]], low: float, high: float
) -> list[float | None]:
    """Where labels of a centre and a length each begin, so that they lie within `low` to `high`.

    None for those that would touch one before them: the most important comes first.
    """
    taken: list[tuple[float, float]] = []
    places: list[float | None] = []
    for centre, length in wanted:
        start = max(low, min(centre - length / 2, high - length))
        is_free = all(start >= end or start + length <= begin for begin, end in taken)
        places.append(start if is_free else None)
        if is_free:
            taken.append((start, start + length))
    return places


def drawable(points: Sequence[ChartPoint]) -> list[ChartPoint]:
    """The points whose numbers a painter can take."""
    return [
        point
        for point in points
        if all(abs(value) <= _LARGEST for value in (point.at, point.low, point.high, point.last))
    ]


def _round_time(least_s: float) -> float:
    """The smallest usual stretch of time that is at least about `least_s`.

    They lie further apart than round numbers do: a little less is better than twice as much.
    """
    least_s *= 0.9
    if least_s <= 1.0:
        return _round_step(least_s)
    if least_s > _TIMES[-1]:
        return 86_400 * _round_step(least_s / 86_400)
    return float(next(step for step in _TIMES if step >= least_s))


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999999)

"""A job's past in bounded memory: points of its chart, phases of its progress, round scales."""

from __future__ import annotations

import collections
import math
import re
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.tracker.snapshot import ChartPoint, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CAPACITY: Final = 1024  # most points a chart has; an even number
_FIRST_STRETCH_S: Final = 0.1
_WIDTH: Final = 4
_FULL: Final = CAPACITY * _WIDTH


class Chart:
    """Intervals of equal length, each with its lowest, highest and last value.

    When all places are taken, neighbours are joined in pairs and the interval doubles: the lowest
    and highest value ever seen and the newest one are never lost. Flat doubles: 32 bytes a point.
    """

    __slots__ = ("_cells", "_stretch_s", "_until")

    def __init__(self) -> None:
        self._cells = array("d")
        self._stretch_s = _FIRST_STRETCH_S
        self._until = float("-inf")

    def add(self, at: float, value: float) -> None:
        cells = self._cells
        if at < self._until:
            cells[-4] = at
            if value < cells[-3]:
                cells[-3] = value
            elif value > cells[-2]:
                cells[-2] = value
            cells[-1] = value
            return
        if len(cells) >= _FULL:
            self.condense()
            cells = self._cells
        self._until = at + self._stretch_s
        cells.append(at)
        cells.append(value)
        cells.append(value)
        cells.append(value)

    def condense(self) -> None:
        """Join neighbours in pairs; half the points remain, each twice as long."""
        points = self.points()
        pairs = zip(points[::2], points[1::2], strict=False)
        joined = [_join(first, second) for first, second in pairs]
        if len(points) % 2:
            joined.append(points[-1])
        self._cells = array("d", (number for point in joined for number in point))
        self._stretch_s *= 2

    def condense_to(self, most: int) -> None:
        while len(self) > max(most, 1):
            self.condense()

    def __len__(self) -> int:
        return len(self._cells) // _WIDTH

    def points(self) -> list[ChartPoint]:
        cells = iter(self._cells)
        return [ChartPoint(*cell) for cell in zip(cells, cells, cells, cells, strict=True)]


def _join(first: ChartPoint, second: ChartPoint) -> ChartPoint:
    low, high = min(first.low, second.low), max(first.high, second.high)
    return ChartPoint(second.at, low, high, second.last)


PHASES_KEPT: Final = 500
_COMPARED: Final = 200
_WITHOUT_NUMBERS: Final = str.maketrans("", "", "0123456789., ")
_NUMBER: Final = re.compile(r"([0-9]+(?:[.,][0-9]+)*)")
_GAP: Final = "…"
_JOINTS: Final = " ([{<:;,.=#/|·–—-"  # noqa: RUF001 - the dashes and points that servers do send
_PAIRS: Final = ("()", "[]", "{}", "<>")


class PhaseLog:
    """The newest phases of one job, at most 500; older ones are dropped and counted."""

    __slots__ = ("_began_at", "_began_count", "_ended", "_first", "_key", "_newest", "dropped")

    def __init__(self) -> None:
        self._ended: collections.deque[Phase] = collections.deque(maxlen=PHASES_KEPT - 1)
        self._key: str | None = None
        self._first = ""
        self._newest: str | None = None
        self._began_at = 0.0
        self._began_count = 0
        self.dropped = 0

    def turn(self, message: str, at: float, count: int) -> None:
        """Check the message of the job's tick number `count`: it may begin a phase."""
        if message == self._newest:
            return
        key = message[:_COMPARED].translate(_WITHOUT_NUMBERS)
        if key != self._key:
            self._close(at, count)
            self._key = key
            self._first = message
            self._began_at = at
            self._began_count = count
        self._newest = message

    def _close(self, at: float, count: int) -> None:
        """Add the current phase, if there is one, to the ended ones."""
        if self._key is None:
            return
        if len(self._ended) == self._ended.maxlen:
            self.dropped += 1
        ticks = count - self._began_count
        self._ended.append(Phase(self._name(), self._began_at, at, ticks))

    def _name(self) -> str:
        """The common part of the messages in the current phase."""
        return common_words(self._first, self._first if self._newest is None else self._newest)

    def shrink(self, most: int) -> None:
        while len(self._ended) >= max(most, 1):
            self._ended.popleft()
            self.dropped += 1

    def read(self, count: int, ended_at: float | None) -> list[Phase]:
        """All phases, oldest first, after `count` ticks; `ended_at` is the job's end, if any."""
        phases = list(self._ended)
        if self._key is not None:
            ticks = count - self._began_count + 1
            phases.append(Phase(self._name(), self._began_at, ended_at, ticks))
        return phases


def common_words(first: str, newest: str) -> str:
    """The common part of two messages that differ only in their numbers, bounded.

    Numbers that differ become "…": "Step … of 64". If no word follows the first of them, the text
    before it is enough: "Compiling (1/20)" and "Compiling (7/20)" are "Compiling".
    """
    short = first[:_COMPARED]
    bounded = short if short == first else short + _GAP
    if first == newest:
        return bounded
    # Numbers are at odd places, the text between them at even ones.
    mine, others = _NUMBER.split(short), _NUMBER.split(newest[:_COMPARED])
    if len(mine) != len(others):
        return bounded
    numbers = [one if one == other else _GAP for one, other in zip(mine, others, strict=True)]
    mine[1::2] = numbers[1::2]
    whole = "".join(mine)
    return _without_tail(whole) or (whole if short == first else whole + _GAP)


def _without_tail(text: str) -> str:
    """The text before the first gap, if no letter follows it and no bracket is left open."""
    head, gap, rest = text.partition(_GAP)
    head = head.rstrip(_JOINTS)
    is_cut_open = any(head.count(left) > head.count(right) for left, right in _PAIRS)
    is_needed = not gap or is_cut_open or any(map(str.isalpha, rest))
    return "" if is_needed else head


_LARGEST = 1e300  # beyond, differences of two values could overflow
_PARTS = (1, 2, 5, 10, 15, 20, 30)
_TIMES = (*_PARTS, *(60 * n for n in _PARTS), *(3600 * n for n in (1, 2, 3, 6, 12, 24)))


class AxisSpan(NamedTuple):
    """An axis from `low` to `high`, always longer than zero."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """The position of `value`, 0.0 at `low` and 1.0 at `high`, never outside."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def lines(self, wanted: int) -> list[float]:
        return self._lines(_round_step((self.high - self.low) / max(wanted, 1)))

    def time_lines(self, wanted: int) -> list[float]:
        """Round values in seconds: whole minutes, hours and days if the span is long."""
        return self._lines(_round_time((self.high - self.low) / max(wanted, 1)))

    def _lines(self, step: float) -> list[float]:
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step + 1e-9)
        return [count * step for count in range(first, min(last, first + 50) + 1)]


def span(values: Iterable[float]) -> AxisSpan:
    """The span of the finite `values`; zero to one if there are none."""
    usable = [value for value in values if math.isfinite(value) and abs(value) <= _LARGEST]
    if not usable:
        return AxisSpan(0.0, 1.0)
    low, high = min(usable), max(usable)
    # Ends that are equal, or too close for a float to distinguish, still make an axis.
    return AxisSpan(
        low, high if high - low > abs(high) * 1e-12 else low + max(1.0, abs(low) * 1e-6)
    )


def label_places(
    wanted: Iterable[tuple[float, float]], low: float, high: float
) -> list[float | None]:
    """Return where labels, given by centre and length, begin, to lie within `low` to `high`.

    None for those that would overlap an earlier one: the most important comes first.
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
    """The points whose numbers a painter can draw."""
    return [
        point
        for point in points
        if all(abs(value) <= _LARGEST for value in (point.at, point.low, point.high, point.last))
    ]


def _round_time(least_s: float) -> float:
    """The smallest usual duration that is at least about `least_s`.

    They are further apart than round numbers: a little less is better than twice as much.
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

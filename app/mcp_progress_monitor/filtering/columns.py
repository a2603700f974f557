"""Tests that look at the index alone: tens of nanoseconds a frame, no bytes are read."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.filtering.quantities import utc_offset_s
from mcp_progress_monitor.filtering.stride import picked
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.recording.columns import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from mcp_progress_monitor.filtering.expression import Moment
    from mcp_progress_monitor.filtering.stride import Rows, Stride, Work
    from mcp_progress_monitor.recording.columns import Columns
    from mcp_progress_monitor.recording.timeline import Timeline

NAN: Final = math.nan
"""Stands for a number that is not there: no comparison with it is true, but for `!=`."""
_EXCHANGE_MASK: Final = (1 << 32) - 1
_STEP: Final = 1 << 14
_QUARTER_S: Final = 900
_DAY_S: Final = 86400.0
_HALF_A_MICROSECOND: Final = 5e-7
_REPLIES: Final = bytes([FrameKind.REPLY, FrameKind.ERROR])


class KindTest:
    """Chooses rows by their byte in the column of kinds."""

    cost = 0

    def __init__(self, chosen: Collection[int]) -> None:
        """`chosen` are the bytes, see `Segment.kinds`."""
        self._table = bytes(byte in chosen for byte in range(256))

    @classmethod
    def of(cls, kinds: Collection[FrameKind]) -> KindTest:
        """Chooses frames of some kinds, whether they break a rule or not."""
        return cls({byte for kind in kinds for byte in (kind, kind | Segment.MARKED)})

    @classmethod
    def of_irregular(cls, *, wanted: bool) -> KindTest:
        """Chooses frames that break a rule, or those that break none."""
        return cls(range(Segment.MARKED, 256) if wanted else range(Segment.MARKED))

    def chosen(self, segment: Segment, rows: Rows) -> list[int]:
        """Those of the rows that are of the kinds."""
        kinds = picked(segment.kinds, rows)
        return list(compress(rows, bytes(kinds).translate(self._table)))

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
        yield from ()
        return self.chosen(stride.segment, rows)


class NumberTest:
    """Compares numbers that the index has, or that follow from it."""

    cost = 1

    def __init__(
        self,
        values: Callable[[Stride, Rows], Sequence[float]],
        op: str,
        wanted: float | Collection[float],
    ) -> None:
        self._values = values
        self._compare: Callable[[Rows, Sequence[float], Any], list[int]] = _COMPARISONS[op]
        self._wanted = wanted

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
        yield from ()
        return self._compare(rows, self._values(stride, rows), self._wanted)


def _equal(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return [row for row, value in zip(rows, values, strict=True) if value == wanted]


def _different(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    # Not `!=`, which is true of what is not there.
    return [
        row for row, value in zip(rows, values, strict=True) if value < wanted or value > wanted
    ]


def _less(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return [row for row, value in zip(rows, values, strict=True) if value < wanted]


def _at_most(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return [row for row, value in zip(rows, values, strict=True) if value <= wanted]


def _more(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return [row for row, value in zip(rows, values, strict=True) if value > wanted]


def _at_least(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return [row for row, value in zip(rows, values, strict=True) if value >= wanted]


def _one_of(rows: Rows, values: Sequence[float], wanted: Collection[float]) -> list[int]:
    return [row for row, value in zip(rows, values, strict=True) if value in wanted]


_COMPARISONS: Final[dict[str, Callable[[Rows, Sequence[float], Any], list[int]]]] = {
    "==": _equal,
    "!=": _different,
    "<": _less,
    "<=": _at_most,
    ">": _more,
    ">=": _at_least,
    "in": _one_of,
}


class SecondsTest(NumberTest):
    """Compares differences of times, to the microsecond: as floats they are a little off."""

    def __init__(
        self,
        values: Callable[[Stride, Rows], Sequence[float]],
        op: str,
        wanted: float | Collection[float],
    ) -> None:
        super().__init__(values, op, wanted)
        self._compare = _NEARLY[op]


def _nearly_equal(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    low, high = wanted - _HALF_A_MICROSECOND, wanted + _HALF_A_MICROSECOND
    return [row for row, value in zip(rows, values, strict=True) if low < value < high]


def _clearly_different(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    low, high = wanted - _HALF_A_MICROSECOND, wanted + _HALF_A_MICROSECOND
    return [row for row, value in zip(rows, values, strict=True) if value <= low or value >= high]


def _clearly_less(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return _at_most(rows, values, wanted - _HALF_A_MICROSECOND)


def _nearly_at_most(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return _less(rows, values, wanted + _HALF_A_MICROSECOND)


def _clearly_more(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return _at_least(rows, values, wanted + _HALF_A_MICROSECOND)


def _nearly_at_least(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return _more(rows, values, wanted - _HALF_A_MICROSECOND)


def _nearly_one_of(rows: Rows, values: Sequence[float], wanted: Collection[float]) -> list[int]:
    return sorted({row for one in wanted for row in _nearly_equal(rows, values, one)})


_NEARLY: Final[dict[str, Callable[[Rows, Sequence[float], Any], list[int]]]] = {
    "==": _nearly_equal,
    "!=": _clearly_different,
    "<": _clearly_less,
    "<=": _nearly_at_most,
    ">": _clearly_more,
    ">=": _nearly_at_least,
    "in": _nearly_one_of,
}


class MomentTest:
    """Compares wall time with a moment, which is as long as the text that names it is vague."""

    cost = 1

    def __init__(self, op: str, wanted: Moment) -> None:
        self._op = op
        self._wanted = wanted

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
        yield from ()
        values: Sequence[float] = walls(stride, rows)
        if self._wanted.is_daily:
            values = _times_of_day(values)
        begin, end = self._wanted.begin, self._wanted.end
        match self._op:
            case "<" | ">=":
                return _COMPARISONS[self._op](rows, values, begin)
            case "<=":
                return _less(rows, values, end)
            case ">":
                return _at_least(rows, values, end)
        inside = _less(rows, values, end)
        after = set(_at_least(rows, values, begin))
        found = [row for row in inside if row in after]
        if self._op == "==":
            return found
        wanted = set(found)
        return [row for row in rows if row not in wanted]


class JobTest:
    """Chooses frames of requests that belong to a job, or to none of some jobs."""

    cost = 1

    def __init__(
        self, requests_of: Callable[[int], Collection[int]], op: str, jobs: Collection[int]
    ) -> None:
        self._requests_of = requests_of
        self._is_wanted = op != "!="
        self._jobs = jobs

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`.

        A job's requests are asked for anew: it may have been resumed.
        """
        yield from ()
        wanted = {
            request & _EXCHANGE_MASK for job in self._jobs for request in self._requests_of(job)
        }
        exchanges = picked(stride.segment.exchanges, rows)
        if self._is_wanted:
            return [row for row, of in zip(rows, exchanges, strict=True) if of in wanted]
        wanted.add(0)
        return [row for row, of in zip(rows, exchanges, strict=True) if of not in wanted]


def sizes(stride: Stride, rows: Rows) -> Sequence[int]:
    """Bytes of each message, as they stand on disk."""
    return picked(stride.segment.sizes, rows)


def requests(stride: Stride, rows: Rows) -> Sequence[float]:
    """The number of the request that each message is or belongs to."""
    return [request or NAN for request in picked(stride.segment.exchanges, rows)]


def numbers(stride: Stride, rows: Rows) -> Sequence[int]:
    """The number of each message in the recording."""
    columns = stride.timeline.columns
    found: list[int] = []
    for place, part in _spans(stride, rows, columns.same_numbers):
        shift = columns.number(place) - part[0]
        found += [row + shift for row in part]
    return found


def walls(stride: Stride, rows: Rows) -> list[float]:
    """Wall time of each message, half a microsecond late: times are whole microseconds."""
    columns = stride.timeline.columns
    found: list[float] = []
    for place, part in _spans(stride, rows, lambda place: columns.same_wall(place)[1]):
        ahead = columns.same_wall(place)[0] + _HALF_A_MICROSECOND
        found += [at + ahead for at in picked(stride.segment.ats, part)]
    return found


def _spans(
    stride: Stride, rows: Rows, until: Callable[[int], float]
) -> Iterator[tuple[int, Sequence[int]]]:
    """Rows in stretches up to the places that `until` gives; of each, its first place."""
    first = stride.segment.first
    done = 0
    while done < len(rows):
        place = first + rows[done]
        stop = bisect_left(rows, until(place) - first, done)
        yield place, rows[done:stop]
        done = stop


def _times_of_day(whens: Sequence[float]) -> Sequence[float]:
    # Zones change their offsets at quarters of an hour: it is asked for once for each of them.
    quarters = [when // _QUARTER_S for when in whens]
    offsets = {quarter: utc_offset_s(quarter * _QUARTER_S) for quarter in set(quarters)}
    return [
        (when + offsets[quarter]) % _DAY_S for when, quarter in zip(whens, quarters, strict=True)
    ]


class Durations:
    """Seconds from a request to each reply; finds the requests of a row of replies quickly."""

    def __init__(self) -> None:
        self._columns: Columns | None = None
        self._low = self._high = self._shift = 0
        self._ats: Sequence[float] = ()

    def of(self, stride: Stride, rows: Rows) -> Sequence[float]:
        """The durations; not there for all that is no reply to a request still here."""
        segment = stride.segment
        if self._columns is not stride.timeline.columns:
            self._columns, self._low, self._high = stride.timeline.columns, 0, 0
        begun, mask, timeline = self._begun, Segment.KIND, stride.timeline
        return [
            at - begun(timeline, request) if kind & mask in _REPLIES and request else NAN
            for kind, at, request in zip(
                picked(segment.kinds, rows),
                picked(segment.ats, rows),
                picked(segment.exchanges, rows),
                strict=True,
            )
        ]

    def _begun(self, timeline: Timeline, request: int) -> float:
        if not self._low <= request < self._high and not self._find(timeline, request):
            return NAN
        return self._ats[request - self._shift]

    def _find(self, timeline: Timeline, request: int) -> bool:
        """Remember where the request is, and the frames after it that are numbered in order."""
        place = timeline.place_of(request)
        found = None if place is None else timeline.columns.locate(place)
        if place is None or found is None:
            return False
        segment, row = found
        until = int(min(timeline.columns.same_numbers(place), segment.end))
        self._low, self._high = request, request + until - place
        self._shift, self._ats = request - row, segment.ats
        return True

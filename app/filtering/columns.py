"""Tests that look at the index alone: tens of nanoseconds a frame, no bytes are read."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, Final

from app.filtering.quantities import time_of_day, utc_offset_s
from app.filtering.stride import picked
from app.protocol.frame_kind import FrameKind
from app.recording.columns import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from app.filtering.expression import Moment
    from app.filtering.stride import Rows, Stride, Work
    from app.recording.columns import Columns
    from app.recording.timeline import Timeline

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
        """See `app.filtering.compiling.Test`."""
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
        """See `app.filtering.compiling.Test`."""
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
        """See `app.filtering.compiling.Test`."""
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
        """See `app.filtering.compiling.Test`.

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
    if not whens:
        return whens
    if min(whens) // _QUARTER_S != max(whens) // _QUARTER_S:
        return [time_of_day(when) for when in whens]
    offset = utc_offset_s(whens[0])
    return [(when + offset) % _DAY_S for when in whens]


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


class Deltas:
    """Seconds since the message before with the same token, or since any where there is none.

    A token's last time is kept as the search goes on, which it does in order of places. What lies
    before the place where it begins is passed over first, a column at a time: 40 ns a frame.
    Tokens that are too long for the index have no delta.
    """

    def __init__(self) -> None:
        self._columns: Columns | None = None
        self._last: dict[int, float] = {}
        self._before = NAN
        self._place = 0
        self._start = 0
        self._deltas: list[float] = []

    def begin(self, stride: Stride) -> Work[None]:
        """Get ready for the rows of a stride."""
        timeline, segment = stride.timeline, stride.segment
        place = segment.first + stride.start
        if self._columns is not timeline.columns or place < self._place:
            self._columns, self._last, self._before = timeline.columns, {}, NAN
            self._place = timeline.first
        yield from self._pass_over(timeline.columns, place)
        self._start = stride.start
        rows = stride.rows
        self._deltas = self._found(
            timeline.columns.tokens.many, picked(segment.tokens, rows), picked(segment.ats, rows)
        )
        self._place = segment.first + stride.stop

    def of(self, _stride: Stride, rows: Rows) -> Sequence[float]:
        """The deltas of some rows of the stride."""
        start = self._start
        if isinstance(rows, range):
            return self._deltas[rows.start - start : rows.stop - start]
        return [self._deltas[row - start] for row in rows]

    def _pass_over(self, columns: Columns, place: int) -> Work[None]:
        while self._place < place:
            found = columns.locate(columns.after(max(self._place, columns.first)))
            if found is None:
                return
            segment, row = found
            stop = min(len(segment), row + _STEP, place - segment.first)
            if stop <= row:
                return
            self._last.update(zip(segment.tokens[row:stop], segment.ats[row:stop], strict=True))
            self._before = segment.ats[stop - 1]
            self._place = segment.first + stop
            yield

    def _found(self, many: int, tokens: Sequence[int], ats: Sequence[float]) -> list[float]:
        last = self._last
        known = last.get
        deltas: list[float] = []
        add = deltas.append
        for token, at, before in zip(tokens, ats, chain((self._before,), ats), strict=False):
            if token:
                add(at - known(token, NAN))
                last[token] = at
            else:
                add(at - before)
        if ats:
            self._before = ats[-1]
        if many in tokens:
            return [NAN if of == many else by for of, by in zip(tokens, deltas, strict=True)]
        return deltas

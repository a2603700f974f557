"""Predicates that read only the index: tens of nanoseconds a frame, no message bytes."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import chain, compress, product
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from mcp_progress_monitor.filtering.filter import Moment, utc_offset_s
from mcp_progress_monitor.filtering.matching import ABSENT
from mcp_progress_monitor.filtering.stride import Rows, Stride, Work, picked
from mcp_progress_monitor.protocol.frames import Channel, FrameKind, server_name
from mcp_progress_monitor.protocol.jsonrpc import decode_in_slices
from mcp_progress_monitor.protocol.messages import META, PROGRESS_TOKEN
from mcp_progress_monitor.recording.index import Columns, FrameSource, Segment, SharedValues

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from mcp_progress_monitor.recording.timeline import Timeline

NAN: Final = math.nan  # a missing number: no comparison with it is true, except `!=`
_EXCHANGE_MASK: Final = (1 << 32) - 1
_QUARTER_S: Final = 900
_DAY_S: Final = 86400.0
_HALF_A_MICROSECOND: Final = 5e-7
_REPLIES: Final = bytes([FrameKind.REPLY, FrameKind.ERROR])


class KindPredicate:
    """Chooses rows by their byte in the column of kinds."""

    cost = 0

    def __init__(self, chosen: Collection[int]) -> None:
        """`chosen` are the bytes, see `Segment.kinds`."""
        self._table = bytes(byte in chosen for byte in range(256))

    @classmethod
    def of(cls, kinds: Collection[FrameKind]) -> KindPredicate:
        """Chooses frames of some kinds, whether they break a rule or not."""
        return cls({byte for kind in kinds for byte in (kind, kind | Segment.MARKED)})

    @classmethod
    def of_irregular(cls, *, wanted: bool) -> KindPredicate:
        """Chooses frames that break a rule, or those that break none."""
        return cls(range(Segment.MARKED, 256) if wanted else range(Segment.MARKED))

    def chosen(self, segment: Segment, rows: Rows) -> list[int]:
        kinds = picked(segment.kinds, rows)
        return list(compress(rows, bytes(kinds).translate(self._table)))

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        yield from ()
        return self.chosen(stride.segment, rows)


class NumberPredicate:
    """Compares numbers that the index has, or that can be derived from it."""

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
        yield from ()
        return self._compare(rows, self._values(stride, rows), self._wanted)


def _equal(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    return [row for row, value in zip(rows, values, strict=True) if value == wanted]


def _different(rows: Rows, values: Sequence[float], wanted: float) -> list[int]:
    # Not `!=`, which is true of missing values.
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


class SecondsPredicate(NumberPredicate):
    """Compares differences of times, to the microsecond: floats are slightly off."""

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


def _nearly_one_of(rows: Rows, values: Sequence[float], wanted: Collection[float]) -> list[int]:
    return sorted({row for one in wanted for row in _nearly_equal(rows, values, one)})


_NEARLY: Final[dict[str, Callable[[Rows, Sequence[float], Any], list[int]]]] = {
    "==": _nearly_equal,
    "!=": _clearly_different,
    "<": lambda rows, values, wanted: _at_most(rows, values, wanted - _HALF_A_MICROSECOND),
    "<=": lambda rows, values, wanted: _less(rows, values, wanted + _HALF_A_MICROSECOND),
    ">": lambda rows, values, wanted: _at_least(rows, values, wanted + _HALF_A_MICROSECOND),
    ">=": lambda rows, values, wanted: _more(rows, values, wanted - _HALF_A_MICROSECOND),
    "in": _nearly_one_of,
}


class MomentPredicate:
    """Compares wall time with a moment, whose length is the precision of its text."""

    cost = 1

    def __init__(self, op: str, wanted: Moment) -> None:
        self._op = op
        self._wanted = wanted

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
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


class JobPredicate:
    """Chooses frames of requests that belong to a job, or to none of some jobs."""

    cost = 1

    def __init__(
        self, requests_of: Callable[[int], Collection[int]], op: str, jobs: Collection[int]
    ) -> None:
        self._requests_of = requests_of
        self._is_wanted = op != "!="
        self._jobs = jobs

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.stride.RowPredicate`.

        A job's requests are read again each time: it may have been resumed.
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
    return [request or NAN for request in picked(stride.segment.exchanges, rows)]


def numbers(stride: Stride, rows: Rows) -> Sequence[int]:
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
    """Rows in ranges up to the places that `until` gives; of each, its first place."""
    first = stride.segment.first
    done = 0
    while done < len(rows):
        place = first + rows[done]
        stop = bisect_left(rows, until(place) - first, done)
        yield place, rows[done:stop]
        done = stop


def _times_of_day(whens: Sequence[float]) -> Sequence[float]:
    # Zones change their offsets at quarters of an hour: one look-up for each of them.
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
        """The durations; missing except for replies to existing requests."""
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


_DELTA_STEP: Final = 1 << 14
_FEW: Final = 4  # a single row costs at least so many times a row among all
_OF_OTHER_SIDE: Final = (FrameKind.PROGRESS, FrameKind.REPLY, FrameKind.ERROR)
"""What one side sends about the other's requests, with their tokens."""


class Deltas:
    """Seconds since the message before with the same token, or since any if it has none.

    A token is one of a connection's requests from one side: servers number theirs as we do ours. A
    token's last time is kept during the search, which is in order of places. Rows before the place
    where it begins are scanned first, a column at a time: 60 ns a frame. Where a cheaper one
    leaves few rows of a stride, the others are scanned, too. Tokens that are too long for the index
    have no delta.
    """

    def __init__(self) -> None:
        self._columns: Columns | None = None
        self._last: dict[tuple[str, bool], dict[int, float]] = {}
        self._owners: dict[tuple[int, int], dict[int, float]] = {}
        self._before = NAN
        self._place = 0
        self._whole: tuple[int, list[float]] | None = None

    def begin(self, stride: Stride) -> Work[None]:
        timeline, segment = stride.timeline, stride.segment
        place = segment.first + stride.start
        if self._columns is not timeline.columns or place < self._place:
            self._columns, self._last, self._owners = timeline.columns, {}, {}
            self._place, self._before = timeline.first, NAN
        yield from self._pass_over(timeline.columns, place)
        self._whole = None

    def of(self, stride: Stride, rows: Rows) -> Sequence[float]:
        if self._whole is None and len(rows) * _FEW < len(stride.rows):
            return self._of_few(stride, rows)
        start, deltas = self._whole or self._of_all(stride)
        if isinstance(rows, range):
            return deltas[rows.start - start : rows.stop - start]
        return [deltas[row - start] for row in rows]

    def end(self, stride: Stride) -> None:
        """Finish a stride: its rows are known from now on."""
        if self._whole is None:
            self._pass(stride.timeline.columns, stride.segment, stride.rows)

    def _of_all(self, stride: Stride) -> tuple[int, list[float]]:
        """The deltas of the whole stride, and its first row; its times are known then."""
        segment = stride.segment
        deltas = self._found(stride.timeline.columns, segment, stride.rows)
        self._place = segment.first + stride.stop
        self._whole = (stride.start, deltas)
        return self._whole

    def _of_few(self, stride: Stride, rows: Rows) -> list[float]:
        """The deltas of a few rows: of the others only those with their tokens are scanned."""
        segment, columns = stride.segment, stride.timeline.columns
        tokens, ats, many = segment.tokens, segment.ats, columns.tokens.many
        asked = {tokens[row] for row in rows} - {0, many}
        until = range(stride.start, rows[-1] + 1) if rows else range(0)
        found: dict[int, float] = {}
        times: dict[tuple[int, int], float] = {}
        for row in [
            row for row, of in zip(until, picked(tokens, until), strict=True) if of in asked
        ]:
            last = self._of_pair(columns, segment.sources[row], segment.kinds[row])
            key = (id(last), tokens[row])
            found[row] = ats[row] - times.get(key, last.get(tokens[row], NAN))
            times[key] = ats[row]
        for row in rows:
            if tokens[row] == 0:
                found[row] = ats[row] - (ats[row - 1] if row > stride.start else self._before)
        return [found.get(row, NAN) for row in rows]

    def _pass_over(self, columns: Columns, place: int) -> Work[None]:
        while self._place < place:
            found = columns.locate(columns.after(max(self._place, columns.first)))
            if found is None:
                return
            segment, row = found
            stop = min(len(segment), row + _DELTA_STEP, place - segment.first)
            if stop <= row:
                return
            self._pass(columns, segment, range(row, stop))
            yield

    def _pass(self, columns: Columns, segment: Segment, rows: range) -> None:
        self._note(columns, segment, rows)
        self._before = segment.ats[rows.stop - 1]
        self._place = segment.first + rows.stop

    def _note(self, columns: Columns, segment: Segment, rows: range) -> None:
        ids = zip(
            picked(segment.sources, rows),
            picked(segment.kinds, rows),
            picked(segment.tokens, rows),
            strict=True,
        )
        # Few are different. The last of each, in their order: some are of one owner.
        for (source, kind, token), row in sorted(
            dict(zip(ids, rows, strict=True)).items(), key=itemgetter(1)
        ):
            self._of_pair(columns, source, kind)[token] = segment.ats[row]

    def _found(self, columns: Columns, segment: Segment, rows: range) -> list[float]:
        tokens, ats = picked(segment.tokens, rows), picked(segment.ats, rows)
        owner = self._owner(columns, segment, rows)
        if owner is not None:
            deltas = self._of_one(owner, tokens, ats)
        else:
            deltas = self._of_each(self._each(segment, rows), tokens, ats)
        if ats:
            self._before = ats[-1]
        many = columns.tokens.many
        if many in tokens:
            return [NAN if of == many else by for of, by in zip(tokens, deltas, strict=True)]
        return deltas

    def _of_one(
        self, last: dict[int, float], tokens: Sequence[int], ats: Sequence[float]
    ) -> list[float]:
        known = last.get
        deltas: list[float] = []
        add = deltas.append
        for token, at, before in zip(tokens, ats, chain((self._before,), ats), strict=False):
            if token:
                add(at - known(token, NAN))
                last[token] = at
            else:
                add(at - before)
        return deltas

    def _of_each(
        self, owners: Iterator[dict[int, float]], tokens: Sequence[int], ats: Sequence[float]
    ) -> list[float]:
        deltas: list[float] = []
        before = self._before
        for last, token, at in zip(owners, tokens, ats, strict=True):
            deltas.append(at - (last.get(token, NAN) if token else before))
            last[token] = before = at
        return deltas

    def _owner(self, columns: Columns, segment: Segment, rows: range) -> dict[int, float] | None:
        """The times of the one side of a connection that all rows belong to; None if several.

        Whatever the rows hold, `_each` can handle them afterwards.
        """
        sources, kinds = picked(segment.sources, rows), picked(segment.kinds, rows)
        pairs = set(product(set(sources), set(kinds)))
        if len(pairs) > 1:
            pairs = set(zip(sources, kinds, strict=True))
        owners = {id(owner): owner for owner in (self._of_pair(columns, *pair) for pair in pairs)}
        return next(iter(owners.values())) if len(owners) == 1 else None

    def _of_pair(self, columns: Columns, source: int, kind: int) -> dict[int, float]:
        known = self._owners.get((source, kind))
        if known is None:
            named = columns.sources.value(source)
            connection, channel = ("", Channel.EVENT) if named is None else named[:2]
            is_ours = (kind & Segment.KIND in _OF_OTHER_SIDE) is (channel is not Channel.SENT)
            is_ours |= channel is Channel.EVENT
            known = self._last.setdefault((connection, is_ours), {})
            self._owners[source, kind] = known
        return known

    def _each(self, segment: Segment, rows: range) -> Iterator[dict[int, float]]:
        pairs = zip(picked(segment.sources, rows), picked(segment.kinds, rows), strict=True)
        return map(self._owners.__getitem__, pairs)


_OFTEN: Final = 512
_TICK_KINDS: Final = (FrameKind.PROGRESS, FrameKind.REQUEST)


class Table(NamedTuple):
    """A column of numbers, its table of values, and a way to find values that are not in it."""

    names: Callable[[Columns], SharedValues[Any]]  # the table
    column: Callable[[Segment], Sequence[int]]  # the column
    value: Callable[[Any], Any]  # what is compared of an entry of the table
    looked_up: Callable[[Stride, int], Work[Any]]
    """The value of a row whose number is `Names.many`; `ABSENT` when it has none."""


class Judges(Protocol):
    """Decides on values."""

    def lets_through(self, value: Any) -> bool:
        """Whether a value matches."""


def _method_of(stride: Stride, row: int) -> Work[Any]:
    message = yield from _message(stride.timeline, stride.segment.first + row)
    return ABSENT if message is None or message.method is None else message.method


def _token_of(stride: Stride, row: int) -> Work[Any]:
    kind = stride.segment.kinds[row] & Segment.KIND
    place: int | None = stride.segment.first + row
    if kind not in _TICK_KINDS and place is not None:
        place = stride.timeline.request_of(place)
    message = None if place is None else (yield from _message(stride.timeline, place))
    if message is None or not isinstance(message.params, dict):
        return ABSENT
    if kind == FrameKind.PROGRESS:
        return message.params.get(PROGRESS_TOKEN, ABSENT)
    meta = message.params.get(META)
    return meta.get(PROGRESS_TOKEN, ABSENT) if isinstance(meta, dict) else ABSENT


def _nothing(_stride: Stride, _row: int) -> Work[Any]:
    """A recording with tens of thousands of connections has no more of them."""
    yield from ()
    return ABSENT


def _of_source(value: Callable[[FrameSource], Any]) -> Table:
    return Table(attrgetter("sources"), attrgetter("sources"), value, _nothing)


METHODS: Final = Table(
    attrgetter("methods"), attrgetter("methods"), lambda entry: entry, _method_of
)
"""Methods of requests and notifications."""
TOKENS: Final = Table(attrgetter("tokens"), attrgetter("tokens"), lambda entry: entry, _token_of)
"""Progress tokens; replies and cancels have that of their request."""
CONNECTIONS: Final = _of_source(attrgetter("connection"))
SERVERS: Final = _of_source(lambda entry: server_name(entry.connection))
DIRECTIONS: Final = _of_source(lambda entry: entry.channel.name.lower())  # the channels' words


class NamePredicate:
    """Chooses rows by a column of names."""

    cost = 1

    def __init__(self, table: Table, judge: Judges, *, pauses_often: bool = False) -> None:
        """Checking one value takes long when it `pauses_often`."""
        self._table = table
        self._judge = judge
        self._pause = 1 if pauses_often else _OFTEN
        self._names: SharedValues[Any] | None = None
        self._seen = 0
        self._wanted: set[int] = set()

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        names = self._table.names(stride.timeline.columns)
        yield from self._refresh(names)
        column = self._table.column(stride.segment)
        wanted = self._wanted
        found = [
            row for row, number in zip(rows, picked(column, rows), strict=True) if number in wanted
        ]
        if names.many in picked(column, found):
            return (yield from self._without_strangers(stride, found, column, names.many))
        return found

    def _refresh(self, names: SharedValues[Any]) -> Work[None]:
        if names is not self._names:
            self._names, self._seen, self._wanted = names, 0, {names.many}
        while self._seen < len(names):
            self._seen += 1
            if self._judge.lets_through(self._table.value(names.value(self._seen))):
                self._wanted.add(self._seen)
            if self._seen % self._pause == 0:
                yield

    def _without_strangers(
        self, stride: Stride, rows: list[int], column: Sequence[int], many: int
    ) -> Work[Rows]:
        """The matching rows; those whose value is only in their frames are read."""
        found = []
        for row in rows:
            if column[row] == many:
                value = yield from self._table.looked_up(stride, row)
                yield
                if not self._judge.lets_through(value):
                    continue
            found.append(row)
        return found


def _message(timeline: Timeline, place: int) -> Work[Any]:
    """The message at a place, decoded; None when it is gone."""
    frame = timeline.frame(place)
    if frame is None:
        return None
    return (yield from decode_in_slices(frame.raw, is_complete=frame.is_complete))

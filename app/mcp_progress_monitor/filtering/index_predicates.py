"""Predicates that read only the index, at tens of nanoseconds a frame, and the rows they search."""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from itertools import chain, compress, product, repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from mcp_progress_monitor.filtering.expressions import utc_offset_s
from mcp_progress_monitor.filtering.matching import ABSENT, ValueJudge
from mcp_progress_monitor.protocol.frames import Channel, FrameKind, server_name
from mcp_progress_monitor.protocol.jsonrpc import decode_in_slices
from mcp_progress_monitor.protocol.messages import META, PROGRESS_TOKEN
from mcp_progress_monitor.recording.format import unescaped
from mcp_progress_monitor.recording.index import Columns, FrameSource, Segment, SharedValues

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.timeline import Timeline


T = TypeVar("T")
Work: TypeAlias = Generator[None, None, T]
"""A generator that pauses every few tenths of a millisecond, and returns a T."""
Rows: TypeAlias = Sequence[int]  # increasing rows of a segment: a range, or a list

LONG: Final = 256 * 1024  # longer messages are searched in pieces of about this many bytes
_GROUP: Final = 256
_GROUP_BYTES: Final = 64 * 1024


class Escapes:
    """The sources whose line feeds are escaped on disk, updated as sources are added."""

    def __init__(self) -> None:
        self._sources: SharedValues[FrameSource] | None = None
        self._seen = 0
        self.numbers: set[int] = set()

    def refresh(self, sources: SharedValues[FrameSource]) -> None:
        if sources is not self._sources:
            self._sources, self._seen, self.numbers = sources, 0, set()
        for number in range(self._seen + 1, len(sources) + 1):
            source = sources.value(number)
            if source is not None and source.is_escaped:
                self.numbers.add(number)
        self._seen = len(sources)


class Stride:
    """The rows `start` up to `stop` of a segment, with the timeline that has their bytes."""

    def __init__(
        self, timeline: Timeline, segment: Segment, start: int, stop: int, escaped: Collection[int]
    ) -> None:
        self.timeline = timeline
        self.segment = segment
        self.start = start
        self.stop = stop
        self._escaped = escaped

    @property
    def rows(self) -> range:
        return range(self.start, self.stop)

    def groups(self, rows: Rows) -> Iterator[Rows]:
        """The rows in groups to read together; a message of more than `LONG` bytes is alone."""
        sizes = self.segment.sizes
        done = 0
        while done < len(rows):
            count = _GROUP
            while count > 1 and sum(picked(sizes, rows[done : done + count])) > _GROUP_BYTES:
                count //= 2
            yield rows[done : done + count]
            done += count

    def is_long(self, rows: Rows) -> bool:
        return len(rows) == 1 and self.segment.sizes[rows[0]] > LONG

    def raws(self, rows: Rows) -> list[bytes]:
        raws = self.timeline.raws(self.segment, rows)
        escaped, sources = self._escaped, self.segment.sources
        if not escaped:
            return raws
        return [
            unescaped(raw) if sources[row] in escaped else raw
            for row, raw in zip(rows, raws, strict=True)
        ]

    def pieces(self, row: int) -> Iterator[bytes]:
        """The exact bytes of a long message, in pieces of about `LONG` bytes."""
        is_escaped = self.segment.sources[row] in self._escaped
        size = self.segment.sizes[row]
        rest = b""
        for begin in range(0, size, LONG):
            piece = rest + self.timeline.piece(self.segment, row, begin, min(LONG, size - begin))
            rest = b""
            if is_escaped:
                if begin + LONG < size and (len(piece) - len(piece.rstrip(b"\\"))) % 2:
                    piece, rest = piece[:-1], piece[-1:]
                piece = unescaped(piece)
            yield piece


def picked(column: Sequence[T], rows: Rows) -> Sequence[T]:
    if isinstance(rows, range):
        return column[rows.start : rows.stop]
    return [column[row] for row in rows]


class RowPredicate(Protocol):
    """Chooses rows."""

    @property
    def cost(self) -> int:
        """The relative cost of a row, at most 1 for predicates that read only the index."""

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """The matching ones of the stride's `rows`, in order."""


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
        """Choose rows whose byte (see `Segment.kinds`) is in `chosen`."""
        self._table = bytes(byte in chosen for byte in range(256))

    @classmethod
    def of(cls, kinds: Collection[FrameKind]) -> KindPredicate:
        """Choose frames of these kinds, whether they violate a rule or not."""
        return cls({byte for kind in kinds for byte in (kind, kind | Segment.MARKED)})

    @classmethod
    def of_findings(cls, *, wanted: bool) -> KindPredicate:
        """Choose frames that violate a rule, or those that violate none."""
        return cls(range(Segment.MARKED, 256) if wanted else range(Segment.MARKED))

    def chosen(self, segment: Segment, rows: Rows) -> list[int]:
        kinds = picked(segment.kinds, rows)
        return list(compress(rows, bytes(kinds).translate(self._table)))

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        yield from ()
        return self.chosen(stride.segment, rows)


class Span(NamedTuple):
    """The numbers that a comparison matches: from `begin` to just before `end`."""

    begin: float
    end: float
    is_number: bool = False  # only one number is in it


_BOUNDS: Final[dict[str, tuple[Callable[[Any, Any], Any], int]]] = {
    "<": (operator.lt, 0),
    ">=": (operator.ge, 0),
    "<=": (operator.lt, 1),
    ">": (operator.ge, 1),
}
"""The operator that compares a value with the begin or the end of a span."""


class NumberPredicate:
    """Compares numbers that are in the index or derived from it; missing ones never match."""

    cost = 1

    def __init__(
        self, values: Callable[[Stride, Rows], Sequence[float]], op: str, wanted: Sequence[Span]
    ) -> None:
        """Choose values equal to one of `wanted`, or, for other operators, compare with the one."""
        self._values = values
        self._op = op
        self._wanted = wanted
        self._numbers = frozenset(span.begin for span in wanted if span.is_number)

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        yield from ()
        values = self._values(stride, rows)
        if self._numbers and self._op == "in":
            numbers = self._numbers
            return [row for row, at in zip(rows, values, strict=True) if at in numbers]
        if len(self._wanted) > 1:
            found = (_matching(rows, values, "==", span) for span in self._wanted)
            return sorted(set(chain.from_iterable(found)))
        return _matching(rows, values, self._op, self._wanted[0])


def _matching(rows: Rows, values: Sequence[float], op: str, span: Span) -> list[int]:
    begin, end, _ = span
    if op in _BOUNDS:
        test, bound = _BOUNDS[op]
        return list(compress(rows, map(test, values, repeat(span[bound]))))
    if op == "==" and span.is_number:
        return [row for row, at in zip(rows, values, strict=True) if at == begin]
    if op == "!=":
        return [row for row, at in zip(rows, values, strict=True) if at < begin or at >= end]
    return [row for row, at in zip(rows, values, strict=True) if begin <= at < end]


def exactly(value: float) -> Span:
    """The span of one number."""
    after = value + 1 if isinstance(value, int) else math.nextafter(value, math.inf)
    return Span(value, after, is_number=True)


def about(seconds: float) -> Span:
    """The span of a difference of times, to the microsecond: floats are inexact."""
    return Span(seconds - _HALF_A_MICROSECOND, seconds + _HALF_A_MICROSECOND)


class JobPredicate:
    """Chooses frames of requests that belong to any of some jobs, or to none of them."""

    cost = 1

    def __init__(
        self, requests_of: Callable[[int], Collection[int]], op: str, jobs: Collection[int]
    ) -> None:
        self._requests_of = requests_of
        self._is_wanted = op != "!="
        self._jobs = jobs

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """Read a job's requests each time: it may have been resumed."""
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
    """The size of each message on disk."""
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
    """The wall time of each message, half a microsecond late: times are whole microseconds."""
    columns = stride.timeline.columns
    found: list[float] = []
    for place, part in _spans(stride, rows, lambda place: columns.same_wall(place)[1]):
        ahead = columns.same_wall(place)[0] + _HALF_A_MICROSECOND
        found += [at + ahead for at in picked(stride.segment.ats, part)]
    return found


def _spans(
    stride: Stride, rows: Rows, until: Callable[[int], float]
) -> Iterator[tuple[int, Sequence[int]]]:
    """The rows, split at the places that `until` returns, each part with its first place."""
    first = stride.segment.first
    done = 0
    while done < len(rows):
        place = first + rows[done]
        stop = bisect_left(rows, until(place) - first, done)
        yield place, rows[done:stop]
        done = stop


def times_of_day(stride: Stride, rows: Rows) -> Sequence[float]:
    """The local time of each message, in seconds since midnight."""
    whens = walls(stride, rows)
    # UTC offsets change only at quarters of an hour: one look-up for each quarter.
    quarters = [when // _QUARTER_S for when in whens]
    offsets = {quarter: utc_offset_s(quarter * _QUARTER_S) for quarter in set(quarters)}
    return [
        (when + offsets[quarter]) % _DAY_S for when, quarter in zip(whens, quarters, strict=True)
    ]


class Durations:
    """Seconds from a request to its reply; finds the requests of consecutive replies quickly."""

    def __init__(self) -> None:
        self._columns: Columns | None = None
        self._low = self._high = self._shift = 0
        self._ats: Sequence[float] = ()

    def of(self, stride: Stride, rows: Rows) -> Sequence[float]:
        """The duration of each row, NaN unless it is a reply to a request that is kept."""
        segment = stride.segment
        if self._columns is not stride.timeline.columns:
            self._columns, self._low, self._high = stride.timeline.columns, 0, 0
        started_at, mask, timeline = self._started_at, Segment.KIND, stride.timeline
        return [
            at - started_at(timeline, request) if kind & mask in _REPLIES and request else NAN
            for kind, at, request in zip(
                picked(segment.kinds, rows),
                picked(segment.ats, rows),
                picked(segment.exchanges, rows),
                strict=True,
            )
        ]

    def _started_at(self, timeline: Timeline, request: int) -> float:
        if not self._low <= request < self._high and not self._find(timeline, request):
            return NAN
        return self._ats[request - self._shift]

    def _find(self, timeline: Timeline, request: int) -> bool:
        """Remember the position of the request and of the consecutive numbers after it."""
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
_FEW: Final = 4  # a row searched alone costs at least this many times a row of a whole stride
_TO_REQUESTER: Final = (FrameKind.PROGRESS, FrameKind.REPLY, FrameKind.ERROR)
"""Kinds that one side sends about the other's requests, with their tokens."""


class Deltas:
    """Seconds since the previous message with the same token or, without a token, since any.

    A token belongs to the requests of one side of a connection: both sides number theirs alike. The
    time of each token's last message is kept during the search, which runs in order of places. Rows
    before the place where it starts are scanned first, a column at a time, at 60 ns a frame. If a
    cheaper predicate leaves few rows of a stride, only those with their tokens are scanned. Tokens
    that are too long for the index have no delta.
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
        yield from self._skip_to(timeline.columns, place)
        self._whole = None

    def of(self, stride: Stride, rows: Rows) -> Sequence[float]:
        if self._whole is None and len(rows) * _FEW < len(stride.rows):
            return self._of_some_rows(stride, rows)
        start, deltas = self._whole or self._of_stride(stride)
        if isinstance(rows, range):
            return deltas[rows.start - start : rows.stop - start]
        return [deltas[row - start] for row in rows]

    def end(self, stride: Stride) -> None:
        """Finish a stride: remember the times of its rows."""
        if self._whole is None:
            self._scan(stride.timeline.columns, stride.segment, stride.rows)

    def _of_stride(self, stride: Stride) -> tuple[int, list[float]]:
        """The first row of the stride and the deltas of all its rows, now remembered."""
        segment = stride.segment
        deltas = self._found(stride.timeline.columns, segment, stride.rows)
        self._place = segment.first + stride.stop
        self._whole = (stride.start, deltas)
        return self._whole

    def _of_some_rows(self, stride: Stride, rows: Rows) -> list[float]:
        """The deltas of a few rows: of the others, only those with the same tokens are read."""
        segment, columns = stride.segment, stride.timeline.columns
        tokens, ats, many = segment.tokens, segment.ats, columns.tokens.many
        wanted = {tokens[row] for row in rows} - {0, many}
        until = range(stride.start, rows[-1] + 1) if rows else range(0)
        found: dict[int, float] = {}
        times: dict[tuple[int, int], float] = {}
        for row in [
            row for row, of in zip(until, picked(tokens, until), strict=True) if of in wanted
        ]:
            last = self._owner_of(columns, segment.sources[row], segment.kinds[row])
            key = (id(last), tokens[row])
            found[row] = ats[row] - times.get(key, last.get(tokens[row], NAN))
            times[key] = ats[row]
        for row in rows:
            if tokens[row] == 0:
                found[row] = ats[row] - (ats[row - 1] if row > stride.start else self._before)
        return [found.get(row, NAN) for row in rows]

    def _skip_to(self, columns: Columns, place: int) -> Work[None]:
        while self._place < place:
            found = columns.locate(columns.after(max(self._place, columns.first)))
            if found is None:
                return
            segment, row = found
            stop = min(len(segment), row + _DELTA_STEP, place - segment.first)
            if stop <= row:
                return
            self._scan(columns, segment, range(row, stop))
            yield

    def _scan(self, columns: Columns, segment: Segment, rows: range) -> None:
        ids = zip(
            picked(segment.sources, rows),
            picked(segment.kinds, rows),
            picked(segment.tokens, rows),
            strict=True,
        )
        # Only the last row of each distinct triple counts, in order: several may share an owner.
        for (source, kind, token), row in sorted(
            dict(zip(ids, rows, strict=True)).items(), key=itemgetter(1)
        ):
            self._owner_of(columns, source, kind)[token] = segment.ats[row]
        self._before = segment.ats[rows.stop - 1]
        self._place = segment.first + rows.stop

    def _found(self, columns: Columns, segment: Segment, rows: range) -> list[float]:
        tokens, ats = picked(segment.tokens, rows), picked(segment.ats, rows)
        owner = self._single_owner(columns, segment, rows)
        if owner is not None:
            deltas = self._of_one_owner(owner, tokens, ats)
        else:
            deltas = self._of_owners(self._owner_of_each(segment, rows), tokens, ats)
        if ats:
            self._before = ats[-1]
        many = columns.tokens.many
        if many in tokens:
            return [NAN if of == many else by for of, by in zip(tokens, deltas, strict=True)]
        return deltas

    def _of_one_owner(
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

    def _of_owners(
        self, owners: Iterator[dict[int, float]], tokens: Sequence[int], ats: Sequence[float]
    ) -> list[float]:
        deltas: list[float] = []
        before = self._before
        for last, token, at in zip(owners, tokens, ats, strict=True):
            deltas.append(at - (last.get(token, NAN) if token else before))
            last[token] = before = at
        return deltas

    def _single_owner(
        self, columns: Columns, segment: Segment, rows: range
    ) -> dict[int, float] | None:
        """The times of the one side of a connection that all rows belong to; None if several.

        Fills `_owners` for every row, as `_owner_of_each` requires.
        """
        sources, kinds = picked(segment.sources, rows), picked(segment.kinds, rows)
        pairs = set(product(set(sources), set(kinds)))
        if len(pairs) > 1:
            pairs = set(zip(sources, kinds, strict=True))
        owners = {id(owner): owner for owner in (self._owner_of(columns, *pair) for pair in pairs)}
        return next(iter(owners.values())) if len(owners) == 1 else None

    def _owner_of(self, columns: Columns, source: int, kind: int) -> dict[int, float]:
        known = self._owners.get((source, kind))
        if known is None:
            named = columns.sources.value(source)
            connection, channel = ("", Channel.EVENT) if named is None else named[:2]
            is_ours = (kind & Segment.KIND in _TO_REQUESTER) is (channel is not Channel.SENT)
            is_ours |= channel is Channel.EVENT
            known = self._last.setdefault((connection, is_ours), {})
            self._owners[source, kind] = known
        return known

    def _owner_of_each(self, segment: Segment, rows: range) -> Iterator[dict[int, float]]:
        pairs = zip(picked(segment.sources, rows), picked(segment.kinds, rows), strict=True)
        return map(self._owners.__getitem__, pairs)


_OFTEN: Final = 512
_TICK_KINDS: Final = (FrameKind.PROGRESS, FrameKind.REQUEST)


class Table(NamedTuple):
    """A column of numbers, the table of their values, and a way to read values missing from it."""

    names: Callable[[Columns], SharedValues[Any]]  # the table
    column: Callable[[Segment], Sequence[int]]  # the column
    value: Callable[[Any], Any]  # the compared part of an entry of the table
    read: Callable[[Stride, int], Work[Any]]
    """Reads the value of a row whose number is `SharedValues.many`; `ABSENT` if it has none."""


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


def _no_value(_stride: Stride, _row: int) -> Work[Any]:
    """Connections beyond the tens of thousands that the table holds are not kept."""
    yield from ()
    return ABSENT


def _source_table(value: Callable[[FrameSource], Any]) -> Table:
    return Table(attrgetter("sources"), attrgetter("sources"), value, _no_value)


METHODS: Final = Table(
    attrgetter("methods"), attrgetter("methods"), lambda entry: entry, _method_of
)
"""Methods of requests and notifications."""
TOKENS: Final = Table(attrgetter("tokens"), attrgetter("tokens"), lambda entry: entry, _token_of)
"""Progress tokens; replies and cancels have that of their request."""
CONNECTIONS: Final = _source_table(attrgetter("connection"))
SERVERS: Final = _source_table(lambda entry: server_name(entry.connection))
DIRECTIONS: Final = _source_table(lambda entry: entry.channel.name.lower())


class NamePredicate:
    """Selects rows by the name that a column holds as a number."""

    cost = 1

    def __init__(self, table: Table, judge: ValueJudge, *, pauses_often: bool = False) -> None:
        """Set `pauses_often` if checking one value takes long."""
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
            return (yield from self._with_read_values(stride, found, column, names.many))
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

    def _with_read_values(
        self, stride: Stride, rows: list[int], column: Sequence[int], many: int
    ) -> Work[Rows]:
        """The matching rows, after reading the frames whose value is not in the table."""
        found = []
        for row in rows:
            if column[row] == many:
                value = yield from self._table.read(stride, row)
                yield
                if not self._judge.lets_through(value):
                    continue
            found.append(row)
        return found


def _message(timeline: Timeline, place: int) -> Work[Any]:
    """The decoded message at a place; None if it has been dropped."""
    frame = timeline.frame(place)
    if frame is None:
        return None
    return (yield from decode_in_slices(frame.raw, is_complete=frame.is_complete))

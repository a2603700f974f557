"""The index of a recording: about thirty bytes a frame, in columns, enough to find and filter.

Values that rows share are stored once, and rows refer to them by a small number.
"""

from __future__ import annotations

import bisect
import itertools
from array import array
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    CallTimedOut,
    CancelRequested,
    NotificationReceived,
    OutputChecked,
    PartReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    StreamBroken,
    StreamResumed,
)
from mcp_progress_monitor.protocol.frames import (
    Channel,
    FactRun,
    Frame,
    FrameKind,
    Part,
    PlainTick,
    are_alike,
    kind_of,
)
from mcp_progress_monitor.protocol.framing import may_be_batch
from mcp_progress_monitor.protocol.messages import CANCELLED, PROGRESS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from mcp_progress_monitor.protocol.facts import Fact

_Value = TypeVar("_Value")

NONE: Final = 0  # the number for "none"
_LONGEST: Final = 200  # longer texts are not stored: the frame has them


class FrameSource(NamedTuple):
    """The source of frames: everything that the rows of one connection's channel share.

    `is_escaped` says that the bytes on disk have their line feeds escaped (see `format`).
    """

    connection: str
    channel: Channel
    is_complete: bool = True
    is_escaped: bool = False


class SharedValues(Generic[_Value]):
    """Numbers values from 1 in their order; `many` is the number of all others.

    A value numbered `many` must be looked up in its frame: there were too many, or it is long.
    """

    def __init__(self, many: int) -> None:
        self.many: Final = many
        self.ids: dict[Hashable, int] = {}
        """Read-only; a token's key is its type and value (see `key_of`)."""
        self._values: list[_Value] = []

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[tuple[int, _Value]]:
        return iter(enumerate(self._values, 1))

    def number(self, key: Hashable, value: _Value) -> int:
        known = self.ids.get(key)
        if known is not None:
            return known
        if len(self._values) >= self.many - 1 or is_long(value):
            return self.many
        self._values.append(value)
        self.ids[key] = number = len(self._values)
        return number

    def value(self, number: int) -> _Value | None:
        """The value of a number; None for `NONE` and `many`."""
        return self._values[number - 1] if 0 < number <= len(self._values) else None


def is_long(value: Any) -> bool:
    """Return whether a value is too large for an index."""
    return len(value) > _LONGEST if isinstance(value, str) else isinstance(value, list | dict)


def key_of(token: Any) -> Hashable:
    """The key of a token: strings and integers are their own; `7`, `"7"`, `7.0`, `true` differ."""
    kind = type(token)
    if kind is str or kind is int:
        key: Hashable = token
        return key
    return None if token is None else (kind.__name__, repr(token)[:_LONGEST])


ROWS: Final = 1 << 16  # most rows of a segment
_SPAN: Final = 1 << 32  # bytes of a file that a segment's offsets can address
_MASK: Final = _SPAN - 1
_TOKENS_KEPT: Final = 100_000  # requests whose token is remembered for their replies

_DRIFT_S: Final = 0.0005  # how far wall time may drift from monotonic time before it is recorded
_OF_REQUEST: Final = (
    CancelRequested,
    CallTimedOut,
    OutputChecked,
    CallEnded,
    StreamBroken,
    StreamResumed,
)
_TICK: Final = bytes([FrameKind.PROGRESS])
_COLUMNS: Final = ("ats", "exchanges", "kinds", "methods", "offsets", "sizes", "sources", "tokens")
_at_of = itemgetter(4)


class Segment:
    """Rows `first` to `end` of the index, all of one part of the recording.

    One entry a row in each column. `offsets` count from `base`, in bytes, and with `sizes` locate
    the frame's bytes; `ats` are monotonic seconds; `kinds` are `FrameKind`, with `MARKED` set for
    violations; `sources`, `methods`, `tokens` are numbers in the tables of `Columns`, 0 for none.
    `exchanges` are the number of the request that the frame is, answers, cancels or reports on; 0
    for none. A reply has the token of its request.
    """

    MARKED: Final = 0x80
    KIND: Final = 0x7F

    __slots__ = (
        "ats",
        "base",
        "exchanges",
        "first",
        "kinds",
        "methods",
        "offsets",
        "part",
        "sizes",
        "sources",
        "tokens",
    )

    def __init__(self, first: int, part: int, base: int) -> None:
        self.first = first
        self.part = part
        self.base = base
        self.offsets = array("I")
        self.sizes = array("I")
        self.ats = array("d")
        self.kinds = bytearray()
        self.sources = array("I")
        self.methods = array("H")
        self.tokens = array("I")
        self.exchanges = array("I")

    def __len__(self) -> int:
        return len(self.kinds)

    def enter_places(self, offsets: Sequence[int], sizes: Sequence[int]) -> None:
        """Add the locations of further rows; their other columns follow."""
        base = self.base
        self.offsets += array("I", [offset - base for offset in offsets] if base else offsets)
        self.sizes += array("I", sizes)

    def enter(self, rows: _Rows, some: slice) -> None:
        """Add the other columns of these rows."""
        self.ats += rows.ats[some]
        self.sources += rows.sources[some]
        self.methods += array("H", rows.methods[some])
        self.tokens += array("I", rows.tokens[some])
        self.exchanges += _whole_numbers(rows.exchanges[some])
        self.kinds += rows.kinds[some]

    @property
    def end(self) -> int:
        return self.first + len(self.kinds)

    def until(self, row: int) -> Segment:
        """The rows before one; readers of this segment see no change meanwhile."""
        cut = Segment(self.first, self.part, self.base)
        for name in _COLUMNS:
            setattr(cut, name, getattr(self, name)[:row])
        return cut


class _Rows(NamedTuple):
    """Columns of a segment for frames that arrived together."""

    ats: array[float]
    sources: array[int]
    kinds: bytes | bytearray
    methods: list[int]
    tokens: list[int]
    exchanges: list[int]


class _Runs:
    """A value by place that rarely changes: stored only where it does."""

    def __init__(self, typecode: str) -> None:
        self.places = array("Q")
        self.values: array[Any] = array(typecode)

    def note(self, place: int, value: float) -> None:
        self.places.append(place)
        self.values.append(value)

    def at(self, place: int) -> tuple[int, Any]:
        run = bisect.bisect_right(self.places, place) - 1
        return (self.places[run], self.values[run]) if run >= 0 else (place, 0)

    def until(self, place: int) -> float:
        """One past the last place that has the value of `place`; without bounds, infinite."""
        run = bisect.bisect_right(self.places, place)
        return self.places[run] if run < len(self.places) else float("inf")


class Columns:
    """All segments, the tables that their numbers refer to, and values too rare for a column."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []  # oldest first; those of dropped parts are removed
        self.sources: SharedValues[FrameSource] = SharedValues(0xFFFF_FFFF)
        self.methods: SharedValues[str] = SharedValues(0xFFFF)
        self.tokens: SharedValues[Any] = SharedValues(0xFFFF_FFFF)
        self.end = 0  # one past the place of the newest frame, which is the number of frames so far
        self.gap = range(0)
        """Places in the middle whose frames are gone (see `give_up`); empty if there are none."""
        self._numbers = _Runs("Q")
        # The reverse, in the order of numbers.
        self._first_numbers = array("Q")
        self._first_places = array("Q")
        self._wall = _Runs("d")
        # Stretches of elements: their first place and one past the last, the first's index (from
        # 1) in its batch, and how many that has.
        self._batches: dict[str, array[int]] = {
            name: array("Q") for name in ("at", "end", "index", "of")
        }
        self._next_number = -1
        self._wall_ahead = float("nan")
        self._token_of: dict[int, int] = {}
        self._progress = self.methods.number(PROGRESS, PROGRESS)
        self._cancelled = self.methods.number(CANCELLED, CANCELLED)

    @property
    def first(self) -> int:
        return self.segments[0].first if self.segments else self.end

    def take(
        self,
        frames: Sequence[Frame],
        facts: FactRun,
        part: int,
        offsets: Sequence[int],
        sizes: Sequence[int],
        *,
        is_escaped: Sequence[bool] | None = None,
    ) -> None:
        """Add frames, with the facts read from them.

        `offsets` and `sizes` locate each one's bytes in `part`; they increase, except for the
        elements of a batch. `is_escaped` says for each whether its line feeds are escaped there.
        """
        rows, done = self._rows(frames, facts, is_escaped), 0
        while done < len(frames):
            segment, room = self._room(part, offsets[done], offsets[-1])
            until = min(len(frames), done + room)
            some = slice(done, until) if (done or until < len(frames)) else slice(None)
            segment.enter_places(offsets[some], sizes[some])
            self._note_frames(segment.end, frames[some])
            segment.enter(rows, some)
            done = until
            self.end = segment.end

    def mark_newest(self, numbers: Iterable[int]) -> list[int]:
        """Mark frames in the newest segment as violations; returns the numbers of the others."""
        others: list[int] = []
        segment = self.segments[-1] if self.segments else Segment(0, 0, 0)
        begun, first = self._numbers.at(segment.end - 1)
        shift, kinds, marked = segment.first - begun + first, segment.kinds, Segment.MARKED
        least, end = max(first, shift), min(self._next_number, shift + len(kinds))
        for number in numbers:
            if least <= number < end:
                kinds[number - shift] |= marked
            else:
                others.append(number)
        return others

    def drop_part(self, part: int) -> None:
        """Drop the rows of all parts up to `part`.

        Elements of a batch may have arrived after a newer part had begun: their rows stay, without
        bytes, until those before them go, so that there is no gap. Rows of other programs' files
        (`timeline.WATCHED_PART`) go with the part that precedes them.
        """
        gone = 0
        for place, segment in enumerate(self.segments, 1):
            if segment.part > part:
                break
            gone = place if segment.part >= 0 else gone
        del self.segments[:gone]
        self._forget_batches(0, self.first)

    def keep_newest(self, rows: int) -> None:
        """Drop the oldest segments while there are more than so many rows."""
        gone = bisect.bisect_left(self.segments, self.end - rows, key=_first_of)
        if not gone or len(self.segments) == 1:
            return
        del self.segments[: min(gone, len(self.segments) - 1)]
        if self.gap and self.gap.stop <= self.first:
            self.gap = range(0)
        self._forget_batches(0, self.first)

    def give_up(self, start: int, end: int) -> None:
        """Drop the rows from place `start` up to `end`; those before them still exist.

        There is at most one gap: rows that are dropped next extend it.
        """
        begin = min(start, self.gap.start) if self.gap else start
        kept: list[Segment] = []
        for segment in self.segments:
            if segment.end <= begin or segment.first >= end:
                kept.append(segment)
            elif segment.first < begin:
                kept.append(segment.until(begin - segment.first))
        self.segments = kept
        is_first = not kept or kept[0].first >= end
        self.gap = range(0) if is_first else range(begin, end)
        self._forget_batches(begin, end)

    def after(self, place: int) -> int:
        """The place, or the next one after the gap if it lies within."""
        return self.gap.stop if place in self.gap else place

    def before(self, place: int) -> int:
        """The place, or the last one before the gap if it lies within."""
        return self.gap.start - 1 if place in self.gap else place

    def locate(self, place: int) -> tuple[Segment, int] | None:
        """The segment and the row of a place; None if it is gone or does not exist yet."""
        at = bisect.bisect_right(self.segments, place, key=_first_of) - 1
        if at < 0 or place >= self.segments[at].end:
            return None
        return self.segments[at], place - self.segments[at].first

    def number(self, place: int) -> int:
        begun, number = self._numbers.at(place)
        return int(number) + place - begun

    def place_of(self, number: int) -> int | None:
        """The place of the frame with that number; None if there never was one."""
        run = bisect.bisect_right(self._first_numbers, number) - 1
        if run < 0:
            return None
        begun = self._first_places[run]
        place = begun + number - self._first_numbers[run]
        return place if place < min(self._numbers.until(begun), self.end) else None

    def when(self, place: int, at: float) -> float:
        """Wall time of the frame at `place`, to half a millisecond; `at` is its monotonic time."""
        return round(at + float(self._wall.at(place)[1]), 6)

    def same_wall(self, place: int) -> tuple[float, float]:
        """The offset of wall time from monotonic time at `place`, and where it ends."""
        return float(self._wall.at(place)[1]), self._wall.until(place)

    def same_numbers(self, place: int) -> float:
        """Up to which place, from `place` on, frame numbers are consecutive."""
        return self._numbers.until(place)

    def batch_part(self, place: int) -> tuple[int, int] | None:
        """The index (from 1) and count of the batch element at `place`; None outside of a batch."""
        batches = self._batches
        found = bisect.bisect_right(batches["at"], place) - 1
        if found < 0 or place >= batches["end"][found]:
            return None
        return batches["index"][found] + place - batches["at"][found], batches["of"][found]

    def _forget_batches(self, start: int, end: int) -> None:
        """Forget the stretches of elements that lie within these places."""
        begin = bisect.bisect_left(self._batches["at"], start)
        until = bisect.bisect_right(self._batches["end"], end)
        for column in self._batches.values() if begin < until else ():
            del column[begin:until]

    def _room(self, part: int, offset: int, last: int) -> tuple[Segment, int]:
        """The segment for the next rows, and how many rows fit."""
        segment = self.segments[-1] if self.segments else None
        rows = 0 if segment is None else len(segment.kinds)
        if (
            segment is None
            or segment.part != part
            or segment.first + rows != self.end  # the rows after it were dropped
            or rows >= ROWS
            or offset < segment.base
            or last - segment.base >= _SPAN
        ):
            # Unchanged offsets if they fit: nothing to subtract for every frame.
            segment, rows = Segment(self.end, part, offset if last >= _SPAN else 0), 0
            self.segments.append(segment)
        far = last - segment.base >= _SPAN
        return segment, 1 if far else ROWS - rows

    def _rows(
        self, frames: Sequence[Frame], facts: FactRun, is_escaped: Sequence[bool] | None
    ) -> _Rows:
        """The columns of frames with their facts, but for their places."""
        count, first, last = len(frames), frames[0], frames[-1]
        ats = [first.at] * count if first.at == last.at else list(map(_at_of, frames))
        if are_alike(frames) and is_escaped is None:
            sources = [self._source(first)] * count
        else:
            escapes = [False] * count if is_escaped is None else is_escaped
            sources = list(map(self._source, frames, escapes))
        ticks = facts.ticks
        if len(ticks) == count and (ticks[0][0], ticks[-1][0]) == (first.number, last.number):
            requests = facts.requests
            tokens: list[Any] = list(map(self._token_of.get, requests))
            if None in tokens:
                tokens = list(map(self._token_of_tick, ticks))
            meant = _TICK * count, [self._progress] * count, tokens, requests
            return _Rows(array("d", ats), array("I", sources), *meant)
        return _Rows(array("d", ats), array("I", sources), *self._meanings(frames, facts))

    def _meanings(
        self, frames: Sequence[Frame], facts: FactRun
    ) -> tuple[bytearray, list[int], list[int], list[int]]:
        """The kinds, methods, tokens and requests of frames."""
        meant: dict[int, Fact] = {}
        for fact in facts.others:
            meant.setdefault(fact.number, fact)
        ticks = {tick[0]: tick for tick in facts.ticks}
        kinds, methods = bytearray(), list[int]()
        tokens, exchanges = list[int](), list[int]()
        for frame in frames:
            tick = ticks.get(frame.number)
            if tick is not None:
                kinds += _TICK
                row = self._progress, self._token_of_tick(tick), tick[3]
            else:
                meaning = meant.get(frame.number)
                kinds.append(_kind(frame, meaning))
                row = self._meaning(meaning)
            methods.append(row[0])
            tokens.append(row[1])
            exchanges.append(row[2])
        return kinds, methods, tokens, exchanges

    def _token_of_tick(self, tick: PlainTick) -> int:
        return self._token_of.get(tick[3]) or self._token(tick[2])

    def _keep_wall(self, frames: Sequence[Frame]) -> bool:
        """Return whether both clocks advance equally in all of the frames."""
        aheads = [frame.when - frame.at for frame in frames]
        is_known = abs(aheads[0] - self._wall_ahead) < _DRIFT_S
        ahead = self._wall_ahead if is_known else aheads[0]
        return ahead - _DRIFT_S < min(aheads) and max(aheads) < ahead + _DRIFT_S

    def _note_frames(self, place: int, frames: Sequence[Frame]) -> None:
        """Note the numbers, the wall times and the batches of frames that begin at `place`."""
        first, last, count = frames[0], frames[-1], len(frames)
        is_row = last.number - first.number == count - 1
        if is_row and (first[3:5] == last[3:5] or self._keep_wall(frames)):
            self._note_runs(place, first, count)
        else:
            for row, frame in enumerate(frames):
                self._note_runs(place + row, frame, 1)
        for row, frame in () if are_alike(frames) else enumerate(frames):
            if frame.part is not None:
                self._note_part(place + row, frame.part)

    def _note_runs(self, place: int, frame: Frame, count: int) -> None:
        """Note where `count` consecutive frames, from `frame` on, differ from the last ones."""
        if frame.number != self._next_number:
            self._note_number(place, frame.number)
        self._next_number = frame.number + count
        ahead = frame.when - frame.at
        if not abs(ahead - self._wall_ahead) < _DRIFT_S:
            self._wall.note(place, ahead)
            self._wall_ahead = ahead

    def _note_number(self, place: int, number: int) -> None:
        """Note where numbers continue from another one; they may go back, but are never reused."""
        self._numbers.note(place, number)
        at = bisect.bisect(self._first_numbers, number)
        self._first_numbers.insert(at, number)
        self._first_places.insert(at, place)

    def _note_part(self, place: int, part: Part) -> None:
        ends = self._batches["end"]
        if ends and ends[-1] == place:
            ends[-1] = place + 1
            if self.batch_part(place) == part:
                return
            ends[-1] = place  # it is of another connection's batch
        stretch = place, place + 1, part.index, part.count
        for column, value in zip(self._batches.values(), stretch, strict=True):
            column.append(value)

    def _source(self, frame: Frame, is_escaped: bool = False) -> int:
        key = (frame.connection, frame.channel, frame.is_complete, is_escaped)
        known = self.sources.ids.get(key)
        return self.sources.number(key, FrameSource(*key)) if known is None else known

    def _token(self, token: Any) -> int:
        return NONE if token is None else self.tokens.number(key_of(token), token)

    def _meaning(self, fact: Fact | None) -> tuple[int, int, int]:
        if type(fact) is NotificationReceived:  # these come in floods, and so do lines of batches
            known = self.methods.ids.get(fact.method)
            return known or self.methods.number(fact.method, fact.method), NONE, 0
        if fact is None:
            return NONE, NONE, 0
        if isinstance(fact, PartReceived):
            token = self._token_of.get(fact.request or 0, NONE)
            return self.methods.number(fact.method, fact.method), token, fact.request or 0
        if isinstance(fact, ProgressReceived):
            return self._progress, self._token(fact.token), fact.request or 0
        if isinstance(fact, RequestMade):
            token = self._token(fact.token)
            self._remember(fact.number, token)
            return self.methods.number(fact.method, fact.method), token, fact.number
        if isinstance(fact, RequestAnswered):
            return NONE, self._token_of.get(fact.request or 0, NONE), fact.request or 0
        if isinstance(fact, RequestCancelled):
            return self._cancelled, self._token_of.get(fact.request or 0, NONE), fact.request or 0
        if isinstance(fact, _OF_REQUEST):
            return NONE, self._token_of.get(fact.request, NONE), fact.request
        return NONE, NONE, 0

    def _remember(self, request: int, token: int) -> None:
        if token == NONE:
            return
        self._token_of[request] = token
        if len(self._token_of) > _TOKENS_KEPT:
            # Many at a time: finding the oldest key of a dictionary skips those deleted before.
            for old in list(itertools.islice(self._token_of, _TOKENS_KEPT // 2)):
                del self._token_of[old]


def _first_of(segment: Segment) -> int:
    return segment.first


def _kind(frame: Frame, meaning: Fact | None) -> FrameKind:
    """A frame's kind; unreadable if an internal error kept it from being read."""
    kind = kind_of(frame.channel, meaning)
    is_defect = kind is FrameKind.BATCH and not may_be_batch(frame.raw)
    return FrameKind.UNREADABLE if is_defect else kind


def _whole_numbers(numbers: Sequence[int]) -> array[int]:
    """Numbers for a column: the last 32 bits of larger ones."""
    try:
        return array("I", numbers)
    except OverflowError:
        return array("I", [number & _MASK for number in numbers])

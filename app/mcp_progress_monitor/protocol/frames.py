"""Frames: one message's exact bytes with connection, channel and time; their kinds.

Runs are many similar frames of one chunk, kept as columns until one is read.
"""

from __future__ import annotations

import bisect
import enum
import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, overload

from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    PartReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    StderrReceived,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.messages import EVENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.protocol.facts import Fact


class Channel(enum.IntEnum):
    """Stream on which a frame's bytes were seen."""

    SENT = 0  # sent to the server (its stdin)
    RECEIVED = 1  # received from the server (its stdout)
    STDERR = 2  # one line of the server's standard error, without its line end
    EVENT = 3
    """A connection event of our own: a JSON object with an `event` key (see `Framer.event`)."""


class Part(NamedTuple):
    """A frame's place in a JSON-RPC batch: element `index` (from 1) of `count`."""

    index: int  # type: ignore[assignment]  # hides the tuple's method of that name
    count: int  # type: ignore[assignment]  # idem


class Frame(NamedTuple):
    """One message, stderr line or connection event.

    `number` counts up over the whole program and names the frame; it is also the identity of the
    request that the frame carries. `connection` is the connection's id, `"<server>#<n>"`. `when` is
    wall time (seconds since the epoch), `at` monotonic time (seconds). `raw` is exact, without the
    final line feed (a carriage return before it stays). A batch line is one frame (`part` None),
    followed by a frame for every element (`part` set, `raw` the exact slice). `is_complete` is
    False for a last line that the stream ended within.
    """

    number: int
    connection: str
    channel: Channel
    when: float
    at: float
    raw: bytes
    part: Part | None = None
    is_complete: bool = True


def server_name(connection: str) -> str:
    """The server's name in a connection id: `"local-db#2"` → `"local-db"`."""
    return connection.rpartition("#")[0] or connection


class FrameKind(enum.IntEnum):
    """Small numbers, so that a column of an index stores each in a byte."""

    REQUEST = 0
    REPLY = 1
    ERROR = 2  # a reply that is a JSON-RPC error
    PROGRESS = 3
    NOTIFICATION = 4
    STDERR = 5
    EVENT = 6
    UNREADABLE = 7
    BATCH = 8  # a whole batch; its elements are frames of their own
    OCCURRENCE = 9  # one event of a server's stream

    @property
    def word(self) -> str:
        """The name in filters and exports, such as `request` or `error`."""
        return self.name.lower()


_BY_FACT: dict[type, FrameKind] = {
    RequestMade: FrameKind.REQUEST,
    ProgressReceived: FrameKind.PROGRESS,
    RequestCancelled: FrameKind.NOTIFICATION,
    NotificationReceived: FrameKind.NOTIFICATION,
    StderrReceived: FrameKind.STDERR,
    UnreadableReceived: FrameKind.UNREADABLE,
}


# Looking up an enum member takes ten times as long as a global.
_RECEIVED, _STDERR, _EVENT = Channel.RECEIVED, Channel.STDERR, Channel.EVENT
_REPLY, _ERROR, _BATCH = FrameKind.REPLY, FrameKind.ERROR, FrameKind.BATCH
_NOTIFICATION = FrameKind.NOTIFICATION
_OCCURRENCE = FrameKind.OCCURRENCE


def kind_of(channel: Channel, fact: Fact | None) -> FrameKind:
    """The kind of a frame on `channel`, by its fact; a batch line has no fact."""
    if channel is _STDERR:
        return FrameKind.STDERR
    if channel is _EVENT:
        return FrameKind.EVENT
    if fact is None:
        return _BATCH
    if type(fact) is RequestAnswered:
        return _REPLY if fact.error is None else _ERROR
    if type(fact) is PartReceived:
        return _OCCURRENCE if fact.method == EVENT else _NOTIFICATION
    return _BY_FACT.get(type(fact), _NOTIFICATION)


_Item = TypeVar("_Item")
_number_of = attrgetter("number")

# The named tuple's own constructor would double the time.
_new = tuple.__new__

PlainTick: TypeAlias = tuple[Any, ...]
"""The fields of a plain tick.

They are number, stamp, token, request, progress, total and message. Made and freed
in a quarter of the time of the fact, and half as large: a thousand jobs keep two hundred each, and
cache misses are slow.
"""


def _is_plain(fact: ProgressReceived) -> bool:
    is_sound = fact.progress is not None and not fact.findings
    return is_sound and fact.standing is RequestStanding.ACTIVE and fact.sender is Side.SERVER


def _tick_of(fact: ProgressReceived) -> PlainTick:
    stamp = fact.connection, fact.at, fact.when
    return fact.number, stamp, fact.token, fact.request, fact.progress, fact.total, fact.message


def fact_of(tick: PlainTick) -> ProgressReceived:
    """The fact of a plain tick; a fact is returned unchanged."""
    if type(tick) is ProgressReceived:
        return tick
    number, (connection, at, when), token, request, progress, total, message = tick
    origin = (number, connection, at, when, Side.SERVER)
    numbers = (progress, total, message, ())
    return ProgressReceived(*origin, token, request, RequestStanding.ACTIVE, *numbers)


def at_of(tick: PlainTick) -> float:
    at: float = tick.at if type(tick) is ProgressReceived else tick[1][1]
    return at


class LazyRun(Sequence[_Item], Generic[_Item]):
    """A sequence of items that are created on first use, at most once."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: list[_Item] | None = None

    @abstractmethod
    def _item(self, index: int) -> _Item:
        """Make one item; `index` may be negative, as in a list."""

    @abstractmethod
    def _items(self) -> list[_Item]:
        """Make all items."""

    def _all(self) -> list[_Item]:
        if self._made is None:
            self._made = self._items()
        return self._made

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | Sequence[_Item]:
        if isinstance(index, slice):
            return self._all()[index]
        return self._item(index) if self._made is None else self._made[index]

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        """A run equals the list, and the tuple, of its items."""
        return self._all() == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """As the list of its items."""
        return repr(self._all())


class FrameRun(LazyRun[Frame]):
    """Whole lines from a server, read at once: each is one frame.

    None may be a batch, or has more than `jsonrpc.OVERSIZED` bytes.
    """

    __slots__ = ("at", "connection", "first", "raws", "when")

    def __init__(
        self, first: int, connection: str, when: float, at: float, raws: Sequence[bytes]
    ) -> None:
        super().__init__()
        self.first = first
        self.connection = connection
        self.when = when
        self.at = at
        self.raws = raws

    def __len__(self) -> int:
        return len(self.raws)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the frames."""
        return range(self.first, self.first + len(self.raws))

    def part(self, begin: int, end: int) -> FrameRun:
        if begin == 0 and end == len(self.raws):
            return self
        stamp = (self.connection, self.when, self.at)
        return FrameRun(self.first + begin, *stamp, self.raws[begin:end])

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | Sequence[Frame]:
        """One frame; for a slice the frames as a run, if they are consecutive."""
        if not isinstance(index, slice) or index.step not in (None, 1):
            return super().__getitem__(index)
        begin, end, _ = index.indices(len(self.raws))
        return self.part(begin, max(begin, end))

    def _item(self, index: int) -> Frame:
        place = index if index >= 0 else index + len(self.raws)
        stamp = (self.connection, Channel.RECEIVED, self.when, self.at)
        return Frame(self.first + place, *stamp, self.raws[index])

    def _items(self) -> list[Frame]:
        connection, when, at, channel = self.connection, self.when, self.at, Channel.RECEIVED
        return [
            _new(Frame, (number, connection, channel, when, at, raw, None, True))
            for number, raw in enumerate(self.raws, self.first)
        ]


Stamp: TypeAlias = tuple[str, float, float]
"""A connection, `at` and `when`."""


def rows_of(frames: Sequence[Frame]) -> Iterator[tuple[int, Stamp | None, bytes]]:
    """The number, stamp and bytes of each frame; no stamp unless it is a server's whole message.

    Nor for oversized ones.
    """
    if isinstance(frames, FrameRun):
        stamp = frames.connection, frames.at, frames.when
        return zip(frames.numbers, itertools.repeat(stamp), frames.raws, strict=False)
    return (
        (
            number,
            (connection, at, when)
            if channel is _RECEIVED and is_complete and len(raw) <= OVERSIZED
            else None,
            raw,
        )
        for number, connection, channel, when, at, raw, _, is_complete in frames
    )


def raws_of(frames: Sequence[Frame]) -> Sequence[bytes]:
    return frames.raws if isinstance(frames, FrameRun) else [frame[5] for frame in frames]


def line_count(frames: Sequence[Frame]) -> int:
    """Return how many of the frames are lines, not elements of a batch."""
    return len(frames) if are_alike(frames) else [frame[6] for frame in frames].count(None)


def are_alike(frames: Sequence[Frame]) -> bool:
    """True for a run: its frames differ in nothing but their numbers and bytes."""
    return isinstance(frames, FrameRun)


def raw_of(frames: Sequence[Frame], number: int) -> bytes:
    """The bytes of the message with that number, among frames in order; empty if there is none.

    An event is not a message: closing a stream cancels a request, too.
    """
    if isinstance(frames, FrameRun):
        place = number - frames.first
        return frames.raws[place] if 0 <= place < len(frames.raws) else b""
    if not frames:
        return b""
    place = number - frames[0].number  # numbers of a chunk have gaps only in recordings
    if not 0 <= place < len(frames) or frames[place].number != number:
        place = bisect.bisect_left(frames, number, key=_number_of)
    if place == len(frames) or (frame := frames[place]).number != number:
        return b""
    return b"" if frame.channel is _EVENT else frame.raw


class FactRun(LazyRun["Fact"]):
    """The facts of some frames: plain progress with active tokens as `ticks`, and the others.

    `others` are all other facts in order; `places` has the number of ticks before each.
    """

    __slots__ = ("others", "places", "ticks")

    def __init__(
        self,
        ticks: Sequence[PlainTick] = (),
        others: Sequence[Fact] = (),
        places: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.ticks = ticks
        self.others = others
        self.places = places

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> FactRun:
        """A run of these facts, whatever they are."""
        return cls.joined(
            cls([_tick_of(fact)])
            if type(fact) is ProgressReceived and _is_plain(fact)
            else cls((), [fact], [0])
            for fact in facts
        )

    @classmethod
    def joined(cls, runs: Iterable[FactRun]) -> FactRun:
        ticks: list[PlainTick] = []
        others: list[Fact] = []
        places: list[int] = []
        for run in runs:
            places += [len(ticks) + place for place in run.places]
            ticks += run.ticks
            others += run.others
        return cls(ticks, others, places)

    def __len__(self) -> int:
        return len(self.ticks) + len(self.others)

    @overload
    def __getitem__(self, index: int) -> Fact: ...
    @overload
    def __getitem__(self, index: slice) -> FactRun: ...
    def __getitem__(self, index: int | slice) -> Fact | FactRun:
        if isinstance(index, slice):
            return FactRun.of(self._all()[index])
        return super().__getitem__(index)

    @property
    def requests(self) -> list[int]:
        """The requests of the ticks."""
        return [tick[3] for tick in self.ticks]

    def pieces(self) -> Iterator[tuple[Sequence[PlainTick], Fact | None]]:
        """The ticks before each of the others, with it; last those after them."""
        ticks, begin = self.ticks, 0
        for place, fact in zip(self.places, self.others, strict=True):
            yield ticks[begin:place], fact
            begin = place
        yield ticks[begin:], None

    def _item(self, index: int) -> Fact:
        return self._all()[index] if self.others else fact_of(self.ticks[index])

    def _items(self) -> list[Fact]:
        facts: list[Fact] = []
        for ticks, fact in self.pieces():
            facts += map(fact_of, ticks)
            if fact is not None:
                facts.append(fact)
        return facts


NO_FACTS: Final = FactRun()

"""Runs: messages of one chunk that are much alike, kept as columns until one is looked at.

A flood is read, recorded and tracked by the column. To make a frame and a fact of each message
takes longer than to decode it, and nobody looks at most of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, overload

from mcp_progress_monitor.protocol.facts import ProgressReceived, Side, Standing
from mcp_progress_monitor.protocol.frame import Channel, Frame

_Item = TypeVar("_Item")

# Skips the named tuple's own constructor, which takes as long again.
_new = tuple.__new__

PlainTick: TypeAlias = tuple[Any, ...]
"""What a plain tick has for itself: number, (connection, at, when), token, request, progress,
total, message.

Made and freed in a quarter of the time that the fact takes, and half as large: a thousand jobs keep
two hundred each, and whatever is not in the processor's cache is waited for.
"""


def fact_of(tick: PlainTick) -> ProgressReceived:
    """The fact that a plain tick stands for; a fact stands for itself."""
    if type(tick) is ProgressReceived:
        return tick
    number, (connection, at, when), token, request, progress, total, message = tick
    origin = (number, connection, at, when, Side.SERVER)
    numbers = (progress, total, message, ())
    return ProgressReceived(*origin, token, request, Standing.ACTIVE, *numbers)


def at_of(tick: PlainTick) -> float:
    """When a plain tick came, or a fact."""
    at: float = tick.at if type(tick) is ProgressReceived else tick[1][1]
    return at


class Run(Sequence[_Item], Generic[_Item]):
    """A sequence of items that are made when one is asked for, all of them at most once."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: list[_Item] | None = None

    @abstractmethod
    def _item(self, index: int) -> _Item:
        """Make one item; `index` may be negative, as a list's."""

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
        """One item, or some of them."""
        if isinstance(index, slice):
            return self._all()[index]
        return self._item(index) if self._made is None else self._made[index]

    def __iter__(self) -> Iterator[_Item]:
        """All items, made at once if they were not yet."""
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        """A run equals the list, and the tuple, of its items."""
        return self._all() == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """As the list of its items."""
        return repr(self._all())


class FrameRun(Run[Frame]):
    """Whole lines from a server, read at once: each is one frame, and begins with a brace.

    None has a line feed within, or more than `jsonrpc.OVERSIZED` bytes.
    """

    __slots__ = ("at", "connection", "first", "raws", "when")

    def __init__(
        self, first: int, connection: str, when: float, at: float, raws: Sequence[bytes]
    ) -> None:
        """Number the lines from `first` on."""
        super().__init__()
        self.first = first
        self.connection = connection
        self.when = when
        self.at = at
        self.raws = raws

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.raws)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | Sequence[Frame]:
        """One frame; of a slice the frames in a run, if they follow each other."""
        if not isinstance(index, slice) or index.step not in (None, 1):
            return super().__getitem__(index)
        begin = index.indices(len(self.raws))[0]
        return FrameRun(self.first + begin, self.connection, self.when, self.at, self.raws[index])

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


class TickRun(Run[ProgressReceived]):
    """The facts of a run of plain progress notifications with active tokens, one of each frame."""

    __slots__ = ("at", "has_no_message", "requests", "ticks", "totals", "values")

    def __init__(
        self,
        at: float,
        ticks: Sequence[PlainTick],
        requests: Sequence[int],
        values: Sequence[int | float],
        totals: Sequence[int | float | None],
        *,
        has_no_message: bool,
    ) -> None:
        """Of each tick, all of them read at `at`, its request, progress and total again."""
        super().__init__()
        self.at = at
        self.ticks = ticks
        self.requests = requests
        self.values = values
        self.totals = totals
        self.has_no_message = has_no_message

    def __len__(self) -> int:
        """How many ticks there are."""
        return len(self.ticks)

    def _item(self, index: int) -> ProgressReceived:
        return fact_of(self.ticks[index])

    def _items(self) -> list[ProgressReceived]:
        return list(map(fact_of, self.ticks))

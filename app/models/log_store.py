"""The frames the log shows: the newest of a session, kept as they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.protocol.frame import Frame

CAPACITY = 200_000
"""Frames kept in memory; older ones are dropped."""

_DROP_BLOCK = 4_096
"""Frames dropped at once, so that a trickle of frames does not move the whole list each time."""


class FrameSource(Protocol):
    """Frames by place: a frame's place is how many frames came before it, gone ones included.

    Places never change, so a row, a search and a selection survive the dropping of old frames.
    """

    @property
    def first(self) -> int:
        """The place of the oldest frame that is still there."""

    @property
    def end(self) -> int:
        """One past the place of the newest frame."""

    def frame(self, place: int) -> Frame | None:
        """Return the frame at `place`; None when it is gone or has not come yet."""

    def frames(self, start: int, stop: int) -> Sequence[Frame]:
        """Return the frames from `start` up to `stop`; both must lie within `first` and `end`."""


class LogStore:
    """The newest frames, appended in batches; at least `capacity` of them are kept.

    Appending costs one list extension whatever the frames hold: nothing is decoded or looked at.
    Freeing a dropped frame costs ten times what keeping one does (0.15 µs), so that is put off:
    `release` frees them bit by bit.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._block = max(1, min(_DROP_BLOCK, capacity // 16))
        self._frames: list[Frame] = []
        self._first = 0
        self._gone: list[list[Frame]] = []

    def __len__(self) -> int:
        """How many frames are kept now."""
        return len(self._frames)

    @property
    def first(self) -> int:
        """The place of the oldest frame kept."""
        return self._first

    @property
    def end(self) -> int:
        """One past the place of the newest frame."""
        return self._first + len(self._frames)

    @property
    def dropped(self) -> int:
        """How many older frames are gone."""
        return self._first

    def append(self, frames: Sequence[Frame]) -> None:
        """Add `frames` as the newest and drop the oldest beyond the capacity."""
        self._frames.extend(frames)
        excess = len(self._frames) - self._capacity
        if excess >= self._block:
            self._gone.append(self._frames[:excess])
            del self._frames[:excess]
            self._first += excess

    def release(self, count: int) -> bool:
        """Free about `count` dropped frames; say whether there are more."""
        if self._gone:
            oldest = self._gone[0]
            del oldest[-count:]
            if not oldest:
                del self._gone[0]
        return bool(self._gone)

    def frame(self, place: int) -> Frame | None:
        """Return the frame at `place`; None when it is gone or has not come yet."""
        index = place - self._first
        return self._frames[index] if 0 <= index < len(self._frames) else None

    def frames(self, start: int, stop: int) -> Sequence[Frame]:
        """Return the frames from `start` up to `stop`, without those that are gone."""
        return self._frames[max(0, start - self._first) : max(0, stop - self._first)]

    def frozen(self) -> LogStore:
        """Return a store of the same frames that stays as it is: what a paused view looks at.

        It holds on to its frames; together with the growing store that is twice the capacity.
        """
        copy = LogStore(self._capacity)
        copy._frames = self._frames.copy()
        copy._first = self._first
        return copy

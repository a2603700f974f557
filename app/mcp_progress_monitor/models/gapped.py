"""Rising numbers with one stretch left out, in as little memory as a range takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload


class Gapped(Sequence[int]):
    """Two ranges in one; `before` ends where, or before, `after` begins."""

    def __init__(self, before: range, after: range) -> None:
        self.before = before
        self.after = after

    def __len__(self) -> int:
        return len(self.before) + len(self.after)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Gapped: ...
    def __getitem__(self, index: int | slice) -> int | Gapped:
        count = len(self.before)
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            after = self.after[max(start - count, 0) : max(stop - count, 0)]
            return Gapped(self.before[start:stop], after)
        if index < 0:
            index += len(self)
        return self.before[index] if index < count else self.after[index - count]


def without(start: int, end: int, gap: range) -> range | Gapped:
    """The numbers from `start` up to `end`, but for those of a gap."""
    if not gap or end <= gap.start or start >= gap.stop:
        return range(start, end)
    before, after = range(start, max(start, gap.start)), range(gap.stop, max(end, gap.stop))
    return Gapped(before, after) if before else after

"""Folds the ticks of Traffic: those of one request, between two other messages, are one row."""

from __future__ import annotations

import bisect
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.protocol.frames import FrameKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.recording.timeline import Timeline

_TICK: Final = int(FrameKind.PROGRESS)  # without `Segment.MARKED`: a violation is never hidden


class Fold:
    """The places of a row's ticks, in order; each is a row of its own while it `is_open`."""

    __slots__ = ("is_open", "places")

    def __init__(self, places: array[int], *, is_open: bool = False) -> None:
        self.places = places
        self.is_open = is_open

    def holds(self, place: int) -> bool:
        at = bisect.bisect_left(self.places, place)
        return at < len(self.places) and self.places[at] == place

    def last_before(self, place: int) -> int:
        """The last of its places before `place`, which is behind the first."""
        return self.places[bisect.bisect_left(self.places, place) - 1]


class Taken(NamedTuple):
    """Places of new rows in order, and the first ticks of rows that hold more than before."""

    rows: array[int]
    grown: set[int]

    @classmethod
    def nothing(cls) -> Taken:
        return cls(array("q"), set())


class FoldedRows:
    """The visible places in ascending order, and the folds by their first place.

    A row is at the place of its first tick. The ticks of jobs that run side by side fold by job.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.rows: array[int] = array("q")
        self.folds: dict[int, Fold] = {}
        self.hidden = 0
        """How many messages are in rows of others."""
        self._timeline = timeline
        self._newest: dict[int, int] = {}
        """The first tick of each request since the last message that is none."""

    def closed_at(self, place: int) -> Fold | None:
        """Return the fold at the row `place`; None for a single message."""
        fold = self.folds.get(place)
        return None if fold is None or fold.is_open else fold

    def take(self, places: Sequence[int], taken: Taken) -> None:
        """Fold further places, in ascending order; the caller adds the new rows to `rows`."""
        for some, kinds, exchanges in self._columns(places):
            request = exchanges[0]
            is_run = kinds.count(_TICK) == len(some) == exchanges.count(request)
            fold = self.folds.get(self._newest.get(request, -1)) if is_run else None
            if fold is not None:
                self._extend(fold, some, taken)
            else:
                self._take_each(zip(some, kinds, exchanges, strict=True), taken)

    def _take_each(self, messages: Iterable[tuple[int, int, int]], taken: Taken) -> None:
        newest, folds, hidden = self._newest, self.folds, 0
        add_row, grown = taken.rows.append, taken.grown.add
        for place, kind, request in messages:
            if kind != _TICK or not request:
                newest.clear()
                add_row(place)
            elif (head := newest.get(request)) is None:
                newest[request] = place
                add_row(place)
            else:
                fold = folds.get(head)
                if fold is None:
                    fold = folds[head] = Fold(array("q", [head]))
                fold.places.append(place)
                if fold.is_open:
                    add_row(place)
                else:
                    hidden += 1
                    grown(head)
        self.hidden += hidden

    def _extend(self, fold: Fold, places: Sequence[int], taken: Taken) -> None:
        """Fold many places at once: ten times faster than each."""
        fold.places.extend(places)
        if fold.is_open:
            taken.rows.extend(places)
        else:
            self.hidden += len(places)
            taken.grown.add(fold.places[0])

    def _columns(
        self, places: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], Sequence[int], Sequence[int]]]:
        """Pieces of `places` with the kinds and requests of their messages, without gone ones."""
        at = 0
        while at < len(places):
            found = self._timeline.columns.locate(places[at])
            if found is None:
                at += 1
                continue
            segment, row = found
            until = bisect.bisect_left(places, segment.end, at)
            some = places[at:until]
            if isinstance(some, range):
                rows = slice(row, row + len(some))
                yield some, segment.kinds[rows], segment.exchanges[rows]
            else:
                first, kinds, exchanges = segment.first, segment.kinds, segment.exchanges
                chosen = [place - first for place in some]
                yield some, [kinds[at] for at in chosen], [exchanges[at] for at in chosen]
            at = until

    def head_of(self, place: int) -> int | None:
        """The first tick of the fold that `place` belongs to; None outside of folds."""
        row = bisect.bisect_right(self.rows, place)
        for head in self.ticks_before(row):
            fold = self.folds.get(head)
            if fold is not None and fold.holds(place):
                return head
        return None

    def ticks_before(self, row: int) -> Iterator[int]:
        """The visible ticks before a row, newest first, up to another message."""
        while row > 0 and self._timeline.kind(self.rows[row - 1]) is FrameKind.PROGRESS:
            row -= 1
            yield self.rows[row]

    def set_open(self, head: int, *, is_open: bool) -> array[int]:
        """Open or close a fold; returns the places that become rows, or are rows no longer."""
        fold = self.folds[head]
        fold.is_open = is_open
        members = fold.places[1:]
        self.hidden += -len(members) if is_open else len(members)
        return members

    def drop(self, start: int, stop: int) -> list[int]:
        """Forget the places from `start` up to `stop`, whose rows the caller then removes.

        Returns the places that become rows, in order: of folds that have ticks left.
        """
        begin, end = bisect.bisect_left(self.rows, start), bisect.bisect_left(self.rows, stop)
        for head in list(self.ticks_before(begin)):
            self._shorten(head, start, stop)
        moved: dict[int, int] = {}
        for head in self.rows[begin:end]:
            fold = self.folds.pop(head, None)
            left = array("q") if fold is None else fold.places[_from(fold.places, stop) :]
            if fold is not None and not fold.is_open:
                self.hidden -= len(fold.places) - max(1, len(left))
            if left and fold is not None:
                moved[head] = left[0]
                if len(left) > 1:
                    self.folds[left[0]] = Fold(left, is_open=fold.is_open)
        self._newest = {
            request: moved.get(head, head)
            for request, head in self._newest.items()
            if head in moved or not start <= head < stop
        }
        return sorted(moved.values())

    def _shorten(self, head: int, start: int, stop: int) -> None:
        """Forget places of a fold that begins before them."""
        fold = self.folds.get(head)
        if fold is None:
            return
        begin, end = _from(fold.places, start), _from(fold.places, stop)
        if not fold.is_open:
            self.hidden -= end - begin
        del fold.places[begin:end]
        if len(fold.places) == 1:
            del self.folds[head]


def _from(places: array[int], place: int) -> int:
    return bisect.bisect_left(places, place)

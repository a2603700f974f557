"""Time since the message before with the same token: `dt` of the filter language."""

from __future__ import annotations

from itertools import chain, product
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.filtering.columns import NAN
from mcp_progress_monitor.filtering.stride import picked
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.recording.columns import Segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.filtering.stride import Rows, Stride, Work
    from mcp_progress_monitor.recording.columns import Columns

_STEP: Final = 1 << 14
_FEW: Final = 4
"""A row alone costs so many times what one among all costs, at least."""
_OF_OTHER_SIDE: Final = (FrameKind.PROGRESS, FrameKind.REPLY, FrameKind.ERROR)
"""What the one side sends of the other's requests, with their tokens."""


class Deltas:
    """Seconds since the message before with the same token, or since any where there is none.

    A token is one of a connection's requests from one side: servers count theirs as we do ours. A
    token's last time is kept as the search goes on, which it does in order of places. What lies
    before the place where it begins is passed over first, a column at a time: 60 ns a frame. Where
    a cheaper test leaves few rows of a stride, the others are passed over, too.
    Tokens that are too long for the index have no delta.
    """

    def __init__(self) -> None:
        self._columns: Columns | None = None
        self._last: dict[tuple[str, bool], dict[int, float]] = {}
        self._owners: dict[tuple[int, int], dict[int, float]] = {}
        self._before = NAN
        self._place = 0
        self._whole: tuple[int, list[float]] | None = None

    def begin(self, stride: Stride) -> Work[None]:
        """Get ready for the rows of a stride."""
        timeline, segment = stride.timeline, stride.segment
        place = segment.first + stride.start
        if self._columns is not timeline.columns or place < self._place:
            self._columns, self._last, self._owners = timeline.columns, {}, {}
            self._place, self._before = timeline.first, NAN
        yield from self._pass_over(timeline.columns, place)
        self._whole = None

    def of(self, stride: Stride, rows: Rows) -> Sequence[float]:
        """The deltas of some rows of the stride."""
        if self._whole is None and len(rows) * _FEW < len(stride.rows):
            return self._of_few(stride, rows)
        start, deltas = self._whole or self._of_all(stride)
        if isinstance(rows, range):
            return deltas[rows.start - start : rows.stop - start]
        return [deltas[row - start] for row in rows]

    def end(self, stride: Stride) -> None:
        """Be done with a stride: what is in it is known from now on."""
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
        """The deltas of a few rows: of the others only those with their tokens are looked at."""
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
            stop = min(len(segment), row + _STEP, place - segment.first)
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
        """The times of the one side of a connection that all rows belong to; None where several.

        Whatever the rows hold, `_each` can tell of them afterwards.
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

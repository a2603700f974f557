"""Which frames are exported: all, those a filter shows, those of one job; found in slices."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.recording.columns import Segment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.source import Source
    from mcp_progress_monitor.filtering.chosen import LogFilter
    from mcp_progress_monitor.filtering.search import Search
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.protocol.frame_kind import FrameKind
    from mcp_progress_monitor.recording.timeline import Timeline

_BUDGET_S: Final = 0.01
_ROWS: Final = 4096
"""Rows of the index looked at in one slice."""
_FRAMES: Final = 64
_BYTES: Final = 1024 * 1024
"""Of frames read at one go, unless one is larger."""
_FEW: Final = 8
_NUMBER: Final = 0xFFFF_FFFF


def chosen(
    source: Source, wanted: LogFilter | None = None, requests: Collection[int] | None = None
) -> Iterator[Sequence[int]]:
    """The places of the frames that `wanted` shows, rising, in slices of some milliseconds.

    With `requests`, only those of their exchanges. Frames that come meanwhile are left out.
    `FilterError` at once when the filter's text has a mistake.
    """
    timeline = source.timeline
    end = timeline.end
    if wanted is None or wanted.shows_all:
        slices: Iterable[Sequence[int]] = _all(timeline, end)
    else:
        slices = _found(source, wanted, end)
    return iter(slices) if requests is None else _exchanged(timeline, slices, requests)


def _all(timeline: Timeline, end: int) -> Iterator[Sequence[int]]:
    for segment, rows in timeline.stretches(timeline.first, end):
        first, stop = segment.first + rows.start, segment.first + rows.stop
        for start in range(first, stop, _ROWS):
            yield range(start, min(start + _ROWS, stop))


def _found(source: Source, wanted: LogFilter, end: int) -> Iterable[Sequence[int]]:
    # Here and not above: the filter language is loaded only where there is a filter.
    from mcp_progress_monitor.filtering.compiling import compiled
    from mcp_progress_monitor.filtering.search import Search

    timeline = source.timeline
    predicate = compiled(wanted, timeline, source.requests_of)
    return _searched(Search(timeline, predicate, timeline.first), end)


def _searched(search: Search, end: int) -> Iterator[Sequence[int]]:
    while search.place < end:
        yield [place for place in search.run(_BUDGET_S) if place < end]


def _exchanged(
    timeline: Timeline, slices: Iterable[Sequence[int]], requests: Collection[int]
) -> Iterator[Sequence[int]]:
    masked = {request & _NUMBER for request in requests}
    for places in slices:
        yield [place for place in places if timeline.exchange(place) in masked]


def of_kind(timeline: Timeline, kind: FrameKind, start: int, end: int) -> Iterator[list[int]]:
    """The places of frames of one kind from `start` up to `end`, one list for each segment."""
    pattern = re.compile(b"[" + re.escape(bytes((kind, kind | Segment.MARKED))) + b"]")
    for segment, rows in timeline.stretches(start, end):
        # A copy: while a search looks at the column itself, it could not grow.
        codes = bytes(segment.kinds[rows.start : rows.stop])
        first = segment.first + rows.start
        yield [first + found.start() for found in pattern.finditer(codes)]


def of_exchanges(
    timeline: Timeline, requests: Collection[int], start: int, end: int
) -> Iterator[list[int]]:
    """The places of all frames of some requests' exchanges, one list for each segment."""
    masked = {request & _NUMBER for request in requests}
    for segment, rows in timeline.stretches(start, end):
        if len(masked) > _FEW:
            numbers = segment.exchanges[rows.start : rows.stop]
            found = [row for row, n in enumerate(numbers, rows.start) if n in masked]
        else:
            found = sorted(row for n in masked for row in _rows_of(segment, n, rows))
        yield [segment.first + row for row in found]


def _rows_of(segment: Segment, number: int, rows: range) -> Iterator[int]:
    """The rows of one exchange; the search runs in C and finds a thousand rows a millisecond."""
    row, column = rows.start, segment.exchanges
    while row < rows.stop:
        try:
            row = column.index(number, row, rows.stop)
        except ValueError:
            return
        yield row
        row += 1


def frames_at(timeline: Timeline, places: Sequence[int]) -> Iterator[list[tuple[int, Frame]]]:
    """The frames at rising `places`, each with its place, few enough at a time to hold."""
    for group in _groups(timeline, places):
        yield list(_read(timeline, group))


def _groups(timeline: Timeline, places: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    room = _BYTES
    for place in places:
        size = timeline.size(place)
        if group and (size > room or len(group) == _FRAMES):
            yield group
            group, room = [], _BYTES
        group.append(place)
        room -= size
    if group:
        yield group


def _read(timeline: Timeline, places: list[int]) -> Iterator[tuple[int, Frame]]:
    """Neighbours in one read."""
    for _, run in itertools.groupby(enumerate(places), _distance):
        near = [place for _, place in run]
        frames = timeline.frames(near[0], near[-1] + 1)
        if len(frames) == len(near):
            yield from zip(near, frames, strict=True)
            continue
        for place in near:  # some are gone meanwhile: which ones, each place tells
            frame = timeline.frame(place)
            if frame is not None:
                yield place, frame


def _distance(numbered: tuple[int, int]) -> int:
    return numbered[1] - numbered[0]

"""Finds the frames to export, in slices, and facts about a job that its snapshot lacks."""

from __future__ import annotations

import collections
import itertools
import re
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.frames import Frame, FrameKind
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.recording.index import Segment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource
    from mcp_progress_monitor.filtering.filter import TrafficFilter
    from mcp_progress_monitor.filtering.search import Search
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_BUDGET_S: Final = 0.01
_ROWS: Final = 4096  # rows of the index scanned in one slice
_FRAMES: Final = 64
_BYTES: Final = 1024 * 1024  # bytes of frames read at once, unless one is larger
_ROWS_READ: Final = 256
_JOBS_KEPT: Final = 10_000
_FEW: Final = 8
_NUMBER: Final = 0xFFFF_FFFF


def chosen(
    source: ExportSource,
    wanted: TrafficFilter | None = None,
    requests: Collection[int] | None = None,
) -> Iterator[Sequence[int]]:
    """The increasing places of the frames that match `wanted`, in slices of a few milliseconds.

    With `requests`, only frames of their exchanges. Frames that arrive meanwhile are left out.
    Raises `FilterError` immediately for an invalid filter.
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


def _found(source: ExportSource, wanted: TrafficFilter, end: int) -> Iterable[Sequence[int]]:
    # late: the filter language is loaded only if there is a filter
    from mcp_progress_monitor.filtering.search import Search, compiled

    timeline = source.timeline
    predicate = compiled(wanted, timeline, source.jobs.requests_of)
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
    """The places of frames of one kind from `start` to `end`, one list per segment."""
    pattern = re.compile(b"[" + re.escape(bytes((kind, kind | Segment.MARKED))) + b"]")
    for segment, rows in timeline.stretches(start, end):
        # Copied: a column cannot grow while its buffer is being searched.
        codes = bytes(segment.kinds[rows.start : rows.stop])
        first = segment.first + rows.start
        yield [first + found.start() for found in pattern.finditer(codes)]


def rows_of_kind(
    timeline: Timeline, places: Sequence[int], kind: FrameKind
) -> Iterator[tuple[Segment, list[int]]]:
    """The rows of the frames of one kind at increasing `places`, in groups of bounded size."""
    wanted = places if isinstance(places, range) else frozenset(places)
    for found in of_kind(timeline, kind, places[0], places[-1] + 1) if places else ():
        group = [place for place in found if place in wanted]
        located = timeline.columns.locate(group[0]) if group else None
        if located is not None:
            segment, rows = located[0], [place - located[0].first for place in group]
            yield from ((segment, some) for some in _few(segment, rows))


def _few(segment: Segment, rows: list[int]) -> Iterator[list[int]]:
    """The rows in groups of about a megabyte, or of one larger frame."""
    sizes, start, room = segment.sizes, 0, _BYTES
    for index, row in enumerate(rows):
        room -= sizes[row]
        if index > start and (room < 0 or index - start == _ROWS_READ):
            yield rows[start:index]
            start, room = index, _BYTES - sizes[row]
    yield rows[start:]


class JobNumbers:
    """Caches the jobs of exchanges: neighbouring frames mostly belong to the same one."""

    def __init__(self, source: ExportSource) -> None:
        self._source = source
        self._jobs: dict[int, int | None] = {}

    def of(self, exchange: int) -> int | None:
        if not exchange:
            return None
        if exchange not in self._jobs:
            if len(self._jobs) > _JOBS_KEPT:
                self._jobs.clear()
            self._jobs[exchange] = self._source.jobs.job_of(exchange)
        return self._jobs[exchange]


def of_exchanges(
    timeline: Timeline, requests: Collection[int], start: int, end: int
) -> Iterator[list[int]]:
    masked = {request & _NUMBER for request in requests}
    for segment, rows in timeline.stretches(start, end):
        if len(masked) > _FEW:
            numbers = segment.exchanges[rows.start : rows.stop]
            found = [row for row, n in enumerate(numbers, rows.start) if n in masked]
        else:
            found = sorted(row for n in masked for row in _rows_of(segment, n, rows))
        yield [segment.first + row for row in found]


def _rows_of(segment: Segment, number: int, rows: range) -> Iterator[int]:
    """The rows of one exchange, found at a thousand rows a millisecond."""
    row, column = rows.start, segment.exchanges
    while row < rows.stop:
        try:
            row = column.index(number, row, rows.stop)
        except ValueError:
            return
        yield row
        row += 1


def frames_at(timeline: Timeline, places: Sequence[int]) -> Iterator[list[tuple[int, Frame]]]:
    """The frames at increasing `places`, each with its place, in groups of bounded size."""
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
    for _, run in itertools.groupby(enumerate(places), lambda numbered: numbered[1] - numbered[0]):
        near = [place for _, place in run]
        frames = timeline.frames(near[0], near[-1] + 1)
        if len(frames) == len(near):
            yield from zip(near, frames, strict=True)
            continue
        for place in near:  # some have been dropped meanwhile
            frame = timeline.frame(place)
            if frame is not None:
                yield place, frame


AFTERMATH_S: Final = 2.0  # standard error counts as a job's for this long after its end
_STDERR_KEPT: Final = 20
_AT_ONCE: Final = 4096
_LINE: Final = 4096


class StderrLine(NamedTuple):
    """A line of standard error."""

    at: float
    text: str


class ConnectionEnd(NamedTuple):
    """End of a connection: `exit_code` is the process's, None if unknown."""

    at: float
    reason: str
    exit_code: int | None
    is_wanted: bool


class JobFrames(NamedTuple):
    """Facts about a job that its snapshot lacks.

    `ticks` and `messages` are the places of its ticks and of its other frames. `stderr` are the
    newest lines of its server while it ran and shortly after, `stderr_before` the number of lines
    before them. `close` is the end of its connection.
    """

    messages: array[int]
    ticks: array[int]
    stderr: tuple[StderrLine, ...] = ()
    stderr_before: int = 0
    close: ConnectionEnd | None = None
    is_cut: bool = False


def gather(source: ExportSource, job: JobSnapshot) -> Slices[JobFrames]:
    """Collect the frames of a job; pauses by yielding None."""
    timeline = source.timeline
    requests = source.jobs.requests_of(job.id) or [job.request]
    places = [p for p in map(timeline.place_of, requests) if p is not None]
    start, end = (min(places), timeline.end) if places else (timeline.end, timeline.end)
    found = JobFrames(array("Q"), array("Q"))
    for exchanged in of_exchanges(timeline, requests, start, end):
        for count, place in enumerate(exchanged, 1):
            is_tick = timeline.kind(place) is FrameKind.PROGRESS
            (found.ticks if is_tick else found.messages).append(place)
            if not count % _AT_ONCE:
                yield
        yield
    lines, before = yield from _stderr(timeline, job, start, end)
    close = yield from _close(timeline, job.connection, start, end)
    is_cut = source.jobs.is_ended and not job.state.is_over
    return found._replace(stderr=lines, stderr_before=before, close=close, is_cut=is_cut)


def _stderr(
    timeline: Timeline, job: JobSnapshot, start: int, end: int
) -> Slices[tuple[tuple[StderrLine, ...], int]]:
    """The job's newest lines of standard error, and the number of earlier ones."""
    until = float("inf") if job.ended_at is None else job.ended_at + AFTERMATH_S
    places: collections.deque[int] = collections.deque(maxlen=_STDERR_KEPT)
    count = 0
    for found in of_kind(timeline, FrameKind.STDERR, start, end):
        for place in found:
            if _belongs(timeline, place, job.connection, until):
                places.append(place)
                count += 1
        yield
    frames = [timeline.frame(place, _LINE) for place in places]
    lines = tuple(StderrLine(f.at, f.raw.decode(errors="replace")) for f in frames if f is not None)
    return lines, count - len(lines)


def _belongs(timeline: Timeline, place: int, connection: str, until: float) -> bool:
    """Return whether the frame at a place is of a connection and not later than `until`."""
    found = timeline.columns.locate(place)
    if found is None:
        return False
    segment, row = found
    return segment.ats[row] <= until and timeline.source(segment, row).connection == connection


def _close(
    timeline: Timeline, connection: str, start: int, end: int
) -> Slices[ConnectionEnd | None]:
    for places in of_kind(timeline, FrameKind.EVENT, start, end):
        for place in places:
            frame = timeline.frame(place, _LINE)
            if frame is not None and frame.connection == connection:
                fields = event_fields(frame)
                if fields.get("event") == "closed":
                    return _closed(frame.at, fields)
        yield
    return None


def _closed(at: float, fields: JsonObject) -> ConnectionEnd:
    reason, code = fields.get("reason"), fields.get("exit_code")
    return ConnectionEnd(
        at,
        reason if isinstance(reason, str) else "",
        code if isinstance(code, int) else None,
        fields.get("wanted") is True,
    )


def event_fields(frame: Frame) -> JsonObject:
    """The members of a connection event; empty if it cannot be parsed."""
    try:
        return as_object(read_value(frame.raw).value)
    except (NotJsonError, TooDeepError):
        return {}


def events(timeline: Timeline) -> Iterator[Frame]:
    for places in of_kind(timeline, FrameKind.EVENT, timeline.first, timeline.end):
        for place in places:
            frame = timeline.frame(place, _LINE)
            if frame is not None:
                yield frame

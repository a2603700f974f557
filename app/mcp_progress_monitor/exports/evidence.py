"""What the frames tell of a job beyond its picture: its exchange, standard error, how it ended."""

from __future__ import annotations

import collections
from array import array
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.exports.places import of_exchanges, of_kind
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.exports.source import Source
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

AFTERMATH_S: Final = 2.0
"""So long after a job's end its server's last words still belong to the story."""
_STDERR_KEPT: Final = 20
_AT_ONCE: Final = 4096
_LINE: Final = 4096


class Line(NamedTuple):
    """A line of standard error."""

    at: float
    text: str


class Close(NamedTuple):
    """How a connection ended: `exit_code` is the process's, None if unknown."""

    at: float
    reason: str
    exit_code: int | None
    is_wanted: bool


class Evidence(NamedTuple):
    """What is told of a job beside its picture.

    `messages` are the places of the exchange's frames but for its ticks, `ticks` those of its
    ticks. `stderr` are the newest lines of its server while it ran and shortly after,
    `stderr_before` how many came before them. `close` is the end of its connection.
    """

    messages: array[int]
    ticks: array[int]
    stderr: tuple[Line, ...] = ()
    stderr_before: int = 0
    close: Close | None = None
    is_cut: bool = False


def gather(source: Source, job: JobSnapshot) -> Slices[Evidence]:
    """Look through the index and read what belongs to a job; pauses by yielding None."""
    timeline = source.timeline
    requests = source.requests_of(job.id) or [job.request]
    places = [p for p in map(timeline.place_of, requests) if p is not None]
    start, end = (min(places), timeline.end) if places else (timeline.end, timeline.end)
    found = Evidence(array("Q"), array("Q"))
    for exchanged in of_exchanges(timeline, requests, start, end):
        for count, place in enumerate(exchanged, 1):
            is_tick = timeline.kind(place) is FrameKind.PROGRESS
            (found.ticks if is_tick else found.messages).append(place)
            if not count % _AT_ONCE:
                yield
        yield
    lines, before = yield from _stderr(timeline, job, start, end)
    close = yield from _close(timeline, job.connection, start, end)
    is_cut = source.is_ended and not job.state.is_over
    return found._replace(stderr=lines, stderr_before=before, close=close, is_cut=is_cut)


def _stderr(
    timeline: Timeline, job: JobSnapshot, start: int, end: int
) -> Slices[tuple[tuple[Line, ...], int]]:
    """The job's newest lines of standard error, and how many there were before them."""
    until = float("inf") if job.ended_at is None else job.ended_at + AFTERMATH_S
    places: collections.deque[int] = collections.deque(maxlen=_STDERR_KEPT)
    count = 0
    for found in of_kind(timeline, FrameKind.STDERR, start, end):
        for place in found:
            if _is_of(timeline, place, job.connection, until):
                places.append(place)
                count += 1
        yield
    frames = [timeline.frame(place, _LINE) for place in places]
    lines = tuple(Line(f.at, f.raw.decode(errors="replace")) for f in frames if f is not None)
    return lines, count - len(lines)


def _is_of(timeline: Timeline, place: int, connection: str, until: float) -> bool:
    """Whether the frame at a place is of a connection and came in time; by the index alone."""
    found = timeline.columns.locate(place)
    if found is None:
        return False
    segment, row = found
    return segment.ats[row] <= until and timeline.source(segment, row).connection == connection


def _close(timeline: Timeline, connection: str, start: int, end: int) -> Slices[Close | None]:
    for places in of_kind(timeline, FrameKind.EVENT, start, end):
        for place in places:
            frame = timeline.frame(place, _LINE)
            if frame is not None and frame.connection == connection:
                fields = event_fields(frame)
                if fields.get("event") == "closed":
                    return _closed(frame.at, fields)
        yield
    return None


def _closed(at: float, fields: JsonObject) -> Close:
    reason, code = fields.get("reason"), fields.get("exit_code")
    return Close(
        at,
        reason if isinstance(reason, str) else "",
        code if isinstance(code, int) else None,
        fields.get("wanted") is True,
    )


def event_fields(frame: Frame) -> JsonObject:
    """The members of a connection event; none when it cannot be read."""
    try:
        value: Any = read_value(frame.raw).value
    except (NotJsonError, TooDeepError):
        return {}
    return value if isinstance(value, dict) else {}


def events(timeline: Timeline) -> Iterator[Frame]:
    """The connection events that are still there, oldest first."""
    for places in of_kind(timeline, FrameKind.EVENT, timeline.first, timeline.end):
        for place in places:
            frame = timeline.frame(place, _LINE)
            if frame is not None:
                yield frame

"""A job's course as spans of time: phases, stalls, pauses between attempts, and open questions."""

from __future__ import annotations

import enum
import itertools
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId, JobSnapshot


class SpanKind(enum.Enum):
    """Kind of a span of a job."""

    PHASE = "phase"
    STALL = "stalled"
    PAUSE = "between attempts"
    QUESTION = "question"


class LaneSpan(NamedTuple):
    """A span of monotonic time; `text` is the server's."""

    kind: SpanKind
    began_at: float
    ended_at: float
    text: str


class Lane(NamedTuple):
    """One job from its first request to its end, or to now; its spans in painting order."""

    job: JobId
    snapshot: JobSnapshot
    began_at: float
    ended_at: float
    spans: tuple[LaneSpan, ...]


def lane_of(detail: JobDetail, now: float) -> Lane:
    """The lane of a job at `now`."""
    job = detail.snapshot
    end = now if job.ended_at is None else job.ended_at
    end = max(end, job.started_at)
    spans = [
        LaneSpan(kind, max(begin, job.started_at), min(until, end), text)
        for kind, begin, until, text in (
            *_phases(detail, end),
            *_stalls(detail, end),
            *_pauses(detail, end),
            *_questions(detail, end),
        )
    ]
    kept = tuple(span for span in spans if span.ended_at > span.began_at)
    return Lane(job.id, job, job.started_at, end, kept)


def _phases(detail: JobDetail, end: float) -> Iterator[LaneSpan]:
    for phase in detail.phases:
        until = end if phase.ended_at is None else phase.ended_at
        yield LaneSpan(SpanKind.PHASE, phase.began_at, until, phase.message)


def _stalls(detail: JobDetail, end: float) -> Iterator[LaneSpan]:
    """Silences longer than the job's pace explains, including the current one."""
    job = detail.snapshot
    if job.stall_after_s is None:
        return
    times = [point.at for point in detail.chart]
    if job.state is JobState.STALLED:
        times.append(end)
    for before, after in itertools.pairwise(times):
        if after - before > job.stall_after_s:
            yield LaneSpan(SpanKind.STALL, before, after, "")


def _pauses(detail: JobDetail, end: float) -> Iterator[LaneSpan]:
    """The times between attempts, of which only the wall clock is known."""
    job = detail.snapshot
    offset = job.started_at - job.started_when
    starts = [attempt.started_when for attempt in detail.attempts[1:]]
    for attempt, after in itertools.zip_longest(detail.attempts, starts):
        if attempt.ended_when is not None and (after is not None or not job.state.is_over):
            until = end if after is None else after + offset
            yield LaneSpan(SpanKind.PAUSE, attempt.ended_when + offset, until, attempt.detail)


def _questions(detail: JobDetail, end: float) -> Iterator[LaneSpan]:
    for each in detail.server_requests:
        until = end if each.answered_at is None else each.answered_at
        yield LaneSpan(SpanKind.QUESTION, each.at, until, each.method)

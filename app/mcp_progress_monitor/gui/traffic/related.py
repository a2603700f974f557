"""Finds a message's job, and the other messages of its exchange."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.jsonrpc import Envelope, Kind
from mcp_progress_monitor.protocol.messages import CANCELLED, PROGRESS, PROGRESS_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.gui.followed import JobsFollowed
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


def job_at(
    timeline: Timeline, place: int, frame: Frame, envelope: Envelope | None, jobs: JobsFollowed
) -> JobSnapshot | None:
    """Return the job of the frame at `place`; `envelope` is None until it is read.

    The index knows it except for messages that came too late or too early: those are compared with
    every job.
    """
    request = timeline.exchange(place)
    if request:
        job = jobs.job_of(request)
        return None if job is None else jobs.snapshot(job)
    return None if envelope is None else job_of_frame(frame, envelope, jobs)


def job_of_frame(frame: Frame, envelope: Envelope, jobs: JobsFollowed) -> JobSnapshot | None:
    """Return the job whose request, tick, cancel or reply is `frame`.

    Ids and tokens may be reused: the last job begun before the frame counts.
    """
    if frame.channel not in (Channel.SENT, Channel.RECEIVED):
        return None
    if envelope.kind is Kind.REQUEST:
        job = jobs.job_of(frame.number)
        return None if job is None else jobs.snapshot(job)
    fits = _test_for(frame, envelope)
    if fits is None:
        return None
    for job in reversed(jobs.ids()):
        snapshot = jobs.snapshot(job)
        if (
            snapshot is not None
            and snapshot.connection == frame.connection
            and snapshot.request < frame.number
            and fits(snapshot)
        ):
            return snapshot
    return None


def _test_for(frame: Frame, envelope: Envelope) -> Callable[[JobSnapshot], bool] | None:
    author = Side.CLIENT if frame.channel is Channel.SENT else Side.SERVER
    other = Side.SERVER if author is Side.CLIENT else Side.CLIENT
    params = envelope.params if isinstance(envelope.params, dict) else {}
    if envelope.kind in (Kind.RESULT, Kind.ERROR):
        return _matches(other, "request_id", envelope.id)
    if envelope.method == PROGRESS and PROGRESS_TOKEN in params:
        return _matches(other, "token", params[PROGRESS_TOKEN])
    if envelope.method == CANCELLED and "requestId" in params:
        return _matches(author, "request_id", params["requestId"])
    return None


def _matches(sender: Side, field: str, value: Any) -> Callable[[JobSnapshot], bool]:
    """Matches jobs that `sender` requested with that `request_id` or `token`."""
    key = _typed(value)
    return lambda job: job.sender is sender and _typed(getattr(job, field)) == key


def _typed(value: Any) -> tuple[str, object]:
    """`7` and `"7"` are two ids, and so are `1` and `true`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__, value


class Jump(enum.Enum):
    """A target within an exchange: a request, its ticks and cancel, its reply."""

    REQUEST = "request"
    REPLY = "reply"
    PREVIOUS = "previous"
    NEXT = "next"


def target(timeline: Timeline, place: int, jump: Jump) -> int | None:
    """The place to go to from `place`; None if there is none, or it is gone."""
    exchange = timeline.exchange(place)
    if not exchange:
        return None
    request = timeline.request_of(place)
    if jump is Jump.REQUEST:
        return request if request != place else None
    if jump is Jump.PREVIOUS:
        # Nothing belongs to a request before it was made: skip that part.
        return None if request == place else timeline.previous_of(place, exchange)
    if jump is Jump.NEXT:
        return timeline.next_of(place, exchange)
    before = timeline.first - 1 if request is None else request
    found = timeline.next_of(before, exchange, replies=True)
    return found if found != place else None

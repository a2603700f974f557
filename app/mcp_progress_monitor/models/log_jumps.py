"""From one message of an exchange to another: request, reply, and what lies between."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.timeline import Timeline


class Jump(enum.Enum):
    """Where to go within an exchange: a request, its ticks and cancellation, its reply."""

    REQUEST = "request"
    REPLY = "reply"
    PREVIOUS = "previous"
    NEXT = "next"


def target(timeline: Timeline, place: int, jump: Jump) -> int | None:
    """The place gone to from `place`; None where there is none, or it is gone."""
    exchange = timeline.exchange(place)
    if not exchange:
        return None
    request = timeline.request_of(place)
    if jump is Jump.REQUEST:
        return request if request != place else None
    if jump is Jump.PREVIOUS:
        # Nothing belongs to a request before it was made: that need not be looked for.
        return None if request == place else timeline.previous_of(place, exchange)
    if jump is Jump.NEXT:
        return timeline.next_of(place, exchange)
    before = timeline.first - 1 if request is None else request
    found = timeline.next_of(before, exchange, replies=True)
    return found if found != place else None

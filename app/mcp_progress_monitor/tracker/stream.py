"""What a job knows of the HTTP stream that its reply is due on: how often that broke, and since."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.facts import StreamBroken
from mcp_progress_monitor.text import elide
from mcp_progress_monitor.tracker.snapshot import StreamPicture, StreamStep

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import StreamResumed

STEPS_KEPT: Final = 200
"""Newest breaks and takings-up that are told of one job; of older ones only the counts stay."""
_REASON: Final = 400


class Stream:
    """The stream of a job that had one break: other jobs have none.

    `broken` is the break under way, `broken_at` when it began: a stream that breaks again before
    it was taken up is still the same break.
    """

    __slots__ = ("broken", "broken_at", "broken_count", "resumed_count", "steps")

    def __init__(self) -> None:
        self.steps: collections.deque[StreamStep] = collections.deque(maxlen=STEPS_KEPT)
        self.broken: StreamBroken | None = None
        self.broken_at = 0.0
        self.broken_count = 0
        self.resumed_count = 0

    def take(self, fact: StreamBroken | StreamResumed, *, is_current: bool) -> None:
        """Take what became of the stream; of a request that is over it is only told."""
        is_broken = isinstance(fact, StreamBroken)
        away_s = None
        if isinstance(fact, StreamBroken):
            if self.broken is None:
                self.broken_count += 1
                self.broken_at = fact.at
            self.broken = fact if is_current else None
        else:
            away_s = None if self.broken is None else max(fact.at - self.broken_at, 0.0)
            self.resumed_count += 1
            self.broken = None
        self.steps.append(
            StreamStep(
                is_broken,
                fact.at,
                fact.number,
                elide(fact.reason, _REASON) if isinstance(fact, StreamBroken) else "",
                fact.last_event_id,
                fact.attempt,
                fact.retry_s if isinstance(fact, StreamBroken) else None,
                away_s,
            )
        )

    def settle(self) -> None:
        """The request is over, or another is made: nothing is waited for on this stream."""
        self.broken = None

    def picture(self, now: float) -> StreamPicture:
        """How the stream stands at `now`."""
        newest = self.steps[-1]
        retry_at = None if newest.retry_s is None else newest.at + newest.retry_s
        is_broken = self.broken is not None
        return StreamPicture(
            is_broken,
            max(now - (self.broken_at if is_broken else newest.at), 0.0),
            self.broken_count,
            self.resumed_count,
            newest,
            max(retry_at - now, 0.0) if is_broken and retry_at is not None else None,
        )

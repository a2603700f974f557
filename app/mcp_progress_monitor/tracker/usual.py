"""How long the calls of a tool usually take here: from those that ended well in this session."""

from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.job import Job

LEAST_FOR_USUAL: Final = 3
LEAST_FOR_SLOW: Final = 20  # calls; of fewer the 95th percentile is the longest one
_KEPT: Final = 200  # durations of a tool, the newest
_TOOLS: Final = 500
_SLOW: Final = 0.95


class Usual(NamedTuple):
    """The median duration, and the 95th percentile; None if there are too few calls for it."""

    median_s: float | None = None
    slow_after_s: float | None = None


UNKNOWN_USUAL: Final = Usual()


class UsualTimes:
    """The durations of calls by server, method and name; percentiles are computed when read."""

    def __init__(self) -> None:
        self._times: collections.OrderedDict[tuple[str, str, str], collections.deque[float]]
        self._times = collections.OrderedDict()
        self._known: dict[tuple[str, str, str], Usual] = {}

    def add(self, job: Job) -> None:
        """Note the duration of a job that has ended well; any other says nothing of it."""
        if job.state is not JobState.DONE or job.ended_at is None:
            return
        if job.request.sender is not Side.CLIENT:
            return
        key = _key(job)
        times = self._times.setdefault(key, collections.deque(maxlen=_KEPT))
        times.append(max(job.ended_at - job.first.at - job.paused_s, 0.0))
        self._times.move_to_end(key)
        self._known.pop(key, None)
        if len(self._times) > _TOOLS:
            oldest, _ = self._times.popitem(last=False)
            self._known.pop(oldest, None)

    def of(self, job: Job) -> Usual:
        """Say what is usual for the tool of a job."""
        key = _key(job)
        found = self._known.get(key)
        if found is None:
            times = self._times.get(key)
            if times is None:
                return UNKNOWN_USUAL
            found = self._known[key] = _usual(sorted(times))
        return found


def percentile(times: list[float], share: float) -> float | None:
    """The nearest-rank percentile of sorted `times`; None if there are none."""
    return times[max(math.ceil(share * len(times)) - 1, 0)] if times else None


def _usual(times: list[float]) -> Usual:
    median_s = percentile(times, 0.5) if len(times) >= LEAST_FOR_USUAL else None
    slow_after_s = percentile(times, _SLOW) if len(times) >= LEAST_FOR_SLOW else None
    return Usual(median_s, slow_after_s)


def _key(job: Job) -> tuple[str, str, str]:
    return job.server, job.request.method, job.name

"""The clocks of a call in words, and where views of live jobs find them."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import tr
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.sessions.limits import Limit
from mcp_progress_monitor.tracker.snapshot import NearLimit

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.call_clock import Clocks
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_HOUR: Final = 3600
_DAY: Final = 86_400
NEAR_S: Final = 60.0
"""A limit that is nearer than this is told in the list of jobs."""


@runtime_checkable
class ClockSource(Protocol):
    """Where clocks of running calls are read; `monitor.Monitor` fits, a recording does not."""

    def clocks(self, job: JobId) -> Clocks | None:
        """Both clocks of a job now; None when it is not waited for."""


def with_near_limit(job: JobSnapshot, source: ClockSource | None) -> JobSnapshot:
    """The job with the limit that it is about to reach, if it is."""
    if source is None or job.state.is_over or job.sender is not Side.CLIENT:
        return job
    clocks = source.clocks(job.id)
    near = None if clocks is None else near_limit(clocks)
    return job if near is None else dataclasses.replace(job, near_limit=near)


def near_limit(clocks: Clocks) -> NearLimit | None:
    """The limit that will be reached first, if that is soon; None while the clocks stand still."""
    left = {Limit.TOTAL: clocks.total_left_s, Limit.IDLE: clocks.idle_left_s}
    on = [NearLimit(limit.value, left_s) for limit, left_s in left.items() if left_s is not None]
    first = min(on, key=_left_of, default=None)
    is_near = first is not None and first.left_s < NEAR_S and not clocks.is_suspended
    return first if is_near else None


def _left_of(near: NearLimit) -> float:
    return near.left_s


def limit_words(limit: Limit, left_s: float | None) -> str:
    """`"Idle limit in 29 min 58 s"`, or that there is none."""
    if left_s is None:
        return tr("No idle limit") if limit is Limit.IDLE else tr("No total limit")
    words = tr("Idle limit in {}") if limit is Limit.IDLE else tr("Total limit in {}")
    return words.format(_countdown(math.ceil(left_s)))


def _countdown(seconds: int) -> str:
    """A time left that is seen to pass: with seconds up to a day."""
    words = text.duration(seconds)
    is_in_hours = _HOUR <= seconds < _DAY
    return f"{words} {seconds % 60} s" if is_in_hours else words

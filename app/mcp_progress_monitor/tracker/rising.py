"""Runs of ticks of one job alone that only rise: taken at once, not tick by tick."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.runs import TickRun
    from mcp_progress_monitor.tracker.job import Job


def is_rising(job: Job, run: TickRun) -> bool:
    """Whether a run is of one job, and nothing but plain ticks without messages."""
    values, count = run.values, len(run)
    return (
        run.requests.count(run.requests[0]) == count
        and run.has_no_message
        and job.progress < values[0]
        and values[-1] <= job.limit
        and run.totals.count(job.total) == count
        and all(map(operator.lt, values, values[1:]))
    )


def take(job: Job, run: TickRun) -> bool:
    """Take such a run at once; whether the job was stalled and runs again.

    Only the first tick can be due to be sampled: all came at one moment.
    """
    is_woken = False
    if run.at >= job.sample_at:
        job.progress, job.last = run.values[0], run.ticks[0]
        job.tick_count += 1
        is_woken = job.sample(run.at)
        job.tick_count -= 1
    job.progress, job.last = run.values[-1], run.ticks[-1]
    job.tick_count += len(run)
    job.ticks.extend(run.ticks)
    return is_woken

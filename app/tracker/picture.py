"""Pictures of a job at one moment: the immutable snapshot and detail that views read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.tracker.amount import as_float, fraction
from app.tracker.rates import eta
from app.tracker.snapshot import JobDetail, JobSnapshot

if TYPE_CHECKING:
    from app.tracker.job import Job


def snapshot_of(job: Job, now: float) -> JobSnapshot:
    """The job as it stands at `now`; for an ended job, as it stood at its end."""
    request, last = job.request, job.last
    moment = now if job.ended_at is None else job.ended_at
    last_at = None if last is None else last.at
    progress = None if job.progress == float("-inf") else job.progress
    share = fraction(progress, job.total)
    rate, eta_s = _pace(job, now, share)
    return JobSnapshot(
        id=job.id,
        connection=request.connection,
        server=job.server,
        sender=request.sender,
        request=request.number,
        request_id=request.id,
        method=request.method,
        name=job.name,
        summary=job.summary,
        token=request.token,
        state=job.state,
        progress=progress,
        total=job.total,
        fraction=share,
        message=job.message,
        tick_count=job.tick_count,
        late_count=job.late_count,
        rate=rate,
        eta_s=eta_s,
        started_at=request.at,
        started_when=request.when,
        ended_at=job.ended_at,
        elapsed_s=max(moment - request.at, 0.0),
        last_tick_at=last_at,
        silent_s=max(moment - (request.at if last_at is None else last_at), 0.0),
        stall_after_s=job.stall_after_s(),
        marks=job.marks.as_tuple(),
        failure=job.failure,
        reply_size=None if job.answer is None else job.answer.size,
    )


def _pace(job: Job, now: float, share: float | None) -> tuple[float | None, float | None]:
    """Rate and ETA at `now`, None where unknown, which they are once a job is over."""
    course, last, total = job.course, job.last, job.total
    if course is None or course.rates is None or last is None:
        return None, None
    rates = course.rates
    if not rates.is_known(now, job.good_count):
        return None, None
    rated = job.rated_progress(rates)
    rate = rates.read(now, rated)
    if share is None or total is None:
        return rate, None
    # The clock runs from the last tick and stops where the job counts as stalled.
    passed = min(max(now - last.at, 0.0), course.rhythm.stall_after_s())
    left = as_float(total) - as_float(job.progress)
    return rate, eta(left, rates.read(last.at, rated), passed)


def detail_of(job: Job, now: float) -> JobDetail:
    """The longer story of the job."""
    course = job.course
    return JobDetail(
        snapshot=snapshot_of(job, now),
        params=job.request.params,
        answer=job.answer,
        ticks=tuple(job.ticks),
        chart=job.chart(),
        phases=() if course is None else course.phases.read(job.tick_count, job.ended_at),
        dropped_phases=0 if course is None else course.phases.dropped,
    )

"""Builds the immutable snapshot and detail of a job at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.frames import at_of, fact_of
from mcp_progress_monitor.protocol.trace_context import traceparent_of
from mcp_progress_monitor.tracker import cancel_grace
from mcp_progress_monitor.tracker.estimate import (
    UNKNOWN_TIME,
    TimeLeft,
    as_float,
    fraction,
    time_left,
)
from mcp_progress_monitor.tracker.snapshot import AttemptSnapshot, JobDetail, JobSnapshot, JobState
from mcp_progress_monitor.tracker.usual import UNKNOWN_USUAL

if TYPE_CHECKING:
    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.tracker.chain import Chain
    from mcp_progress_monitor.tracker.job import Job
    from mcp_progress_monitor.tracker.usual import Usual


_UNFOLLOWED: Final = frozenset({JobState.RUNNING, JobState.STALLED, JobState.LOST})
"""States of a job whose task may continue on its server although its client is gone."""


def snapshot_of(
    job: Job, now: float, watched_client: str | None = None, usual: Usual = UNKNOWN_USUAL
) -> JobSnapshot:
    """The job at `now`; an ended job as it was at its end.

    `watched_client` is the client that made it, if that is not us, `usual` what is so for its tool.
    """
    request, history = job.request, job.history
    last_at = None if job.last is None else at_of(job.last)
    moment = now if job.ended_at is None else job.ended_at
    heard_at = job.heard_at if last_at is None else max(last_at, job.heard_at)
    progress = None if job.progress == float("-inf") else job.progress
    share = fraction(progress, job.total)
    rate, left = _pace(job, now, share, last_at)
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
        eta_s=left.best_s,
        eta_span_s=left.span_s,
        part_count=0 if job.parts is None else job.parts.count,
        sparks=history.rates.recent() if rate is not None and history and history.rates else (),
        started_at=job.first.at,
        started_when=job.first.when,
        ended_at=job.ended_at,
        elapsed_s=max(moment - job.first.at - job.paused_s, 0.0),
        last_tick_at=last_at,
        silent_s=max(moment - heard_at, 0.0),
        stall_after_s=None if history is None else history.gaps.stall_after_s(),
        marks=job.marks.as_tuple(),
        failure=job.failure,
        reply_size=None if job.answer is None else job.answer.size,
        is_automatic=job.is_automatic,
        clocks=None if job.clock is None else job.clock.read(now),
        watched_client=watched_client,
        usual_s=usual.median_s,
        slow_after_s=usual.slow_after_s,
        traceparent=traceparent_of(request.params),
        **_of_few(job, now, is_ours=watched_client is None),
    )


def _of_few(job: Job, now: float, *, is_ours: bool) -> dict[str, Any]:
    fields = {} if job.chain is None else _of_chain(job, job.chain, is_ours=is_ours)
    if job.parent is not None or job.parent_is_unclear:
        fields["parent"], fields["parent_is_unclear"] = job.parent, job.parent_is_unclear
    if job.questions is not None or job.task is not None:
        numbers = fields["questions"] = _questions(job)
        if numbers and job.questions is not None:
            fields["question"] = job.questions.text(numbers[0])
    if job.task is not None and not job.task.is_saving:
        is_cancellable = is_ours and job.request.sender is Side.CLIENT and job.is_resuming
        task = fields["task"] = job.task.snapshot(
            now, is_ours=is_cancellable, is_watched=not is_ours
        )
        is_left = not task.is_followed and task.ttl_left_s != 0 and job.state in _UNFOLLOWED
        if is_left and not is_ours and job.request.sender is Side.CLIENT:
            fields["can_resume_here"] = True
    if job.stream is not None:
        fields["stream"] = job.stream.snapshot(now if job.ended_at is None else job.ended_at)
    if job.cancel_at is not None or job.is_cancel_sent or job.state is JobState.CANCELLING:
        state = cancel_grace.state_of(job)
        fields["cancel_state"], fields["cancel_s"] = state, _cancel_s(job, state, now)
    return fields


def _of_chain(job: Job, chain: Chain, *, is_ours: bool) -> dict[str, Any]:
    can_resume = job.state is JobState.RESUMABLE and chain.can_resume
    return {
        "chain": chain.id,
        "attempt_count": chain.attempt_count,
        "resume_note": chain.text,
        "can_resume": can_resume and is_ours,
        "can_resume_here": can_resume and not is_ours,
        "next_attempt_at": chain.next_attempt_at,
        "saved_when": chain.token_when,
        "begun_by": chain.begun_by if is_ours else None,
    }


def _questions(job: Job) -> tuple[int, ...]:
    """The numbers of the frames with open questions, oldest first."""
    of_replies = set() if job.questions is None else set(job.questions.open)
    of_task = set() if job.task is None or not job.is_resuming else job.task.questions
    return tuple(sorted(of_replies | of_task))


def _cancel_s(job: Job, state: str, now: float) -> float | None:
    """Return how long a cancel has been pending, or how late the result was that ignored it."""
    if job.cancel_at is None:
        return None
    if job.state is JobState.CANCELLING:
        return max(now - job.cancel_at, 0.0)
    is_late = state == "ignored" and job.answer is not None
    return max(job.answer.at - job.cancel_at, 0.0) if is_late and job.answer else None


def attempt_of(
    job: Job, outcome: JobState | str, ended_when: float | None = None, detail: str = ""
) -> AttemptSnapshot:
    number = 1 if job.chain is None else job.chain.attempt_count
    ticks, request = job.tick_count - job.attempt_ticks, job.request
    frame = request.number if request.number > 0 else None
    return AttemptSnapshot(number, request.when, ended_when, outcome, frame, ticks, detail)


def _pace(
    job: Job, now: float, share: float | None, last_at: float | None
) -> tuple[float | None, TimeLeft]:
    """Rate and time left at `now`, unknown before there is enough data and once a job has ended."""
    history, total = job.history, job.total
    if history is None or history.rates is None or last_at is None:
        return None, UNKNOWN_TIME
    rates = history.rates
    if not rates.is_known(now, job.tick_count - job.odd_count):
        return None, UNKNOWN_TIME
    rate = rates.read(now)
    if share is None or total is None:
        return rate, UNKNOWN_TIME
    # The clock runs from the last tick, and stops when the job counts as stalled.
    passed = min(max(now - last_at, 0.0), history.gaps.stall_after_s())
    return rate, time_left(as_float(total) - as_float(job.progress), rates.pace(), passed)


def detail_of(
    job: Job, now: float, watched_client: str | None = None, usual: Usual = UNKNOWN_USUAL
) -> JobDetail:
    """The details of the job."""
    history, chain = job.history, job.chain
    running = None
    if not job.state.is_over:
        running = attempt_of(job, job.state)._replace(client=watched_client)
    return JobDetail(
        snapshot=snapshot_of(job, now, watched_client, usual),
        params=job.first.params,
        answer=job.answer,
        ticks=tuple(map(fact_of, job.ticks)),
        chart=job.chart(),
        phases=() if history is None else history.phases.read(job.tick_count, job.ended_at),
        pauses=job.pauses,
        dropped_phases=0 if history is None else history.phases.dropped,
        attempts=() if chain is None else chain.snapshots(running),
        resume_token=None if chain is None else chain.token,
        marked=_marked(job),
        task_steps=(() if job.task is None or job.task.is_saving else tuple(job.task.steps)),
        children=() if job.questions is None else tuple(job.questions.children),
        round_trips=0 if job.questions is None else job.questions.round_trips,
        server_requests=() if job.questions is None else tuple(job.questions.history),
        stream_steps=() if job.stream is None else tuple(job.stream.steps),
        parts=() if job.parts is None else tuple(job.parts.newest),
    )


def _marked(job: Job) -> dict[int, tuple[Finding, ...]]:
    """The findings of the ticks that are kept, by the number of their frames."""
    numbers = (fact_of(tick).number for tick in job.ticks)
    found = ((number, job.marks.of_frame(number)) for number in numbers)
    return {number: findings for number, findings in found if findings}

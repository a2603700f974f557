"""Jobs without a monitor: a source that says what a test put into it, and counts who asked."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from mcp_progress_monitor.protocol.facts import (
    ProgressReceived,
    RequestAnswered,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.tracker.snapshot import (
    ChartPoint,
    JobDetail,
    JobId,
    JobSnapshot,
    JobState,
    Phase,
)
from mcp_progress_monitor.tracker.tracker import Jobs

_PLAIN = JobSnapshot(
    id=1,
    connection="local-db#1",
    server="local-db",
    sender=Side.CLIENT,
    request=7,
    request_id=3,
    method="tools/call",
    name="export_orders",
    summary='region="eu"',
    token="prog-1",
    state=JobState.RUNNING,
    progress=632,
    total=1000,
    fraction=0.632,
    message="Processing batch 632 of 1000",
    tick_count=632,
    late_count=0,
    rate=12.0,
    eta_s=30.6,
    started_at=100.0,
    started_when=1_795_190_467.123,
    ended_at=None,
    elapsed_s=52.0,
    last_tick_at=151.9,
    silent_s=0.1,
    stall_after_s=30.0,
    marks=(),
    failure=None,
    reply_size=None,
)


def job(**changes: Any) -> JobSnapshot:
    """A running job of 63.2 %, with `changes` to its fields."""
    return _PLAIN._replace(**changes)


def resumable(job_id: int, **changes: Any) -> JobSnapshot:
    """A job that stopped at 40 % with a token that was saved this moment."""
    stopped: dict[str, Any] = {
        "state": JobState.RESUMABLE,
        "progress": 400,
        "fraction": 0.4,
        "rate": None,
        "eta_s": None,
        "ended_at": 152.0,
        "chain": job_id + 100,
        "can_resume": True,
        "saved_when": time.time(),
    }
    return job(id=job_id, **(stopped | changes))


def new_job(job_id: int, **changes: Any) -> JobSnapshot:
    """A job that started this moment and was not heard of yet."""
    untouched: dict[str, Any] = {
        "progress": None,
        "total": None,
        "fraction": None,
        "message": None,
        "tick_count": 0,
        "rate": None,
        "eta_s": None,
        "elapsed_s": 0.0,
        "last_tick_at": None,
        "silent_s": 0.0,
    }
    return job(id=job_id, **(untouched | changes))


def tick(number: int, progress: float, at: float, message: str | None = None) -> ProgressReceived:
    """A well-formed progress notification of the job's."""
    return ProgressReceived(
        number=number,
        connection="local-db#1",
        at=at,
        when=1_795_190_467.123 + at,
        sender=Side.SERVER,
        token="prog-1",
        request=7,
        standing=RequestStanding.ACTIVE,
        progress=progress,
        total=1000,
        message=message,
        findings=(),
    )


def answer(
    result: dict[str, Any] | None = None, error: dict[str, Any] | None = None
) -> RequestAnswered:
    """The reply to the job's request."""
    return RequestAnswered(
        number=900,
        connection="local-db#1",
        at=180.0,
        when=1_795_190_547.0,
        sender=Side.SERVER,
        id=3,
        request=7,
        standing=RequestStanding.ACTIVE,
        result=result,
        error=error,
        next_resume_token=None,
        size=120,
        findings=(),
    )


def detail(snapshot: JobSnapshot, **parts: Any) -> JobDetail:
    """The longer story of `snapshot`, empty but for `parts`."""
    plain = JobDetail(
        snapshot=snapshot,
        params={"name": snapshot.name, "arguments": {"region": "eu"}},
        answer=None,
        ticks=(),
        chart=(),
        phases=(),
    )
    return plain._replace(**parts)


def course(count: int, *, step_s: float = 1.0) -> dict[str, Any]:
    """Ticks, chart and phases of a job that went on steadily, `count` ticks long."""
    ticks = [
        tick(20 + n, n * 10, 100.0 + n * step_s, f"Batch group {n // 20 + 1}") for n in range(count)
    ]
    chart = [
        ChartPoint(t.at, float(n * 10), float(n * 10), float(n * 10)) for n, t in enumerate(ticks)
    ]
    phases = []
    for start in range(0, count, 20):
        last = min(start + 20, count)
        is_last = last == count
        phases.append(
            Phase(
                f"Batch group {start // 20 + 1}",
                100.0 + start * step_s,
                None if is_last else 100.0 + last * step_s,
                last - start,
            )
        )
    return {"ticks": ticks, "chart": chart, "phases": phases}


class FakeJobs(Jobs):
    """Jobs without a tracker: holds snapshots by id and notes for which of them it was asked."""

    def __init__(self, *snapshots: JobSnapshot) -> None:
        self.held = {snapshot.id: snapshot for snapshot in snapshots}
        self.details: dict[JobId, JobDetail] = {}
        self.asked: list[JobId] = []

    def put(self, *snapshots: JobSnapshot) -> None:
        """Hold `snapshots`, instead of earlier ones of the same jobs."""
        self.held.update({snapshot.id: snapshot for snapshot in snapshots})

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """The job as held; the question is noted in `asked`."""
        self.asked.append(job)
        return self.held.get(job)

    def detail(self, job: JobId) -> JobDetail | None:
        """The longer story, an empty one if none was put."""
        held = self.held.get(job)
        return self.details.get(job) or (None if held is None else detail(held))

    def ids(self) -> Sequence[JobId]:
        """All jobs in order of start."""
        return sorted(self.held)

    def parents_of(self, jobs: Iterable[JobId]) -> dict[JobId, JobId]:
        """The parents in the snapshots as held."""
        held = {job: self.held[job].parent for job in jobs if job in self.held}
        return {job: parent for job, parent in held.items() if parent is not None}

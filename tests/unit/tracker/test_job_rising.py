"""A job's rising ticks: which are taken at once, and what becomes of the job."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.protocol.facts import RequestMade, Side
from mcp_progress_monitor.protocol.frames import FactRun, fact_of
from mcp_progress_monitor.tracker import job as rising
from mcp_progress_monitor.tracker.estimate import SAMPLE_S
from mcp_progress_monitor.tracker.job import TICKS_KEPT, Job
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

AT = 3.0


def run_of(
    values: Sequence[float],
    total: float | None = 500,
    requests: Sequence[int] | None = None,
    text: str | None = None,
) -> FactRun:
    """Ticks of request 1, if no others are given, from frame 10 on."""
    count, stamp = len(values), ("s#1", AT, 1e9 + AT)
    owners = [1] * count if requests is None else requests
    totals = [total] * count
    columns = (range(10, 10 + count), repeat(stamp), repeat("a"), owners, values, totals)
    ticks = list(zip(*columns, repeat(text), strict=False))
    return FactRun(AT, ticks, owners, values, totals, has_no_message=text is None)


def job_at(progress: float, total: float | None = 500, at: float = 2.0) -> Job:
    """A job of request 1 that has had one tick."""
    request = (1, "s#1", 1.0, 1e9, Side.CLIENT, 1, "tools/call", {"name": "x"}, "a", None, ())
    job = Job(1, RequestMade(*request))
    job.take(fact_of((2, ("s#1", at, 1e9 + at), "a", 1, progress, total, None)))
    return job


def test_ticks_that_rise_up_to_the_total_are_rising() -> None:
    assert rising.is_rising(job_at(5), run_of([6, 7.5, 500]))
    assert rising.is_rising(job_at(5, 500.0), run_of([6]))
    assert rising.is_rising(job_at(5, None), run_of([6, 10**400], None))
    assert rising.is_rising(job_at(5), run_of([6, 7], text="half"))


@pytest.mark.parametrize(
    "run",
    [
        run_of([5, 6]),
        run_of([6, 6]),
        run_of([6, 7, 6, 8]),
        run_of([6, 501]),
        run_of([6, 7], 400),
        run_of([6, 7], None),
        run_of([6, 7], requests=[1, 2]),
    ],
)
def test_other_ticks_are_not(run: FactRun) -> None:
    assert not rising.is_rising(job_at(5), run)


def test_a_job_without_a_tick_judges_the_first_one() -> None:
    job = job_at(5)
    assert not rising.is_rising(Job(2, job.request), run_of([6, 7]))


@pytest.mark.parametrize("at", [2.0, AT - SAMPLE_S / 2])
def test_a_job_is_as_after_one_tick_after_the_other(at: float) -> None:
    run, at_once, one_by_one = run_of(range(6, 300)), job_at(5, at=at), job_at(5, at=at)
    assert rising.take(at_once, run, 8) == (False, 0)
    for tick in run.ticks:
        one_by_one.take(fact_of(tick))
    for name in ("progress", "tick_count", "odd_count", "sample_at", "state"):
        assert getattr(at_once, name) == getattr(one_by_one, name), name
    assert [fact_of(job.last) for job in (at_once, one_by_one) if job.last] == [
        fact_of(run.ticks[-1])
    ] * 2
    assert at_once.chart() == one_by_one.chart()
    assert [fact_of(tick) for tick in at_once.ticks] == list(one_by_one.ticks)
    assert len(at_once.ticks) == TICKS_KEPT


def test_a_stalled_job_runs_again() -> None:
    job = job_at(5)
    assert job.stall_if_silent(100.0)
    assert rising.take(job, run_of([6, 7]), 8) == (True, 0)
    assert job.state is JobState.RUNNING
    assert (job.tick_count, job.progress) == (3, 7)


def test_the_first_new_messages_are_compared_with_the_phase() -> None:
    job, run = job_at(5), run_of([6, 7, 8, 9, 10])
    texts = ("Read", "Read", None, "Sort", "Write")
    run.ticks = [(*tick[:6], text) for tick, text in zip(run.ticks, texts, strict=True)]
    run.has_no_message = False
    assert rising.take(job, run, 2) == (False, 2)
    assert job.message == "Write"
    assert job.history is not None
    assert [phase.message for phase in job.history.phases.read(job.tick_count, None)] == [
        "Read",
        "Sort",
    ]

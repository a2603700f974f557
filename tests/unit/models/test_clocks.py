"""Clocks in words, and which limit is near."""

from __future__ import annotations

import pytest

from mcp_progress_monitor.models.clocks import ClockSource, limit_words, near_limit, with_near_limit
from mcp_progress_monitor.models.job_texts import status
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.sessions.call_clock import Clocks
from mcp_progress_monitor.sessions.limits import Limit
from mcp_progress_monitor.tracker.snapshot import JobState, NearLimit
from tests.job_stand_ins import FakeJobs, TimedJobs, job


def clocks(idle: float | None, total: float | None, *, is_suspended: bool = False) -> Clocks:
    return Clocks(idle, total, is_suspended, 1800.0, 3600.0)


@pytest.mark.parametrize(
    ("limit", "left_s", "words"),
    [
        (Limit.IDLE, 1798.2, "Idle limit in 29 min 59 s"),
        (Limit.IDLE, 0.2, "Idle limit in 1 s"),
        (Limit.TOTAL, 0.0, "Total limit in 0 s"),
        (Limit.TOTAL, 3599.5, "Total limit in 1 h 0 min 0 s"),
        (Limit.TOTAL, 4012.0, "Total limit in 1 h 6 min 52 s"),
        (Limit.TOTAL, 86_399.0, "Total limit in 23 h 59 min 59 s"),
        (Limit.TOTAL, 86_400.0, "Total limit in 1 d 0 h"),
        (Limit.IDLE, None, "No idle limit"),
        (Limit.TOTAL, None, "No total limit"),
    ],
)
def test_a_clock_reads_as_seconds_that_are_still_to_come(
    limit: Limit, left_s: float | None, words: str
) -> None:
    assert limit_words(limit, left_s) == words


@pytest.mark.parametrize(
    ("read", "near"),
    [
        (clocks(59.9, None), NearLimit("idle", 59.9)),
        (clocks(60, None), None),
        (clocks(None, None), None),
        (clocks(1800, 30), NearLimit("total", 30)),
        (clocks(20, 30), NearLimit("idle", 20)),
        (clocks(30, 30), NearLimit("total", 30)),
        (clocks(20, 30, is_suspended=True), None),
    ],
)
def test_the_first_limit_is_near_within_a_minute_unless_the_clocks_stand_still(
    read: Clocks, near: NearLimit | None
) -> None:
    assert near_limit(read) == near


def test_a_row_tells_a_limit_that_is_near() -> None:
    source = TimedJobs(job(id=1))
    source.times[1] = clocks(41.5, None)
    assert status(with_near_limit(job(id=1), source)).startswith("idle limit in 42 s · ")
    source.times[1] = clocks(None, 5.0)
    assert status(with_near_limit(job(id=1), source)).startswith("total limit in 5 s · ")


@pytest.mark.parametrize("changes", [{"state": JobState.DONE}, {"sender": Side.SERVER}, {"id": 2}])
def test_what_is_over_or_not_ours_has_no_limit(changes: dict[str, object]) -> None:
    source = TimedJobs()
    source.times[1] = clocks(5.0, None)
    made = job(**{"id": 1, **changes})
    assert with_near_limit(made, source) is made
    assert with_near_limit(made, None) is made


def test_a_source_without_clocks_is_told_from_one_that_has_them() -> None:
    assert isinstance(TimedJobs(), ClockSource)
    assert not isinstance(FakeJobs(), ClockSource)

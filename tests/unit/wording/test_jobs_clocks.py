"""Clocks as text, and which limit is near."""

import pytest

from mcp_progress_monitor.tracker.snapshot import Clocks, JobState
from mcp_progress_monitor.wording.jobs import limit_left, near_limit, status
from tests.job_stand_ins import job


def clocks(idle: float | None, total: float | None, *, is_suspended: bool = False) -> Clocks:
    return Clocks(idle, total, is_suspended, 1800.0, 3600.0)


@pytest.mark.parametrize(
    ("limit", "left_s", "text"),
    [
        ("idle", 1798.2, "Idle timeout in 29 min 59 s"),
        ("idle", 0.2, "Idle timeout in 1 s"),
        ("total", 0.0, "Total timeout in 0 s"),
        ("total", 3599.5, "Total timeout in 1 h 0 min 0 s"),
        ("total", 4012.0, "Total timeout in 1 h 6 min 52 s"),
        ("total", 86_399.0, "Total timeout in 23 h 59 min 59 s"),
        ("total", 86_400.0, "Total timeout in 1 d 0 h"),
        ("idle", None, "No idle timeout"),
        ("total", None, "No total timeout"),
    ],
)
def test_a_clock_reads_as_seconds_that_are_still_to_come(
    limit: str, left_s: float | None, text: str
) -> None:
    assert limit_left(limit, left_s) == text


@pytest.mark.parametrize(
    ("read", "near"),
    [
        (clocks(59.9, None), "idle timeout in 1 min 0 s"),
        (clocks(60, None), ""),
        (clocks(None, None), ""),
        (clocks(1800, 30), "total timeout in 30 s"),
        (clocks(20, 30), "idle timeout in 20 s"),
        (clocks(30, 30), "total timeout in 30 s"),
        (clocks(20, 30, is_suspended=True), ""),
    ],
)
def test_the_first_limit_is_near_within_a_minute_unless_the_clocks_stand_still(
    read: Clocks, near: str
) -> None:
    assert near_limit(job(clocks=read)) == near


def test_a_row_tells_a_limit_that_is_near() -> None:
    assert status(job(clocks=clocks(41.5, None))).startswith("idle timeout in 42 s · ")
    assert status(job(clocks=clocks(None, 5.0))).startswith("total timeout in 5 s · ")


def test_what_is_over_or_not_waited_for_has_no_limit() -> None:
    assert near_limit(job(clocks=clocks(5.0, None), state=JobState.DONE)) == ""
    assert near_limit(job()) == ""

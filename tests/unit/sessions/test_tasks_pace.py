"""The time between two looks at a task."""

import pytest

from mcp_progress_monitor.sessions.tasks import PollPace


@pytest.mark.parametrize(
    ("poll_ms", "pause_s"),
    [(None, 1.0), (500, 0.5), (0, 0.1), (-5, 0.1), (10**9, 300.0), (10**400, 300.0), (2.5, 0.1)],
)
def test_a_servers_interval_is_kept_within_bounds(poll_ms: float | None, pause_s: float) -> None:
    pace = PollPace()
    pace.note(poll_ms)
    assert pace.pause_s == pause_s


def test_failures_double_the_pause_and_a_success_ends_that() -> None:
    pace = PollPace()
    pauses = []
    for _ in range(12):
        pauses.append(pace.pause_s)
        pace.note_failure()
    assert pauses[:4] == [1, 2, 4, 8]
    assert pauses[-1] == pauses[-2] == 64
    pace.note(2000)
    assert pace.pause_s == 2


def test_no_pause_is_longer_than_the_longest_interval() -> None:
    pace = PollPace()
    pace.note(200_000)
    pace.note_failure()
    assert pace.pause_s == 300

"""The silence that makes a job stalled."""

import statistics

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.tracker.stalls import TickGaps


def test_the_usual_gap_is_the_median_of_the_newest() -> None:
    gaps = TickGaps(0.0)
    assert gaps.stall_after_s() == 10
    for at in (4.0, 8.0, 100.0):
        gaps.add(at)
    assert gaps.stall_after_s() == 20
    for _ in range(40):
        at += 3.0
        gaps.add(at)
    assert gaps.stall_after_s() == 15


@given(
    st.lists(
        st.tuples(st.sampled_from([0.5, 1.5, 2.0, 2.5, 64.0]) | st.floats(0.001, 6), st.booleans()),
        max_size=80,
    )
)
def test_a_stall_is_reported_by_the_median_gap_however_often_one_asks(
    steps: list[tuple[float, bool]],
) -> None:
    gaps, at, seen = TickGaps(0.0), 0.0, [0.0]
    for step, is_asked in [*steps, (1.0, True)]:
        seen.append(at + step - at)
        at += step
        gaps.add(at)
        if is_asked:
            usual = statistics.median(seen[1:][-31:])
            assert gaps.stall_after_s() == max(10.0, 5 * usual)

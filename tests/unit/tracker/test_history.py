"""A chart keeps its shape however long the job runs."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.tracker.history import CAPACITY, Chart

_COURSES = st.lists(st.tuples(st.floats(0, 50), st.floats(-1e9, 1e9)), min_size=1, max_size=300)


def test_ticks_of_one_stretch_are_one_point() -> None:
    chart = Chart()
    for at, value in ((0.0, 5.0), (0.01, 9.0), (0.02, 7.0)):
        chart.add(at, value)
    assert chart.points() == [(0.02, 5.0, 9.0, 7.0)]


def test_slow_ticks_are_points_of_their_own() -> None:
    chart = Chart()
    for at in range(5):
        chart.add(float(at), at * 2.0)
    assert chart.points() == [(float(at), at * 2.0, at * 2.0, at * 2.0) for at in range(5)]


def test_a_full_chart_is_thinned_and_keeps_growing_evenly() -> None:
    chart = Chart()
    for tick in range(100_000):
        chart.add(tick * 0.05, float(tick))
    points = chart.points()
    gaps = [b.at - a.at for a, b in itertools.pairwise(points)]
    assert CAPACITY // 4 < len(points) <= CAPACITY
    assert (points[0].low, points[-1].last) == (0.0, 99_999.0)
    assert max(gaps[:-1]) < 3 * min(gaps[:-1])


def test_a_short_peak_survives_thinning() -> None:
    chart = Chart()
    for tick in range(10_000):
        chart.add(float(tick), 1e6 if tick == 777 else float(tick))
    assert max(point.high for point in chart.points()) == 1e6


@given(_COURSES, st.integers(0, 40))
def test_the_lowest_the_highest_and_the_last_value_are_kept(
    course: list[tuple[float, float]], most: int
) -> None:
    chart, at = Chart(), 0.0
    for gap, value in course:
        at += gap
        chart.add(at, value)
    chart.condense_to(most)
    points, values = chart.points(), [value for _, value in course]
    assert len(points) <= max(most, 1)
    assert min(point.low for point in points) == min(values)
    assert max(point.high for point in points) == max(values)
    assert (points[-1].at, points[-1].last) == (at, values[-1])
    assert all(point.low <= point.last <= point.high for point in points)
    assert [point.at for point in points] == sorted(point.at for point in points)

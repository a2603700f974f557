"""When something may be told again, told the moments by the test."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.feed import FORGIVEN_MS, INTERVAL_MS, Throttle


def moments(cadence: Throttle, news: list[float], late: list[float]) -> list[float]:
    """When batches begin for news that came at `news`, where timers are so late."""
    told: list[float] = []
    for at, lateness in zip(news, late, strict=True):
        if told and told[-1] > at:
            continue  # it was told with the batch before
        wait = cadence.wait_ms(at)
        begun = at + wait + (lateness if wait else 0)
        cadence.told(begun, begun + 1)
        told.append(begun)
    return told


def test_the_first_waits_for_nothing() -> None:
    assert Throttle().wait_ms(0.0) == 0


def test_the_next_waits_an_interval() -> None:
    cadence = Throttle()
    cadence.told(0.0, 1.0)
    assert cadence.wait_ms(1.0) == INTERVAL_MS - 1
    assert cadence.wait_ms(INTERVAL_MS) == 0


def test_news_that_come_ten_times_a_second_are_told_at_once_each_time() -> None:
    """A server that pauses for 100 ms takes a little longer for each."""
    news = [100.2 * number for number in range(1000)]
    told = moments(Throttle(), news, [0.9] * 1000)
    assert told == news


def test_news_a_little_too_fast_fall_behind_by_what_they_are_too_fast_alone() -> None:
    news = [99.9 * number for number in range(100)]
    told = moments(Throttle(), news, [0.9] * 100)
    assert all(later - at < 100 * 0.1 + 3 for later, at in zip(told, news, strict=True))


@given(
    st.lists(st.tuples(st.floats(0, 300), st.floats(0, 50)), min_size=2, max_size=60),
)
def test_in_no_time_are_there_more_than_ten_a_second(steps: list[tuple[float, float]]) -> None:
    news, at = [], 0.0
    for step, _late in steps:
        at += step
        news.append(at)
    told = moments(Throttle(), news, [late for _step, late in steps])
    for first, begun in enumerate(told):
        for count, later in enumerate(told[first:]):
            assert later - begun >= count * INTERVAL_MS - FORGIVEN_MS - 1e-6


def test_after_a_long_batch_there_is_nearly_an_interval_to_breathe() -> None:
    cadence = Throttle()
    cadence.told(0.0, 400.0)
    assert cadence.wait_ms(400.0) == INTERVAL_MS - FORGIVEN_MS


def test_a_batch_that_was_very_late_is_not_made_up_for() -> None:
    cadence = Throttle()
    cadence.told(0.0, 1.0)
    cadence.told(5000.0, 5001.0)
    assert cadence.wait_ms(5001.0) == INTERVAL_MS - 1


def test_one_without_ticks_leaves_the_next_its_moment_after_a_pause_alone() -> None:
    cadence = Throttle()
    cadence.told(0.0, 1.0, has_ticks=False)
    assert cadence.wait_ms(1.0) == 0
    cadence.told(2.0, 3.0, has_ticks=False)
    assert cadence.wait_ms(3.0) >= INTERVAL_MS - FORGIVEN_MS


def test_how_long_one_is_overdue_tells_who_waits_longest() -> None:
    older, newer = Throttle(), Throttle()
    older.told(0.0, 1.0)
    newer.told(50.0, 51.0)
    assert older.overdue_ms(200.0) == 100.0
    assert older.overdue_ms(200.0) > newer.overdue_ms(200.0)
    assert Throttle().overdue_ms(0.0) == float("inf")

"""When the next batch is due, with moments of the test's own."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.feed import FORGIVEN_MS, INTERVAL_MS, Throttle


def moments(throttle: Throttle, news: list[float], late: list[float]) -> list[float]:
    """When batches begin for news that came at `news`, where timers are so late."""
    told: list[float] = []
    for at, lateness in zip(news, late, strict=True):
        if told and told[-1] > at:
            continue  # it was told with the batch before
        wait = math.ceil(max(0.0, throttle.due_at - at))  # timers have whole milliseconds
        begun = at + wait + (lateness if wait else 0)
        throttle.note_published(begun, begun + 1)
        told.append(begun)
    return told


def test_the_first_waits_for_nothing() -> None:
    assert Throttle().due_at == -math.inf


def test_the_next_waits_an_interval() -> None:
    throttle = Throttle()
    throttle.note_published(0.0, 1.0)
    assert throttle.due_at == INTERVAL_MS


def test_news_that_come_ten_times_a_second_are_reported_at_once_each_time() -> None:
    """A server that pauses for 100 ms takes a little longer for each."""
    news = [100.2 * number for number in range(1000)]
    told = moments(Throttle(), news, [0.9] * 1000)
    assert told == news


def test_news_a_little_too_fast_fall_behind_by_what_they_are_too_fast_alone() -> None:
    news = [99.9 * number for number in range(100)]
    told = moments(Throttle(), news, [0.9] * 100)
    assert all(later - at < 100 * 0.1 + 3 for later, at in zip(told, news, strict=True))


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 50)), min_size=2, max_size=60))
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
    throttle = Throttle()
    throttle.note_published(0.0, 400.0)
    assert throttle.due_at == 400.0 + INTERVAL_MS - FORGIVEN_MS


def test_a_batch_that_was_very_late_is_not_made_up_for() -> None:
    throttle = Throttle()
    throttle.note_published(0.0, 1.0)
    throttle.note_published(5000.0, 5001.0)
    assert throttle.due_at == 5000.0 + INTERVAL_MS


def test_one_without_ticks_leaves_the_next_its_moment_after_a_pause_alone() -> None:
    throttle = Throttle()
    throttle.note_published(0.0, 1.0, has_ticks=False)
    assert throttle.due_at == 1.0
    throttle.note_published(2.0, 3.0, has_ticks=False)
    assert throttle.due_at >= 3.0 + INTERVAL_MS - FORGIVEN_MS

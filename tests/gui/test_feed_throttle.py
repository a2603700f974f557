"""When the next batch is due, with moments of the test's own."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.feed import (
    CHECKED_MS,
    FORGIVEN_MS,
    GUI_SHARE,
    INTERVAL_MS,
    LONGEST_MS,
    Load,
    Throttle,
)


def moments(throttle: Throttle, news: list[float], late: list[float]) -> list[float]:
    """When batches begin for news that came at `news`, where timers are so late."""
    reported: list[float] = []
    for at, lateness in zip(news, late, strict=True):
        if reported and reported[-1] > at:
            continue  # it was reported with the batch before
        wait = math.ceil(max(0.0, throttle.due_at - at))  # timers have whole milliseconds
        begun = at + wait + (lateness if wait else 0)
        throttle.note_published(begun, begun + 1)
        reported.append(begun)
    return reported


def test_the_first_waits_for_nothing() -> None:
    assert Throttle().due_at == -math.inf


def test_the_next_waits_an_interval() -> None:
    throttle = Throttle()
    throttle.note_published(0.0, 1.0)
    assert throttle.due_at == INTERVAL_MS


def test_updates_ten_times_a_second_are_published_immediately() -> None:
    """A server that pauses for 100 ms takes a little longer for each."""
    news = [100.2 * number for number in range(1000)]
    reported = moments(Throttle(), news, [0.9] * 1000)
    assert reported == news


def test_updates_slightly_too_fast_fall_behind_only_by_the_excess() -> None:
    news = [99.9 * number for number in range(100)]
    reported = moments(Throttle(), news, [0.9] * 100)
    assert all(later - at < 100 * 0.1 + 3 for later, at in zip(reported, news, strict=True))


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 50)), min_size=2, max_size=60))
def test_in_no_time_are_there_more_than_ten_a_second(steps: list[tuple[float, float]]) -> None:
    news, at = [], 0.0
    for step, _late in steps:
        at += step
        news.append(at)
    reported = moments(Throttle(), news, [late for _step, late in steps])
    for first, begun in enumerate(reported):
        for count, later in enumerate(reported[first:]):
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


def after(load: Load, wall: float, *, gui: float, tasks: float, given: float = 1.0) -> Load:
    """The load `wall` ms later, with shares of work; the thread gets `given` of a processor."""
    ran = wall * given
    return Load(
        load.wall + wall,
        load.ran + ran * (gui + tasks),
        load.tasks + wall * tasks,
        load.tasks_ran + ran * tasks,
    )


NONE = Load(0.0, 0.0, 0.0, 0.0)


def first_batch(throttle: Throttle, at: Load) -> None:
    assert not throttle.postpone(at)
    throttle.note_published(at.wall, at.wall + 1)


def published_at(throttle: Throttle, at: Load, *, gui: float, tasks: float) -> Load:
    """When the next batch is published, where a batch costs `gui` ms and callbacks the rest."""
    now = after(at, gui, gui=1.0, tasks=0.0)  # the window's work comes first
    while True:
        wait = throttle.due_at - now.wall
        now = after(now, max(0.0, wait), gui=0.0, tasks=tasks)
        if not throttle.postpone(now):
            throttle.note_published(now.wall, now.wall + 1)
            return now


@pytest.mark.parametrize("given", [1.0, 0.4])
def test_a_thread_without_pause_is_saturated_also_on_a_busy_machine(given: float) -> None:
    assert after(NONE, 100.0, gui=0.3, tasks=0.7, given=given).is_saturated
    assert not after(NONE, 100.0, gui=0.3, tasks=0.4, given=given).is_saturated


def test_the_window_alone_does_not_saturate_the_thread() -> None:
    """Nothing else waits for the end of a long drawing."""
    assert not after(NONE, 100.0, gui=1.0, tasks=0.0).is_saturated
    assert not after(NONE, 100.0, gui=0.8, tasks=0.2).is_saturated


def test_a_callback_that_waited_for_the_processor_does_not_saturate_the_thread() -> None:
    """As measured with ten ticks a second on a busy machine."""
    assert not Load(242.4, 85.7, 21.9, 7.4).is_saturated


def test_the_share_of_the_window_is_what_no_callback_did() -> None:
    assert after(NONE, 100.0, gui=0.2, tasks=0.6).gui_share == pytest.approx(0.25)


def test_the_first_batch_is_never_postponed() -> None:
    assert not Throttle().postpone(Load(5_000.0, 5_000.0, 3_000.0, 3_000.0))


@pytest.mark.parametrize("cost", [2.0, 20.0, 30.0])
def test_in_a_flood_batches_take_their_share_or_come_every_interval(cost: float) -> None:
    throttle = Throttle()
    first_batch(throttle, NONE)
    now = NONE
    for _ in range(50):
        now = published_at(throttle, now, gui=cost, tasks=1.0)
    each = now.wall / 50
    due = max(INTERVAL_MS, cost / GUI_SHARE)
    assert due <= each <= due + CHECKED_MS


def test_in_a_flood_a_batch_waits_for_no_longer_than_the_longest_interval() -> None:
    throttle = Throttle()
    first_batch(throttle, NONE)
    now = after(NONE, INTERVAL_MS, gui=0.6, tasks=0.4)
    while throttle.postpone(now):
        now = after(now, CHECKED_MS, gui=0.6, tasks=0.4)
    assert LONGEST_MS <= now.wall <= LONGEST_MS + CHECKED_MS


def test_costly_batches_come_every_interval_while_the_thread_has_time() -> None:
    throttle = Throttle()
    first_batch(throttle, NONE)
    now = NONE
    for _ in range(50):
        now = published_at(throttle, now, gui=60.0, tasks=0.3)
    assert now.wall == pytest.approx(50 * INTERVAL_MS)


def test_once_the_load_is_gone_the_next_batch_comes_within_a_moment() -> None:
    throttle = Throttle()
    first_batch(throttle, NONE)
    now = after(NONE, 100.0, gui=0.5, tasks=0.5)
    assert throttle.postpone(now)
    assert throttle.due_at == now.wall + CHECKED_MS
    assert not throttle.postpone(after(now, CHECKED_MS, gui=0.0, tasks=0.0))

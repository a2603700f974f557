"""Rate, ETA and the usual gap, by the rules of the project's protocol decisions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.tracker.estimate import LONGEST_ETA_S, Rates, eta
from tests.unit.tracker.story import Story

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable


def test_a_steady_job_has_its_exact_rate_and_time_left(story: Story) -> None:
    request = story.call()
    story.ticks(request, *range(0, 50, 10), total=100)
    job = story.job(request)
    assert job.rate == pytest.approx(10)
    assert job.eta_s == pytest.approx(6)


def test_nothing_is_said_before_three_ticks(story: Story) -> None:
    request = story.call()
    story.tick(request, 1, 100)
    story.now = 5
    story.tick(request, 2, 100)
    assert (story.job(request).rate, story.job(request).eta_s) == (None, None)
    story.now = 10
    story.tick(request, 3, 100)
    assert story.job(request).rate == pytest.approx(0.2)


def test_nothing_is_said_before_two_seconds(story: Story) -> None:
    request = story.call()
    for value in range(20):
        story.now = value / 10
        story.tick(request, value, 100)
    assert story.job(request).rate is None
    story.now = 2.0
    story.tick(request, 20, 100)
    assert story.job(request).rate == pytest.approx(10)


def test_ticks_that_came_all_at_once_have_no_rate(story: Story) -> None:
    request = story.call()
    story.tell(*(story.progress(request, value, 10) for value in (1, 2, 3, 4)))
    story.now = 3
    assert (story.job(request).rate, story.job(request).eta_s) == (None, None)


def test_a_resumed_job_starts_from_its_first_value(story: Story) -> None:
    request = story.call()
    story.now = 1
    story.ticks(request, 900, 901, 902, 903, total=1000)
    assert story.job(request).rate == pytest.approx(1)
    assert story.job(request).eta_s == pytest.approx(97)


@pytest.mark.parametrize(("before", "after"), [(1, 9), (9, 1)])
def test_the_rate_follows_a_change_of_speed(story: Story, before: int, after: int) -> None:
    request = story.call()
    story.ticks(request, *range(0, 60 * before, before))
    done, rates = 59 * before, []
    for _ in range(30):
        story.now += 1
        done += after
        story.tick(request, done)
        rates.append(story.job(request).rate or 0.0)
    assert rates == sorted(rates, reverse=after < before)
    # No jump at once, half of the way within 12 s, nearly all of it within the window.
    assert rates[0] == pytest.approx(before, abs=0.4)
    assert abs(rates[11] - before) > 4
    assert rates[-1] == pytest.approx(after, abs=0.4)


def test_the_window_is_thirty_seconds_when_ticks_are_dense() -> None:
    rates = Rates(0.0, 0.0, 1)
    for second in range(1, 101):
        rates.add(float(second), second * 2.0 if second <= 50 else 100.0 + (second - 50))
    # 30 s back all is at 1/s, and so is what smoothing remembers.
    assert rates.read(100.0, 150.0) == pytest.approx(1.0, rel=0.01)


def test_the_window_is_eight_ticks_when_they_are_sparse() -> None:
    rates = Rates(0.0, 0.0, 1)
    value = 0.0
    for place in range(1, 21):
        value += 100.0 if place <= 12 else 10.0
        rates.add(place * 60.0, value)
    # The eight newest ticks, far more than 30 s, are at 10 a minute.
    smoothed_alone = rates.read(1200.0, value)
    assert smoothed_alone is not None
    assert 10 / 60 < smoothed_alone < 20 / 60


def test_a_silent_jobs_rate_falls(story: Story) -> None:
    request = story.call()
    story.ticks(request, *range(0, 60, 10))
    rates = []
    for _ in range(5):
        rates.append(story.job(request).rate or 0.0)
        story.now += 3
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0] / 2


def test_the_rate_does_not_saw_between_ticks(story: Story) -> None:
    request = story.call()
    story.ticks(request, *range(0, 60, 10))
    story.now += 0.9
    assert story.job(request).rate == pytest.approx(10)
    story.now += 0.2
    assert story.job(request).rate == pytest.approx(10, rel=0.05)


def test_bursts_with_pauses_have_their_mean_rate(story: Story) -> None:
    request = story.call()
    value = 0
    for burst in range(8):
        story.now = burst * 5.0
        story.tell(*(story.progress(request, value + n) for n in range(1, 11)))
        value += 10
    for passed in (0.0, 2.0, 4.9):
        story.now = 35.0 + passed
        assert story.job(request).rate == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("bad", [50, 20, -1000])
def test_a_violating_tick_does_not_enter_the_rate(story: Story, bad: int) -> None:
    request = story.call()
    story.ticks(request, 10, 20, 30, 40, 50, total=200)
    before = story.job(request).rate
    story.tick(request, bad, 200)
    assert story.job(request).rate == before
    story.now += 1
    story.tick(request, 60, 200)
    assert story.job(request).rate == pytest.approx(10)
    assert story.job(request).eta_s == pytest.approx(14)


def test_a_tick_of_wrong_type_does_not_enter_the_rate(story: Story) -> None:
    request = story.call()
    story.ticks(request, 10, 20, 30, 40)
    story.tick(request, 9999, problems=('"message" is 5, not a string',))
    assert story.job(request).rate == pytest.approx(10)
    story.now += 3
    assert (story.job(request).rate or 99) < 10
    assert story.marks(request) == {"wrong-type": 1}


def test_after_a_fall_the_job_goes_on_from_there(story: Story) -> None:
    request = story.call()
    story.ticks(request, 100, 110, 120, 10, 20, 30, 40)
    assert story.job(request).rate == pytest.approx(10)


def test_a_changed_total_starts_the_rate_again(story: Story) -> None:
    request = story.call()
    story.ticks(request, 10, 20, 30, 40, total=100)
    story.now += 1
    story.tick(request, 50, 1000)
    assert (story.job(request).rate, story.job(request).eta_s) == (None, None)
    for value in (51, 52, 53):
        story.now += 1
        story.tick(request, value, 1000)
    assert story.job(request).rate == pytest.approx(1)


def test_a_total_that_comes_and_goes_keeps_the_rate(story: Story) -> None:
    request = story.call()
    story.ticks(request, 10, 20, 30, 40, total=100)
    story.now += 1
    story.tick(request, 50)
    assert story.job(request).rate == pytest.approx(10)
    assert story.job(request).eta_s is None
    story.now += 1
    story.tick(request, 60, 100)
    assert story.job(request).rate == pytest.approx(10)
    assert story.job(request).eta_s == pytest.approx(4)


def test_above_its_total_a_job_has_a_rate_but_no_time_left(story: Story) -> None:
    request = story.call()
    story.ticks(request, 80, 90, 100, 110, 120, total=100)
    assert story.job(request).rate == pytest.approx(10)
    assert story.job(request).eta_s is None


def test_a_single_spike_above_the_total_is_forgotten(story: Story) -> None:
    request = story.call()
    story.ticks(request, 1, 2, 7000, 3, 4, 5, 6, total=10)
    assert story.job(request).rate == pytest.approx(1)


def test_the_time_left_counts_down_on_the_clock(story: Story) -> None:
    request = story.call()
    story.ticks(request, 0, 1, 2, 3, total=100)
    assert story.job(request).eta_s == pytest.approx(97)
    story.now += 4.5
    assert story.job(request).eta_s == pytest.approx(92.5)


def test_the_time_left_freezes_when_the_job_stalls(story: Story) -> None:
    request = story.call()
    story.ticks(request, 0, 1, 2, 3, total=100)
    story.wait(10.5)
    frozen = story.job(request).eta_s
    assert frozen == pytest.approx(87)
    story.wait(30)
    assert story.job(request).eta_s == frozen


def test_a_time_left_that_ran_out_is_unknown_until_the_next_tick(story: Story) -> None:
    request = story.call()
    story.ticks(request, 4, 5, 6, 7, total=10)
    story.now += 2.9
    assert story.job(request).eta_s == pytest.approx(0.1)
    story.now += 0.2
    assert story.job(request).eta_s is None
    story.now += 60
    assert story.job(request).eta_s is None
    story.tick(request, 8, 10)
    assert story.job(request).eta_s is not None


def test_at_its_total_a_running_job_has_no_time_left(story: Story) -> None:
    request = story.call()
    story.ticks(request, 7, 8, 9, 10, total=10)
    assert story.job(request).eta_s == 0


def test_a_hundred_days_are_the_longest_time_left() -> None:
    assert eta(LONGEST_ETA_S, 1.0, 0.0) == LONGEST_ETA_S
    assert eta(LONGEST_ETA_S + 1, 1.0, 0.0) == math.inf
    assert eta(1.0, 0.0, 0.0) == math.inf
    assert eta(1e308, 1e-308, 0.0) == math.inf
    assert eta(5.0, None, 0.0) is None
    assert eta(0.0, None, 0.0) == 0.0


def test_an_ended_job_has_neither_rate_nor_time_left(story: Story) -> None:
    request = story.call()
    story.ticks(request, 1, 2, 3, 4, total=10)
    assert story.job(request).rate is not None
    story.reply(request)
    assert (story.job(request).rate, story.job(request).eta_s) == (None, None)


def test_a_clock_that_goes_back_is_passed_over(story: Story) -> None:
    request = story.call()
    story.ticks(request, 1, 2, 3, 4)
    story.now -= 10
    story.tick(request, 5)
    story.now += 12
    story.tick(request, 6)
    assert story.job(request).rate is not None


def _worst_estimates(
    deliveries: Iterable[tuple[float, float]], *, lasts: float, from_s: float
) -> tuple[float, float]:
    """The shortest and the longest estimate of a job that does 1 a second, of what is true.

    `deliveries` are the ticks: when each came, and the number it brought. Every tick and the
    moment before it is looked at once `from_s` have passed.
    """
    story = Story()
    request = story.call()
    shares: list[float] = []

    def look() -> None:
        left = story.job(request).eta_s
        if story.now >= from_s:
            assert left is not None
            shares.append(left / (lasts - story.now))

    for at, done in deliveries:
        story.now = math.nextafter(at, 0)
        look()
        story.now = at
        story.tick(request, done, lasts)
        look()
    return min(shares), max(shares)


_LASTS = 150.0
_WATCHED = 45.0


@given(st.randoms(use_true_random=True), st.floats(0.02, 1), st.floats(0, 1))
def test_ticks_that_come_late_leave_the_time_left_of_a_steady_job(
    chance: random.Random, gap: float, late_s: float
) -> None:
    """As over a network: each tick is under way for its own time, up to a second, in order."""
    at, deliveries = 0.0, []
    for tick in range(1, int(_WATCHED / gap)):
        at = max(math.nextafter(at, math.inf), tick * gap + chance.uniform(0, late_s))
        deliveries.append((at, tick * gap))
    shortest, longest = _worst_estimates(deliveries, lasts=_LASTS, from_s=20)
    assert shortest > 0.9
    assert longest < 1.1


@given(st.floats(0.1, 2), st.integers(1, 30), st.floats(0, 0.5))
def test_ticks_that_come_in_bursts_leave_the_time_left_of_a_steady_job(
    pause: float, count: int, share: float
) -> None:
    """As from a buffer: it is emptied every `pause`, which takes a `share` of that time."""
    deliveries = []
    for burst in range(1, int(_WATCHED / pause)):
        for place in range(count):
            at = burst * pause + share * pause * place / count
            deliveries.append((at + place * 1e-6, (burst - 1 + (place + 1) / count) * pause))
    shortest, longest = _worst_estimates(deliveries, lasts=_LASTS, from_s=20)
    assert shortest > 0.9
    assert longest < 1.1


@given(st.randoms(use_true_random=True), st.floats(0.02, 0.1))
def test_a_steady_download_in_chunks_of_uneven_size_keeps_its_time_left(
    chance: random.Random, gap: float
) -> None:
    """As of a file over HTTP: chunks of all sizes, read up to a fifth of a second late."""
    at, done, deliveries = 0.0, 0.0, []
    while at < _WATCHED:
        size = chance.uniform(0.2, 1.8) * gap
        done += size
        at = max(math.nextafter(at, math.inf), done + chance.uniform(0, 0.2))
        deliveries.append((at, done))
    shortest, longest = _worst_estimates(deliveries, lasts=_LASTS, from_s=10)
    assert shortest > 0.9
    assert longest < 1.1


@given(st.floats(1e-6, 1e6), st.floats(0.06, 3600), st.integers(40, 60))
def test_any_steady_job_has_its_rate(rate: float, gap: float, ticks: int) -> None:
    rates = Rates(0.0, 0.0, 1)
    for place in range(1, ticks):
        rates.add(place * gap, place * gap * rate)
    end = (ticks - 1) * gap
    assert rates.is_known(end, ticks)
    assert rates.read(end, end * rate) == pytest.approx(rate)


@given(
    st.lists(st.tuples(st.floats(-10, 100), st.floats(allow_nan=False)), max_size=50),
    st.floats(-100, 1e9),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_rate_is_finite_or_unknown(
    samples: list[tuple[float, float]], now: float, value: float
) -> None:
    rates = Rates(0.0, 0.0, 1)
    for gap, sample in samples:
        rates.add(rates.at + gap, sample)
    if rates.is_known(now, 100):
        rate = rates.read(now, value)
        assert rate is None or math.isfinite(rate)

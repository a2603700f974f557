"""Rate, ETA and the usual gap, by the rules of the project's protocol decisions."""

import math
import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.tracker.estimate import (
    LONGEST_ETA_S,
    SURE,
    Pace,
    Rates,
    TimeLeft,
    time_left,
)
from tests.unit.tracker.story import Story


def test_a_steady_job_has_its_exact_rate_and_time_left(story: Story) -> None:
    request = story.call()
    story.ticks(request, *range(0, 50, 10), total=100)
    job = story.job(request)
    assert job.rate == pytest.approx(10)
    assert job.eta_s == pytest.approx(6)


def test_nothing_is_reported_before_three_ticks(story: Story) -> None:
    request = story.call()
    story.tick(request, 1, 100)
    story.now = 5
    story.tick(request, 2, 100)
    assert (story.job(request).rate, story.job(request).eta_s) == (None, None)
    story.now = 10
    story.tick(request, 3, 100)
    assert story.job(request).rate == pytest.approx(0.2)


def test_nothing_is_reported_before_two_seconds(story: Story) -> None:
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
    assert rates[:10] == sorted(rates[:10], reverse=after < before)
    # No jump with the first tick, which may be a leap, and all of the way within ten seconds.
    assert rates[0] == pytest.approx(before, abs=1)
    assert rates[9:] == pytest.approx([after] * 21, rel=0.03)


def test_a_pace_that_ended_is_forgotten_when_ticks_are_dense() -> None:
    rates = Rates(0.0, 0.0, 1)
    for second in range(1, 101):
        rates.add(float(second), second * 2.0 if second <= 50 else 100.0 + (second - 50))
    assert rates.read(100.0) == pytest.approx(1.0, rel=0.01)


def test_the_window_is_so_many_ticks_when_they_are_sparse() -> None:
    rates = Rates(0.0, 0.0, 1)
    value = 0.0
    for place in range(1, 21):
        value += 100.0 if place <= 12 else 10.0
        rates.add(place * 60.0, value)
    # The eight newest ticks are at 10 a minute.
    assert rates.read(1200.0) == pytest.approx(10 / 60)


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
    story.tick(request, 9999, violations=('"message" is 5, not a string',))
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


def test_a_time_left_that_ran_out_is_unknown_until_the_job_ticks_again(story: Story) -> None:
    request = story.call()
    story.ticks(request, 4, 5, 6, 7, total=10)
    story.now += 2.9
    assert story.job(request).eta_s == pytest.approx(0.1)
    story.now += 0.2
    assert story.job(request).eta_s is None
    story.wait(60)
    assert story.job(request).eta_s is None
    for value in (8, 8.5, 9):
        assert story.job(request).eta_s is None
        story.now += 1
        story.tick(request, value, 10)
    assert story.job(request).eta_s == pytest.approx(2)


def test_at_its_total_a_running_job_has_no_time_left(story: Story) -> None:
    request = story.call()
    story.ticks(request, 7, 8, 9, 10, total=10)
    assert story.job(request).eta_s == 0


def test_a_hundred_days_are_the_longest_time_left() -> None:
    def left(remaining: float, rate: float) -> float | None:
        return time_left(remaining, Pace(rate, 0.0, 1.0, 60.0), 0.0).best_s

    assert left(LONGEST_ETA_S, 1.0) == LONGEST_ETA_S
    assert left(LONGEST_ETA_S + 1, 1.0) == math.inf
    assert left(1e308, 1e-308) == math.inf
    assert time_left(5.0, None, 0.0) == TimeLeft(None)
    assert time_left(0.0, None, 0.0) == TimeLeft(0.0)


def test_a_doubtful_time_left_is_an_interval() -> None:
    best, span = time_left(100.0, Pace(1.0, 0.25, 1.0, 10.0), 20.0)
    assert best == pytest.approx(80)
    assert span == pytest.approx((60, 100 / 0.75 - 20))
    assert time_left(100.0, Pace(1.0, SURE, 1.0, 60.0), 20.0) == TimeLeft(80.0)
    assert time_left(100.0, Pace(1.0, 0.9, 1.0, 2.0), 0.0) == TimeLeft(None)
    _, late = time_left(100.0, Pace(1.0, 0.25, 1.0, 10.0), 90.0)
    assert late == pytest.approx((0, 100 / 0.75 - 90))


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


def _estimates(
    deliveries: Iterable[tuple[float, float]], *, total: float, from_s: float
) -> list[tuple[float, TimeLeft]]:
    """The time left from `from_s` on: at ticks, and at the moment before, some five a second.

    `deliveries` are the ticks: when each came, and the number it brought.
    """
    story = Story()
    request = story.call()
    seen: list[tuple[float, TimeLeft]] = []

    def look() -> None:
        job = story.job(request)
        if story.now >= from_s:
            seen.append((story.now, TimeLeft(job.eta_s, job.eta_span_s)))

    looked_at = 0.0
    for at, done in deliveries:
        is_due = at - looked_at > 0.2
        looked_at = at if is_due else looked_at
        story.now = math.nextafter(at, 0)
        if is_due:
            look()
        story.now = at
        story.tick(request, done, total)
        if is_due:
            look()
    return seen


_LASTS = 150.0
_WATCHED = 50.0


def _worst(deliveries: Iterable[tuple[float, float]]) -> float:
    """By what share the time left of a job that does 1 a second is wrong at the worst."""
    shares = []
    for at, left in _estimates(deliveries, total=_LASTS, from_s=20):
        assert left.best_s is not None
        shares.append(abs(left.best_s / (_LASTS - at) - 1))
    return max(shares)


@given(st.randoms(use_true_random=True), st.floats(0.02, 1), st.floats(0, 1))
def test_ticks_that_come_late_leave_the_time_left_of_a_steady_job(
    chance: random.Random, gap: float, late_s: float
) -> None:
    """As over a network: each tick is under way for its own time, up to a second, in order."""
    at, deliveries = 0.0, []
    for tick in range(1, int(_WATCHED / gap)):
        at = max(math.nextafter(at, math.inf), tick * gap + chance.uniform(0, late_s))
        deliveries.append((at, tick * gap))
    assert _worst(deliveries) < 0.05


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
    assert _worst(deliveries) < 0.05


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
    assert _worst(deliveries) < 0.05


@given(
    st.randoms(use_true_random=True),
    st.sampled_from([0.1, 0.2, 0.5, 1.8, 3.0, 10.0]),
    st.floats(0.02, 0.8),
)
def test_another_pace_is_known_within_ten_seconds(
    chance: random.Random, factor: float, gap: float
) -> None:
    """After a minute at 1 a second; ticks come up to half a second late."""
    at, done, deliveries = 0.0, 0.0, []
    while at < 70:
        at += gap
        done += gap * (factor if at > 60 else 1)
        deliveries.append((at + chance.uniform(0, min(gap, 0.5)), done))
    (*_, (_, left)) = _estimates(deliveries, total=done + 100 * factor, from_s=69)
    assert left.best_s == pytest.approx(100, rel=0.2)


@given(
    st.lists(st.tuples(st.floats(0.001, 20), st.floats(0, 1000)), min_size=1, max_size=60),
    st.floats(1, 1e6),
)
def test_no_time_left_is_negative_or_made_of_one_sample(
    steps: list[tuple[float, float]], more: float
) -> None:
    at, done, deliveries = 0.0, 0.0, []
    for passed, gained in steps:
        at, done = at + passed, done + gained
        deliveries.append((at, done))
    seen = _estimates(deliveries, total=done + more, from_s=0)
    for now, left in seen:
        count = sum(when <= now for when, _ in deliveries)
        assert left.best_s is None or (left.best_s >= 0 and count > 1)
        if left.span_s is not None:
            low, high = left.span_s
            assert left.best_s is not None
            assert 0 <= low <= left.best_s <= high


def test_a_young_job_has_an_interval_that_holds() -> None:
    """Until it is old enough for its uneven ticks to say more."""
    spans: list[bool] = []
    for seed in range(20):
        chance = random.Random(seed)  # noqa: S311 - the same jobs each time
        deliveries = [(piece + chance.uniform(-0.45, 0.45), piece) for piece in range(1, 41)]
        seen = _estimates(deliveries, total=200, from_s=4)
        reported = [(at, span) for at, (_, span) in seen if span is not None]
        spans += [span[0] <= 200 - at <= span[1] for at, span in reported]
        assert reported[0][0] < 12
        assert seen[-1][1].span_s is None
    assert spans.count(True) > 0.95 * len(spans)


@given(st.floats(1e-6, 1e6), st.floats(0.06, 3600), st.integers(40, 60))
def test_any_steady_job_has_its_rate(rate: float, gap: float, ticks: int) -> None:
    rates = Rates(0.0, 0.0, 1)
    for place in range(1, ticks):
        rates.add(place * gap, place * gap * rate)
    end = (ticks - 1) * gap
    assert rates.is_known(end, ticks)
    assert rates.read(end) == pytest.approx(rate)


@given(
    st.lists(st.tuples(st.floats(-10, 100), st.floats(allow_nan=False)), max_size=50),
    st.floats(-100, 1e9),
)
def test_a_rate_is_finite_or_unknown(samples: list[tuple[float, float]], now: float) -> None:
    rates = Rates(0.0, 0.0, 1)
    for gap, sample in samples:
        rates.add(rates.at + gap, sample)
    if rates.is_known(now, 100):
        rate = rates.read(now)
        assert rate is None or math.isfinite(rate)


def test_recent_rates_are_shares_of_the_highest() -> None:
    rates = Rates(0.0, 0.0, 1)
    value = 0.0
    for second in range(1, 41):
        value += 4.0 if second <= 20 else 1.0
        rates.add(float(second), value)
    recent = rates.recent()
    assert recent == pytest.approx([1.0] * 5 + [0.25] * 10)


def test_a_short_course_has_no_recent_rates() -> None:
    rates = Rates(0.0, 0.0, 1)
    assert rates.recent() == ()
    rates.add(1.0, 5.0)
    rates.add(1.6, 6.0)
    assert rates.recent() == ()


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0, 1e300)), min_size=1, max_size=40))
def test_recent_rates_are_between_nothing_and_all(steps: list[tuple[float, float]]) -> None:
    rates, at, value = Rates(0.0, 0.0, 1), 0.0, 0.0
    for passed, gained in steps:
        at, value = at + passed, value + gained
        rates.add(at, value)
    assert all(0 <= share <= 1 for share in rates.recent())

"""The attempts of one job: ticks, rates, pauses and the list of them."""

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.tracker.attempts import resumable, resumed
from tests.unit.tracker.story import Story


def test_a_late_tick_of_an_earlier_attempt_moves_nothing() -> None:
    story = Story()
    first = resumable(story)
    second = resumed(story)
    story.tick(second, 50, 100)
    story.tick(first, 45, 100)
    job = story.job(second)
    assert (job.progress, job.late_count, job.tick_count) == (50, 1, 3)


def test_progress_may_begin_where_it_stood_or_again() -> None:
    story = Story()
    resumable(story)
    for token, value in (("t1", 40), ("t2", 3)):
        request = resumed(story, token)
        story.tick(request, value, 50)
        assert story.marks(request) == {}
        assert story.job(request).progress == value
        story.reply(request, token=f"t{int(token[1]) + 1}")


def test_equal_progress_within_an_attempt_is_still_a_violation() -> None:
    story = Story()
    resumable(story)
    request = resumed(story)
    story.tick(request, 50, 100)
    story.tick(request, 50, 100)
    assert story.marks(request) == {rules.NOT_INCREASING.kind: 1}


def test_rate_and_time_left_start_from_the_first_value_of_the_attempt() -> None:
    story = Story()
    first = story.call()
    story.ticks(first, *range(0, 50, 10), total=1000)
    story.reply(first, token="t1")
    request = resumed(story)
    assert story.job(request).rate is None
    story.ticks(request, 50, 52, 54, 56, total=1000)
    job = story.job(request)
    assert job.rate == pytest.approx(2)
    assert job.eta_s == pytest.approx((1000 - 56) / 2)


def test_the_pause_between_attempts_is_neither_work_nor_a_stall() -> None:
    story = Story()
    resumable(story)
    assert story.job(101).elapsed_s == 1
    request = resumed(story)
    assert story.wait(5).moved == frozenset()
    job = story.job(request)
    assert job.elapsed_s == 6
    assert job.silent_s == 5
    story.tick(request, 50, 100)
    story.wait(9)
    story.tick(request, 51, 100)
    assert story.job(request).stall_after_s == 45
    story.wait(46)
    assert story.job(request).state is JobState.STALLED


def test_ticks_chart_and_phases_go_on_over_the_attempts() -> None:
    story = Story()
    resumable(story)
    request = resumed(story)
    story.tick(request, 60, 100, "second half")
    detail = story.detail(request)
    assert [tick.progress for tick in detail.ticks] == [40, 60]
    assert [point.last for point in detail.chart] == [40, 60]
    assert [phase.message for phase in detail.phases] == ["first half", "second half"]


def test_a_long_chain_stays_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.tracker.chain.ATTEMPTS_KEPT", 5)
    story = Story()
    first = resumable(story, newest="t")
    requests = []
    for _ in range(20):
        requests.append(resumed(story, "t"))
        story.reply(requests[-1], token="t")
    assert [a.number for a in story.detail(requests[-1]).attempts] == [17, 18, 19, 20, 21]
    assert story.job(requests[-1]).attempt_count == 21
    assert story.tracker.job_of(requests[0]) is None
    assert story.tracker.job_of(requests[-3]) == 1
    assert story.tracker.chains.size == 1
    story.tracker.chains.forget([1])
    assert [story.tracker.job_of(request) for request in (first, *requests)] == [None] * 21


def test_attempts_are_reported_in_order_with_what_came_of_them() -> None:
    story = Story()
    first = resumable(story)
    second = resumed(story)
    story.tick(second, 60, 100)
    story.tick(second, 70, 100)
    running = story.detail(second).attempts
    assert [a.outcome for a in running] == [JobState.RESUMABLE, JobState.RUNNING]
    story.now += 5
    story.reply(second, error={"code": -32603, "message": "gone away"})
    one, two = story.detail(second).attempts
    assert (one.number, one.request, one.tick_count, one.outcome) == (
        1, first, 1, JobState.RESUMABLE,
    )  # fmt: skip
    assert (two.number, two.request, two.tick_count, two.outcome) == (
        2, second, 2, JobState.FAILED,
    )  # fmt: skip
    assert two.detail == "gone away"
    assert two.ended_when == two.started_when + 5

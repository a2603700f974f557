"""What a tick does to its job: exact numbers, marks for what is irregular, stalls, history."""

import pytest

from mcp_progress_monitor.tracker.job import TICKS_KEPT
from mcp_progress_monitor.tracker.rows import FRESH_KEPT
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.tracker.story import Story


def test_a_job_without_a_tick_knows_nothing(story: Story) -> None:
    job = story.job(story.call())
    known = (job.progress, job.total, job.fraction, job.message, job.rate, job.eta_s)
    assert known == (None,) * 6
    assert (job.last_tick_at, job.stall_after_s, job.tick_count) == (None, None, 0)


@pytest.mark.requirement("FR-9")
@pytest.mark.parametrize(
    ("progress", "total", "fraction"),
    [(0.2, 1.0, 0.2), (632, 1000, 0.632), (0.5, 2, 0.25), (3, 1.5e1, 0.2), (0, 4, 0.0)],
)
def test_numbers_are_kept_as_received(
    story: Story, progress: float, total: float, fraction: float
) -> None:
    request = story.call()
    story.tick(request, progress, total)
    job = story.job(request)
    assert (repr(job.progress), repr(job.total)) == (repr(progress), repr(total))
    assert job.fraction == pytest.approx(fraction)
    assert job.marks == ()


def test_without_a_total_the_bar_is_busy(story: Story) -> None:
    request = story.call()
    story.ticks(request, 1, 4812)
    job = story.job(request)
    assert (job.progress, job.total, job.fraction, job.marks) == (4812, None, None, ())


def test_a_total_that_becomes_known_fills_the_bar_without_a_mark(story: Story) -> None:
    request = story.call()
    story.tick(request, 1)
    story.tick(request, 2, 8)
    assert story.job(request).fraction == 0.25
    assert story.marks(request) == {}


def test_a_total_that_goes_missing_is_marked_and_the_bar_turns_busy(story: Story) -> None:
    request = story.call()
    story.tick(request, 1, 8)
    story.tick(request, 2)
    assert story.job(request).fraction is None
    assert story.marks(request) == {"total-changed": 1}


def test_a_changed_total_is_marked_and_shown(story: Story) -> None:
    request = story.call()
    story.tick(request, 1, 8)
    story.tick(request, 2, 16)
    assert (story.job(request).total, story.job(request).fraction) == (16, 0.125)
    assert story.marks(request) == {"total-changed": 1}
    assert story.job(request).marks[0].text == "Total changed: 16 after 8"


@pytest.mark.parametrize("total", [0, -5, 0.0])
def test_a_total_that_is_not_positive_is_marked_and_the_bar_busy(
    story: Story, total: float
) -> None:
    request = story.call()
    story.tick(request, 1, total)
    story.tick(request, 2, total)
    assert (story.job(request).progress, story.job(request).fraction) == (2, None)
    assert story.marks(request) == {"total-not-positive": 2}


def test_above_its_total_by_a_float_hair_is_all_of_it(story: Story) -> None:
    request = story.call()
    story.tick(request, 0.1 + 0.2, 0.3)
    assert story.job(request).fraction == 1.0
    assert story.marks(request) == {}


@pytest.mark.parametrize(("progress", "total"), [(101, 100), (1.01, 1.0), (1001, 1000)])
def test_clearly_above_its_total_is_marked_and_the_bar_busy(
    story: Story, progress: float, total: float
) -> None:
    request = story.call()
    story.tick(request, progress, total)
    assert (story.job(request).progress, story.job(request).fraction) == (progress, None)
    assert story.marks(request) == {"above-total": 1}


@pytest.mark.requirement("FR-10")
@pytest.mark.requirement("UT-3")
def test_decreasing_progress_is_marked_and_shown(story: Story) -> None:
    request = story.call()
    story.ticks(request, 50, 40, total=100)
    assert story.job(request).progress == 40
    (mark,) = story.job(request).marks
    assert (mark.key, mark.text) == ("not-increasing", "Progress did not increase: 40 after 50")


@pytest.mark.requirement("FR-10")
def test_equal_progress_is_a_violation(story: Story) -> None:
    request = story.call()
    story.ticks(request, 5, 5, 5.0, total=10)
    assert story.marks(request) == {"not-increasing": 2}


def test_progress_is_compared_with_the_tick_before_it(story: Story) -> None:
    request = story.call()
    story.ticks(request, 50, 10, 11, 12, total=100)
    assert story.marks(request) == {"not-increasing": 1}


def test_a_mark_keeps_its_first_words_and_frame(story: Story) -> None:
    request = story.call()
    story.tick(request, 5)
    first = story.progress(request, 4)
    story.tell(first)
    story.tick(request, 3)
    (mark,) = story.job(request).marks
    assert (mark.first, mark.count) == (first.number, 2)
    assert mark.text == "Progress did not increase: 4 after 5"


def test_a_tick_of_wrong_type_counts_and_changes_no_number(story: Story) -> None:
    request = story.call()
    story.tick(request, 5, 10, "half")
    story.tick(request, None, None, violations=('"progress" is "6", not a finite number',))
    job = story.job(request)
    assert (job.progress, job.total, job.message, job.tick_count) == (5, 10, "half", 2)
    assert story.marks(request) == {"wrong-type": 1}
    assert job.marks[0].text == '"progress" is "6", not a finite number'


def test_a_tick_whose_message_cannot_be_read_still_shows_its_number(story: Story) -> None:
    request = story.call()
    story.tick(request, 5, 10, "half")
    story.tick(request, 6, 10, None, violations=('"message" is 5, not a string',))
    assert (story.job(request).progress, story.job(request).message) == (6, "half")


def test_a_tick_after_the_end_is_kept_as_late(story: Story) -> None:
    request = story.call()
    story.tick(request, 5, 10)
    story.reply(request)
    story.now += 0.25
    changes = story.tick(request, 6, 10)
    job = story.job(request)
    assert (job.state, job.progress, job.tick_count, job.late_count) == (JobState.DONE, 5, 2, 1)
    assert changes.ticks[0][:2] == (job.id, 2)
    assert changes.progressed == {job.id}
    mark = job.marks[0]
    assert mark.key == "after-end"
    assert mark.text == "Progress received 250 ms after the job ended (Done)"
    assert story.detail(request).ticks[-1].progress == 6


def test_a_tick_after_a_cancel_is_marked_and_still_shown(story: Story) -> None:
    request = story.call()
    story.tick(request, 5, 10)
    story.cancel(request)
    story.tick(request, 6, 10)
    assert (story.job(request).progress, story.job(request).late_count) == (6, 1)
    assert story.marks(request) == {"after-cancel": 1}
    story.reply(request, error={"code": 1, "message": "stopped"})
    story.tick(request, 7, 10)
    assert story.job(request).progress == 6
    assert story.marks(request) == {"after-cancel": 2}


def test_a_tick_after_a_timeout_has_a_mark_of_its_own(story: Story) -> None:
    request = story.call()
    story.time_out(request)
    story.tick(request, 1)
    assert story.marks(request) == {"after-timeout": 1}


def test_a_job_stalls_after_ten_silent_seconds(story: Story) -> None:
    request = story.call()
    story.ticks(request, 1, 2, 3, total=10)
    assert story.wait(10.0).moved == frozenset()
    assert story.wait(0.1).moved == {story.job(request).id}
    assert story.job(request).state is JobState.STALLED
    assert story.job(request).silent_s == pytest.approx(10.1)
    assert story.wait(60).moved == frozenset()


def test_a_slow_job_stalls_after_five_of_its_usual_gaps(story: Story) -> None:
    request = story.call()
    for value in range(1, 6):
        story.now += 20
        story.tick(request, value, 10)
    assert story.job(request).stall_after_s == 100
    story.wait(100)
    assert story.job(request).state is JobState.RUNNING
    story.wait(0.1)
    assert story.job(request).state is JobState.STALLED


def test_one_long_gap_does_not_change_the_usual_one(story: Story) -> None:
    request = story.call()
    story.ticks(request, 1, 2, 3, 4)
    story.now += 500
    story.tick(request, 5)
    assert story.job(request).stall_after_s == 10


@pytest.mark.parametrize("value", [4, 2])
def test_any_tick_ends_a_stall(story: Story, value: int) -> None:
    request = story.call()
    story.ticks(request, 1, 2, 3, total=10)
    story.wait(11)
    changes = story.tick(request, value, 10)
    assert story.job(request).state is JobState.RUNNING
    assert changes.moved == {story.job(request).id}


def test_a_tick_of_wrong_type_ends_a_stall(story: Story) -> None:
    request = story.call()
    story.tick(request, 1)
    story.wait(11)
    assert story.job(request).state is JobState.STALLED
    story.tick(request, None, violations=("wrong",))
    assert story.job(request).state is JobState.RUNNING


def test_a_tick_read_before_the_stall_but_told_after_it_ends_it(story: Story) -> None:
    request = story.call()
    story.tick(request, 1, 10)
    story.wait(11)
    story.now = 0.03
    story.tick(request, 2, 10)
    assert story.job(request).state is JobState.RUNNING


def test_a_job_that_never_ticked_is_silent_but_not_stalled(story: Story) -> None:
    request = story.call()
    story.wait(3600)
    assert story.job(request).state is JobState.RUNNING
    assert story.job(request).silent_s == 3600


def test_the_newest_message_stays_until_there_is_another(story: Story) -> None:
    request = story.call()
    story.tick(request, 1, 3, "one")
    story.tick(request, 2, 3)
    assert story.job(request).message == "one"
    story.tick(request, 3, 3, "three")
    assert story.job(request).message == "three"


def test_the_tick_history_is_bounded_and_keeps_the_newest(story: Story) -> None:
    request = story.call()
    story.tell(*(story.progress(request, value) for value in range(1, TICKS_KEPT + 51)))
    ticks = story.detail(request).ticks
    assert len(ticks) == TICKS_KEPT
    assert (ticks[0].progress, ticks[-1].progress) == (51, TICKS_KEPT + 50)
    assert story.job(request).tick_count == TICKS_KEPT + 50


def test_the_chart_reaches_the_newest_tick_of_a_flood(story: Story) -> None:
    request = story.call()
    story.tell(*(story.progress(request, value) for value in range(1, 1001)))
    chart = story.detail(request).chart
    assert (chart[0].low, chart[-1].high, chart[-1].last) == (1, 1000, 1000)


def test_the_chart_keeps_a_peak_between_two_samples(story: Story) -> None:
    request = story.call()
    values = (1, 2, 900, 3, 4)
    story.tell(*(story.progress(request, value) for value in values))
    chart = story.detail(request).chart
    assert max(point.high for point in chart) == 900
    assert chart[-1].last == 4


def test_late_ticks_are_not_drawn(story: Story) -> None:
    request = story.call()
    story.tick(request, 5)
    story.reply(request)
    story.tick(request, 900)
    assert story.detail(request).chart[-1].last == 5


def test_phases_follow_the_message_and_ignore_its_numbers(story: Story) -> None:
    request = story.call()
    for value, message in enumerate(("Load 1 of 2", "Load 2 of 2", "Sort 1 of 1", None), 1):
        story.tick(request, value, 4, message)
        story.now += 1
    story.reply(request)
    assert story.detail(request).phases == [
        ("Load … of 2", 0.0, 2.0, 2),
        ("Sort 1 of 1", 2.0, 4.0, 2),
    ]


def test_a_phase_hidden_in_a_flood_is_found_by_the_end(story: Story) -> None:
    request = story.call()
    flood = [story.progress(request, n, None, f"{chr(97 + n % 26)} {n}") for n in range(1, 451)]
    flood.append(story.progress(request, 451, None, "Writing"))
    story.tell(*flood)
    story.reply(request)
    phases = story.detail(request).phases
    assert phases[-1].message == "Writing"
    assert len(phases) <= 66, "a chunk of ticks is compared a bounded number of times"
    assert sum(phase.tick_count for phase in phases) == 451


def test_a_job_without_progress_has_an_empty_story(story: Story) -> None:
    detail = story.detail(story.call())
    assert (detail.ticks, detail.chart, list(detail.phases), detail.answer) == ((), [], [], None)
    assert detail.params == {"name": "export", "arguments": {"rows": 3}}


def test_older_ended_jobs_keep_the_outline_of_their_course() -> None:
    story = Story(Tracker())
    request = story.call()
    for value in range(1, 1200):
        story.now += 1
        story.tick(request, value, 2000, f"phase {chr(97 + value % 26)}")
    story.reply(request)
    before = story.detail(request)
    for _ in range(FRESH_KEPT):
        story.reply(story.call())
    after = story.detail(request)
    assert len(before.ticks) == TICKS_KEPT
    assert len(after.ticks) == 16
    assert len(after.chart) <= 128 < len(before.chart)
    assert (after.chart[0].low, after.chart[-1].last) == (1, 1199)
    assert len(after.phases) == 32
    assert after.dropped_phases == before.dropped_phases + len(before.phases) - 32
    assert after.snapshot.tick_count == 1199


@pytest.mark.parametrize("huge", [10**400, -(10**400), 1.7e308, 10**5000], ids=["a", "b", "c", "d"])
def test_numbers_beyond_a_float_are_shown_and_drawn(story: Story, huge: float) -> None:
    request = story.call()
    story.ticks(request, 1, huge, 2, huge, total=huge)
    assert story.job(request).progress == huge
    assert story.detail(request).chart[-1].last == pytest.approx(_float_end(huge))
    story.wait(5)
    assert story.job(request).state is JobState.RUNNING


def _float_end(value: float) -> float:
    """The float that stands for a number beyond their range."""
    limit = 1.7976931348623157e308
    return max(min(value, limit), -limit)

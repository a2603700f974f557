"""Pictures are frozen moments of a job."""

import pytest

from mcp_progress_monitor.findings.finding import joined
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.tracker.story import Story


def test_a_snapshot_does_not_change_with_its_job(story: Story) -> None:
    request = story.call()
    story.tick(request, 1, 10, "one")
    before, story_before = story.job(request), story.detail(request)
    story.now = 3
    story.tick(request, 2, 10, "two")
    story.reply(request)
    assert (before.progress, before.message, before.state) == (1, "one", JobState.RUNNING)
    assert (len(story_before.ticks), len(story_before.chart)) == (1, 1)
    with pytest.raises(AttributeError):
        before.progress = 5  # type: ignore[misc]


def test_time_passes_for_a_running_job_only(story: Story) -> None:
    request = story.call()
    story.now = 2
    story.tick(request, 1)
    story.now = 7
    assert (story.job(request).elapsed_s, story.job(request).silent_s) == (7, 5)
    story.reply(request)
    story.now = 100
    assert (story.job(request).elapsed_s, story.job(request).silent_s) == (7, 5)


def test_a_moment_before_the_start_is_no_negative_time(story: Story) -> None:
    story.now = 5
    request = story.call()
    story.now = 1
    assert (story.job(request).elapsed_s, story.job(request).silent_s) == (0, 0)


def test_looking_at_the_chart_does_not_change_it(story: Story) -> None:
    request = story.call()
    story.tell(*(story.progress(request, value) for value in range(1, 100)))
    assert story.detail(request).chart == story.detail(request).chart


def test_each_tick_that_breaks_a_rule_says_so_in_the_picture(story: Story) -> None:
    request = story.call()
    story.tick(request, 5, 10)
    story.tick(request, 5, 10)
    story.tick(request, 3, 10)
    story.tick(request, 12, 10)
    story.tick(request, 6, 20)
    story.tick(request, None, 20, violations=("progress is a string",))
    story.reply(request)
    story.now = 2
    story.tick(request, 7, 20)
    detail = story.detail(request)
    assert [joined(detail.marked.get(tick.number, ())) for tick in detail.ticks] == [
        "",
        "Progress did not increase: 5 after 5",
        "Progress did not increase: 3 after 5",
        "Progress exceeds its total: 12 of 10",
        "Total changed: 20 after 10; Progress did not increase: 6 after 12",
        "progress is a string",
        "Progress received 2.0 s after the job ended (Done)",
    ]

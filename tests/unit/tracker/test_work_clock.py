"""A job's own clock counts work, and stands still between attempts."""

from mcp_progress_monitor.exports.html.sections import chart
from mcp_progress_monitor.tracker.work_clock import WorkClock
from tests.job_stand_ins import detail, job
from tests.unit.tracker.attempts import resumable, resumed
from tests.unit.tracker.story import Story


def test_each_time_of_a_job_without_pauses_is_counted_from_its_start() -> None:
    clock = WorkClock(detail(job(started_at=100.0)))
    assert [clock.worked_s(at) for at in (99.0, 100.0, 107.5)] == [0.0, 0.0, 7.5]
    assert clock.seams == []


def test_pauses_take_no_time_and_are_seams() -> None:
    pauses = ((110.0, 200.0), (205.0, 300.0))
    clock = WorkClock(detail(job(started_at=100.0), pauses=pauses))
    assert clock.seams == [10.0, 15.0]
    times = (109.0, 110.0, 150.0, 200.0, 201.0, 205.0, 250.0, 300.0, 310.0)
    assert [clock.worked_s(at) for at in times] == [9, 10, 10, 10, 11, 15, 15, 15, 25]


def test_chart_and_phases_of_a_resumed_job_have_the_time_of_its_header() -> None:
    story = Story()
    resumable(story)
    request = resumed(story)  # after a pause of 100 s
    for value in (50, 60, 70):
        story.now += 2
        story.tick(request, value, 100, "second half")
    story.now += 1
    found = story.tracker.detail(story.job(request).id, story.now)
    assert found is not None
    assert found.snapshot.elapsed_s == 8
    clock = WorkClock(found)
    assert [point.at for point in clock.points()] == [0, 3, 5, 7]
    assert clock.seams == [1]
    assert [clock.length_s(phase) for phase in found.phases] == [3, 5]
    assert "in 8.0 s" in chart(found, "good")
    assert 'class="seam"' in chart(found, "good")

"""The rows of the job list stay within their bounds."""

from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.tracker.story import Story


def test_the_oldest_ended_jobs_go_when_there_are_too_many() -> None:
    story = Story(Tracker(RowLimits(ended=3)))
    running = story.call("r")
    removed = [job for _ in range(5) for job in story.reply(story.call()).removed]
    assert removed == [2, 3]
    assert story.tracker.jobs() == (1, 4, 5, 6)
    assert story.job(running).state is JobState.RUNNING
    assert story.tracker.dropped_count == 2


def test_large_replies_are_bounded_together_and_the_newest_stays() -> None:
    story = Story(Tracker(RowLimits(bytes=1000)))
    sizes = [400, 500, 400, 5000, 10]
    removed = [story.reply(story.call(), size=size).removed for size in sizes]
    assert removed == [(), (), (1,), (2, 3), (4,)]


def test_a_late_reply_counts_for_the_bound_as_well() -> None:
    story = Story(Tracker(RowLimits(bytes=1000)))
    late, other = story.call("a"), story.call("b")
    story.time_out(late)
    assert story.reply(other, size=600).removed == ()
    assert story.reply(late, size=600).removed == (1,)
    assert story.job(other).state is JobState.DONE


def test_removing_gives_room_again() -> None:
    story = Story(Tracker(RowLimits(ended=2, bytes=1000)))
    for _ in range(3):
        for _ in range(2):
            assert story.reply(story.call(), size=450).removed == ()
        story.tracker.remove(story.tracker.jobs())
    assert story.tracker.dropped_count == 0


def test_running_jobs_can_be_bounded_as_well() -> None:
    story = Story(Tracker(RowLimits(running=2)))
    first, second = story.call("a"), story.call("b")
    story.cancel(first)
    third = story.call("c")
    assert story.tracker.jobs() == (2, 3)
    assert (story.tracker.open_count, story.tracker.dropped_count) == (2, 1)
    assert story.tracker.job_of(first) is None
    story.tick(first, 1)
    story.wait(100)
    for request in (first, second, third):
        story.reply(request)
    assert story.tracker.open_count == 0


def test_what_servers_asked_is_bounded_by_itself() -> None:
    story = Story(Tracker(RowLimits(ended=10, requested=2)))
    own = story.call("own")
    story.reply(own)
    for _ in range(20):
        story.reply(story.call(None, sender=Side.SERVER, method="elicitation/create"))
    assert story.job(own).state is JobState.DONE
    assert len(story.tracker.jobs()) == 3
    assert story.tracker.dropped_count == 18


def test_rows_that_were_removed_give_room_to_what_servers_ask() -> None:
    story = Story(Tracker(RowLimits(requested=2)))
    for _ in range(3):
        for _ in range(2):
            asked = story.call(None, sender=Side.SERVER, method="elicitation/create")
            assert story.reply(asked).removed == ()
        story.tracker.remove(story.tracker.jobs())
    assert story.tracker.dropped_count == 0

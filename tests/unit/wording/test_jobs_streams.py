"""A job's HTTP stream as text."""

from typing import Any

from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState, StreamSnapshot, StreamStep
from mcp_progress_monitor.wording import jobs
from tests.job_stand_ins import job


def broken(*, state: JobState = JobState.RUNNING, **known: Any) -> JobSnapshot:
    """A job whose stream is broken for 12 seconds."""
    step = StreamStep(True, 100.0, 9, "reset", **known)
    return job(state=state, stream=StreamSnapshot(True, 12.4, 1, 0, step, 2.2))


def test_a_broken_stream_says_since_when_and_what_is_tried() -> None:
    assert jobs.stream_note(broken(last_event_id="41", attempt=2, retry_s=3.0)) == (
        "stream broken 12 s ago; reconnecting in 3 s from event 41, attempt 2"
    )
    assert jobs.stream_note(broken()) == "stream broken 12 s ago"


def test_a_resumed_stream_is_shown_for_a_while() -> None:
    step = StreamStep(False, 100.0, 9, last_event_id="41", away_s=3.0)
    fresh = job(stream=StreamSnapshot(False, 2.0, 1, 1, step))
    assert jobs.fresh_stream_note(fresh) == "resumed after 3.0 s from event 41"
    old = job(stream=StreamSnapshot(False, 60.0, 1, 1, step))
    assert jobs.fresh_stream_note(old) == ""
    assert jobs.stream_note(old) == "resumed after 3.0 s from event 41"


def test_an_ended_job_tells_how_often_its_stream_broke() -> None:
    step = StreamStep(False, 100.0, 9)
    ended = job(state=JobState.DONE, stream=StreamSnapshot(False, 2.0, 3, 2, step))
    assert jobs.stream_note(ended) == "the stream broke 3 times and was resumed 2 times"
    assert jobs.fresh_stream_note(ended) == ""
    lost = job(state=JobState.LOST, stream=StreamSnapshot(False, 2.0, 1, 0, step))
    assert jobs.stream_note(lost) == "the stream broke 1 time and was not resumed"


def test_a_job_whose_stream_never_broke_has_no_note() -> None:
    assert (jobs.stream_note(job()), jobs.fresh_stream_note(job())) == ("", "")


def test_what_a_server_calls_its_events_cannot_break_the_line() -> None:
    text = jobs.stream_note(broken(last_event_id="4\n1\u202e" + "x" * 9000, attempt=1))
    assert "\n" not in text
    assert "\u202e" not in text
    assert len(text) < 600


def test_the_steps_of_the_story_say_when_and_what() -> None:
    step = StreamStep(True, 130.0, 9, "reset", "41", 1, 2.0)
    assert jobs.stream_row(step, 100.0) == (
        "broken: reset; reconnecting in 2 s from event 41, attempt 1",
        "30 s",
    )
    assert jobs.stream_row(StreamStep(True, 130.0, 9), 100.0)[0] == "broken"
    assert jobs.stream_row(StreamStep(False, 132.0, 10, away_s=2.0), 100.0) == (
        "resumed after 2.0 s",
        "32 s",
    )

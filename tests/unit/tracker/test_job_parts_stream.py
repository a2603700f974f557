"""Streams that break and are taken up again, and ticks that come late by their place alone."""

from typing import Any

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.job_parts import STREAM_STEPS_KEPT
from mcp_progress_monitor.tracker.snapshot import JobState, StreamStep
from tests.unit.protocol.wire import call, progress, result
from tests.unit.tracker.dialogue import Dialogue


def tick(token: str, value: object, total: int | None = None, **more: str) -> dict[str, Any]:
    """A tick, with a total if there is one."""
    known = {} if total is None else {"total": total}
    return progress(token, value, **known, **more)


def test_a_broken_stream_shows_on_its_job_until_it_is_taken_up_again() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    assert wire.job(made).stream is None
    wire.now = 10.0
    wire.event(
        "stream_broken", request=made, reason="reset", last_event_id="41", attempt=2, retry_s=5
    )
    wire.now = 12.0
    stream = wire.job(made).stream
    assert stream is not None
    assert (stream.is_broken, stream.since_s, stream.retry_in_s) == (True, 2.0, 3.0)
    assert (stream.newest.last_event_id, stream.newest.attempt) == ("41", 2)
    wire.now = 13.0
    wire.event("stream_resumed", request=made, last_event_id="41", attempt=2)
    wire.now = 14.0
    stream = wire.job(made).stream
    assert stream is not None
    assert (stream.is_broken, stream.since_s, stream.retry_in_s) == (False, 1.0, None)
    assert (stream.broken_count, stream.resumed_count, stream.newest.away_s) == (1, 1, 3.0)


def test_a_stream_that_breaks_again_before_it_was_taken_up_is_one_break() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    for at in (10.0, 20.0, 30.0):
        wire.now = at
        wire.event("stream_broken", request=made, reason="refused", attempt=int(at / 10))
    wire.now = 31.0
    stream = wire.job(made).stream
    assert stream is not None
    assert (stream.broken_count, stream.since_s, stream.newest.attempt) == (1, 21.0, 3)
    assert [step.attempt for step in wire.detail(made).stream_steps] == [1, 2, 3]


def test_what_became_of_streams_stays_with_an_ended_job() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    wire.event("stream_broken", request=made, reason="reset")
    wire.event("call_ended", request=made, outcome="lost", text="The stream broke for good")
    job = wire.job(made)
    assert job.state is JobState.LOST
    assert job.stream is not None
    assert (job.stream.is_broken, job.stream.broken_count) == (False, 1)
    wire.event("stream_resumed", request=made)
    assert [step.is_broken for step in wire.detail(made).stream_steps] == [True, False]


def test_only_the_newest_steps_of_a_stream_are_kept() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    for attempt in range(STREAM_STEPS_KEPT + 5):
        wire.event("stream_broken", request=made, reason="x" * 5000, attempt=attempt)
    course = wire.detail(made).stream_steps
    assert (len(course), course[0].attempt, len(course[0].reason)) == (STREAM_STEPS_KEPT, 5, 400)


def test_a_resumed_stream_is_a_sign_of_life() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    wire.now = 100.0
    wire.event("stream_resumed", request=made)
    assert wire.job(made).silent_s == 0.0
    (step,) = wire.detail(made).stream_steps
    assert step == StreamStep(False, 100.0, step.number)


def test_a_closed_stream_is_a_cancel_that_silence_confirms() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    wire.event("stream_closed", request=made, reason="Enough")
    assert wire.job(made).cancel_state == "sent"
    wire.now = 60.0
    wire.tracker.tick(60.0)
    assert wire.job(made).state is JobState.CANCELLED


def test_a_reply_after_a_lost_request_is_late_and_its_token_is_free() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    wire.event("call_ended", request=made, outcome="lost", text="The stream broke for good")
    assert not wire.is_token_active("a")
    wire.receive(tick("a", 3))
    wire.receive(result(1))
    assert wire.marks(made) == {rules.TICK_AFTER_END.kind: 1, rules.LATE_REPLY.kind: 1}
    again = wire.send(call(2, "a"))
    assert wire.marks(again) == {}


def test_ticks_behind_the_result_in_its_batch_are_late_but_shown() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    wire.receive([result(1), tick("a", 1, 3), tick("a", 3, 3, message="Done")])
    job = wire.job(made)
    assert (job.state, job.tick_count, job.late_count) == (JobState.DONE, 2, 2)
    assert (job.progress, job.total, job.fraction, job.message) == (3, 3, 1.0, "Done")
    assert wire.marks(made) == {rules.TICK_LATE_IN_BATCH.kind: 2}
    assert [point.last for point in wire.detail(made).chart][-1] == 3.0


def test_ticks_before_the_result_in_its_batch_are_in_order() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    wire.receive([tick("a", 1, 3), tick("a", 3, 3), result(1)])
    assert (wire.job(made).tick_count, wire.job(made).late_count) == (2, 0)
    assert wire.marks(made) == {}


def test_ticks_in_a_batch_that_answers_a_later_request_are_late_on_their_own_job() -> None:
    wire = Dialogue()
    first = wire.send(call(1, "a"))
    wire.event("http_events", exchange=1, events=[])
    wire.receive([tick("a", 1, 5), result(1)])
    second = wire.send(call(2, "b"))
    wire.now = 4.0
    wire.event("http_events", exchange=2, events=[])
    wire.receive([tick("a", 4, 5), tick("b", 1), result(2)])
    assert (wire.job(first).progress, wire.job(first).late_count) == (4, 1)
    assert wire.marks(first) == {rules.TICK_LATE_IN_BATCH.kind: 1}
    assert wire.job(first).marks[0].text == (
        "Progress received 4.0 s after the reply, in another HTTP response"
    )
    assert wire.marks(second) == {}


@pytest.mark.parametrize("exchange", [None, 1])
def test_ticks_after_the_result_on_its_own_stream_are_a_fault(exchange: int | None) -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    if exchange is not None:
        wire.event("http_events", exchange=exchange, events=[])
    wire.receive(result(1))
    wire.receive([tick("a", 9)])
    assert wire.marks(made) == {rules.TICK_AFTER_END.kind: 1}
    assert wire.job(made).progress is None


def test_late_numbers_that_do_not_rise_are_counted_only() -> None:
    wire = Dialogue()
    made = wire.send(call(1, "a"))
    wire.receive([tick("a", 5, 9), result(1), tick("a", 4, 8), tick("a", "x")])
    job = wire.job(made)
    assert (job.progress, job.total, job.late_count) == (5, 9, 2)
    assert job.sender is Side.CLIENT

"""How far a cancel has come, from the wish to what became of it."""

from __future__ import annotations

import pytest

from app.tracker.snapshot import JobState
from tests.unit.protocol.wire import notification
from tests.unit.tracker.dialogue import Dialogue


@pytest.fixture
def wire() -> Dialogue:
    return Dialogue()


def _cancelled(wire: Dialogue) -> int:
    """A call whose cancel the server was told of, at second 2."""
    made = wire.call()
    wire.now = 1.0
    wire.event("cancel_requested", request=made, reason="Enough", grace_s=5)
    wire.now = 2.0
    wire.send(notification("notifications/cancelled", requestId=wire.ids, reason="Enough"))
    return made


def test_nobody_cancelled_what_goes_on_or_is_done(wire: Dialogue) -> None:
    made = wire.call()
    assert (wire.job(made).cancel_state, wire.job(made).cancel_s) == ("", None)
    wire.reply(content=[])
    assert (wire.job(made).cancel_state, wire.job(made).cancel_s) == ("", None)


def test_a_wish_is_shown_at_once_and_then_its_sending(wire: Dialogue) -> None:
    made = wire.call()
    wire.tracker.note_cancel_requested(wire.job(made).id)
    assert wire.job(made).cancel_state == "requested"
    wire.event("cancel_requested", request=made)
    wire.now = 3.0
    assert (wire.job(made).cancel_state, wire.job(made).cancel_s) == ("requested", 3.0)
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    assert wire.job(made).cancel_state == "sent"


def test_an_error_confirms(wire: Dialogue) -> None:
    made = _cancelled(wire)
    wire.refuse(-32800, "cancelled")
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLED, "confirmed")


def test_silence_confirms(wire: Dialogue) -> None:
    made = _cancelled(wire)
    wire.wait(4)
    assert wire.job(made).cancel_state == "sent"
    wire.wait(2)
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLED, "confirmed")


def test_a_late_result_shows_that_it_was_ignored(wire: Dialogue) -> None:
    made = _cancelled(wire)
    wire.wait(10)
    wire.reply(content=[])
    job = wire.job(made)
    assert (job.state, job.cancel_state, job.cancel_s) == (JobState.CANCELLED, "ignored", 10.0)
    assert wire.detail(made).answer is not None


def test_a_result_that_overtook_the_wish_ignored_nothing(wire: Dialogue) -> None:
    made = wire.call()
    wire.event("cancel_requested", request=made)
    wire.reply(content=[])
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.DONE, "requested")


def test_what_ran_out_of_time_is_cancelled_as_well(wire: Dialogue) -> None:
    made = wire.call()
    wire.event("timed_out", request=made, text="No reply")
    assert wire.job(made).cancel_state == ""
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    assert wire.job(made).cancel_state == "sent"
    wire.refuse(-32800)
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.TIMED_OUT, "confirmed")


def test_a_late_result_after_a_time_limit_ignored_the_cancel(wire: Dialogue) -> None:
    made = wire.call()
    wire.event("timed_out", request=made, text="No reply")
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    wire.reply(content=[])
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.TIMED_OUT, "ignored")


def test_what_was_lost_meanwhile_confirmed_nothing(wire: Dialogue) -> None:
    made = _cancelled(wire)
    wire.event("closed")
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.LOST, "sent")


def test_a_cancelled_attempt_of_what_can_be_resumed_is_confirmed(wire: Dialogue) -> None:
    made = wire.call()
    wire.reply(_meta={"nextResumeToken": "t"}, content=[])
    again = wire.ask("tools/call", name="export", _meta={"progressToken": "a", "resumeToken": "t"})
    wire.event("cancel_requested", request=again, grace_s=1)
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    wire.refuse(-32800)
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.RESUMABLE, "confirmed")
    wire.ask("tools/call", name="export", _meta={"progressToken": "a", "resumeToken": "t"})
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.RUNNING, "")

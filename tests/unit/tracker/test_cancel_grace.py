"""How far a cancel has come, from the wish to what became of it."""

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.protocol.wire import notification
from tests.unit.tracker.dialogue import Dialogue, flat, nested

TEXT = {"content": [{"type": "text", "text": "all of it"}]}


def _cancelled(wire: Dialogue) -> int:
    """A call whose cancel reached the server, at second 2."""
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


def test_a_cancel_request_is_shown_before_it_is_sent(wire: Dialogue) -> None:
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


def test_a_result_that_overtook_the_request_ignored_nothing(wire: Dialogue) -> None:
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


# Tasks


def test_cancelling_a_task_is_confirmed_by_its_status(wire: Dialogue) -> None:
    made = wire.begin()
    wire.event("cancel_requested", request=made, reason="Enough", grace_s=5)
    assert wire.job(made).cancel_state == "requested"
    wire.ask("tasks/cancel", taskId="T")
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLING, "sent")
    wire.reply(**nested("cancelled"))
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLED, "confirmed")
    assert wire.failure(made) == "Enough"


def test_a_cancel_in_the_tasks_extension_is_only_a_request(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.ask("tasks/cancel", taskId="T")
    wire.reply(resultType="complete")
    wire.wait(60)
    wire.poll(flat("working"))
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLING, "sent")
    assert wire.job(made).cancel_s == 60
    wire.poll(flat("completed", result=TEXT))
    job = wire.job(made)
    assert (job.state, job.cancel_state, job.cancel_s) == (JobState.DONE, "ignored", 60)


def test_a_refused_cancel_leaves_the_task_as_it_was(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/cancel", taskId="T")
    wire.refuse(-32601, "not here")
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.RUNNING, "ignored")
    assert wire.texts(made) == ["tasks/cancel was refused: not here"]
    wire.wait(60)
    assert wire.state(made) is JobState.RUNNING


def test_silence_confirms_the_cancel_of_a_task_that_may_still_run(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/cancel", taskId="T")
    wire.wait(6)
    assert wire.state(made) is JobState.CANCELLED
    assert "may still be running" in wire.failure(made)
    wire.tell(nested("working"))
    assert wire.marks(made) == {rules.STATUS_AFTER_FINAL.kind: 1}


def test_a_task_that_is_working_in_the_reply_to_its_cancelling_is_marked(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/cancel", taskId="T")
    wire.reply(**nested("working"))
    assert wire.marks(made) == {rules.STATUS_AFTER_FINAL.kind: 1}
    assert wire.state(made) is JobState.CANCELLING


def test_cancelling_what_is_over_is_marked(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("completed"))
    wire.ask("tasks/cancel", taskId="T")
    assert (wire.state(made), wire.marks(made)) == (JobState.DONE, {rules.CANCEL_TOO_LATE.kind: 1})


def test_a_cancelled_notice_for_a_task_is_too_late(wire: Dialogue) -> None:
    made = wire.begin()
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    assert (wire.state(made), wire.marks(made)) == (
        JobState.RUNNING,
        {rules.CANCEL_TOO_LATE.kind: 1},
    )


def test_an_error_to_a_fetch_confirms_the_cancel(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/result", taskId="T")
    fetch = wire.ids
    wire.ask("tasks/cancel", taskId="T")
    wire.receive({"jsonrpc": "2.0", "id": fetch, "error": {"code": -1, "message": "gone"}})
    assert (wire.state(made), wire.failure(made)) == (JobState.CANCELLED, "gone")


def test_a_task_made_of_a_cancelled_request_is_seen_and_changes_nothing(wire: Dialogue) -> None:
    made = wire.call(task={})
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    wire.reply(task=nested())
    job = wire.job(made)
    assert (job.state, job.cancel_state) == (JobState.CANCELLED, "ignored")
    assert job.task is not None
    assert (job.task.status, job.task.is_ours_to_cancel) == ("working", False)

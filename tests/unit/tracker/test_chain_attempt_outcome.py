"""What each way in which an attempt can end means for the job."""

from typing import Any

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.chain import INVALID_PARAMS, REFUSED
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.tracker.attempts import resumable, resumed, saving
from tests.unit.tracker.story import Story


def test_a_refused_token_is_not_offered_again() -> None:
    story = saving()
    first = resumable(story)
    story.tracker.chains.note_saved(1, 7)
    second = resumed(story)
    error = {"code": INVALID_PARAMS, "message": "expired"}
    (step,) = story.reply(second, error=error).steps
    assert (step.chain, step.outcome, step.is_complete) == (7, REFUSED, False)
    story.tracker.chains.note_saved(1, 7)
    job = story.job(first)
    assert job.state is JobState.FAILED
    assert not job.can_resume
    assert job.resume_note == "The server refused the token: expired"
    assert story.detail(first).resume_token is None


@pytest.mark.parametrize("code", [-32603, -32601, 0, None])
def test_other_errors_keep_the_last_token(code: int | None) -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.reply(second, error={"code": code, "message": "gone away"})
    job = story.job(second)
    assert job.can_resume
    assert job.resume_note == "gone away"
    assert job.failure is not None
    assert story.detail(second).resume_token == "t1"


def test_a_first_call_with_wrong_parameters_simply_fails() -> None:
    story = Story()
    request = story.call()
    story.reply(request, error={"code": INVALID_PARAMS, "message": "no such tool"})
    assert story.job(request).state is JobState.FAILED
    assert story.job(request).resume_note == ""


def test_a_lost_connection_keeps_the_last_token() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.close()
    job = story.job(second)
    assert job.can_resume
    assert "connection ended" in job.resume_note


def test_running_out_of_time_keeps_the_last_token() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.time_out(second)
    assert story.job(second).can_resume
    assert story.job(second).resume_note == "too long"


def test_a_cancelled_attempt_keeps_the_last_token() -> None:
    story = saving()
    resumable(story)
    story.tracker.chains.note_saved(1, 7)
    second = resumed(story)
    story.cancel(second)
    (step,) = story.wait(6).steps
    assert step.outcome is JobState.CANCELLED
    story.tracker.chains.note_saved(1, 7)
    assert story.job(second).can_resume
    assert story.job(second).resume_note == "enough"


def test_a_resumed_call_that_fails_as_a_tool_is_over() -> None:
    story = saving()
    resumable(story)
    story.tracker.chains.note_saved(1, 7)
    second = resumed(story)
    failed = {"isError": True, "content": [{"type": "text", "text": "no"}]}
    (step,) = story.reply(second, failed).steps
    assert step.is_complete
    story.tracker.chains.note_saved(1, None)
    assert story.job(second).state is JobState.FAILED
    assert story.job(second).chain is None


def test_a_token_on_an_error_is_marked_and_not_used() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    failed = {"isError": True, "content": []}
    story.reply(second, failed, token="t2")
    assert story.detail(second).resume_token == "t1"
    assert story.job(second).can_resume
    assert story.marks(second)[rules.TOKEN_ON_ERROR.kind] == 1
    fresh = story.call("b")
    story.reply(fresh, error={"code": -32603, "message": "no"}, token="t3")
    assert story.job(fresh).state is JobState.FAILED
    assert story.marks(fresh)[rules.TOKEN_ON_ERROR.kind] == 1


@pytest.mark.parametrize("token", ["", 42, {"chunk": 1}, True])
def test_an_unusable_token_is_marked_and_the_last_one_kept(token: object) -> None:
    violation = (Finding(rules.NEXT_TOKEN_TYPE),)
    story = Story()
    request = story.call()
    story.reply(request, token=token, violations=violation)
    assert story.job(request).state is JobState.DONE
    assert story.marks(request) == {rules.NEXT_TOKEN_TYPE.kind: 1}
    resumable(story, newest="good")
    second = resumed(story, newest="good")
    story.reply(second, token=token, violations=violation)
    assert story.job(second).can_resume
    assert story.detail(second).resume_token == "good"
    assert story.job(second).failure is not None


def test_a_token_given_out_twice_is_marked() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.reply(second, token="t1")
    assert story.marks(second) == {rules.SAME_TOKEN.kind: 1}
    assert story.job(second).can_resume
    third = resumed(story)
    assert story.job(third).attempt_count == 3


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "input_required", "inputRequests": {}},
        {"resultType": "task", "taskId": "T", "status": "working"},
        {"task": {"taskId": "T", "status": "working"}},
    ],
)
def test_a_result_that_asks_for_more_is_resumable_by_hand_only(result: dict[str, Any]) -> None:
    story = Story()
    request = story.call()
    story.reply(request, result, token="t1")
    job = story.job(request)
    assert job.can_resume
    assert job.failure is not None
    assert story.marks(request) == {rules.UNFINISHED.kind: 1}
    chain = story.tracker.chains.of(job.id)
    assert chain is not None
    assert chain.is_by_hand


def test_a_cancelled_call_that_is_answered_with_a_token_can_be_resumed() -> None:
    story = Story()
    request = story.call()
    story.cancel(request)
    story.reply(request, token="t1")
    assert story.job(request).can_resume
    assert story.job(request).failure is not None


def test_a_late_reply_brings_the_newest_token() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.time_out(second)
    story.reply(second, token="t2")
    assert story.detail(second).resume_token == "t2"
    assert story.job(second).resume_note == ""
    assert story.marks(second) == {rules.LATE_REPLY.kind: 1}


def test_a_late_reply_without_a_token_ends_the_chain() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.time_out(second)
    story.reply(second)
    assert story.job(second).state is JobState.DONE
    assert story.tracker.chains.size == 0


def test_a_late_reply_to_an_attempt_before_the_one_in_flight_changes_nothing() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.time_out(second)
    third = resumed(story)
    story.reply(second)
    assert story.job(third).state is JobState.RUNNING
    assert story.marks(third) == {rules.DUPLICATE_REPLY.kind: 1}


def test_results_of_our_own_begin_no_chain() -> None:
    story = Story()
    request = story.call(method="sampling/createMessage", sender=Side.SERVER)
    story.reply(request, token="t1", sender=Side.CLIENT)
    assert story.job(request).state is JobState.DONE

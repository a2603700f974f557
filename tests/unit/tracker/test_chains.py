"""Several requests that are one job: what the tracker makes of resume tokens."""

from __future__ import annotations

from typing import Any

import pytest

from app.protocol.facts import Side
from app.tracker import marks
from app.tracker.chain import Restored
from app.tracker.endings import Ending
from app.tracker.rows import Rows
from app.tracker.snapshot import AttemptPicture, Failure, JobState
from app.tracker.tracker import Tracker
from app.tracker.verdicts import INVALID_PARAMS, REFUSED
from tests.unit.tracker.story import CONNECTION, Story

_FIRST = "t1"


def saving() -> Story:
    """A story whose tokens have to be saved before jobs are shown as resumable."""
    return Story(Tracker(saves=True))


def resumable(story: Story, newest: str = _FIRST, **options: Any) -> int:
    """A call that was answered with a token; its request."""
    request = story.call(**options)
    story.tick(request, 40, 100, "first half")
    story.now += 1
    story.reply(request, token=newest)
    return request


def resumed(story: Story, newest: str = _FIRST, **options: Any) -> int:
    """A further attempt; its request."""
    story.now += 100
    return story.call(
        resume=newest, params={**_params(), "_meta": {"resumeToken": newest}}, **options
    )


def _params() -> dict[str, Any]:
    return {"name": "export", "arguments": {"rows": 3}}


def test_a_reply_with_a_token_makes_the_job_resumable() -> None:
    story = Story()
    job = story.job(resumable(story))
    assert job.state is JobState.RESUMABLE
    assert job.can_resume
    assert job.attempt_count == 1
    assert job.saved_when == 1e9 + 1
    assert job.failure is None
    assert story.detail(job.request).resume_token == "t1"


def test_a_reply_without_a_token_makes_no_chain() -> None:
    story = Story()
    request = story.call()
    story.reply(request)
    assert story.job(request).state is JobState.DONE
    assert not story.detail(request).attempts
    assert story.tracker.chains.size == 0


def test_a_token_is_saved_before_the_job_is_seen_as_resumable() -> None:
    story = saving()
    request = story.call()
    changes = story.reply(request, token="t1")
    (step,) = changes.steps
    assert (step.chain, step.token, step.is_complete) == (None, "t1", False)
    before = story.job(request)
    assert before.state is JobState.RUNNING
    assert before.resume_note == "Saving the resume token"
    assert not before.can_resume
    assert story.detail(request).resume_token is None
    after = story.tracker.chains.note_saved(before.id, 7)
    assert after.moved == {before.id}
    assert story.job(request).state is JobState.RESUMABLE
    assert story.job(request).chain == 7


def test_what_could_not_be_saved_is_resumable_and_says_so() -> None:
    story = saving()
    request = story.call()
    story.reply(request, token="t1")
    story.tracker.chains.note_saved(story.job(request).id, None, "the disk is full")
    job = story.job(request)
    assert job.can_resume
    assert job.chain is None
    assert job.resume_note == "Not saved: the disk is full"


def test_the_next_attempt_is_the_same_job() -> None:
    story = Story()
    first = resumable(story)
    second = resumed(story)
    assert story.tracker.jobs() == (1,)
    job = story.job(second)
    assert job.state is JobState.RUNNING
    assert (job.request, job.attempt_count) == (second, 2)
    assert job.progress == 40
    assert story.job(first) == job
    story.reply(second)
    assert story.job(second).state is JobState.DONE
    assert story.tracker.chains.size == 0
    assert story.detail(second).resume_token is None


def test_attempts_are_told_in_order_with_what_came_of_them() -> None:
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


def test_the_newest_token_is_the_one_to_send() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.reply(second, token="t2")
    assert story.detail(second).resume_token == "t2"
    key = CONNECTION.partition("#")[0]
    assert story.tracker.chains.find(key, "tools/call", "t2") == 1
    assert story.tracker.chains.find(key, "tools/call", "t1") is None


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
    story.tracker.note_timeout(1, story.now, "too long")
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
    assert story.marks(second)[marks.TOKEN_ON_ERROR] == 1
    fresh = story.call("b")
    story.reply(fresh, error={"code": -32603, "message": "no"}, token="t3")
    assert story.job(fresh).state is JobState.FAILED
    assert story.marks(fresh)[marks.TOKEN_ON_ERROR] == 1


@pytest.mark.parametrize("token", ["", 42, {"chunk": 1}, True])
def test_an_unusable_token_is_marked_and_the_last_one_kept(token: object) -> None:
    problem = ('"nextResumeToken" is not a string with content',)
    story = Story()
    request = story.call()
    story.reply(request, token=token, problems=problem)
    assert story.job(request).state is JobState.DONE
    assert story.marks(request) == {marks.RESUME_TOKEN: 1}
    resumable(story, newest="good")
    second = resumed(story, newest="good")
    story.reply(second, token=token, problems=problem)
    assert story.job(second).can_resume
    assert story.detail(second).resume_token == "good"
    assert story.job(second).failure is not None


def test_a_token_given_out_twice_is_marked() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.reply(second, token="t1")
    assert story.marks(second) == {marks.SAME_TOKEN: 1}
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
    assert story.marks(request) == {marks.UNFINISHED: 1}
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
    story.tracker.note_timeout(1, story.now, "too long")
    story.reply(second, token="t2")
    assert story.detail(second).resume_token == "t2"
    assert story.job(second).resume_note == ""
    assert story.marks(second) == {marks.LATE_RESULT: 1}


def test_a_late_reply_without_a_token_ends_the_chain() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.tracker.note_timeout(1, story.now, "too long")
    story.reply(second)
    assert story.job(second).state is JobState.DONE
    assert story.tracker.chains.size == 0


def test_a_late_reply_to_an_attempt_before_the_one_in_flight_changes_nothing() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.tracker.note_timeout(1, story.now, "too long")
    third = resumed(story)
    story.reply(second)
    assert story.job(third).state is JobState.RUNNING
    assert story.marks(third) == {marks.DUPLICATE_REPLY: 1}


def test_a_late_tick_of_an_earlier_attempt_moves_nothing() -> None:
    story = Story()
    first = resumable(story)
    second = resumed(story)
    story.tick(second, 50, 100)
    story.tick(first, 45, 100)
    job = story.job(second)
    assert (job.progress, job.late_count, job.tick_count) == (50, 1, 3)


def test_progress_may_begin_where_it_stood_or_anew() -> None:
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
    assert story.marks(request) == {marks.NOT_INCREASING: 1}


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


def test_a_resumed_request_that_differs_is_marked() -> None:
    story = Story()
    resumable(story)
    request = story.call(resume="t1", params={"name": "export", "arguments": {"rows": 4}})
    assert story.job(request).attempt_count == 2
    assert story.marks(request) == {marks.CHANGED_REQUEST: 1}


def test_stamps_and_the_token_are_no_difference() -> None:
    story = Story()
    resumable(story)
    meta = {"resumeToken": "t1", "io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    request = story.call(resume="t1", params={**_params(), "_meta": meta})
    assert story.marks(request) == {}


def test_a_constant_token_of_many_jobs_finds_each_by_its_parameters() -> None:
    story = Story()
    others = [{"name": "export", "arguments": {"rows": rows}} for rows in (1, 2, 3)]
    for params in others:
        request = story.call(params=params)
        story.reply(request, token="t")
    request = story.call(resume="t", params={**others[1], "_meta": {"resumeToken": "t"}})
    assert story.job(request).id == 2
    unknown = story.call(resume="t", params={"name": "export", "arguments": {"rows": 9}})
    assert story.job(unknown).id == 4


def test_a_token_of_another_server_or_method_is_not_the_same() -> None:
    story = Story()
    resumable(story)
    elsewhere = resumed(story, connection="other#1")
    other = story.call(resume="t1", method="prompts/get")
    assert story.job(elsewhere).id == 2
    assert story.job(other).id == 3


def test_a_renamed_server_is_still_the_same() -> None:
    story = Story(Tracker(key_of=lambda _connection: "one server"))
    resumable(story)
    job = story.job(resumed(story, connection="renamed#4"))
    assert (job.id, job.server) == (1, "renamed")


def test_a_second_request_with_a_token_in_flight_is_a_job_of_its_own_and_marked() -> None:
    story = Story()
    resumable(story)
    resumed(story)
    rival = resumed(story)
    assert story.job(rival).id == 2
    assert story.marks(rival) == {marks.RESUMED_TWICE: 1}


def test_an_expected_request_is_its_jobs_whatever_others_have_the_same_token() -> None:
    story = Story()
    for _ in range(2):
        story.reply(story.call(), token="t")
    story.tracker.chains.expect(2, CONNECTION, 999)
    request = story.call(number=999, resume="t")
    assert story.job(request).id == 2
    assert story.tracker.chains.size == 2


def test_what_is_not_sent_after_all_is_expected_no_more() -> None:
    story = Story()
    resumable(story)
    story.tracker.chains.expect(1, CONNECTION, 999)
    story.tracker.chains.expect_no_more(CONNECTION, 999)
    assert story.tracker.chains.size == 1


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "custom/method"])
def test_any_request_can_become_resumable(method: str) -> None:
    story = Story()
    request = story.call(None, method=method, params={"x": 1})
    story.reply(request, token="t1")
    assert story.job(request).can_resume
    second = story.call(None, method=method, params={"x": 1}, resume="t1")
    assert story.job(second).attempt_count == 2


def test_requests_that_are_no_jobs_leave_nothing_behind() -> None:
    story = Story()
    for _ in range(3):
        story.reply(story.call(None, method="tools/list"))
    story.cancel(story.call(None, method="tools/list"))
    story.call(None, method="tools/list")
    story.close()
    assert story.tracker.jobs() == ()
    assert story.tracker.plain_count == 0
    for _ in range(1100):
        story.call(None, method="tools/list")
    assert story.tracker.plain_count == 1000


def test_results_of_our_own_begin_no_chain() -> None:
    story = Story()
    request = story.call(method="sampling/createMessage", sender=Side.SERVER)
    story.reply(request, token="t1", sender=Side.CLIENT)
    assert story.job(request).state is JobState.DONE


def test_resumable_jobs_are_not_removed_with_the_finished_ones() -> None:
    story = Story()
    resumable(story)
    done = story.call()
    story.reply(done)
    assert story.tracker.remove(story.tracker.jobs()).removed == (2,)
    assert story.tracker.chains.forget(story.tracker.jobs()).removed == (1,)
    assert story.tracker.chains.size == 0
    assert story.tracker.job_of(101) is None


def test_a_running_job_is_not_forgotten() -> None:
    story = Story()
    resumable(story)
    resumed(story)
    assert story.tracker.chains.forget([1, 99]).removed == ()


def test_finished_jobs_make_room_before_resumable_ones() -> None:
    story = Story(Tracker(Rows(ended_kept=2, resting_kept=3)))
    for number in range(5):
        resumable(story, newest=f"t{number}")
        story.reply(story.call("x"))
    states = [story.tracker.snapshot(job, 0.0) for job in story.tracker.jobs()]
    counts = [job.state for job in states if job is not None]
    assert counts.count(JobState.RESUMABLE) == 3
    assert counts.count(JobState.DONE) == 2
    assert story.tracker.chains.size == 3


def test_a_long_chain_stays_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.tracker.chain.ATTEMPTS_KEPT", 5)
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


def _restored(**changes: Any) -> Restored:
    plain = Restored(
        id=7,
        server="local-db",
        key="local-db",
        method="tools/call",
        params={**_params(), "_meta": {"progressToken": "a"}},
        token="t1",
        reason="connection lost",
        progress=40,
        total=100,
        message="half",
        created_when=1e9 - 500,
        updated_when=1e9 - 400,
        attempt_count=3,
        is_elsewhere=False,
    )
    return plain._replace(**changes)


def test_chains_from_the_disk_are_rows_that_can_be_resumed() -> None:
    story = saving()
    changes = story.tracker.restore([_restored(), _restored(id=8, token="t2")], 0.0, 1e9)
    assert changes.added == (1, 2)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.RESUMABLE
    assert (job.server, job.name, job.token, job.chain) == ("local-db", "export", "a", 7)
    assert (job.progress, job.total, job.fraction, job.message) == (40, 100, 0.4, "half")
    assert (job.started_when, job.ended_at, job.attempt_count) == (1e9 - 500, -400.0, 3)
    assert job.resume_note == "connection lost"
    assert job.can_resume
    request = story.call("a", resume="t1", params={**_params(), "_meta": {"progressToken": "a"}})
    assert story.job(request).id == 1
    assert story.job(request).attempt_count == 4
    assert story.marks(request) == {}
    assert story.job(story.call()).id == 3


def test_a_chain_that_another_program_resumes_cannot_be_resumed_here() -> None:
    story = saving()
    story.tracker.restore([_restored(is_elsewhere=True)], 0.0, 1e9)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.RESUMABLE
    assert not job.can_resume
    assert "Another running program" in job.resume_note
    story.tracker.chains.note_claimed(1, "t9", 5)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.can_resume
    assert job.attempt_count == 5
    assert story.tracker.chains.find("local-db", "tools/call", "t9") == 1


def test_a_refused_chain_from_the_disk_failed() -> None:
    story = saving()
    story.tracker.restore([_restored(token=None, reason="no")], 0.0, 1e9)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.FAILED
    assert not job.can_resume
    assert story.tracker.remove([1]).removed == (1,)


def test_a_chain_that_is_gone_from_the_disk_is_over() -> None:
    story = saving()
    story.tracker.restore([_restored()], 0.0, 1e9)
    story.tracker.chains.note_gone(1, "It completed in another program")
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.FAILED
    assert job.resume_note == "It completed in another program"
    assert story.tracker.chains.size == 0
    assert not story.tracker.chains.note_gone(1, "again").moved


def test_earlier_attempts_are_put_before_those_of_this_program() -> None:
    story = saving()
    story.tracker.restore([_restored()], 0.0, 1e9)
    request = resumed(story)
    found = [_attempt(number) for number in (1, 2, 3, 4)]
    story.tracker.chains.note_attempts(1, found)
    assert [a.number for a in story.detail(request).attempts] == [1, 2, 3, 4]
    assert story.detail(request).attempts[-1].outcome is JobState.RUNNING


def _attempt(number: int) -> AttemptPicture:
    return AttemptPicture(number, 1e9 - number, None, "interrupted")


def test_an_attempt_that_was_never_written_counts_and_leaves_the_token() -> None:
    story = saving()
    story.tracker.restore([_restored()], 0.0, 1e9)
    ending = Ending(JobState.FAILED, Failure("local", "not connected"))
    (step,) = story.tracker.chains.note_unsent(1, ending, 1e9, 5.0).steps
    assert (step.chain, step.outcome, step.reason) == (7, JobState.FAILED, "not connected")
    story.tracker.chains.note_saved(1, 7)
    detail = story.tracker.detail(1, 5.0)
    assert detail is not None
    assert detail.snapshot.can_resume
    assert detail.snapshot.attempt_count == 4
    assert detail.attempts[-1].detail == "not connected"
    assert not story.tracker.chains.note_unsent(99, ending, 1e9, 5.0).steps


def test_what_is_done_before_an_attempt_is_told_and_stands_in_the_way() -> None:
    story = Story()
    request = resumable(story)
    story.tracker.chains.note_busy(1, "Connecting to the server")
    assert not story.job(request).can_resume
    assert story.job(request).resume_note == "Connecting to the server"
    story.tracker.chains.note_busy(1, "")
    assert story.job(request).can_resume


def test_going_on_by_itself_is_told_until_the_job_is_over() -> None:
    story = Story()
    first = story.call()
    story.tracker.chains.note_automatic(1, is_automatic=True)
    assert story.job(first).is_automatic
    story.reply(first, token="t1")
    story.tracker.chains.note_automatic(1, is_automatic=True, next_attempt_at=12.0)
    assert story.job(first).next_attempt_at == 12.0
    second = resumed(story)
    assert story.job(second).next_attempt_at is None
    story.reply(second)
    assert not story.job(second).is_automatic
    assert story.tracker.chains.note_automatic(1, is_automatic=True).progressed == frozenset()


def test_nothing_more_is_expected_while_an_attempt_is_put_on_disk() -> None:
    story = saving()
    request = story.call()
    story.tick(request, 40, 100)
    story.reply(request, token="t1")
    story.cancel(request)
    story.tick(request, 50, 100)
    story.wait(1000)
    story.close()
    assert story.tracker.note_timeout(1, story.now, "x").steps == ()
    assert story.job(request).state is JobState.RUNNING
    assert story.job(request).progress == 40
    marked = story.marks(request)
    assert marked == {marks.CANCEL_TOO_LATE: 1, marks.AFTER_END: 1}
    story.tracker.chains.note_saved(1, 7)
    assert story.job(request).can_resume


def test_notes_on_jobs_that_are_not_there_do_nothing() -> None:
    chains = Story().tracker.chains
    assert not any(chains.note_saved(9, 1).progressed)
    assert not any(chains.note_busy(9, "x").progressed)
    assert not any(chains.note_claimed(9, "t", 1).progressed)
    assert not any(chains.note_elsewhere(9, is_elsewhere=True).progressed)
    assert not any(chains.note_reason(9, "x").progressed)
    chains.expect(9, CONNECTION, 1)
    assert chains.size == 0
    assert chains.find("x", "y", 3) is None

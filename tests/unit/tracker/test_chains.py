"""Several requests that are one job: what the tracker makes of resume tokens."""

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.tracker.attempts import resumable, resumed, saving
from tests.unit.tracker.story import CONNECTION, Story


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


def test_the_newest_token_is_the_one_to_send() -> None:
    story = Story()
    resumable(story)
    second = resumed(story)
    story.reply(second, token="t2")
    assert story.detail(second).resume_token == "t2"
    key = CONNECTION.partition("#")[0]
    assert story.tracker.chains.find(key, "tools/call", "t2") == 1
    assert story.tracker.chains.find(key, "tools/call", "t1") is None


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
    assert story.marks(rival) == {rules.RESUMED_TWICE.kind: 1}


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
    story = Story(Tracker(RowLimits(ended=2, resting=3)))
    for number in range(5):
        resumable(story, newest=f"t{number}")
        story.reply(story.call("x"))
    states = [story.tracker.snapshot(job, 0.0) for job in story.tracker.jobs()]
    counts = [job.state for job in states if job is not None]
    assert counts.count(JobState.RESUMABLE) == 3
    assert counts.count(JobState.DONE) == 2
    assert story.tracker.chains.size == 3


def test_what_is_done_before_an_attempt_is_reported_and_stands_in_the_way() -> None:
    story = Story()
    request = resumable(story)
    story.tracker.chains.note_busy(1, "Connecting to the server")
    assert not story.job(request).can_resume
    assert story.job(request).resume_note == "Connecting to the server"
    story.tracker.chains.note_busy(1, "")
    assert story.job(request).can_resume


def test_automatic_resuming_is_reported_until_the_job_is_over() -> None:
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
    assert story.time_out(request).steps == ()
    assert story.job(request).state is JobState.RUNNING
    assert story.job(request).progress == 40
    marked = story.marks(request)
    assert marked == {rules.CANCEL_TOO_LATE.kind: 1, rules.TICK_AFTER_END.kind: 1}
    story.tracker.chains.note_saved(1, 7)
    assert story.job(request).can_resume


def test_a_reply_that_comes_while_a_timeout_is_put_on_disk_brings_its_token() -> None:
    at_once, later = Story(), saving()
    for story in (at_once, later):
        first = story.call()
        story.reply(first, token="t1")
        story.tracker.chains.note_saved(1, None)
        second = story.call(resume="t1")
        story.now = 1.0
        story.time_out(second)
        story.now = 2.0
        story.tick(second, 5, 10)
        story.reply(second, token="t2")
    later.tracker.chains.note_saved(1, None)
    later.tracker.chains.note_saved(1, None)
    assert later.detail(second) == at_once.detail(second)
    assert later.detail(second).resume_token == "t2"
    assert later.marks(second) == {rules.TICK_AFTER_END.kind: 1, rules.LATE_REPLY.kind: 1}


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


def test_the_requests_of_a_job_are_those_of_all_its_attempts() -> None:
    story = Story()
    first = resumable(story)
    second = resumed(story)
    job = story.job(second).id
    assert story.job(first).id == job
    assert story.tracker.requests_of(job) == {first, second}
    other = story.call()
    assert story.tracker.requests_of(story.job(other).id) == {other}
    assert story.tracker.requests_of(999) == frozenset()

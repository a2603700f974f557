"""Which jobs there are, what changes are reported, and how jobs end."""

from collections.abc import Callable

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    ConnectionOpened,
    NotificationReceived,
    OutputChecked,
    Side,
    StderrReceived,
    UnreadableReceived,
)
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.snapshot import ChangeSet, Failure, JobState
from mcp_progress_monitor.tracker.tracker import CANCEL_GRACE_S, Jobs, Tracker
from tests.findings import finding, texts_of
from tests.unit.tracker.story import CONNECTION, Story


@pytest.mark.parametrize(
    "method",
    [
        "tools/call",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "sampling/createMessage",
        "elicitation/create",
    ],
)
def test_an_operation_without_a_token_is_a_job(story: Story, method: str) -> None:
    request = story.call(None, method=method)
    assert story.job(request).method == method
    assert story.job(request).token is None


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "tools/list", "server/discover", "roots/list"]
)
def test_other_requests_are_jobs_with_a_token_only(story: Story, method: str) -> None:
    assert story.tracker.job_of(story.call(None, method=method)) is None
    assert story.job(story.call("p", method=method)).name == method


@pytest.mark.requirement("FR-4")
def test_each_active_token_has_its_own_job_with_the_context_of_its_request(story: Story) -> None:
    first = story.call("a", params={"name": "export", "arguments": {"rows": 3}})
    second = story.call(0, params={"uri": "file:///x"}, method="resources/read")
    story.tick(first, 1)
    story.tick(second, 7)
    one, two = story.job(first), story.job(second)
    assert (one.token, one.name, one.summary, one.progress) == ("a", "export", "rows=3", 1)
    assert (two.token, two.name, two.summary, two.progress) == (0, "file:///x", "", 7)
    assert (one.server, one.connection, one.request) == ("local-db", CONNECTION, first)
    assert story.tracker.jobs() == (one.id, two.id)
    assert story.tracker.open_count == 2


def test_a_server_may_be_the_one_who_asks(story: Story) -> None:
    request = story.call("s", method="sampling/createMessage", params={}, sender=Side.SERVER)
    assert story.job(request).sender is Side.SERVER


def test_a_token_in_use_is_marked_on_the_new_job(story: Story) -> None:
    request = story.call("a", violations=(Finding(rules.TOKEN_IN_USE, ('"a"', 7)),))
    other = story.call("b", violations=(Finding(rules.ID_IN_USE, ('"token"', 7)),))
    assert story.marks(request) == {"token-in-use": 1}
    assert story.marks(other) == {"irregular-request": 1}


def test_the_same_request_told_twice_is_one_job(story: Story) -> None:
    request = story.call()
    story.call(number=request)
    assert len(story.tracker.jobs()) == 1


def test_changes_name_what_was_added_ticked_and_moved(story: Story) -> None:
    request = story.call()
    job = story.job(request).id
    facts = [story.progress(request, value, 10) for value in (1, 2)]
    changes = story.tell(*facts)
    assert changes == ChangeSet(
        progressed=frozenset({job}), ticks=[(job, 1, facts[0]), (job, 2, facts[1])]
    )
    done = story.reply(request)
    assert (done.progressed, done.moved, done.ticks) == (frozenset({job}), frozenset({job}), ())


def test_facts_that_concern_no_job_change_none(story: Story) -> None:
    changes = story.tell(
        ConnectionOpened(1, CONNECTION, 0.0, 0.0, {}),
        StderrReceived(2, CONNECTION, 0.0, 0.0, "hello"),
        NotificationReceived(3, CONNECTION, 0.0, 0.0, Side.SERVER, "notifications/x", {}, ()),
        UnreadableReceived(4, CONNECTION, 0.0, 0.0, Side.SERVER, "garbage", (finding("no JSON"),)),
    )
    assert changes == ChangeSet(marked={4: (finding("no JSON"),)})


@pytest.mark.requirement("UT-2")
def test_a_tick_with_an_unknown_token_is_counted_for_its_connection(story: Story) -> None:
    story.call()
    fact = story.progress(None, 5)
    changes = story.tell(fact)
    assert changes.ticks == [(None, 0, fact)]
    assert changes.progressed == frozenset()
    assert story.tracker.unattached_ticks(CONNECTION) == 1
    assert story.tracker.unattached_ticks("other#1") == 0


def test_unattached_counts_are_kept_for_a_bounded_number_of_connections(story: Story) -> None:
    for place in range(1001):
        story.tell(story.progress(None, 1, connection=f"s#{place}"))
    assert story.tracker.unattached_ticks("s#0") == 0
    assert story.tracker.unattached_ticks("s#1000") == 1


def _reply(story: Story, request: int) -> None:
    story.reply(request)


def _error(story: Story, request: int) -> None:
    story.reply(request, error={"code": -32000, "message": "no"})


def _cancel(story: Story, request: int) -> None:
    story.cancel(request)
    story.wait(CANCEL_GRACE_S)


def _close(story: Story, _request: int) -> None:
    story.close()


def _time_out(story: Story, request: int) -> None:
    story.time_out(request)


@pytest.mark.requirement("FR-5")
@pytest.mark.requirement("UT-4")
@pytest.mark.parametrize("end", [_reply, _error, _cancel, _close, _time_out])
def test_the_table_of_open_jobs_is_emptied_by(
    story: Story, end: Callable[[Story, int], None]
) -> None:
    request = story.call()
    story.tick(request, 1, 2)
    assert story.tracker.open_count == 1
    end(story, request)
    assert story.tracker.open_count == 0
    assert story.job(request).state.is_over


def test_a_result_makes_a_job_done(story: Story) -> None:
    request = story.call()
    story.tick(request, 10, 10)
    story.now = 4.0
    story.reply(request, {"content": [], "resultType": "complete"}, size=99)
    story.now = 60.0
    job = story.job(request)
    assert job.state is JobState.DONE
    assert (job.ended_at, job.elapsed_s, job.silent_s, job.reply_size) == (4.0, 4.0, 4.0, 99)
    assert (job.failure, job.rate, job.eta_s, job.fraction) == (None, None, None, 1.0)


def test_violations_of_a_reply_are_marked(story: Story) -> None:
    request = story.call()
    story.reply(request, violations=("no jsonrpc member",))
    assert story.marks(request) == {"irregular-reply": 1}
    assert story.job(request).state is JobState.DONE


def test_a_second_reply_is_marked_and_the_first_counts(story: Story) -> None:
    request = story.call()
    story.reply(request, {"content": [], "n": 1})
    story.reply(request, {"content": [], "n": 2})
    answer = story.detail(request).answer
    assert story.marks(request) == {"duplicate-reply": 1}
    assert answer is not None
    assert answer.result == {"content": [], "n": 1}


def test_a_reply_to_nothing_known_changes_no_job_and_is_marked(story: Story) -> None:
    marked = {101: (Finding(rules.REPLY_UNKNOWN),)}
    assert story.reply(1) == ChangeSet(marked=marked)


def test_a_cancel_is_awaited_and_confirmed_by_an_error(story: Story) -> None:
    request = story.call()
    moved = story.cancel(request).moved
    assert story.job(request).state is JobState.CANCELLING
    assert moved == {story.job(request).id}
    story.reply(request, error={"code": -32800, "message": "Request cancelled"})
    job = story.job(request)
    assert job.state is JobState.CANCELLED
    assert job.failure == Failure("server", "Request cancelled", -32800)
    assert job.marks == ()


def test_a_cancel_is_confirmed_by_silence_after_the_grace_time(story: Story) -> None:
    request = story.call()
    story.cancel(request, "no longer wanted")
    assert story.wait(CANCEL_GRACE_S - 0.1).moved == frozenset()
    assert story.job(request).state is JobState.CANCELLING
    assert story.wait(0.1).moved == {story.job(request).id}
    assert story.job(request).state is JobState.CANCELLED
    assert story.job(request).failure == Failure("local", "no longer wanted")


def test_the_grace_time_can_be_chosen() -> None:
    story = Story(Tracker(cancel_grace_s=1.0))
    request = story.call()
    story.cancel(request)
    story.wait(0.9)
    assert story.job(request).state is JobState.CANCELLING
    story.wait(0.1)
    assert story.job(request).state is JobState.CANCELLED


@pytest.mark.parametrize("wait_s", [1.0, CANCEL_GRACE_S])
def test_a_late_result_leaves_a_job_cancelled_and_is_kept(story: Story, wait_s: float) -> None:
    request = story.call()
    story.cancel(request)
    story.wait(wait_s)
    story.reply(request, {"content": [], "n": 1})
    answer = story.detail(request).answer
    assert story.job(request).state is JobState.CANCELLED
    assert story.marks(request) == {"late-result": 1}
    assert answer is not None
    assert answer.result == {"content": [], "n": 1}


def test_an_error_after_the_grace_time_only_confirms(story: Story) -> None:
    request = story.call()
    _cancel(story, request)
    story.reply(request, error={"code": 1, "message": "cancelled"})
    assert story.job(request).marks == ()
    assert story.detail(request).answer is not None


def test_a_request_to_cancel_shows_at_once(story: Story) -> None:
    request = story.call()
    changes = story.tracker.note_cancel_requested(story.job(request).id)
    assert changes.moved == {story.job(request).id}
    assert story.job(request).state is JobState.CANCELLING
    story.now += 1
    assert story.cancel(request).moved == frozenset()
    story.wait(CANCEL_GRACE_S - 0.5)
    assert story.job(request).state is JobState.CANCELLING, "the grace time begins when it is sent"


def test_a_result_that_crossed_the_request_to_cancel_counts(story: Story) -> None:
    request = story.call()
    story.tracker.note_cancel_requested(story.job(request).id)
    story.ask_cancel(request)
    story.reply(request)
    assert story.job(request).state is JobState.DONE


def test_an_error_that_crossed_the_request_to_cancel_confirms_it(story: Story) -> None:
    request = story.call()
    story.ask_cancel(request)
    story.reply(request, error={"code": 1, "message": "stopped"})
    assert story.job(request).state is JobState.CANCELLED


def test_a_cancel_request_without_effect_does_not_change_the_end(story: Story) -> None:
    request = story.call()
    story.tracker.note_cancel_requested(story.job(request).id)
    assert story.wait(2 * CANCEL_GRACE_S).lapsed == ()
    story.reply(request, error={"code": 1, "message": "broken"})
    assert story.job(request).state is JobState.FAILED


def test_a_cancel_that_the_server_is_never_told_of_is_settled_by_time(story: Story) -> None:
    request = story.call()
    assert story.ask_cancel(request, "no longer wanted").moved == {1}
    assert story.wait(CANCEL_GRACE_S).lapsed == (1,)
    assert story.job(request).failure == Failure("local", "no longer wanted")


def test_the_grace_time_of_the_request_holds_for_the_cancel_that_follows(story: Story) -> None:
    request = story.call()
    story.ask_cancel(request, grace_s=1.0)
    story.now = 0.5
    story.cancel(request)
    assert story.wait(0.9).lapsed == ()
    assert story.wait(0.1).lapsed == (1,)


def test_a_cancel_ends_at_its_deadline_whenever_that_is_noticed(story: Story) -> None:
    first, second = story.call("a"), story.call("b")
    story.cancel(first)
    story.now = 1.0
    story.cancel(second)
    story.now = 60.0
    story.wait(0)
    ended = [story.job(request).ended_at for request in (first, second)]
    assert ended == [CANCEL_GRACE_S, 1.0 + CANCEL_GRACE_S]


def test_a_cancel_is_settled_before_later_facts_are_taken(story: Story) -> None:
    cancelled, other = story.call("a"), story.call("b")
    story.cancel(cancelled)
    story.now = CANCEL_GRACE_S
    changes = story.tick(other, 1)
    assert changes.lapsed == (story.job(cancelled).id,)
    story.reply(cancelled, {"content": [], "n": 1})
    assert story.job(cancelled).state is JobState.CANCELLED
    assert story.job(cancelled).ended_at == CANCEL_GRACE_S
    assert story.marks(cancelled) == {"late-result": 1}


def test_a_deadline_within_a_chunk_is_kept_to(story: Story) -> None:
    cancelled, other = story.call("a"), story.call("b")
    story.hold()
    story.cancel(cancelled)
    for place in range(12):
        story.now = float(place)
        story.tick(other, place)
    story.reply(cancelled)
    assert story.release().lapsed == (story.job(cancelled).id,)
    assert story.job(cancelled).state is JobState.CANCELLED


def test_a_renewed_cancel_has_a_new_deadline(story: Story) -> None:
    request = story.call()
    story.ask_cancel(request)
    story.now = 3.0
    story.cancel(request)
    assert story.wait(CANCEL_GRACE_S - 1).lapsed == ()
    assert story.wait(1).lapsed == (1,)
    assert story.job(request).ended_at == 3.0 + CANCEL_GRACE_S


def test_what_comes_of_facts_does_not_depend_on_how_they_are_divided() -> None:
    def reported(story: Story) -> None:
        request = story.call()
        for place in range(100):
            story.now = place // 40 * 0.01
            story.tick(request, place, 100, f"{'abc'[place % 3]} {place}")
        story.reply(request)

    apart, together = Story(), Story()
    reported(apart)
    together.hold()
    reported(together)
    together.release()
    assert apart.detail(101) == together.detail(101)
    assert len(apart.detail(101).phases) > 3


def test_a_cancel_after_the_reply_is_marked(story: Story) -> None:
    request = story.call()
    story.reply(request)
    story.cancel(request)
    assert story.job(request).state is JobState.DONE
    assert story.marks(request) == {"cancel-too-late": 1}


def test_the_cancel_that_follows_a_timeout_is_no_irregularity(story: Story) -> None:
    request = story.call()
    _time_out(story, request)
    story.cancel(request)
    job = story.job(request)
    assert (job.state, job.marks) == (JobState.TIMED_OUT, ())
    assert job.failure == Failure("local", "too long")


def test_a_reply_after_a_timeout_is_kept_and_marked(story: Story) -> None:
    request = story.call()
    _time_out(story, request)
    story.cancel(request)
    story.reply(request, error={"code": 1, "message": "cancelled"})
    assert story.job(request).state is JobState.TIMED_OUT
    assert story.marks(request) == {"late-result": 1}


def test_requests_for_ended_and_unknown_jobs_are_ignored(story: Story) -> None:
    request = story.call()
    story.reply(request)
    for job in (story.job(request).id, 999):
        assert story.tracker.note_cancel_requested(job) == ChangeSet()
    for known in (request, 999):
        assert story.time_out(known) == story.ask_cancel(known) == ChangeSet(marked={})
    assert story.job(request).state is JobState.DONE


def test_a_lost_connection_tells_each_of_its_running_jobs_why(story: Story) -> None:
    done, running, cancelling = story.call("a"), story.call("b"), story.call("c")
    elsewhere = story.call("d", connection="other#1")
    story.reply(done)
    story.cancel(cancelling)
    changes = story.close("the process ended", 3)
    text = "The connection ended before the reply: the process ended (exit code 3)"
    for request in (running, cancelling):
        assert story.job(request).state is JobState.LOST
        assert story.job(request).failure == Failure("local", text)
    assert changes.moved == {story.job(running).id, story.job(cancelling).id}
    assert story.job(done).state is JobState.DONE
    assert story.job(elsewhere).state is JobState.RUNNING


def test_removing_takes_ended_jobs_only(story: Story) -> None:
    ended, running = story.call("a"), story.call("b")
    story.reply(ended)
    job = story.job(ended).id
    changes = story.tracker.remove([job, story.job(running).id, 999])
    assert changes == ChangeSet(removed=(job,))
    assert story.tracker.snapshot(job, 0.0) is None
    assert story.tracker.detail(job, 0.0) is None
    assert story.tracker.job_of(ended) is None
    assert story.tracker.jobs() == (story.job(running).id,)
    fact = story.progress(ended, 1)
    assert story.tell(fact).ticks == [(None, 0, fact)]


def test_every_running_job_is_refreshed_each_second(story: Story) -> None:
    running, ended = story.call("a"), story.call("b")
    story.reply(ended)
    assert story.wait(1).progressed == {story.job(running).id}


def test_a_job_that_begins_and_goes_in_one_chunk_is_not_reported() -> None:
    story = Story(Tracker(RowLimits(ended=1)))
    story.hold()
    for _ in range(2):
        story.reply(story.call())
    changes = story.release()
    assert (changes.added, changes.removed, changes.progressed) == ((2,), (), frozenset({2}))


def test_a_result_that_breaks_its_output_schema_marks_its_job(story: Story) -> None:
    request = story.call("a")
    story.reply(request)
    place = (900, CONNECTION, story.now, 1e9 + story.now)
    changes = story.tell(OutputChecked(*place, request, ("n: 1 is wrong",), ("too large",)))
    job = story.job(request)
    assert [mark.key for mark in job.marks] == ["output-schema", "output-unchecked"]
    assert job.marks[0].text.endswith("output schema: n: 1 is wrong")
    assert job.state is JobState.DONE
    assert job.id in changes.moved
    assert texts_of(changes.marked)[900] == "n: 1 is wrong"
    story.tell(OutputChecked(*place, 77, ("of no job",), ()))


def test_the_run_before_asked_the_same_and_is_over(story: Story) -> None:
    def call(rows: int, token: str, method: str = "tools/call") -> int:
        params = {"name": "export", "arguments": {"rows": rows}, "_meta": {"t": token}}
        return story.call(token, method=method, params=params)

    first, other, running = call(1, "a"), call(2, "b"), call(1, "c")
    prompt, last = call(1, "d", "prompts/get"), call(1, "e")
    for request in (first, other, prompt, last):
        story.reply(request)
    jobs = Jobs(story.tracker, lambda: story.now)
    ids = {request: story.job(request).id for request in (first, other, running, last)}
    assert jobs.before(ids[last]) == ids[first]
    assert jobs.before(ids[first]) is None
    assert jobs.before(ids[other]) is None
    story.reply(running)
    assert jobs.before(ids[last]) == ids[running]
    assert jobs.before(max(jobs.ids()) + 1) is None

"""What the other side asks for: requests of its own under a job, and rounds of one job."""

from typing import Any

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import RELATED_TASK
from mcp_progress_monitor.tracker import violations
from mcp_progress_monitor.tracker.job_parts import CHILDREN_KEPT, ROUND_TRIPS_KEPT
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.growth import is_linear
from tests.unit.protocol.wire import notification, progress, request, result
from tests.unit.tracker.dialogue import Dialogue, nested

ASKS = {"k": {"method": "elicitation/create", "params": {"message": "Which?"}}}


def _question(
    wire: Dialogue, identity: object = "q", method: str = "elicitation/create", **params: Any
) -> int:
    return wire.receive(request(identity, method, **params))


# Requests of the server


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage"])
def test_a_question_is_a_job_under_the_one_that_caused_it(wire: Dialogue, method: str) -> None:
    made = wire.call()
    question = _question(wire, method=method)
    child = wire.job(question)
    assert (child.sender, child.state, child.parent) == (
        Side.SERVER,
        JobState.NEEDS_YOU,
        wire.job(made).id,
    )
    assert wire.tracker.parents_of([child.id, wire.job(made).id, 99]) == {child.id: child.parent}
    assert not child.parent_is_unclear
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (question,))
    assert wire.detail(made).children == (child.id,)
    wire.send(result("q", action="accept"))
    assert wire.state(question) is JobState.DONE
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    assert wire.detail(made).children == (child.id,)


def test_a_job_waits_until_the_last_of_its_questions_is_answered(wire: Dialogue) -> None:
    made = wire.call()
    asked = [_question(wire, identity) for identity in "qr"]
    wire.send(result("q", action="decline"))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (asked[1],))
    wire.send(
        {"jsonrpc": "2.0", "id": "r", "error": {"code": -1, "message": "Refused by the user"}}
    )
    assert wire.state(made) is JobState.RUNNING
    failure = wire.job(asked[1]).failure
    assert failure is not None
    assert (failure.where, failure.message) == ("local", "Refused by the user")


def test_a_job_has_the_text_of_its_oldest_question(wire: Dialogue) -> None:
    made = wire.call()
    content = [{"type": "image"}, {"type": "text", "text": "Shorten this"}]
    sampling = {"messages": [{"role": "user", "content": content}]}
    _question(wire, "q", "sampling/createMessage", **sampling)
    _question(wire, "r", message="Which folder?")
    assert wire.job(made).question == "Shorten this"
    wire.send(result("q", action="accept"))
    assert wire.job(made).question == "Which folder?"
    wire.send(result("r", action="accept"))
    assert wire.job(made).question == ""


def test_a_question_without_a_text_gives_its_job_none(wire: Dialogue) -> None:
    made = wire.call()
    _question(wire, message={"not": "a text"}, messages=[{"content": 5}])
    assert (wire.state(made), wire.job(made).question) == (JobState.NEEDS_YOU, "")


def test_what_asks_nothing_of_the_user_is_a_child_that_keeps_nobody_waiting(wire: Dialogue) -> None:
    made = wire.call()
    roots = _question(wire, method="roots/list", _meta={"progressToken": 5})
    assert wire.job(roots).parent == wire.job(made).id
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    assert wire.tracker.job_of(_question(wire, "p", "ping")) is None


def test_progress_that_we_send_shows_on_the_question(wire: Dialogue) -> None:
    made = wire.call("ours")
    question = _question(wire, _meta={"progressToken": "theirs"})
    wire.send(progress("theirs", 1, total=4, message="Displaying form"))
    job = wire.job(question)
    assert (job.progress, job.message, job.fraction) == (1, "Displaying form", 0.25)
    assert wire.job(made).tick_count == 0
    wire.wait(600)
    assert wire.state(question) is JobState.NEEDS_YOU, "the user may think as long as they like"


def test_none_of_several_running_jobs_is_said_to_need_the_user(wire: Dialogue) -> None:
    first, second = wire.call("a"), wire.call("b")
    child = wire.job(_question(wire))
    assert (child.parent, child.parent_is_unclear) == (None, True)
    assert child.state is JobState.NEEDS_YOU
    assert wire.state(first) is wire.state(second) is JobState.RUNNING
    wire.reply(content=[])
    child = wire.job(_question(wire, "r"))
    assert (child.parent, child.parent_is_unclear) == (wire.job(first).id, False)


def test_no_job_that_may_wait_for_the_user_stalls(wire: Dialogue) -> None:
    jobs = [wire.call("a"), wire.call("b")]
    for token in "ab":
        for value in range(5):
            wire.receive(progress(token, value, total=100))
    _question(wire)
    wire.wait(600)
    assert [wire.state(job) for job in jobs] == [JobState.RUNNING] * 2
    wire.send(result("q", action="accept"))
    wire.wait(5)
    assert [wire.state(job) for job in jobs] == [JobState.RUNNING] * 2
    wire.wait(600)
    assert [wire.state(job) for job in jobs] == [JobState.STALLED] * 2


def test_a_question_holds_no_job_of_another_connection(wire: Dialogue) -> None:
    made = wire.call("a")
    for value in range(5):
        wire.receive(progress("a", value, total=100))
    wire.connect()
    wire.call("a")
    wire.call("b")
    assert wire.job(_question(wire)).parent_is_unclear
    wire.wait(600)
    assert wire.state(made) is JobState.STALLED


def test_a_question_that_names_its_task_belongs_to_that(wire: Dialogue) -> None:
    made = wire.begin()
    wire.call("b")
    child = wire.job(_question(wire, _meta={RELATED_TASK: {"taskId": "T"}}))
    assert (child.parent, child.parent_is_unclear) == (wire.job(made).id, False)
    wire.tell(nested("completed"))
    child = wire.job(_question(wire, "r", _meta={RELATED_TASK: {"taskId": "T"}}))
    assert child.parent != wire.job(made).id, "a task that is over asks nothing"


def test_a_question_without_a_job_stands_alone(wire: Dialogue) -> None:
    made = wire.call()
    wire.reply(content=[])
    child = wire.job(_question(wire))
    assert (child.parent, child.parent_is_unclear) == (None, False)
    wire.connect()
    wire.call("b")
    other = wire.connection
    assert wire.job(_question(wire, "r")).connection == other
    assert wire.detail(made).children == ()


def test_jobs_of_other_connections_ask_nothing_here(wire: Dialogue) -> None:
    made = wire.call()
    wire.connect()
    child = wire.job(_question(wire))
    assert child.parent is None
    assert wire.state(made) is JobState.RUNNING


def test_a_question_that_the_server_takes_back_is_closed_at_once(wire: Dialogue) -> None:
    made, question = wire.call(), _question(wire)
    wire.receive(notification("notifications/cancelled", requestId="q", reason="Too late"))
    assert (wire.state(question), wire.failure(question)) == (JobState.CANCELLED, "Too late")
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    wire.send(result("q", action="accept"))
    assert wire.marks(question) == {rules.LATE_REPLY.kind: 1}


def test_a_job_that_is_being_cancelled_shows_that_first(wire: Dialogue) -> None:
    made = wire.call()
    wire.event("cancel_requested", request=made, grace_s=60)
    _question(wire)
    assert wire.state(made) is JobState.CANCELLING
    wire.send(result("q", action="cancel"))
    assert wire.state(made) is JobState.CANCELLING


def test_a_job_that_ends_with_its_question_open_is_over(wire: Dialogue) -> None:
    made, question = wire.call(), _question(wire)
    wire.reply(content=[])
    assert (wire.state(made), wire.state(question)) == (JobState.DONE, JobState.NEEDS_YOU)
    wire.send(result("q", action="accept"))
    assert (wire.state(made), wire.job(made).questions) == (JobState.DONE, ())


def test_a_question_breaks_the_silence_of_its_job(wire: Dialogue) -> None:
    made = wire.call()
    wire.receive(progress("a", 1))
    wire.wait(11)
    assert wire.state(made) is JobState.STALLED
    _question(wire)
    wire.wait(600)
    assert wire.state(made) is JobState.NEEDS_YOU
    wire.send(result("q", action="accept"))
    wire.wait(9)
    assert (wire.state(made), wire.job(made).silent_s) == (JobState.RUNNING, 9)
    wire.wait(2)
    assert wire.state(made) is JobState.STALLED


def test_all_are_lost_with_the_connection(wire: Dialogue) -> None:
    made, question = wire.call(), _question(wire)
    wire.event("closed")
    assert (wire.state(made), wire.state(question)) == (JobState.LOST, JobState.LOST)
    assert wire.job(made).questions == ()


def test_families_are_parted_with_their_rows() -> None:
    wire = Dialogue(Tracker(RowLimits(ended=2)))
    made = wire.call()
    for place in range(5):
        question = _question(wire, place)
        wire.send(result(place, action="accept"))
    assert len(wire.detail(made).children) == 2
    wire.reply(content=[])
    wire.tracker.remove([wire.job(made).id])
    assert (wire.job(question).parent, wire.tracker.job_of(made)) == (None, None)


def test_the_children_that_are_reported_are_bounded(wire: Dialogue) -> None:
    made = wire.call()
    for place in range(CHILDREN_KEPT + 3):
        _question(wire, place)
    assert len(wire.detail(made).children) == CHILDREN_KEPT


# Rounds


def _require(wire: Dialogue, state: object = "s1", asks: object = ASKS) -> int:
    members = {"inputRequests": asks, "requestState": state}
    given = {name: value for name, value in members.items() if value is not None}
    return wire.reply(resultType="input_required", **given)


def test_a_job_has_the_text_that_a_reply_asks_first(wire: Dialogue) -> None:
    made = wire.call()
    _require(wire)
    assert wire.job(made).question == "Which?"


def test_a_reply_that_requires_input_is_a_round_of_the_same_job(wire: Dialogue) -> None:
    made = wire.call()
    number = _require(wire)
    job = wire.job(made)
    assert (job.state, job.questions, job.reply_size) == (JobState.NEEDS_YOU, (number,), None)
    again = wire.call(inputResponses={"k": {"action": "accept"}}, requestState="s1")
    job = wire.job(made)
    assert wire.tracker.jobs() == (job.id,)
    assert (job.state, job.questions, job.request, job.started_at) == (
        JobState.RUNNING,
        (),
        again,
        0,
    )
    assert wire.tracker.job_of(again) == job.id
    assert wire.tracker.requests_of(job.id) == {made, again}
    wire.reply(resultType="complete", content=[])
    assert (wire.state(made), wire.detail(made).round_trips) == (JobState.DONE, 1)
    assert wire.marks(made) == {}


def test_every_round_is_counted_and_its_progress_begins_again(wire: Dialogue) -> None:
    made = wire.call()
    for place in range(3):
        wire.receive(progress("a", 5 - place))
        _require(wire, f"s{place}")
        wire.now += 20
        wire.call(inputResponses={"k": {}}, requestState=f"s{place}")
    wire.receive(progress("a", 1))
    assert (wire.detail(made).round_trips, wire.job(made).tick_count) == (3, 4)
    assert wire.marks(made) == {}


def test_progress_between_the_rounds_is_late(wire: Dialogue) -> None:
    made = wire.call()
    _require(wire)
    wire.receive(progress("a", 5))
    assert wire.marks(made) == {rules.TICK_OF_TASK.kind: 1}
    assert wire.state(made) is JobState.NEEDS_YOU


def test_a_reply_with_nothing_but_a_state_needs_no_user(wire: Dialogue) -> None:
    made = wire.call()
    _require(wire, asks=None)
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    wire.call(requestState="s1")
    wire.reply(content=[])
    assert (wire.state(made), len(wire.tracker.jobs())) == (JobState.DONE, 1)


def test_a_reply_that_requires_nothing_is_marked(wire: Dialogue) -> None:
    made = wire.call()
    _require(wire, None, None)
    assert wire.marks(made) == {violations.INVALID_REPLY: 1}
    wire.call(inputResponses={})
    assert len(wire.tracker.jobs()) == 1


def test_a_round_finds_its_job_by_its_state(wire: Dialogue) -> None:
    calls = []
    for place in range(3):
        calls.append(wire.call(f"t{place}"))
        _require(wire, f"s{place}")
    wire.call("t1", inputResponses={"k": {}}, requestState="s1")
    assert [wire.state(made) for made in calls] == [
        JobState.NEEDS_YOU,
        JobState.RUNNING,
        JobState.NEEDS_YOU,
    ]


def test_a_round_without_a_state_finds_its_job_by_what_it_asks_for(wire: Dialogue) -> None:
    other = wire.call(name="other")
    _require(wire, None)
    made = wire.call()
    _require(wire, None)
    wire.call(inputResponses={"k": {}})
    assert (wire.state(other), wire.state(made)) == (JobState.NEEDS_YOU, JobState.RUNNING)
    assert wire.marks(made) == {}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"requestState": "S1"}, "its state is not the one that the server sent"),
        ({"name": "other"}, "its parameters differ from the original request"),
    ],
)
def test_a_round_that_changes_more_than_it_may_is_marked(
    wire: Dialogue, changed: dict[str, Any], text: str
) -> None:
    made = wire.call()
    _require(wire)
    wire.call(**{"inputResponses": {"k": {}}, "requestState": "s1", **changed})
    assert wire.texts(made) == [f"The request was sent again, but {text}"]
    assert wire.marks(made) == {rules.REQUEST_CHANGED.kind: 1}


def test_what_fits_no_round_is_a_job_of_its_own(wire: Dialogue) -> None:
    made = wire.call()
    _require(wire)
    wire.call("b", name="other", inputResponses={}, requestState="x")
    assert len(wire.tracker.jobs()) == 2
    wire.connect()
    wire.call("a", inputResponses={"k": {}}, requestState="s1")
    assert len(wire.tracker.jobs()) == 3
    assert wire.state(made) is JobState.NEEDS_YOU


def test_a_cancel_while_no_request_is_open_is_done_at_once(wire: Dialogue) -> None:
    made = wire.call()
    _require(wire)
    wire.event("cancel_requested", request=made, reason="Enough")
    assert (wire.state(made), wire.failure(made)) == (JobState.CANCELLED, "Enough")
    wire.call(inputResponses={"k": {}}, requestState="s1")
    assert len(wire.tracker.jobs()) == 2


def test_a_reply_that_requires_input_ends_a_cancelled_job(wire: Dialogue) -> None:
    made = wire.call()
    wire.event("cancel_requested", request=made, reason="Enough")
    _require(wire)
    assert (wire.state(made), wire.failure(made)) == (JobState.CANCELLED, "Enough")


def test_the_one_who_asks_no_more_ends_the_job(wire: Dialogue) -> None:
    made = wire.call()
    _require(wire)
    message = "The server asked again after 10 rounds"
    wire.event("call_ended", request=made, outcome="failed", text=message)
    assert (wire.state(made), wire.failure(made)) == (JobState.FAILED, message)
    assert wire.job(made).questions == ()


def test_a_resume_token_beside_the_questions_is_what_counts(wire: Dialogue) -> None:
    made = wire.call()
    wire.reply(resultType="input_required", inputRequests=ASKS, _meta={"nextResumeToken": "t"})
    assert (wire.state(made), wire.job(made).questions) == (JobState.RESUMABLE, ())


def test_rounds_leave_nothing_behind() -> None:
    wire = Dialogue()
    made = wire.call()
    for place in range(ROUND_TRIPS_KEPT + 5):
        _require(wire, f"s{place}")
        wire.call(inputResponses={"k": {}}, requestState=f"s{place}")
    job = wire.tracker.jobs()[0]
    known = wire.tracker.requests_of(job)
    assert len(known) == ROUND_TRIPS_KEPT + 2  # the first and the newest one besides
    assert made in known
    wire.reply(content=[])
    wire.tracker.remove([job])
    assert wire.tracker.open_count == 0
    assert [wire.tracker.job_of(number) for number in known] == [None] * len(known)


def test_what_a_question_costs_does_not_grow_with_those_that_are_open() -> None:
    def ask(count: int) -> None:
        wire = Dialogue()
        wire.call()
        for number in range(count):
            _question(wire, number)

    assert is_linear(ask, 4_000)

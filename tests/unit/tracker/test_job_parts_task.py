"""What is known of a task, message by message: its course, its time, what it waits for."""

import pytest

from mcp_progress_monitor.protocol.messages import RELATED_TASK
from mcp_progress_monitor.tracker import violations
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.protocol.wire import progress, request, result
from tests.unit.tracker.dialogue import Dialogue, flat, nested

TEXT = {"content": [{"type": "text", "text": "all of it"}]}
META = {"_meta": {RELATED_TASK: {"taskId": "T"}}}


def test_the_time_to_live_counts_down_from_the_reply_that_began_it(wire: Dialogue) -> None:
    wire.now = 100.0
    made = wire.begin()
    wire.now = 130.0
    task = wire.job(made).task
    assert task is not None
    assert (task.expires_at, task.ttl_left_s) == (160.0, 30.0)
    wire.poll(nested(ttl=90_000))
    wire.now = 500.0
    task = wire.job(made).task
    assert task is not None
    assert (task.expires_at, task.ttl_left_s) == (190.0, 0.0)
    wire.poll(nested(ttl=None))
    task = wire.job(made).task
    assert task is not None
    assert (task.expires_at, task.ttl_left_s) == (None, None)


@pytest.mark.parametrize("ttl", [10**400, 1e308])
def test_a_time_to_live_beyond_all_measure_is_no_trouble(wire: Dialogue, ttl: float) -> None:
    task = wire.job(wire.begin(ttl=ttl)).task
    assert task is not None
    assert task.ttl_left_s is not None
    assert task.ttl_left_s > 1e9


def test_the_course_has_the_changes_and_polls_are_counted(wire: Dialogue) -> None:
    made = wire.begin()
    for step, stated in enumerate([nested(), nested(), nested(statusMessage="half"), nested()]):
        wire.now = step + 1.0
        wire.poll(stated)
    wire.tell(nested("completed"))
    course = wire.detail(made).task_steps
    assert [step[:4] for step in course] == [
        ("working", None, 0.0, "created"),
        ("working", "half", 3.0, "get"),
        ("working", None, 4.0, "get"),
        ("completed", None, 4.0, "status"),
    ]
    assert course[0].number == made + 1
    wire.now = 9.0
    task = wire.job(made).task
    assert task is not None
    assert (task.poll_count, task.polled_s) == (4, 5.0)


def test_a_task_waits_for_the_user_until_its_question_is_answered(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("input_required"))
    wire.ask("tasks/result", taskId="T")
    question = wire.receive(request("q", "elicitation/create", message="Which?", **META))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (question,))
    assert wire.job(question).parent == wire.job(made).id
    wire.send(result("q", action="accept"))
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    wire.poll(nested("input_required"))  # it has not read the answer yet
    assert wire.state(made) is JobState.RUNNING
    wire.tell(nested("working"))
    wire.tell(nested("input_required"))
    assert wire.state(made) is JobState.NEEDS_YOU


def test_questions_of_the_extension_are_open_until_each_is_answered(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    asks = {key: {"method": "elicitation/create", "params": {}} for key in "ab"}
    number = wire.poll(flat("input_required", inputRequests=asks))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (number,))
    wire.ask("tasks/update", taskId="T", inputResponses={"a": {}})
    wire.reply(resultType="complete")
    assert wire.state(made) is JobState.NEEDS_YOU
    wire.ask("tasks/update", taskId="T", inputResponses={"b": {}})
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    wire.poll(flat("input_required", inputRequests=asks))  # eventually consistent
    assert wire.state(made) is JobState.RUNNING
    number = wire.poll(flat("input_required", inputRequests={**asks, "c": {}}))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (number,))
    wire.poll(flat("completed", result=TEXT))
    assert (wire.state(made), wire.job(made).questions) == (JobState.DONE, ())


def test_a_key_that_stands_for_another_question_is_open_again_and_marked(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    asks = [{"k": {"params": {"message": word}}} for word in ("one", "two", "three")]
    wire.poll(flat("input_required", inputRequests=asks[0]))
    wire.ask("tasks/update", taskId="T", inputResponses={"k": {"action": "accept"}})
    wire.reply(resultType="complete")
    wire.poll(flat("input_required", inputRequests=asks[0]))  # it has not read the answer yet
    assert (wire.state(made), wire.texts(made)) == (JobState.RUNNING, [])
    number = wire.poll(flat("input_required", inputRequests=asks[1]))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (number,))
    assert wire.texts(made) == ["the key k was already used for another question"]
    number = wire.poll(flat("input_required", inputRequests=asks[2]))  # not even answered
    assert (wire.marks(made), wire.job(made).questions) == ({violations.TASK: 2}, (number,))
    wire.ask("tasks/update", taskId="T", inputResponses={"k": {"action": "decline"}})
    assert wire.state(made) is JobState.RUNNING
    detail = wire.detail(made)
    assert [each.params["message"] for each in detail.server_requests] == ["one", "two", "three"]


def test_an_answer_to_what_was_asked_elsewhere_makes_no_key_a_used_one(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.ask("tasks/update", taskId="T", inputResponses={"k": {}})
    wire.reply(resultType="complete")
    wire.poll(flat("input_required", inputRequests={"k": {"params": {"message": "one"}}}))
    assert (wire.state(made), wire.marks(made)) == (JobState.RUNNING, {})


def test_a_refused_update_is_marked(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.ask("tasks/update", taskId="T", inputResponses={})
    wire.refuse(-32602, "no such key")
    assert wire.texts(made) == ["tasks/update was refused: no such key"]
    assert wire.state(made) is JobState.RUNNING


def test_only_changes_of_the_task_end_the_silence(wire: Dialogue) -> None:
    made = wire.begin()
    wire.receive(progress("a", 1))
    wire.now = 9.0
    wire.poll(nested())
    wire.wait(2)
    assert wire.state(made) is JobState.STALLED
    wire.tell(nested("input_required"))
    assert wire.state(made) is JobState.NEEDS_YOU
    wire.tell(nested())
    wire.wait(9)
    assert wire.state(made) is JobState.RUNNING
    wire.wait(2)
    assert wire.state(made) is JobState.STALLED

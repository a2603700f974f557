"""The events of questions and tasks, which scripts rely on."""

from typing import Any

import pytest

from mcp_progress_monitor.cli.output.events import asking_job
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.tracker.snapshot import Failure, JobState
from tests.job_stand_ins import FakeJobs, job
from tests.unit.cli.asking.questions import asked
from tests.unit.cli.outcomes import outcome
from tests.unit.cli.output.test_job_text_task_lines import TASK
from tests.unit.cli.traffic import notice
from tests.unit.cli.witness import Witness


@pytest.fixture
def witness() -> Witness:
    witness = Witness()
    witness.events.on_update(witness.traffic.opened("2025-11-25"))
    witness.events.on_update(witness.traffic.called())
    return witness


def receive(witness: Witness, *messages: dict[str, Any]) -> None:
    witness.events.on_update(witness.traffic.received(*messages))


def begin(witness: Witness) -> None:
    """The server made a task of the call."""
    result = {"task": {**TASK, "status": "working", "statusMessage": "Begun"}}
    receive(witness, {"jsonrpc": "2.0", "id": 7, "result": result})


def test_a_question_is_an_event_once(witness: Witness) -> None:
    params = {"message": "Your name?\x1b", "requestedSchema": {"type": "object"}}
    question = asked(id=5, key="k", params=params, job=1, error="odd", asked_at=103.5)
    witness.traffic.open_questions.append(question)
    for _ in range(2):
        witness.events.on_update(Update(questions=frozenset({5})))
    assert witness.last() == {
        "event": "question",
        "t": 3.5,
        "job": 1,
        "method": "elicitation/create",
        "params": params,
        "question": 5,
        "key": "k",
        "kind": "form",
        "problem": "odd",
    }
    assert [event["event"] for event in witness.read()].count("question") == 1
    assert "\x1b" not in witness.text


def test_an_answer_is_an_event(witness: Witness) -> None:
    witness.events.report_answer(asked(id=5, job=1), "decline", "no terminal to ask on")
    event = witness.last()
    assert event.pop("t") > 0
    assert event == {
        "event": "answered",
        "job": 1,
        "question": 5,
        "action": "decline",
        "text": "no terminal to ask on",
    }


@pytest.mark.parametrize(("of", "call"), [(1, 1), (2, 1), (None, None), (9, 9)])
def test_a_question_belongs_to_the_call_that_made_the_server_ask(
    of: int | None, call: int | None
) -> None:
    book = FakeJobs(job(id=1), job(id=2, parent=1))
    assert asking_job(asked(job=of), book) == call


def test_each_change_of_a_task_is_an_event_in_order(witness: Witness) -> None:
    begin(witness)
    for status in ("working", "input_required", "input_required", "completed"):
        receive(witness, notice("notifications/tasks/status", **TASK, status=status))
    tasks = [event for event in witness.read() if event["event"] == "task"]
    assert tasks[0] == {
        "event": "task",
        "t": 0.0,
        "job": 1,
        "taskId": "T",
        "status": "working",
        "statusMessage": "Begun",
    }
    assert [(task["status"], task["statusMessage"]) for task in tasks[1:]] == [
        ("working", None),
        ("input_required", None),
        ("completed", None),
    ]


def test_a_task_is_no_result_until_its_end(witness: Witness) -> None:
    begin(witness)
    assert "result" not in {event["event"] for event in witness.read()}
    raw = b'{"id": 9, "result": {"content": [], "_meta": {"x": 1.0}}}'
    ended = outcome({"content": []}, None, JobState.DONE, raw)
    for _ in range(2):
        witness.events.show(ended)
    results = [event for event in witness.read() if event["event"] == "result"]
    assert [(event["result"], event["ticks"]) for event in results] == [
        ({"content": [], "_meta": {"x": 1.0}}, 0)
    ]
    assert '"x": 1.0' in witness.text


def test_the_result_within_a_flat_task_is_the_result(witness: Witness) -> None:
    begin(witness)
    raw = b'{"id":9,"result":{"taskId":"T","status":"completed","result":{"content":[1.0]}}}'
    witness.events.show(outcome({"content": [1.0]}, None, JobState.DONE, raw))
    assert witness.last()["result"] == {"content": [1.0]}


def test_a_task_that_failed_is_an_error(witness: Witness) -> None:
    begin(witness)
    failure = Failure("server", "No such thing", -32000)
    witness.events.show(outcome(None, failure, JobState.FAILED, b"{}"))
    error = witness.last()
    assert (error["event"], error["code"], error["message"]) == ("error", -32000, "No such thing")


def test_looks_at_a_task_are_no_requests(witness: Witness) -> None:
    begin(witness)
    count = len(witness.read())
    witness.events.on_update(witness.traffic.sent(12, "tasks/get", {"taskId": "T"}))
    receive(witness, {"jsonrpc": "2.0", "id": 12, "result": {**TASK, "status": "completed"}})
    assert [event["event"] for event in witness.read()[count:]] == ["task"]


def test_a_result_that_asks_first_is_no_result(witness: Witness) -> None:
    result = {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}
    receive(witness, {"jsonrpc": "2.0", "id": 7, "result": result})
    assert witness.last()["event"] == "request"


def test_the_duration_counts_from_the_first_round() -> None:
    witness = Witness()
    witness.events.on_update(witness.traffic.opened("2026-07-28"))
    witness.events.on_update(witness.traffic.called())
    witness.traffic.now += 2
    ask = {"method": "elicitation/create", "params": {"message": "?"}}
    result = {"resultType": "input_required", "inputRequests": {"k": ask}, "requestState": "s"}
    receive(witness, {"jsonrpc": "2.0", "id": 7, "result": result})
    witness.traffic.now += 2
    answers = {"inputResponses": {"k": {"action": "decline"}}, "requestState": "s"}
    params = {"name": "burst", "arguments": {}, **answers, "_meta": {"progressToken": "a"}}
    witness.events.on_update(witness.traffic.sent(8, "tools/call", params))
    witness.traffic.now += 1
    receive(witness, {"jsonrpc": "2.0", "id": 8, "result": {"content": []}})
    assert witness.last()["duration_s"] == 5
    assert [event["job"] for event in witness.read() if event["event"] == "request"] == [1, 1]

"""What messages say of tasks, in 2025-11-25 and in the extension of 2026-07-28."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.findings.finding import texts
from mcp_progress_monitor.protocol.facts import (
    Fact,
    JsonObject,
    ProgressReceived,
    RequestAnswered,
    RequestStanding,
    Side,
    TaskStated,
)
from mcp_progress_monitor.protocol.ledger import MOST_TASKS
from mcp_progress_monitor.protocol.messages import RELATED_TASK
from mcp_progress_monitor.protocol.tasks import created_task, live_task, related_task, task_named_by
from tests.unit.protocol.wire import (
    JSON,
    Wire,
    as_bytes,
    call,
    error,
    notification,
    progress,
    request,
    result,
)

MOMENTS = {"createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:40:00Z"}
META = {"_meta": {RELATED_TASK: {"taskId": "T"}}}


def nested(status: str = "working", identity: str = "T", **more: Any) -> dict[str, Any]:
    """A task of 2025-11-25."""
    return {"taskId": identity, "status": status, **MOMENTS, "ttl": 60_000, **more}


def flat(status: str = "working", **more: Any) -> dict[str, Any]:
    """A task of the extension."""
    return {"taskId": "T", "status": status, **MOMENTS, "ttlMs": 60_000, **more}


def _tasks(facts: list[Fact]) -> list[TaskStated]:
    return [fact for fact in facts if isinstance(fact, TaskStated)]


def _task(facts: list[Fact]) -> TaskStated:
    (task,) = _tasks(facts)
    assert type(facts[0]) is not TaskStated, "the message's own fact comes first"
    assert task[:5] == facts[0][:5]
    return task


def _begun(*, is_flat: bool = False) -> Wire:
    """A connection on which request 1, with the token "a", has become the task "T"."""
    wire = Wire()
    made = wire.send(call(1, "a"))
    reply = {"resultType": "task", **flat()} if is_flat else {"task": nested()}
    task = _task(wire.receive(result(1, **reply)))
    assert (task.how, task.request, task.task.status) == ("created", made.number, "working")
    assert (task.sender, texts(task.findings), task.task.is_flat) == (Side.SERVER, (), is_flat)
    return wire


def _ask(wire: Wire, method: str, reply: dict[str, Any], task: str = "T", **params: Any) -> Any:
    wire.send(request(50, method, taskId=task, **params))
    return _task(wire.receive({**reply, "id": 50}))


@pytest.mark.parametrize("status", ["working", "input_required", "unheard-of", None])
def test_a_promised_task_is_live_unless_it_is_over(status: str | None) -> None:
    assert live_task({"task": {"taskId": "T", "status": status}}) == "T"


@pytest.mark.parametrize(
    "reply",
    [
        None,
        {},
        {"task": 5},
        {"task": {"taskId": 5, "status": "working"}},
        {"task": {"taskId": "T", "status": "completed"}},
        {"resultType": "task", "taskId": "T", "status": "working"},
    ],
)
def test_only_a_nested_task_that_goes_on_is_live(reply: JsonObject | None) -> None:
    assert live_task(reply) is None


def test_a_task_beside_a_tools_content_is_a_matter_of_that_tool() -> None:
    assert created_task({"content": [], "task": nested()}) is None
    assert created_task({"resultType": "complete", **flat()}) is None


def test_both_shapes_begin_a_task_and_a_mixture_as_well() -> None:
    for reply in ({"task": nested()}, {"resultType": "task", **flat()}):
        task = created_task(reply)
        assert task is not None
        assert (task.id, task.ttl_ms) == ("T", 60_000)
    assert created_task({"resultType": "task", "task": nested()}) == created_task(
        {"task": nested()}
    )


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"])
def test_requests_about_a_task_name_it(method: str) -> None:
    assert task_named_by(method, {"taskId": "T"}) == "T"
    assert task_named_by(method, {"taskId": 5}) is None


def test_other_requests_name_no_task() -> None:
    assert task_named_by("tools/call", {"taskId": "T"}) is None


def test_a_related_task_is_named_in_the_metadata_only() -> None:
    assert related_task(META) == "T"
    assert [
        related_task(p) for p in ({}, {"_meta": 5}, {"_meta": {RELATED_TASK: {"taskId": 5}}})
    ] == [None] * 3


def test_polling_states_the_task_of_2025() -> None:
    wire = _begun()
    stated = _ask(wire, "tasks/get", result(0, **nested("input_required", statusMessage="which?")))
    assert (stated.how, stated.request, stated.task.message) == ("get", 1, "which?")
    assert (stated.result, stated.error, stated.input_requests) == (None, None, None)


def test_polling_states_what_became_of_a_task_of_the_extension() -> None:
    wire = _begun(is_flat=True)
    asks = {"k": {"method": "elicitation/create", "params": {}}}
    reply = {"resultType": "complete", **flat("input_required"), "inputRequests": asks}
    assert _ask(wire, "tasks/get", result(0, **reply)).input_requests == asks
    reply = {"resultType": "complete", **flat("completed"), "result": {"content": []}}
    assert _ask(wire, "tasks/get", result(0, **reply)).result == {"content": []}
    reply = {"resultType": "complete", **flat("failed"), "error": {"code": -1, "message": "no"}}
    assert _ask(wire, "tasks/get", result(0, **reply)).error == {"code": -1, "message": "no"}


def test_members_of_a_wrong_type_are_none() -> None:
    wire = _begun(is_flat=True)
    stated = _ask(wire, "tasks/get", result(0, **flat(), result=5, error=[], inputRequests="x"))
    assert (stated.result, stated.error, stated.input_requests) == (None, None, None)


def test_the_reply_to_tasks_result_is_the_result_of_the_work() -> None:
    stated = _ask(_begun(), "tasks/result", result(0, content=[], **META))
    assert (stated.how, stated.task.id, stated.task.status) == ("result", "T", "")
    assert stated.result == {"content": [], **META}
    assert texts(stated.findings) == ()


@pytest.mark.parametrize(
    ("meta", "text"),
    [({}, "names no task"), ({"_meta": {RELATED_TASK: {"taskId": "U"}}}, 'names the task "U"')],
)
def test_a_result_that_does_not_name_its_task_is_irregular(meta: JsonObject, text: str) -> None:
    stated = _ask(_begun(), "tasks/result", result(0, content=[], **meta))
    assert texts(stated.findings) == (f'the result\'s "_meta" {text} instead of "T"',)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"])
def test_an_error_is_stated_with_the_task_that_was_asked_for(method: str) -> None:
    stated = _ask(_begun(), method, error(0, -32602))
    assert (stated.task.id, stated.task.status, stated.request) == ("T", "", 1)
    assert stated.error["code"] == -32602
    assert stated.result is None


@pytest.mark.parametrize("method", ["tasks/cancel", "tasks/update"])
def test_an_acknowledgement_states_no_status(method: str) -> None:
    stated = _ask(_begun(is_flat=True), method, result(0, resultType="complete"))
    assert (stated.how, stated.task.status, texts(stated.findings)) == (method[6:], "", ())


def test_cancelling_in_2025_states_the_task() -> None:
    stated = _ask(_begun(), "tasks/cancel", result(0, **nested("cancelled")))
    assert (stated.how, stated.task.status) == ("cancel", "cancelled")


def test_a_poll_without_a_task_is_irregular() -> None:
    assert texts(_ask(_begun(), "tasks/get", result(0)).findings) == ("the reply contains no task",)


def test_a_poll_about_another_task_tells_nothing_of_the_one_asked_for() -> None:
    stated = _ask(_begun(), "tasks/get", result(0, **nested("completed", "U")))
    assert (stated.task.id, stated.task.status, stated.request) == ("T", "", 1)
    assert texts(stated.findings) == ('the reply is about the task "U", not "T"',)


def test_a_list_states_every_task_in_it() -> None:
    wire = _begun()
    wire.send(request(2, "tasks/list"))
    items = [nested(), nested("completed", "U"), {"taskId": 5}, None]
    facts = wire.receive(result(2, tasks=items))
    assert isinstance(facts[0], RequestAnswered)
    assert [(fact.task.id, fact.how, fact.request) for fact in _tasks(facts)] == [
        ("T", "list", 1),
        ("U", "list", None),
    ]
    wire.send(request(3, "tasks/list"))
    assert _tasks(wire.receive(result(3, tasks="none"))) == []


@pytest.mark.parametrize("method", ["notifications/tasks/status", "notifications/tasks"])
def test_a_notification_states_its_task(method: str) -> None:
    stated = _task(_begun().receive(notification(method, **nested("failed"))))
    assert (stated.how, stated.request, stated.task.status) == ("status", 1, "failed")


def test_a_notification_of_an_unknown_task_is_irregular() -> None:
    stated = _task(Wire().receive(notification("notifications/tasks/status", **nested())))
    assert stated.request is None
    assert texts(stated.findings) == ('no request on this connection is about the task "T"',)


def test_a_task_that_was_asked_for_is_known_from_then_on() -> None:
    wire = Wire()
    assert _ask(wire, "tasks/get", result(0, **nested())).request is None
    stated = _task(wire.receive(notification("notifications/tasks/status", **nested())))
    assert (stated.request, texts(stated.findings)) == (None, ())


def test_other_notifications_and_tasks_without_an_id_state_nothing() -> None:
    wire = _begun()
    assert _tasks(wire.receive(notification("notifications/other", **nested()))) == []
    assert _tasks(wire.receive(notification("notifications/tasks", taskId=5))) == []


def test_two_requests_with_one_task_id_are_irregular() -> None:
    wire = _begun()
    made = wire.send(call(2, "b"))
    stated = _task(wire.receive(result(2, task=nested())))
    assert stated.request == made.number
    assert texts(stated.findings) == ('the task id "T" is already used by the request of frame 1',)


def test_a_new_task_of_2025_is_working() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    stated = _task(wire.receive(result(1, task=nested("input_required"))))
    assert texts(stated.findings) == (
        'a new task has the status "input_required" instead of working',
    )


def test_what_is_wrong_with_a_task_is_among_the_facts_errors() -> None:
    stated = _ask(_begun(), "tasks/get", result(0, **{**nested(), "ttl": "long"}))
    assert texts(stated.findings) == ('"ttl" is "long", not a number of milliseconds',)


def test_a_task_that_comes_after_a_cancel_is_stated_as_late() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    wire.send(notification("notifications/cancelled", requestId=1))
    stated = _task(wire.receive(result(1, task=nested())))
    assert (stated.standing, stated.request) == (RequestStanding.CANCELLED, 1)
    assert wire.conversation.open_tokens == 0


def test_tasks_of_the_server_s_requests_are_ours_to_state() -> None:
    wire = Wire()
    wire.receive(request(1, "sampling/createMessage", task={}))
    (_, stated) = wire.conversation.read(
        [wire.framer.sent(as_bytes(result(1, task=nested())), 1000.0, 1.0)]
    )
    assert isinstance(stated, TaskStated)
    assert (stated.sender, stated.request) == (Side.CLIENT, 1)


def _tick(wire: Wire, token: object, value: int, **params: Any) -> ProgressReceived:
    (fact,) = wire.receive(progress(token, value, **params))
    assert isinstance(fact, ProgressReceived)
    return fact


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
@pytest.mark.parametrize("way", ["status", "tasks/get", "tasks/cancel", "list"])
def test_a_token_is_alive_until_its_task_is_over(way: str, end: str) -> None:
    wire = _begun()
    for place, status in enumerate(["working", "input_required", end]):
        assert _tick(wire, "a", place).standing is RequestStanding.ACTIVE
        if way == "status":
            wire.receive(notification("notifications/tasks/status", **nested(status)))
        elif way == "list":
            wire.send(request(7, "tasks/list"))
            wire.receive(result(7, tasks=[nested(status)]))
        else:
            _ask(wire, way, result(0, **nested(status)))
    assert _tick(wire, "a", 9).standing is RequestStanding.ANSWERED
    assert wire.conversation.open_tokens == 0


def test_progress_with_another_token_belongs_to_the_task_that_it_names() -> None:
    wire = _begun()
    tick = _tick(wire, "b", 3, **META)
    assert (tick.request, tick.standing, tick.progress) == (1, RequestStanding.UNKNOWN, 3)
    assert texts(tick.findings) == (
        "the progress token differs from the one in the task's request",
    )
    assert _tick(wire, "b", 4).request is None
    assert texts(_tick(wire, "a", 4).findings) == ()


def test_the_tasks_that_are_known_are_bounded_and_gone_with_the_connection() -> None:
    wire = Wire()
    for number in range(MOST_TASKS + 5):
        wire.send(request(number))
        wire.receive(result(number, task=nested("working", f"T{number}")))
    assert wire.conversation.remembered == 2 * MOST_TASKS + 5  # with the ended requests
    wire.event("closed")
    assert wire.conversation.remembered == 0
    stated = _task(wire.receive(notification("notifications/tasks", **nested("working", "T9"))))
    assert stated.request is None


_VALUE = st.one_of(JSON, st.sampled_from(["T", "U", "working", "completed", "task", "complete"]))
_TASK = st.dictionaries(
    st.sampled_from(
        ["taskId", "status", "resultType", "task", "tasks", "result", "error", "inputRequests"]
    ),
    st.one_of(_VALUE, st.dictionaries(st.sampled_from(["taskId", "status"]), _VALUE)),
)
_METHOD = st.sampled_from(
    ["tools/call", "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"]
)


@given(st.lists(st.tuples(_METHOD, _TASK, _TASK, st.booleans()), max_size=12))
def test_no_order_of_messages_about_tasks_is_too_much(
    story: list[tuple[str, JsonObject, JsonObject, bool]],
) -> None:
    wire = Wire()
    for number, (method, params, reply, is_reported) in enumerate(story):
        wire.send(request(number, method, **params))
        facts = wire.receive(result(number, **reply))
        assert isinstance(facts[0], RequestAnswered)
        assert all(isinstance(fact, TaskStated) for fact in facts[1:])
        if is_reported:
            wire.receive(notification("notifications/tasks/status", **params))
    assert wire.conversation.open_requests == 0


def test_a_second_reply_does_not_take_a_task_from_its_request() -> None:
    wire = _begun()
    wire.send(call(2, "b"))
    wire.receive(result(2, content=[]))
    late = _task(wire.receive(result(2, task=nested())))
    assert (late.standing, late.request) == (RequestStanding.ANSWERED, 1)
    assert _ask(wire, "tasks/get", result(0, **nested())).request == 1


DRAFT_META = {"_meta": {"modelcontextprotocol.io/task": {"taskId": "T", "status": "working"}}}
"""As FastMCP 2.14 answers a call that is to be a task."""


def test_a_task_of_the_draft_begins_with_a_mark_and_keeps_its_token() -> None:
    wire = Wire()
    made = wire.send(call(1, "a"))
    task = _task(wire.receive(result(1, content=[], **DRAFT_META)))
    assert (task.how, task.request, task.task.status) == ("created", made.number, "working")
    assert not task.task.is_flat
    (error,) = texts(task.findings)
    assert error.endswith('as in a draft, instead of in "task"')
    (ticked,) = wire.receive(progress("a", 1))
    assert isinstance(ticked, ProgressReceived)
    assert ticked.standing is RequestStanding.ACTIVE


@pytest.mark.parametrize("value", [None, "T", {}, {"taskId": 7}])
def test_what_is_no_task_of_the_draft_is_an_ordinary_result(value: Any) -> None:
    assert created_task({"content": [], "_meta": {"modelcontextprotocol.io/task": value}}) is None


def test_a_result_that_names_its_task_as_in_the_draft_is_marked_so() -> None:
    meta = {"modelcontextprotocol.io/related-task": {"taskId": "T"}}
    assert related_task({"_meta": meta}) == "T"
    task = _ask(_begun(), "tasks/result", result(50, content=[], _meta=meta))
    (error,) = texts(task.findings)
    assert "as in a draft" in error

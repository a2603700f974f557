"""Tasks that break a rule break the one they name."""

from __future__ import annotations

import json
from typing import Any

import mcp_types
import pydantic
import pytest

from tests.servers.tools.tasks import JUMPS, REPEATED_ID, TOOLS, WRONG_FIELDS
from tests.unit.demo.client import PER_REQUEST, Message
from tests.unit.demo.host import CORE, Host

QUICK: dict[str, Any] = {"steps": 4, "interval_s": 0}
SLOW: dict[str, Any] = {"steps": 10_000, "interval_s": 0.01}


def created(host: Host, tool: str, **arguments: object) -> Message:
    """Return the whole result that begins a task."""
    params = {"name": tool, "arguments": arguments, "task": {}}
    result: Message = host.request("tools/call", params, "a").replies[0]["result"]
    return result


@pytest.mark.parametrize("jump", JUMPS)
def test_states_jump_in_the_order_that_was_chosen(core: Host, jump: str) -> None:
    task = core.begin_task("task_jumps_states", jump=jump, interval_s=0)
    marks = len(JUMPS[jump])
    method = b"notifications/tasks/status"
    core.sink.wait_for(lambda written: written.count(method) == marks)
    states = [params["status"] for params in core.sent(method.decode())]
    assert task["status"] == ("completed" if jump == "starts_completed" else "working")
    assert states == list(JUMPS[jump])


def test_a_listener_sees_the_jump(extension: Host) -> None:
    task = extension.begin_task("task_jumps_states", interval_s=0.05)
    extension.listen(taskIds=[task["taskId"]])
    extension.sink.wait_for(lambda written: written.count(b'"notifications/tasks"') == 3)
    states = [params["status"] for params in extension.sent("notifications/tasks")]
    assert states == ["completed", "working", "completed"]


@pytest.mark.parametrize("is_deaf", [True, False])
def test_a_task_without_end_listens_to_cancelling_or_not(host: Host, is_deaf: bool) -> None:
    task = host.begin_task("task_never_ends", interval_s=0.01, ignores_cancel=is_deaf)
    host.task(task["taskId"], "tasks/cancel")
    if is_deaf:
        before = host.task(task["taskId"])["result"]["statusMessage"]
        while host.task(task["taskId"])["result"]["statusMessage"] == before:
            host.pause()
        assert host.task(task["taskId"])["result"]["status"] == "working"
    else:
        host.wait_for_task(task["taskId"], "cancelled")


def test_the_token_changes_half_way(core: Host) -> None:
    task = core.begin_task("task_changes_token", **QUICK)
    core.wait_for_task(task["taskId"], "completed")
    tokens = [tick["progressToken"] for tick in core.sent("notifications/progress")]
    assert tokens == ["a", "a", "not-a", "not-a"]


@pytest.mark.parametrize("after_polls", [0, 2])
def test_a_task_is_forgotten_after_some_polls(host: Host, after_polls: int) -> None:
    task = host.begin_task("task_forgets_id", after_polls=after_polls, interval_s=0.01)
    for _ in range(after_polls + 1):
        assert "result" in host.task(task["taskId"])
    assert host.task(task["taskId"])["error"]["code"] == -32602


def test_the_core_gives_a_result_while_it_works(core: Host) -> None:
    task = core.begin_task("task_result_early", **SLOW)
    result = core.task(task["taskId"], "tasks/result")["result"]
    assert "before the end" in result["content"][0]["text"]
    assert core.task(task["taskId"])["result"]["status"] == "working"


def test_the_extension_gives_a_result_while_it_works(extension: Host) -> None:
    task = extension.begin_task("task_result_early", **SLOW)
    state = extension.task(task["taskId"])["result"]
    assert state["status"] == "working"
    assert "before the end" in state["result"]["content"][0]["text"]


def test_states_and_progress_come_after_the_end(core: Host) -> None:
    core.begin_task("task_status_after_end", steps=2, late=2, interval_s=0)
    core.sink.wait_for(lambda written: b"Over at last" in written)
    states = [params["status"] for params in core.sent("notifications/tasks/status")]
    assert states == ["completed", "working", "working", "completed"]
    assert [tick["progress"] for tick in core.sent("notifications/progress")] == [1, 2, 3, 4]


def test_a_task_request_is_answered_plainly(core: Host) -> None:
    result = created(core, "task_answers_plainly", **QUICK)
    assert "task" not in result
    assert result["content"]
    listed = core.request("tools/list").result["tools"]
    (entry,) = [tool for tool in listed if tool["name"] == "task_answers_plainly"]
    assert entry["execution"] == {"taskSupport": "required"}


@pytest.mark.parametrize("version", [CORE, PER_REQUEST])
def test_a_plain_request_is_answered_with_a_task(version: str) -> None:
    host = Host(version, capabilities={})
    params = {"name": "task_unasked", "arguments": QUICK}
    result = host.request("tools/call", params).replies[0]["result"]
    began = result["task"] if version == CORE else result
    assert began["status"] == "working"
    assert began["taskId"]


# What the official type of the core does not mind.
SUBTLE = {
    "created_text",
    "updated_back",
    "ttl_negative",
    "ttl_zero",
    "poll_zero",
    "poll_negative",
    "poll_huge",
    "id_empty",
    "id_repeated",
    "id_changes",
}


@pytest.mark.parametrize("fault", WRONG_FIELDS)
def test_a_member_is_wrong_in_the_core(core: Host, fault: str) -> None:
    result = created(core, "task_wrong_fields", fault=fault, steps=1, interval_s=0)
    shapes = [result["task"]]
    core.sink.wait_for(lambda written: b"notifications/tasks/status" in written)
    shapes += core.sent("notifications/tasks/status")
    try:
        for shape in shapes:
            mcp_types.Task.model_validate(shape)
    except pydantic.ValidationError:
        assert fault not in SUBTLE
    else:
        assert fault in SUBTLE
        assert len({json.dumps(shape["taskId"]) for shape in shapes}) == (
            2 if fault == "id_changes" else 1
        )


@pytest.mark.parametrize(
    ("fault", "name", "value"),
    [
        ("ttl_text", "ttlMs", "one minute"),
        ("ttl_negative", "ttlMs", -1),
        ("poll_zero", "pollIntervalMs", 0),
        ("created_number", "createdAt", 1_784_000_000),
        ("id_number", "taskId", 42),
        ("status_number", "status", 1),
    ],
)
def test_the_extension_has_the_member_under_its_own_name(
    extension: Host, fault: str, name: str, value: object
) -> None:
    result = created(extension, "task_wrong_fields", fault=fault, **QUICK)
    assert result[name] == value


def test_a_time_runs_back_with_each_look(core: Host) -> None:
    task = core.begin_task("task_wrong_fields", fault="updated_back", **SLOW)
    times = [core.task(task["taskId"])["result"]["lastUpdatedAt"] for _ in range(3)]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 3


def test_tasks_can_share_an_id(core: Host) -> None:
    ids = [created(core, "task_wrong_fields", fault="id_repeated", **QUICK) for _ in range(2)]
    assert {result["task"]["taskId"] for result in ids} == {REPEATED_ID}
    assert core.task(REPEATED_ID)["result"]["taskId"] == REPEATED_ID


def test_a_task_begins_in_the_shape_of_the_other_era(host: Host) -> None:
    result = created(host, "task_wrong_shape", **QUICK)
    if host.version == CORE:
        assert result["resultType"] == "task"
        assert result["ttl"] is None
    else:
        assert result["task"]["ttlMs"] == 3_600_000
        assert result["resultType"] == "complete"


def test_a_key_is_used_for_two_questions(extension: Host) -> None:
    task = extension.begin_task("task_repeats_key", interval_s=0)
    messages: list[str] = []
    for _ in range(2):
        asked = extension.wait_for_task(task["taskId"], "input_required")["inputRequests"]
        (key,) = asked
        assert key == "same-key"
        messages.append(asked[key]["params"]["message"])
        answers = extension.answered(asked)
        extension.task(task["taskId"], "tasks/update", inputResponses=answers)
    extension.wait_for_task(task["taskId"], "completed")
    assert len(set(messages)) == 2


def test_the_core_has_no_keys_to_repeat(core: Host) -> None:
    task = core.begin_task("task_repeats_key", interval_s=0)
    assert core.wait_for_task(task["taskId"], "failed")


def test_the_extension_reports_progress_that_it_must_not(extension: Host) -> None:
    task = extension.begin_task("task_sends_progress", **QUICK)
    extension.wait_for_task(task["taskId"], "completed")
    assert [tick["progress"] for tick in extension.sent("notifications/progress")] == [1, 2, 3, 4]


PLAIN_TOO = {"task_never_ends", "task_answers_plainly", "task_unasked"}
ENDINGS = {"task_required", "task_forbidden", "task_fails", "task_cooperative"}
ONLY_TASKS = [tool.name for tool in TOOLS if tool.name not in PLAIN_TOO | ENDINGS]


@pytest.mark.parametrize("name", ONLY_TASKS)
def test_a_plain_call_of_a_fault_of_tasks_is_reported_that_it_needs_one(name: str) -> None:
    result = Host(CORE).call(name).result
    assert result["isError"] is True
    assert "as a task" in result["content"][0]["text"]

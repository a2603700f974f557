"""Calls become tasks where revision, client and tool want it, and keep to the rules."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_progress_monitor.demo.eras import ERAS, HANDSHAKE_VERSIONS
from mcp_progress_monitor.demo.tasks import RELATED
from tests.servers.faulty_tasks import FaultyTraits
from tests.servers.tools import TOOLS
from tests.unit.demo.client import PER_REQUEST, Message
from tests.unit.demo.host import CORE, Host

QUICK: dict[str, Any] = {"steps": 3, "interval_s": 0}
SLOW: dict[str, Any] = {"steps": 10_000, "interval_s": 0.01}


def result_of(host: Host, task: Message) -> Message:
    """Return what the call came to, fetched in the way of the era."""
    if host.version == PER_REQUEST:
        return dict(host.wait_for_task(task["taskId"], "completed")["result"])
    return dict(host.task(task["taskId"], "tasks/result")["result"])


def test_a_task_begins_working_and_ends_with_its_result(host: Host) -> None:
    task = host.begin_task("task_work", **QUICK)
    assert task["status"] == "working"
    assert "all 3" in result_of(host, task)["content"][0]["text"]
    assert host.wait_for_task(task["taskId"], "completed")["statusMessage"] == "Done"
    host.check_all()


def test_the_core_s_result_names_its_task(core: Host) -> None:
    task = core.begin_task("task_work", **QUICK)
    assert result_of(core, task)["_meta"] == {RELATED: {"taskId": task["taskId"]}}


def test_progress_keeps_the_token_to_the_end_in_the_core(core: Host) -> None:
    task = core.begin_task("task_work", **QUICK)
    core.wait_for_task(task["taskId"], "completed")
    ticks = core.sent("notifications/progress")
    assert [tick["progress"] for tick in ticks] == [1, 2, 3]
    assert {tick["progressToken"] for tick in ticks} == {"a"}
    assert all(tick["_meta"][RELATED]["taskId"] == task["taskId"] for tick in ticks)


def test_the_extension_has_no_progress_but_words(extension: Host) -> None:
    task = extension.begin_task("task_work", **SLOW)
    extension.wait_for_task(task["taskId"], "working")
    while "Step" not in extension.wait_for_task(task["taskId"], "working")["statusMessage"]:
        extension.pause()
    assert extension.sent("notifications/progress") == []


@pytest.mark.parametrize("notifies", [True, False])
def test_each_state_is_reported_in_the_core_if_wanted(core: Host, notifies: bool) -> None:
    task = core.begin_task("task_asks", steps=0, interval_s=0, at_once=True, notifies=notifies)
    core.wait_for_task(task["taskId"], "completed")
    states = [params["status"] for params in core.sent("notifications/tasks/status")]
    assert states == (["input_required", "working", "completed"] if notifies else [])
    core.check_all()


def test_listeners_get_whole_tasks_of_the_extension(extension: Host) -> None:
    task = extension.begin_task("task_asks", steps=1, interval_s=0.05)
    other = extension.begin_task("task_work", **QUICK)
    listener = extension.listen(taskIds=[task["taskId"], "nobody's"], toolsListChanged=False)
    asked = extension.wait_for_task(task["taskId"], "input_required")["inputRequests"]
    answers = extension.answered(asked)
    extension.task(task["taskId"], "tasks/update", inputResponses=answers)
    extension.wait_for_task(task["taskId"], "completed")
    told = extension.sent("notifications/tasks")
    assert {params["taskId"] for params in told} == {task["taskId"]} != {other["taskId"]}
    assert told[-1]["status"] == "completed"
    assert told[-1]["result"]["content"]
    assert all(p["_meta"]["io.modelcontextprotocol/subscriptionId"] == listener for p in told)
    (acknowledged,) = extension.sent("notifications/subscriptions/acknowledged")
    assert acknowledged["notifications"]["taskIds"] == [task["taskId"]]
    extension.check_all()


def test_the_core_lists_how_a_tool_may_be_a_task(core: Host) -> None:
    listed = core.request("tools/list").result["tools"]
    support = {tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in listed}
    assert support["task_work"] == "optional"
    assert support["task_required"] == "required"
    assert support["task_forbidden"] == "forbidden"
    assert support["known_total"] is None


@pytest.mark.parametrize("version", ERAS["both"])
def test_only_the_core_lists_that(version: str) -> None:
    tools = Host(version).request("tools/list").result["tools"]
    assert any("execution" in tool for tool in tools) is (version == CORE)


@pytest.mark.parametrize("tool", ["task_forbidden", "known_total"])
def test_a_forbidden_task_is_refused_by_the_core(core: Host, tool: str) -> None:
    params = {"name": tool, "arguments": {}, "task": {}}
    assert core.request("tools/call", params).error["code"] == -32601


def test_a_tool_that_is_only_a_task_refuses_plain_calls(core: Host) -> None:
    assert core.call("task_required").error["code"] == -32601
    assert core.begin_task("task_required", **QUICK)["status"] == "working"


def test_a_tool_that_is_only_a_task_wants_the_extension() -> None:
    host = Host(PER_REQUEST, capabilities={})
    error = host.call("task_required").error
    assert error["code"] == -32021
    assert error["data"]["requiredCapabilities"] == {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    }


def test_who_does_not_want_a_task_gets_a_plain_answer() -> None:
    assert Host(CORE).call("task_work", **QUICK).result["content"]
    assert Host(PER_REQUEST, capabilities={}).call("task_work", **QUICK).result["content"]


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS[:-1])
def test_older_revisions_have_no_tasks(version: str) -> None:
    params = {"name": "task_required", "arguments": QUICK, "task": {}}
    assert Host(version).request("tools/call", params).result["content"]


@pytest.mark.parametrize("task", [[], "yes", {"ttl": "long"}, {"ttl": -1}, {"ttl": True}])
def test_terms_of_a_wrong_type_are_refused(core: Host, task: object) -> None:
    params = {"name": "task_work", "arguments": QUICK, "task": task}
    assert core.request("tools/call", params).error["code"] == -32602


def test_wrong_arguments_are_refused_before_there_is_a_task(host: Host) -> None:
    params = {"name": "task_work", "arguments": {"steps": "many"}, "task": {}}
    assert host.request("tools/call", params).error["code"] == -32602


def test_terms_are_the_client_s_unless_the_server_has_its_own(core: Host) -> None:
    assert core.begin_task("task_work", **QUICK)["ttl"] is None
    assert core.begin_task("task_work", 60_000, **QUICK)["ttl"] == 60_000
    own = core.begin_task("task_work", 60_000, ttl_s=1.5, poll_ms=250, **QUICK)
    assert (own["ttl"], own["pollInterval"]) == (1_500, 250)


def test_the_extension_s_terms_are_the_server_s(extension: Host) -> None:
    task = extension.begin_task("task_work", **QUICK)
    assert (task["ttlMs"], task["pollIntervalMs"]) == (3_600_000, 500)


def test_time_over_the_task_is_gone(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    task = host.begin_task("task_work", ttl_s=1, **SLOW)
    host.wait_for_task(task["taskId"], "working")
    monkeypatch.setattr("mcp_progress_monitor.demo.tasks.time.time", lambda: 1e11)
    assert host.task(task["taskId"])["error"]["code"] == -32602
    if host.version == CORE:
        assert host.request("tasks/list").result["tasks"] == []


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
@pytest.mark.parametrize("task_id", ["nobody's", "", 7, None])
def test_an_unknown_task_is_refused(host: Host, method: str, task_id: object) -> None:
    reply = host.request(method, {"taskId": task_id})
    assert reply.error["code"] == -32602


def test_a_task_of_the_other_era_is_unknown() -> None:
    host = Host(CORE)
    task = host.begin_task("task_work", **QUICK)
    params = {
        "taskId": task["taskId"],
        "_meta": Host(PER_REQUEST).message("", {})["params"]["_meta"],
    }
    assert host.request("tasks/get", params).replies[0]["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/update"])
def test_who_did_not_declare_the_extension_cannot_ask_about_tasks(method: str) -> None:
    host = Host(PER_REQUEST, capabilities={})
    assert host.request(method, {"taskId": "any"}).error["code"] == -32021


def test_who_did_not_declare_the_extension_cannot_listen_to_tasks() -> None:
    host = Host(PER_REQUEST, capabilities={})
    params = {"notifications": {"taskIds": ["any"]}}
    assert host.request("subscriptions/listen", params).error["code"] == -32021


def test_all_tasks_are_listed_in_pages() -> None:
    host = Host(CORE, page_size=2)
    ids = [host.begin_task("task_work", **QUICK)["taskId"] for _ in range(5)]
    listed: list[str] = []
    params: Message = {}
    while True:
        result = host.request("tasks/list", params).replies[0]["result"]
        listed += [task["taskId"] for task in result["tasks"]]
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert listed == ids
    assert host.request("tasks/list", {"cursor": "x"}).replies[0]["error"]["code"] == -32602


def test_the_core_asks_when_the_result_is_waited_for(core: Host) -> None:
    task = core.begin_task("task_asks", steps=0, interval_s=0)
    core.wait_for_task(task["taskId"], "input_required")
    assert core.asked == []
    assert "1 answers" in result_of(core, task)["content"][0]["text"]
    (question,) = core.asked
    assert question["params"]["_meta"][RELATED] == {"taskId": task["taskId"]}
    assert "progressToken" in question["params"]["_meta"]
    core.check_all()


@pytest.mark.parametrize("together", [True, False])
def test_the_extension_lists_its_questions_under_keys_of_their_own(
    extension: Host, together: bool
) -> None:
    task = extension.begin_task("task_asks", questions=3, together=together, steps=1, interval_s=0)
    seen: list[str] = []
    while (state := extension.task(task["taskId"])["result"])["status"] != "completed":
        asked = state.get("inputRequests", {})
        new = [key for key in asked if key not in seen]
        assert together or len(asked) <= 1
        seen += new
        for key in new:  # one at a time: an update may answer a part
            answers = extension.answered({key: asked[key]})
            extension.task(task["taskId"], "tasks/update", inputResponses=answers)
        extension.pause()
    assert seen == ["form-1", "form-2", "form-3"]
    assert "3 answers" in state["result"]["content"][0]["text"]
    extension.check_all()


def test_answers_to_nothing_are_taken_and_dropped(extension: Host) -> None:
    task = extension.begin_task("task_asks", steps=0, interval_s=0)
    extension.wait_for_task(task["taskId"], "input_required")
    for responses in ({"nobody-asked": {"action": "accept"}}, {}):
        update = extension.task(task["taskId"], "tasks/update", inputResponses=responses)
        assert update["result"]["resultType"] == "complete"
        assert extension.task(task["taskId"])["result"]["status"] == "input_required"


@pytest.mark.parametrize("responses", [None, [], {"form-1": 7}])
def test_answers_of_a_wrong_type_are_refused(extension: Host, responses: object) -> None:
    task = extension.begin_task("task_asks", steps=0, interval_s=0)
    extension.wait_for_task(task["taskId"], "input_required")
    update = extension.task(task["taskId"], "tasks/update", inputResponses=responses)
    assert update["error"]["code"] == -32602


def test_an_error_of_the_protocol_is_a_failed_task(host: Host) -> None:
    task = host.begin_task("task_fails", at_tick=1, interval_s=0)
    failed = host.wait_for_task(task["taskId"], "failed")
    assert failed["statusMessage"] == "The backend went away"
    if host.version == PER_REQUEST:
        assert failed["error"]["code"] == -32603
    else:
        assert host.task(task["taskId"], "tasks/result")["error"]["code"] == -32603
    host.check_all()


def test_an_error_of_the_tool_is_failed_in_the_core_and_completed_elsewhere(host: Host) -> None:
    task = host.begin_task("task_fails", how="is_error", at_tick=0)
    ended = host.wait_for_task(task["taskId"], "failed", "completed")
    assert ended["status"] == ("completed" if host.version == PER_REQUEST else "failed")
    assert result_of(host, task)["isError"] is True
    host.check_all()


def test_the_core_cancels_at_once_and_only_once(core: Host) -> None:
    task = core.begin_task("task_work", **SLOW)
    assert core.task(task["taskId"], "tasks/cancel")["result"]["status"] == "cancelled"
    assert core.task(task["taskId"], "tasks/cancel")["error"]["code"] == -32602
    assert core.task(task["taskId"], "tasks/result")["error"]["code"] == -32800
    written = core.sink.written
    core.request("ping")
    assert b"notifications/progress" not in core.sink.written[len(written) :]
    core.check_all()


def test_the_extension_only_acknowledges_and_stops_when_it_can(extension: Host) -> None:
    task = extension.begin_task("task_cooperative", goes_on_s=0.1, interval_s=0.01)
    extension.task(task["taskId"], "tasks/cancel")
    assert extension.task(task["taskId"])["result"]["status"] == "working"
    extension.wait_for_task(task["taskId"], "cancelled")
    again = extension.task(task["taskId"], "tasks/cancel")
    assert set(again["result"]) == {"resultType", "_meta"}
    extension.check_all()


def test_a_task_may_be_done_in_spite_of_being_cancelled(extension: Host) -> None:
    arguments: dict[str, Any] = {"goes_on_s": 0, "interval_s": 0.01, "ends_as": "completed"}
    task = extension.begin_task("task_cooperative", **arguments)
    extension.task(task["taskId"], "tasks/cancel")
    assert "almost" in result_of(extension, task)["content"][0]["text"]


def test_a_cancelled_request_does_not_cancel_its_task(host: Host) -> None:
    task = host.begin_task("task_work", steps=5, interval_s=0.01)
    host.notify("notifications/cancelled", {"requestId": 2, "reason": "too late"})
    assert host.wait_for_task(task["taskId"], "completed", "cancelled")["status"] == "completed"


@pytest.mark.parametrize(
    ("on_cancel", "status"), [("stop", "cancelled"), ("error", "failed"), ("result", "completed")]
)
def test_what_comes_of_cancelling_is_chosen(extension: Host, on_cancel: str, status: str) -> None:
    task = extension.begin_task("task_work", on_cancel=on_cancel, **SLOW)
    extension.task(task["taskId"], "tasks/cancel")
    assert extension.wait_for_task(task["taskId"], status)


def test_a_question_of_a_task_goes_with_its_task() -> None:
    host = Host(CORE, {"elicitation/create": None})
    task = host.begin_task("task_asks", steps=0, interval_s=0, at_once=True)
    host.sink.wait_for(lambda written: b"elicitation/create" in written)
    host.task(task["taskId"], "tasks/cancel")
    host.sink.wait_for(lambda written: b"notifications/cancelled" in written)
    (cancel,) = host.sent("notifications/cancelled")
    assert cancel["requestId"] == host.asked[0]["id"]


def test_every_tool_that_may_be_a_task_says_so_in_its_schema() -> None:
    for tool in TOOLS:
        has_terms = "poll_ms" in tool.schema["properties"]
        support = tool.tasks.support if tool.tasks else ""
        becomes = "never" if tool.tasks is None else "as_required"
        if isinstance(tool.tasks, FaultyTraits):
            becomes = tool.tasks.becomes
        may_be = becomes == "always" or (
            becomes == "as_required" and support in {"optional", "required"}
        )
        assert has_terms is may_be, tool.name

"""Tools that ask do so in the way of each revision, and tell what came of it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.eras import ERAS, HANDSHAKE_VERSIONS
from mcp_progress_monitor.demo.questions import STATES
from tests.unit.demo.client import PER_REQUEST, Message, Played
from tests.unit.demo.host import CORE, Host

RICH = (CORE, PER_REQUEST)


def told(played: Played) -> list[Message]:
    """Return what the tool tells of each question."""
    asked: list[Message] = json.loads(played.replies[-1]["result"]["content"][1]["text"])
    return asked


def questions(host: Host) -> list[Message]:
    """Return every question with its method, whichever way it was asked."""
    asked = [{"method": q["method"], "params": q["params"]} for q in host.asked]
    for line in host.sink.written.splitlines():
        asked.extend(json.loads(line).get("result", {}).get("inputRequests", {}).values())
    return asked


def with_elicitation(version: str) -> bool:
    return version >= "2025-06-18"


@pytest.mark.parametrize("version", [v for v in ERAS["both"] if with_elicitation(v)])
@pytest.mark.parametrize("fields", queries.FIELDS)
def test_a_form_is_asked_and_its_answer_told(version: str, fields: str) -> None:
    host = Host(version)
    (asked,) = told(host.call_to_end("ask_form", fields=fields))
    (question,) = questions(host)
    assert question["method"] == asked["method"] == "elicitation/create"
    properties = question["params"]["requestedSchema"]["properties"]
    assert set(asked["reply"]["result"]["content"]) == set(properties)
    assert host.check_all()


def test_the_form_with_all_fields_has_every_kind_and_format() -> None:
    host = Host()
    host.call_to_end("ask_form", fields="all")
    schema = questions(host)[0]["params"]["requestedSchema"]
    fields = schema["properties"].values()
    assert {field["type"] for field in fields} == {
        "string",
        "integer",
        "number",
        "boolean",
        "array",
    }
    formats = {field["format"] for field in fields if "format" in field}
    assert formats == {"email", "uri", "date", "date-time"}
    assert any("oneOf" in field for field in fields)
    assert any(field["type"] == "string" and "enum" in field for field in fields)
    items = [field["items"] for field in fields if field["type"] == "array"]
    assert any("enum" in item for item in items)
    assert any("anyOf" in item for item in items)
    assert set(schema["required"]) < set(schema["properties"])


def test_an_old_form_has_only_what_its_revision_knows() -> None:
    host = Host("2025-06-18")
    host.call_to_end("ask_form", fields="all")
    params = questions(host)[0]["params"]
    fields = params["requestedSchema"]["properties"].values()
    assert "mode" not in params
    assert not any("oneOf" in field or field["type"] == "array" for field in fields)
    assert any("enumNames" in field for field in fields)


@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("version", RICH)
def test_no_is_reported_as_well(version: str, action: str) -> None:
    host = Host(version, {"elicitation/create": {"action": action}})
    played = host.call_to_end("ask_form")
    assert told(played)[0]["reply"]["result"] == {"action": action}
    assert action in played.replies[-1]["result"]["content"][0]["text"]


def test_phases_are_reported_and_late_ones_apart() -> None:
    host = Host(answers={"elicitation/create": None})
    call_id = host.begin(
        "tools/call", {"name": "ask_form", "arguments": {"listen_after_s": 0.1}}, "a"
    )
    host.sink.wait_for(lambda written: b"elicitation/create" in written)
    (question,) = host.asked
    token = question["params"]["_meta"]["progressToken"]
    reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    host.server.receive(json.dumps(reply).encode())
    host.notify("notifications/progress", {"progressToken": token, "progress": 2})
    host.notify("notifications/progress", {"progressToken": "another", "progress": 3})
    host.sink.wait_for(lambda written: f'"id":{call_id},"result"'.encode() in written)
    (asked,) = told(Played(host.sink.written.splitlines()[-1]))
    assert [phase["progress"] for phase in asked["phases"]] == [1]
    assert [phase["progress"] for phase in asked["late_phases"]] == [2]


def test_a_question_without_a_token_gets_no_phases() -> None:
    host = Host()
    (asked,) = told(host.call_to_end("ask_form", has_token=False))
    assert "_meta" not in host.asked[0]["params"]
    assert asked["phases"] == []


@pytest.mark.parametrize("version", RICH)
def test_an_address_is_asked_for_and_completed_only_with_a_handshake(version: str) -> None:
    host = Host(version)
    (asked,) = told(host.call_to_end("ask_url", complete_after_s=0))
    (question,) = questions(host)
    assert asked["reply"]["result"] == {"action": "accept"}
    assert question["params"]["mode"] == "url"
    done = [line for line in host.sink.written.splitlines() if b"elicitation/complete" in line]
    if version == CORE:
        (line,) = done
        sent = json.loads(line)["params"]
        assert sent == {"elicitationId": question["params"]["elicitationId"]}
    else:
        assert not done
        assert "elicitationId" not in question["params"]
    host.check_all()


def test_an_address_that_was_declined_is_never_complete() -> None:
    host = Host(answers={"elicitation/create": {"action": "decline"}})
    host.call_to_end("ask_url", complete_after_s=0)
    assert b"elicitation/complete" not in host.sink.written


def test_an_address_can_be_asked_for_by_an_error() -> None:
    error = Host().call("ask_url", as_error=True).error
    assert error["code"] == -32042
    (elicitation,) = error["data"]["elicitations"]
    assert elicitation["mode"] == "url"
    assert elicitation["elicitationId"]


@pytest.mark.parametrize("version", ERAS["both"])
@pytest.mark.parametrize("content", ["text", "image"])
def test_a_model_is_asked_in_every_revision(version: str, content: str) -> None:
    host = Host(version)
    (asked,) = told(host.call_to_end("ask_sampling", content=content))
    assert asked["reply"]["result"]["model"] == "test-model"
    kinds = [m["content"]["type"] for m in questions(host)[0]["params"]["messages"]]
    assert kinds == (["text"] if content == "text" else ["image", "text"])
    host.check_all()


def test_the_picture_is_one() -> None:
    data = base64.b64decode(queries.picture()["data"])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("version", RICH)
@pytest.mark.parametrize("mode", ["auto", "required", "none"])
def test_a_model_can_be_offered_tools(version: str, mode: str) -> None:
    host = Host(version)
    host.call_to_end("ask_sampling", content="conversation", has_tools=True, tool_choice=mode)
    params = questions(host)[0]["params"]
    assert params["toolChoice"] == {"mode": mode}
    assert [tool["name"] for tool in params["tools"]] == ["get_weather", "get_time"]
    assert isinstance(params["messages"][0]["content"], list)
    host.check_all()


@pytest.mark.parametrize("version", RICH)
def test_a_model_that_uses_tools_gets_what_they_say(version: str) -> None:
    use = {"type": "tool_use", "id": "use-1", "name": "get_weather", "input": {"city": "Bern"}}

    def sampled(params: Message) -> Message:
        is_last = params["toolChoice"]["mode"] == "none"
        text = {"type": "text", "text": "It rains."}
        content = text if is_last else [text, use]
        return {"role": "assistant", "model": "m", "content": content, "stopReason": "toolUse"}

    host = Host(version, {"sampling/createMessage": sampled})
    asked = told(host.call_to_end("ask_sampling_loop", turns=2))
    assert [each["key"] for each in asked] == ["turn-1", "turn-2"]
    last = questions(host)[-1]["params"]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user"]
    assert last[1]["content"][1] == use
    (result,) = last[2]["content"] if isinstance(last[2]["content"], list) else [last[2]["content"]]
    assert (result["type"], result["toolUseId"]) == ("tool_result", "use-1")
    host.check_all()


def test_a_model_that_uses_no_tools_ends_the_loop() -> None:
    assert len(told(Host().call_to_end("ask_sampling_loop", turns=5))) == 1


@pytest.mark.parametrize("tool", ["ask_url", "ask_sampling_loop"])
def test_an_old_revision_is_reported_what_it_does_not_know(tool: str) -> None:
    result = Host("2025-06-18").call(tool).result
    assert result["isError"] is True
    assert "2025-06-18" in result["content"][0]["text"]


@pytest.mark.parametrize("version", ERAS["both"])
def test_roots_are_asked_for(version: str) -> None:
    host = Host(version)
    (asked,) = told(host.call_to_end("ask_roots"))
    assert asked["reply"]["result"]["roots"][0]["uri"] == "file:///tmp"
    host.check_all()


@pytest.mark.parametrize("version", RICH)
def test_several_questions_are_open_at_the_same_time(version: str) -> None:
    host = Host(version)
    asked = told(host.call_to_end("ask_together", count=4))
    assert [each["key"] for each in asked] == ["form-1", "sampling-2", "form-3", "sampling-4"]
    assert all("result" in each["reply"] for each in asked)
    if version == PER_REQUEST:
        first = json.loads(host.sink.written.splitlines()[0])["result"]
        assert len(first["inputRequests"]) == 4


def test_requests_go_out_before_any_is_answered() -> None:
    host = Host(answers={"elicitation/create": None, "sampling/createMessage": None})
    played = host.call("ask_together", count=3, timeout_s=0)
    methods = [message.get("method") for message in played.messages[:3]]
    assert methods == ["elicitation/create", "sampling/createMessage", "elicitation/create"]


@pytest.mark.parametrize("version", RICH)
@pytest.mark.parametrize("rounds", [1, 3, 12])
def test_rounds_come_one_after_the_other(version: str, rounds: int) -> None:
    host = Host(version)
    played = host.call_to_end("ask_rounds", rounds=rounds)
    keys = [each["key"] for each in told(played)]
    assert keys == [f"round-{number}" for number in range(1, rounds + 1)]
    assert len(questions(host)) == rounds


@pytest.mark.parametrize("state_is", STATES)
def test_every_kind_of_state_can_be_sent_back(state_is: str) -> None:
    host = Host(PER_REQUEST)
    assert len(told(host.call_to_end("ask_rounds", state_is=state_is))) == 3
    host.check_all()


@pytest.mark.parametrize("version", RICH)
@pytest.mark.parametrize("count", [1, 2])
def test_work_goes_on_after_the_question(version: str, count: int) -> None:
    host = Host(version)
    arguments: dict[str, Any] = {"steps": 6, "interval_s": 0, "at_step": 4, "questions": count}
    assert len(told(host.call_to_end("ask_while_working", **arguments))) == count
    ticks = [
        message["params"]["progress"]
        for message in map(json.loads, host.sink.written.splitlines())
        if message.get("method") == "notifications/progress"
    ]
    assert ticks == [1, 2, 3, 4, 5, 6]


def test_a_state_can_come_without_questions() -> None:
    host = Host(PER_REQUEST)
    played = host.call("state_only", rounds=2, interval_s=0)
    assert "inputRequests" not in played.result
    again = host.call_to_end("state_only", rounds=2, interval_s=0)
    assert "2 times" in again.result["content"][0]["text"]
    host.check_all()


def test_no_answer_in_time_cancels_the_question() -> None:
    host = Host(answers={"roots/list": None})
    played = host.call("ask_roots", timeout_s=0)
    (asked,) = told(played)
    assert asked["reply"] is None
    (cancel,) = [m for m in played.messages if m.get("method") == "notifications/cancelled"]
    assert cancel["params"]["requestId"] == host.asked[0]["id"]


def test_cancelling_the_call_cancels_its_question() -> None:
    host = Host(answers={"roots/list": None})
    call_id = host.begin("tools/call", {"name": "ask_roots", "arguments": {}})
    host.sink.wait_for(lambda written: b"roots/list" in written)
    host.server.receive(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": call_id},
            }
        ).encode()
    )
    host.sink.wait_for(lambda written: b"notifications/cancelled" in written)
    host.server.join(5)
    assert b'"result"' not in host.sink.written.splitlines()[-1]


NEEDS = {
    "ask_form": ({"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
    "ask_url": ({"elicitation": {}}, {"elicitation": {"url": {}}}),
    "ask_sampling": ({}, {"sampling": {}}),
    "ask_sampling_loop": ({"sampling": {}}, {"sampling": {"tools": {}}}),
    "ask_roots": ({}, {"roots": {}}),
}


@pytest.mark.parametrize("version", RICH)
@pytest.mark.parametrize("tool", NEEDS)
def test_what_was_not_declared_is_not_asked(version: str, tool: str) -> None:
    declared, needed = NEEDS[tool]
    host = Host(version, capabilities=declared)
    played = host.call(tool)
    assert not questions(host)
    if version == PER_REQUEST:
        assert played.error["code"] == -32021
        assert played.error["data"]["requiredCapabilities"] == needed
    else:
        assert played.result["isError"] is True


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_it_can_be_asked_all_the_same(version: str) -> None:
    refusal = {"code": -32601, "message": "Not declared"}
    host = Host(version, {"roots/list": refusal}, capabilities={})
    (asked,) = told(host.call("ask_roots", even_if_undeclared=True))
    assert asked["reply"]["error"] == refusal


def test_empty_elicitation_stands_for_forms() -> None:
    host = Host(capabilities={"elicitation": {}})
    assert told(host.call_to_end("ask_form"))[0]["reply"]["result"]["action"] == "accept"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_the_oldest_revisions_know_no_forms_and_are_asked_otherwise(version: str) -> None:
    host = Host(version)
    assert "elicitation/create" in host.call("ask_form").result["content"][0]["text"]
    for tool in ("ask_together", "ask_rounds", "ask_while_working"):
        host.call_to_end(tool, **({"interval_s": 0} if "while" in tool else {}))
    assert {question["method"] for question in host.asked} == {"sampling/createMessage"}
    host.check_all()

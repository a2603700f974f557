"""Questions that break a rule break the one they name."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import mcp_types.methods
import pydantic
import pytest

from mcp_progress_monitor.demo.eras import Dialect
from tests.servers.tools.question_faults import WRONG_QUESTIONS, WRONG_RESULTS
from tests.unit.demo.client import PER_REQUEST, Message, Played
from tests.unit.demo.host import CORE, Host

# What the official types do not mind; some other program has to look twice.
SUBTLE = {
    "bad_pattern",
    "impossible_limits",
    "default_does_not_fit",
    "empty_enum",
    "required_unknown",
    "messages_empty",
    "url_javascript",
    "url_no_url",
    "url_file",
    "url_misleading",
    "image_no_base64",
    "nested_object",
    "unknown_type",
    "unknown_format",
}

BOTH: Message = {"form": {}, "url": {}}


def _told(played: Played) -> Any:
    return json.loads(played.replies[-1]["result"]["content"][1]["text"])


@pytest.mark.parametrize("kind", ["form", "sampling"])
def test_a_question_is_cancelled_when_nobody_answers(kind: str) -> None:
    host = Host(answers={"elicitation/create": None, "sampling/createMessage": None})
    played = host.call("question_cancelled", after_s=0.02, kind=kind)
    (cancel,) = [m for m in played.messages if m.get("method") == "notifications/cancelled"]
    assert cancel["params"]["requestId"] == host.asked[0]["id"]
    assert _told(played)["reply"] is None
    assert "was cancelled" in played.result["content"][0]["text"]
    host.check_all()


def test_a_question_that_was_answered_is_not_cancelled() -> None:
    played = Host().call("question_cancelled", after_s=0.02)
    assert b"notifications/cancelled" not in played.raw
    assert "answered before" in played.result["content"][0]["text"]


@pytest.mark.parametrize("tool", ["question_cancelled", "question_after_end"])
def test_where_servers_send_no_requests_none_is_sent(tool: str) -> None:
    assert Host(PER_REQUEST).call(tool).result["isError"] is True


@pytest.mark.parametrize(
    ("capabilities", "method"),
    [
        ({}, "sampling/createMessage"),
        ({"sampling": {}}, "elicitation/create"),
        ({"sampling": {}, "elicitation": {"form": {}, "url": {}}}, "roots/list"),
        (
            {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}},
            "demo/no_such_method",
        ),
    ],
)
def test_the_first_thing_that_was_not_declared_is_asked(capabilities: Message, method: str) -> None:
    refusal = {"code": -32601, "message": "No"}
    host = Host(answers={method: refusal}, capabilities=capabilities)
    (asked,) = _told(host.call("ask_undeclared"))
    assert asked["method"] == method
    assert asked["reply"]["error"] == refusal


def test_the_undeclared_can_be_asked_in_a_result_too() -> None:
    result = Host(PER_REQUEST, capabilities={}).call("ask_undeclared", kind="roots").result
    assert result["inputRequests"]["roots"]["method"] == "roots/list"


@pytest.mark.parametrize("fault", WRONG_QUESTIONS)
def test_a_wrong_question_is_asked_as_it_is(fault: str) -> None:
    host = Host(answers=dict.fromkeys(("elicitation/create", "sampling/createMessage")))
    played = host.call("wrong_question", fault=fault, timeout_s=0)
    expected = WRONG_QUESTIONS[fault](Dialect(CORE))
    (sent,) = [m for m in played.messages if m.get("method") == expected.method]
    params = sent.get("params")
    if isinstance(params, dict):
        params.pop("_meta", None)
    assert params == expected.params
    known = mcp_types.methods.SERVER_REQUESTS[expected.method, CORE]
    try:
        known.model_validate(sent)
    except pydantic.ValidationError:
        assert fault not in SUBTLE
    else:
        assert fault in SUBTLE


def test_schemas_that_are_no_schemas_are_among_the_faults() -> None:
    pattern = WRONG_QUESTIONS["unknown_type"](Dialect(CORE)).params["requestedSchema"]
    with pytest.raises(jsonschema.SchemaError):
        jsonschema.Draft202012Validator.check_schema(pattern)


def test_a_question_can_come_after_the_end_of_its_call() -> None:
    host = Host()
    messages = host.call("question_after_end", delay_s=0).messages
    assert "result" in messages[0]
    assert messages[1]["method"] == "elicitation/create"


def test_a_token_can_stand_in_input_requests() -> None:
    host = Host(PER_REQUEST)
    played = host.call("token_in_input_requests")
    (request,) = played.result["inputRequests"].values()
    assert request["params"]["_meta"] == {"progressToken": "cannot-be-served"}
    assert host.call_to_end("token_in_input_requests").result["resultType"] == "complete"


@pytest.mark.parametrize("fault", WRONG_RESULTS)
def test_input_can_be_required_wrongly(fault: str) -> None:
    result = Host(PER_REQUEST).call("wrong_input_required", fault=fault).result
    assert result["resultType"] == "input_required"
    for name, value in WRONG_RESULTS[fault].items():
        assert result[name] == value
    if fault == "unknown_method":
        assert result["inputRequests"]["odd"]["method"] == "demo/no_such_method"


@pytest.mark.parametrize("tool", ["state_only", "token_in_input_requests", "wrong_input_required"])
def test_a_revision_without_rounds_is_reported_so(tool: str) -> None:
    assert "2026-07-28" in Host().call(tool).result["content"][0]["text"]

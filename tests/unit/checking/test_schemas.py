"""The official schemas: which definition a message has to fit, and what is said otherwise."""

from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.checking import schemas
from mcp_progress_monitor.checking.judge import SessionJudge
from mcp_progress_monitor.checking.schemas import SchemaChecks, official_schema
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.eras import REVISIONS
from mcp_progress_monitor.recording.reader import RecordingReader
from tests.golden_sessions import A, D, E, Golden, Step, call, client, recording, result, tick
from tests.unit.checking.sessions import check_file


@pytest.fixture
def shown_text(tmp_path: Path) -> Any:
    """What is said of a session against the schema."""

    def check(steps: list[Step], revision: str = D, **more: Any) -> list[str]:
        path = tmp_path / "session.mcprec"
        path.write_bytes(recording(Golden("", revision, steps, [], **more), steps))
        return [each.finding.text for each in check_file(path) if each.rule == "SCHEMA-1"]

    return check


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_definition_of_every_revision_is_a_sound_schema(revision: str) -> None:
    schema = official_schema(revision)
    for method in ("tools/call", "tools/list", "notifications/progress", "prompts/get"):
        name = schema.of_message(method)
        assert name is not None
        assert not schema.validator(name).is_valid({})
    error = schema.of_error()
    assert error is not None
    assert not schema.validator(error).is_valid({})


@pytest.mark.parametrize("revision", REVISIONS)
def test_messages_as_servers_send_them_fit(revision: str) -> None:
    official = official_schema(revision)
    version = "io.modelcontextprotocol/protocolVersion"
    meta = {version: E, "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": 7}
    params = {"name": "a", "arguments": {"n": [1, {}]}, "_meta": meta}
    made = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reported = {"content": [{"type": "text", "text": "b"}], "resultType": "complete"}
    assert official.validator("CallToolRequest").is_valid(made)
    assert official.validator("CallToolResult").is_valid(reported)
    assert not official.validator("CallToolRequest").is_valid(made | {"method": "tools/list"})
    assert not official.validator("CallToolResult").is_valid(
        reported | {"content": [{"type": "text"}]}
    )


def test_results_have_the_definition_of_their_request() -> None:
    core, per_request = official_schema(D), official_schema(E)
    assert core.of_result("tools/call", {}, {}) == "CallToolResult"
    assert core.of_result("tools/call", {"task": {}}, {"task": {}}) == "CreateTaskResult"
    assert core.of_result("ping", {}, {}) == "EmptyResult"
    assert core.of_result("x/unknown", {}, {}) is None
    assert per_request.of_result("tools/call", {}, {"resultType": "task"}) is None
    asked = {"resultType": "input_required"}
    assert per_request.of_result("tools/call", {}, asked) == "InputRequiredResult"


def test_of_alternatives_the_one_that_was_meant_is_explained(shown_text: Any) -> None:
    found = shown_text([call(2), result(2, content=[{"type": "text"}])])
    assert found == ['CallToolResult: result.content[0]: "text" is a required property']


def test_each_side_is_checked_by_the_revision_that_was_agreed_on(shown_text: Any) -> None:
    structured = [call(2), result(2, content=[{"type": "audio", "data": "", "mimeType": "a/b"}])]
    assert shown_text(structured) == []
    (found,) = shown_text(structured, A)
    assert found.startswith("CallToolResult: result.content[0]")


def test_a_request_of_the_client_is_checked_as_well(shown_text: Any) -> None:
    (found,) = shown_text([client("resources/read", 2, url="file:///x"), result(2, contents=[])])
    assert found == 'ReadResourceRequest: params: "uri" is a required property'


def test_what_another_rule_says_is_not_said_again(shown_text: Any) -> None:
    assert shown_text([call(2, "a"), tick("a", "5"), result(2)]) == []


def test_methods_that_the_schema_does_not_know_are_left_alone(shown_text: Any) -> None:
    assert shown_text([client("x/own", 2, n=1), result(2, anything=True)]) == []


def test_what_is_too_large_to_compare_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "OVERSIZED", 10)
    path = tmp_path / "session.mcprec"
    steps = [call(2), result(2, content=[{"type": "text"}])]
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    checks, judge = SchemaChecks(), SessionJudge(lambda _request: None)
    conversation = Conversation("example#1")
    for chunk in RecordingReader(path):
        facts = conversation.read(chunk.frames)
        judge.take(chunk.frames, facts, {})
        assert list(checks.take(judge.connection, chunk.frames, facts)) == []
    assert checks.unchecked > 0
    assert checks.checked == 0


def test_half_a_surrogate_pair_is_no_violation(shown_text: Any) -> None:
    assert shown_text([call(2), result(2, content=[{"type": "text", "text": "\ud83d"}])]) == []

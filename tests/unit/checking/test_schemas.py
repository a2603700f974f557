"""The official schemas: which definition a message has to fit, and what is said otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.checking.schemas import Definitions, SchemaChecks, official_schema
from mcp_progress_monitor.json_schema import find_errors
from mcp_progress_monitor.protocol.eras import REVISIONS
from tests.golden_sessions import A, D, E, Golden, Step, call, client, recording, result, tick
from tests.unit.checking.sessions import check_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def words(tmp_path: Path) -> Any:
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
        assert schema.definition(name).shape.fault == ""
    error = schema.of_error()
    assert error is not None
    assert schema.definition(error).shape.fault == ""


_NAMES = st.sampled_from(["a", "b"])
_NUMBERS = st.integers(-1, 2) | st.sampled_from([0.0, 0.5, 1.0])
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _NAMES,
    lambda part: st.lists(part, max_size=2) | st.dictionaries(_NAMES, part, max_size=2),
)
_KINDS = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])


def _schemas(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(part, min_size=1, max_size=2)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b"]),
        "type": _KINDS | st.lists(_KINDS, min_size=1, max_size=2, unique=True),
        "properties": st.dictionaries(_NAMES, part, max_size=2),
        "additionalProperties": st.booleans() | part,
        "required": st.lists(_NAMES, max_size=2, unique=True),
        "items": part,
        "anyOf": some,
        "allOf": some,
        "const": _NUMBERS | _NAMES,
        "enum": st.lists(_NAMES, min_size=1, max_size=2, unique=True),
        "minimum": st.integers(0, 1),
        "maximum": st.integers(0, 1),
        "maxItems": st.integers(0, 1),
        "format": _NAMES,
    }
    one = [st.fixed_dictionaries({name: values}) for name, values in keywords.items()]
    return st.one_of(*one) | st.fixed_dictionaries({}, optional=keywords)


_A_SCHEMA: st.SearchStrategy[dict[str, Any]] = st.recursive(st.just({}), _schemas, max_leaves=4)


@given(_A_SCHEMA, st.fixed_dictionaries({"a": _A_SCHEMA, "b": _A_SCHEMA}), _VALUES)
def test_what_fits_without_the_library_fits_by_the_library(
    schema: dict[str, Any], parts: dict[str, Any], value: Any
) -> None:
    if Definitions(parts, 5).fits(schema, value):
        whole = {**schema, "$defs": parts}
        assert not find_errors(whole, value, 1).errors


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#/$defs/loop"}, 1),
        ({"$ref": "#/$defs/text"}, 1),
        ({"type": ["integer", "null"]}, True),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}),
        ({"additionalProperties": False}, {"a": 1}),
        ({"additionalProperties": {"type": "string"}}, {"a": 1}),
        ({"required": ["a"]}, {}),
        ({"items": {"type": "string"}}, ["a", 1]),
        ({"anyOf": [{"type": "string"}, {"const": 2}]}, 1),
        ({"allOf": [{"type": "string"}, {"const": "a"}]}, "b"),
        ({"const": 1}, True),
        ({"enum": ["a"]}, "b"),
        ({"minimum": 1}, 0),
        ({"maximum": 1}, 2),
        ({"maxItems": 1}, [1]),
    ],
)
def test_what_does_not_certainly_fit_is_left_to_the_library(
    schema: dict[str, Any], value: Any
) -> None:
    parts = {"loop": {"$ref": "#/$defs/loop"}, "text": {"type": "string"}}
    assert not Definitions(parts).fits(schema, value)


@pytest.mark.parametrize("revision", REVISIONS)
def test_messages_as_servers_send_them_fit_without_the_library(revision: str) -> None:
    official = official_schema(revision)
    version = "io.modelcontextprotocol/protocolVersion"
    meta = {version: E, "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": 7}
    params = {"name": "a", "arguments": {"n": [1, {}]}, "_meta": meta}
    made = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    told = {"content": [{"type": "text", "text": "b"}], "resultType": "complete"}
    assert official.fits("CallToolRequest", made)
    assert official.fits("CallToolResult", told)
    assert not official.fits("CallToolRequest", made | {"method": "tools/list"})
    assert not official.fits("CallToolResult", told | {"content": [{"type": "text"}]})


def test_results_have_the_definition_of_their_request() -> None:
    core, per_request = official_schema(D), official_schema(E)
    assert core.of_result("tools/call", {}, {}) == "CallToolResult"
    assert core.of_result("tools/call", {"task": {}}, {"task": {}}) == "CreateTaskResult"
    assert core.of_result("ping", {}, {}) == "EmptyResult"
    assert core.of_result("x/unknown", {}, {}) is None
    assert per_request.of_result("tools/call", {}, {"resultType": "task"}) is None
    asked = {"resultType": "input_required"}
    assert per_request.of_result("tools/call", {}, asked) == "InputRequiredResult"


def test_of_alternatives_the_one_that_was_meant_is_explained(words: Any) -> None:
    found = words([call(2), result(2, content=[{"type": "text"}])])
    assert found == ["CallToolResult: result.content[0]: 'text' is a required property"]


def test_each_side_is_checked_by_the_revision_that_was_agreed_on(words: Any) -> None:
    structured = [call(2), result(2, content=[{"type": "audio", "data": "", "mimeType": "a/b"}])]
    assert words(structured) == []
    (found,) = words(structured, A)
    assert found.startswith("CallToolResult: result.content[0]")


def test_a_request_of_the_client_is_checked_as_well(words: Any) -> None:
    (found,) = words([client("resources/read", 2, url="file:///x"), result(2, contents=[])])
    assert found == "ReadResourceRequest: params: 'uri' is a required property"


def test_what_another_rule_says_is_not_said_again(words: Any) -> None:
    assert words([call(2, "a"), tick("a", "5"), result(2)]) == []


def test_methods_that_the_schema_does_not_know_are_left_alone(words: Any) -> None:
    assert words([client("x/own", 2, n=1), result(2, anything=True)]) == []


def test_what_there_is_no_time_for_is_counted(tmp_path: Path) -> None:
    from mcp_progress_monitor.checking.judge import SessionJudge
    from mcp_progress_monitor.protocol.conversation import Conversation
    from mcp_progress_monitor.recording.reader import RecordingReader

    path = tmp_path / "session.mcprec"
    steps = [call(2), result(2, content=[{"type": "text"}])]
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    checks, judge = SchemaChecks(budget_s=0.0), SessionJudge(lambda _request: None)
    conversation = Conversation("example#1")
    for chunk in RecordingReader(path):
        facts = conversation.read(chunk.frames)
        judge.take(chunk.frames, facts, {})
        assert list(checks.take(judge.connection, chunk.frames, facts)) == []
    assert checks.unchecked > 0
    assert checks.checked == 0

"""What servers ask is read as far as it can be: with notes, or refused; nothing else comes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.messages import CREATE_MESSAGE, ELICIT, LIST_ROOTS
from mcp_progress_monitor.sessions.questions.answers import RpcError
from mcp_progress_monitor.sessions.questions.server_requests import read_asked
from mcp_progress_monitor.snapshots.settings import QuestionRules
from tests.unit.sessions.questioned import FORM, SAMPLING, SCHEMA

ALL = QuestionRules().capabilities(Era.HANDSHAKE)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def _with(**changes: Any) -> dict[str, Any]:
    params = {**FORM, **changes}
    return {name: value for name, value in params.items() if value is not ...}


def test_a_sound_form_is_read_without_a_note() -> None:
    asked = read_asked(ELICIT, FORM, ALL)
    assert (asked.kind, asked.message, asked.schema) == ("form", "Who are you?", SCHEMA)
    assert asked.errors == ()


@pytest.mark.parametrize(
    ("schema", "text", "is_kept"),
    [
        (..., "is missing: answer with JSON", False),
        ("name, age", "not an object: answer with JSON", False),
        ({"type": "array"}, "does not describe an object", False),
        ({"type": "object"}, "has no properties", True),
        (
            {"type": "object", "properties": {"a": {"type": "colour"}}},
            "is not a valid JSON Schema",
            True,
        ),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, 'the field "a"', True),
    ],
)
def test_a_schema_that_is_no_form_is_noted(schema: Any, text: str, is_kept: bool) -> None:
    asked = read_asked(ELICIT, _with(requestedSchema=schema), ALL)
    assert text in "\n".join(asked.errors)
    assert (asked.schema is not None) is is_kept


@pytest.mark.parametrize(("message", "text"), [(..., "missing"), (42, "42, not a string")])
def test_a_question_without_a_text_is_asked_all_the_same(message: Any, text: str) -> None:
    asked = read_asked(ELICIT, _with(message=message), ALL)
    assert asked.message == ""
    assert text in asked.errors[0]


@pytest.mark.parametrize(
    ("url", "errors"),
    [
        ("https://example.com/a", 0),
        ("javascript:alert(1)", 1),
        ("not a web address", 1),
        ("https://", 1),
        ("http://[", 1),
    ],
)
def test_only_addresses_of_web_pages_are_without_a_note(url: str, errors: int) -> None:
    asked = read_asked(ELICIT, {"mode": "url", "message": "m", "url": url}, ALL)
    assert (asked.kind, asked.url, len(asked.errors)) == ("url", url, errors)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({**SAMPLING, "messages": []}, '"messages" is empty'),
        ({**SAMPLING, "maxTokens": "9"}, '"maxTokens"'),
        ({**SAMPLING, "messages": [7]}, "message 1"),
        (
            {**SAMPLING, "messages": [{"role": "user", "content": {"type": "smell"}}]},
            'unknown content type "smell"',
        ),
        (
            {
                **SAMPLING,
                "messages": [{"role": "user", "content": [{"type": "image", "data": "%"}]}],
            },
            "base64",
        ),
    ],
)
def test_messages_with_faults_are_shown_with_a_note(params: dict[str, Any], text: str) -> None:
    assert text in "\n".join(read_asked(CREATE_MESSAGE, params, ALL).errors)


def test_the_newest_words_stand_for_a_sampling_request() -> None:
    first = {"role": "user", "content": {"type": "text", "text": "first"}}
    blocks = [{"type": "text", "text": "last"}, {"type": "image", "data": "aGk="}]
    messages = [first, {"role": "user", "content": blocks}]
    asked = read_asked(CREATE_MESSAGE, {**SAMPLING, "messages": messages}, ALL)
    assert (asked.message, asked.errors) == ("last", ())


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (ELICIT, None),
        (ELICIT, _with(mode="dance")),
        (ELICIT, _with(mode=["form"])),
        (ELICIT, {"mode": "url", "message": "m"}),
        (ELICIT, {"mode": "url", "message": "m", "url": 7}),
        (CREATE_MESSAGE, {}),
        (CREATE_MESSAGE, {"messages": "hello"}),
        (CREATE_MESSAGE, []),
    ],
)
def test_what_cannot_be_understood_has_wrong_parameters(method: str, params: Any) -> None:
    with pytest.raises(RpcError) as caught:
        read_asked(method, params, ALL)
    assert caught.value.code == -32602


@pytest.mark.parametrize("method", [CREATE_MESSAGE, ELICIT, LIST_ROOTS, "demo/unknown", ""])
def test_what_was_not_declared_is_no_method(method: str) -> None:
    with pytest.raises(RpcError) as caught:
        read_asked(method, FORM, {})
    assert caught.value.code == -32601


def test_a_mode_that_was_not_declared_beside_the_other_is_a_wrong_parameter() -> None:
    with pytest.raises(RpcError) as caught:
        read_asked(ELICIT, FORM, {"elicitation": {"url": {}}})
    assert caught.value.code == -32602


def test_elicitation_declared_without_modes_means_forms() -> None:
    assert read_asked(ELICIT, FORM, {"elicitation": {}}).kind == "form"


@given(
    st.sampled_from([CREATE_MESSAGE, ELICIT, LIST_ROOTS]),
    JSON | st.builds(lambda extra: {**FORM, **extra}, st.dictionaries(st.text(), JSON)),
)
def test_nothing_that_a_server_sends_breaks_the_reading(method: str, params: Any) -> None:
    try:
        asked = read_asked(method, params, ALL)
    except RpcError as error:
        assert error.code == -32602  # noqa: PT017  # either is right
    else:
        assert asked.method == method

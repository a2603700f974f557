"""Answers fit their questions, or what does not is named; on the wire they are exact."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.sessions.questions.answers import RpcError, result_of, violations_of
from mcp_progress_monitor.snapshots.questions import (
    Accept,
    Answer,
    Decline,
    Dismiss,
    Refused,
    Sampled,
)
from tests.unit.sessions.questioned import SAMPLED, question

FORM = question()
URL = question(kind="url", schema=None, url="https://example.com/")
ROOTS = question(kind="roots", method="roots/list", schema=None)
SAMPLING = question(kind="sampling", method="sampling/createMessage", schema=None)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("asked", "answer", "result"),
    [
        (FORM, Accept({"name": "Ada"}), {"action": "accept", "content": {"name": "Ada"}}),
        (FORM, Decline(), {"action": "decline"}),
        (FORM, Dismiss(), {"action": "cancel"}),
        (URL, Accept(), {"action": "accept"}),
        (URL, Accept({"left": "out"}), {"action": "accept"}),
        (ROOTS, Accept({"roots": [{"uri": "file:///a"}]}), {"roots": [{"uri": "file:///a"}]}),
        (SAMPLING, Sampled(SAMPLED), SAMPLED),
    ],
)
def test_an_answer_fits_and_stands_on_the_wire_as_it_is(
    asked: Any, answer: Answer, result: dict[str, Any]
) -> None:
    assert violations_of(asked, answer) == []
    assert result_of(asked, answer) == result


def test_a_refusal_is_an_error_with_code_minus_one() -> None:
    with pytest.raises(RpcError) as caught:
        result_of(SAMPLING, Refused())
    assert (caught.value.code, caught.value.message) == (-1, "User rejected sampling request")


@pytest.mark.parametrize(
    ("asked", "answer", "message"),
    [
        (FORM, Accept({}), "name: a value is required"),
        (FORM, Accept({"name": 3}), 'name: 3 is not of type "string"'),
        (FORM, Accept({"name": "A", "age": -1}), "age: -1 is less than the minimum of 0"),
        (FORM, Sampled(SAMPLED), "A form must be accepted with content"),
        (FORM, Accept({"name": float("nan")}), "cannot be represented as JSON"),
        (FORM, Accept([]), "not a JSON object"),  # type: ignore[arg-type]  # what a caller may do
        (SAMPLING, Accept({}), "A sampling request"),
        (SAMPLING, Sampled({}), "role: a value is required"),
        (SAMPLING, Sampled({**SAMPLED, "model": 7}), 'model: 7 is not of type "string"'),
        (SAMPLING, Sampled({**SAMPLED, "content": "text"}), 'content: "text" is not of type'),
        (SAMPLING, Sampled({**SAMPLED, "content": [{"type": "text"}]}), "content[0].text"),
        (ROOTS, Accept({"roots": [{"name": "n"}]}), "roots[0].uri: a value is required"),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(asked: Any, answer: Answer, message: str) -> None:
    assert message in "\n".join(violations_of(asked, answer))


@pytest.mark.parametrize("schema", [None, {"type": "colour"}, {"properties": 7}])
def test_a_schema_that_is_none_lets_any_object_through(schema: Any) -> None:
    assert violations_of(question(schema=schema), Accept({"any": ["thing"]})) == []


@given(st.dictionaries(st.text(), VALUES))
def test_content_that_is_accepted_goes_out_as_it_is(content: dict[str, Any]) -> None:
    if not violations_of(FORM, Accept(content)):
        assert result_of(FORM, Accept(content)) == {"action": "accept", "content": content}
        assert isinstance(content["name"], str)

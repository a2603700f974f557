"""Requests for a model's answer, taken apart whatever their shape."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CreateMessageResult

from mcp_progress_monitor.wording.questions import hinted_model, messages, sampled, sampling_options
from mcp_progress_monitor.wording.results import PartKind
from tests.question_stand_ins import said
from tests.unit.protocol.wire import JSON

pytestmark = pytest.mark.usefixtures("qapp")


def test_messages_come_in_order_with_their_roles() -> None:
    found = messages({"messages": [said("One"), said("Two", "assistant")]})
    assert [(each.role, each.parts[0].value) for each in found] == [
        ("user", "One"),
        ("assistant", "Two"),
    ]


def test_several_blocks_are_parts_of_one_message() -> None:
    blocks = [
        {"type": "text", "text": "Look"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "tool_use", "id": "1", "name": "count", "input": {"n": 2}},
        {"type": "tool_result", "toolUseId": "1", "content": [], "isError": True},
        {"type": "audio", "data": "A" * 4_000, "mimeType": "audio/wav"},
    ]
    (message,) = messages({"messages": [{"role": "user", "content": blocks}]})
    kinds = [part.kind for part in message.parts]
    assert kinds == [PartKind.TEXT, PartKind.IMAGE, PartKind.JSON, PartKind.JSON, PartKind.AUDIO]
    assert (message.parts[2].title, message.parts[2].value) == ("Calls count", {"n": 2})
    assert message.parts[3].is_error
    assert message.parts[4].text == "audio/wav, 3.0 kB"


def test_a_conversation_without_end_is_cut_and_says_so() -> None:
    found = messages({"messages": [said(str(n)) for n in range(5_000)]})
    assert len(found) == 101
    assert found[-1].parts[0].value.endswith(" 4,900 more.")


def test_what_is_requested_of_the_model_is_shown_as_text() -> None:
    reported = dict(
        sampling_options(
            {
                "systemPrompt": "Be \u202ebrief",
                "maxTokens": 1_200,
                "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 0.3},
                "tools": [{"name": "look", "description": "Looks\nthere"}],
                "toolChoice": {"mode": "required"},
            }
        )
    )
    assert reported["System prompt"] == "Be \\u202ebrief"
    assert reported["Maximum tokens"] == "1,200"
    assert reported["Preferred models"] == "small, cost 0.3"
    assert reported["Tools"] == "look: Looks\\nthere"
    assert "required" in reported["Tool choice"]


def test_the_first_hint_names_the_model() -> None:
    assert hinted_model({"modelPreferences": {"hints": [{"name": "small"}, {"name": "b"}]}}) == (
        "small"
    )
    assert hinted_model({"modelPreferences": {"hints": "small"}}) == ""


def test_an_answer_is_what_the_official_types_read() -> None:
    result = CreateMessageResult.model_validate(sampled("Yes", "by-hand", "endTurn"))
    assert (result.role, result.model, result.stop_reason) == ("assistant", "by-hand", "endTurn")
    assert "stopReason" not in sampled("Yes", "by-hand", "")


@given(
    st.dictionaries(
        st.sampled_from(["messages", "systemPrompt", "modelPreferences", "tools", "maxTokens"]),
        JSON,
    )
)
def test_no_shape_raises(params: dict[str, Any]) -> None:
    assert messages(params) is not None
    assert all(isinstance(text, str) for _, text in sampling_options(params))
    assert isinstance(hinted_model(params), str)

"""Replies of every shape, taken apart."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.wording.content import PartKind, parts
from tests.job_stand_ins import answer

TEXT, IMAGE, JSON = PartKind.TEXT, PartKind.IMAGE, PartKind.JSON


def shapes(result: dict[str, Any]) -> list[tuple[PartKind, str, Any]]:
    """All parts but the whole reply at the end."""
    found = parts(answer(result))
    assert (found[-1].kind, found[-1].value) == (JSON, result)
    return [(part.kind, part.title, part.value) for part in found[:-1]]


def test_a_tools_texts_images_and_structure_come_in_order() -> None:
    result = {
        "content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        ],
        "structuredContent": {"n": 1},
    }
    assert shapes(result) == [
        (TEXT, "Text", "hello"),
        (IMAGE, "Image", "AAAA"),
        (JSON, "audio", result["content"][2]),  # type: ignore[index]
        (JSON, "Structured", {"n": 1}),
    ]


def test_a_link_is_plain_text() -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3}
    assert shapes({"content": [link]}) == [(TEXT, "Link", "name: a\nuri: file:///a")]


def test_embedded_and_read_resources_are_shown_by_what_they_hold() -> None:
    text = {"uri": "file:///a.txt", "text": "hi"}
    image = {"uri": "file:///a.png", "blob": "AAAA", "mimeType": "image/png"}
    other = {"uri": "file:///a.bin", "blob": "AAAA"}
    wanted = [(TEXT, text["uri"], "hi"), (IMAGE, image["uri"], "AAAA"), (JSON, other["uri"], other)]
    assert shapes({"contents": [text, image, other]}) == wanted
    embedded = [{"type": "resource", "resource": one} for one in (text, image, other)]
    assert shapes({"content": embedded}) == wanted


def test_a_prompts_messages_and_a_samplings_content_are_shown() -> None:
    block = {"type": "text", "text": "hello"}
    assert shapes({"messages": [{"role": "user", "content": block}]}) == [(TEXT, "Text", "hello")]
    assert shapes({"role": "assistant", "content": block}) == [(TEXT, "Text", "hello")]


def test_an_error_comes_with_the_servers_message() -> None:
    error = {"code": -32602, "message": "no such tool", "data": [1]}
    first, whole = parts(answer(error=error))
    assert (first.title, first.value, first.is_error) == ("Error -32602", "no such tool", True)
    assert whole.value == error


@pytest.mark.parametrize("error", [{}, {"code": "x", "message": 5}])
def test_an_error_without_a_text_says_so(error: dict[str, Any]) -> None:
    assert parts(answer(error=error))[0].value == "The error has no message."


def test_a_tools_own_error_is_marked() -> None:
    found = parts(answer({"content": [{"type": "text", "text": "disk full"}], "isError": True}))
    assert [part.is_error for part in found] == [True, False]


def test_a_flood_of_parts_is_bounded_and_says_so() -> None:
    blocks = [{"type": "text", "text": str(number)} for number in range(5_000)]
    found = shapes({"content": blocks})
    assert len(found) == 201
    assert found[-1][2] == "The full reply has 4,800 more parts."


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "data", "resource", "content", "messages", "blob", "uri"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["content", "contents", "messages", "isError", "structuredContent"]), _JSON
    )
)
def test_no_shape_of_a_reply_raises(result: dict[str, Any]) -> None:
    found = parts(answer(result))
    assert found[-1].value == result
    assert all(part.kind is JSON or isinstance(part.value, str) for part in found)


def test_a_resume_token_is_hidden_until_it_is_asked_for_elsewhere() -> None:
    hushed = {"nextResumeToken": "hush", "_meta": {"nextResumeToken": "hush", "kept": 1}}
    for reply in (answer(result=hushed), answer(result=None, error={"code": -1, "data": hushed})):
        shown = repr(parts(reply))
        assert "hush" not in shown
        assert "'kept': 1" in shown

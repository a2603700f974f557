"""A result is text where it is text, and nothing of it is lost where it is not."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.cli.output.results import (
    answer_text,
    is_error,
    messages_text,
    resource_text,
)


def text_of(result: Any) -> str:
    return answer_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())


def test_texts_are_printed_one_after_another() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two\n"}]
    assert text_of({"content": blocks}) == "one\ntwo\n"


def test_structured_content_is_printed_as_it_came() -> None:
    raw = b'{"id":1,"result":{"content":[],"structuredContent":{"n": 1.00}}}'
    assert answer_text(raw) == '{"n": 1.00}\n'


def test_structured_content_that_a_text_repeats_is_printed_once() -> None:
    content = [{"type": "text", "text": '{ "n": 1 }'}]
    assert text_of({"content": content, "structuredContent": {"n": 1}}) == '{ "n": 1 }\n'
    both = text_of({"content": content, "structuredContent": {"n": 2}})
    assert both == '{ "n": 1 }\n{"n": 2}\n'


def test_a_text_that_was_only_wrapped_is_printed_once() -> None:
    content = [{"type": "text", "text": "done"}]
    assert text_of({"content": content, "structuredContent": {"result": "done"}}) == "done\n"


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (
            {"type": "image", "data": "AAAA" * 1000, "mimeType": "image/png"},
            "[image: image/png, 3.0 kB; see it with --json]",
        ),
        ({"type": "audio", "data": "AAAA"}, "[audio: , 3 B; see it with --json]"),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA"}},
            "[resource: file:///a, 3 B; see it with --json]",
        ),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}, "inside"),
        ({"type": "resource_link", "uri": "file:///a", "name": "a"}, "[resource link: file:///a]"),
        ({"type": "new", "x": 1}, '{"type":"new","x":1}'),
        ({"type": "text", "text": 3}, '{"type":"text","text":3}'),
        ("bare", '"bare"'),
    ],
)
def test_every_kind_of_content_has_a_line(block: Any, line: str) -> None:
    assert text_of({"content": [block]}) == f"{line}\n"


def test_a_result_of_no_known_form_is_printed_whole() -> None:
    assert text_of({"answer": 42}) == '{"answer": 42}\n'
    assert text_of([1]) == "[1]\n"


def test_no_content_is_nothing() -> None:
    assert text_of({"content": []}) == ""


def test_what_python_cannot_read_is_printed_as_it_came() -> None:
    digits = "9" * 5000
    assert answer_text(f'{{"result":{{"n":{digits}}}}}'.encode()) == f'{{"n":{digits}}}\n'


def test_only_true_marks_an_error() -> None:
    assert is_error({"isError": True})
    assert not is_error({"isError": "true"})
    assert not is_error({})
    assert not is_error(None)


def reply(result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


def test_texts_of_a_resource_are_printed_and_data_is_named() -> None:
    contents = [
        {"uri": "a:1", "text": "one"},
        {"uri": "a:2", "mimeType": "image/png", "blob": "AAAA"},
        {"uri": "a:3"},
        "odd",
    ]
    assert resource_text(reply({"contents": contents})) == (
        'one\n[image/png: a:2, 3 B; save it with -o FILE, see it with --json]\n{"uri":"a:3"}\n'
    )
    assert resource_text(reply({"contents": []})) == '{"contents": []}\n'


def test_messages_of_a_prompt_stand_below_their_roles() -> None:
    messages = [
        {"role": "user", "content": {"type": "text", "text": "Why?"}},
        {"role": "assistant", "content": [{"type": "text", "text": "So."}]},
        3,
    ]
    assert messages_text(reply({"messages": messages})) == "[user]\nWhy?\n\n[assistant]\nSo.\n\n3\n"
    assert messages_text(reply({"messages": "none"})) == '{"messages": "none"}\n'

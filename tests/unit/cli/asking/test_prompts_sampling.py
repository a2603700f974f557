"""A person in a model's place: sees the conversation, writes the answer or refuses."""

from typing import Any

import pytest

from mcp_progress_monitor.cli.asking.prompts import answer_as_model
from mcp_progress_monitor.snapshots.questions import Answer, Refused, Sampled
from tests.unit.cli.asking.questions import Talk, asked

pytestmark = pytest.mark.anyio

PARAMS: dict[str, Any] = {
    "systemPrompt": "Be brief.",
    "messages": [
        {"role": "user", "content": {"type": "text", "text": "Look:\x1b\nhere"}},
        {"role": "user", "content": [{"type": "image", "data": "QUJD", "mimeType": "image/png"}]},
        {"role": "assistant", "content": {"type": "tool_use", "name": "t", "input": {"a": 1}}},
        {"role": "user", "content": {"type": "tool_result", "content": ["x"]}},
        {"role": "user", "content": {"type": "new"}},
        "not a JSON-RPC message",
    ],
    "tools": [{"name": "t"}, {"name": "u"}],
    "maxTokens": 100,
    "toolChoice": {"mode": "auto"},
}


async def answer(talk: Talk, params: dict[str, Any] | None = None) -> Answer:
    return await answer_as_model(asked("sampling", params=params or PARAMS), talk.dialogue)


def text(message: str) -> Sampled:
    content = {"type": "text", "text": message}
    result = {"role": "assistant", "content": content, "model": "human", "stopReason": "endTurn"}
    return Sampled(result)


async def test_what_is_typed_is_the_models_text() -> None:
    assert await answer(Talk("It rains.")) == text("It rains.")


async def test_a_text_may_have_many_lines() -> None:
    assert await answer(Talk("one\\", "two\\", "three")) == text("one\ntwo\nthree")


async def test_an_empty_answer_refuses_the_sampling_request() -> None:
    assert await answer(Talk("")) == Refused()


async def test_a_whole_result_is_taken_as_it_is() -> None:
    talk = Talk("{oops", '{"role": "assistant"}')
    assert await answer(talk) == Sampled({"role": "assistant"})
    assert "Not valid JSON" in talk.shown


async def test_the_whole_request_is_shown() -> None:
    talk = Talk("")
    await answer(talk)
    for line in (
        "  system: Be brief.\n",
        "  user: Look:\\x1b\n  here\n",
        "  user: [image: image/png, 3 B]\n",
        '  assistant: [tool call t: {"a":1}]\n',
        '  user: [tool result: ["x"]]\n',
        '  user: {"type":"new"}\n',
        "  [tools: t, u]\n",
        '  [at most 100 tokens, tool choice {"mode":"auto"}]\n',
    ):
        assert line in talk.shown


@pytest.mark.parametrize("params", [{"messages": "none"}, {"tools": "none", "messages": [{}]}])
async def test_a_request_that_is_wrong_can_be_answered(params: dict[str, Any]) -> None:
    assert await answer(Talk("x"), params) == text("x")

"""Each kind of question is asked in its own way, with what is wrong with it said first."""

from typing import Any

import pytest

from mcp_progress_monitor.cli.asking.prompts import prompt
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Refused, Sampled
from tests.unit.cli.asking.questions import Talk, asked

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("kind", "text", "typed"),
    [
        ("form", "asks you to fill in a form", "d"),
        ("url", "asks you to open a web page", "d"),
        ("sampling", "asks for a model response", ""),
        ("roots", "asks which folders it may use", ""),
    ],
)
async def test_every_kind_has_its_text_and_its_no(kind: Any, text: str, typed: str) -> None:
    talk = Talk(typed)
    answer = await prompt(asked(kind), talk.dialogue, "", {})
    assert isinstance(answer, Decline | Refused)
    assert f"? demo {text}\n" in talk.shown
    assert talk.typist.discarded == 1


async def test_what_is_wrong_with_a_question_is_reported() -> None:
    talk = Talk("d")
    await prompt(asked(error='"message" is missing\x1b'), talk.dialogue, "", {})
    assert 'This question is invalid: "message" is missing\\x1b\n' in talk.shown


async def test_roots_are_typed_one_by_one() -> None:
    talk = Talk("y", "C:/", "file:///tmp", "file:///home", "")
    answer = await prompt(asked("roots"), talk.dialogue, "", {})
    assert answer == Accept({"roots": [{"uri": "file:///tmp"}, {"uri": "file:///home"}]})
    assert "must start with file://" in talk.shown


async def test_a_models_message_is_an_answer() -> None:
    answer = await prompt(asked("sampling"), Talk("hi").dialogue, "", {})
    assert isinstance(answer, Sampled)

"""A form at the terminal: field by field, asked again until it fits."""

from typing import Any

import pytest

from mcp_progress_monitor.cli.asking.prompts import fill_in
from mcp_progress_monitor.cli.asking.terminal import HungUpError
from mcp_progress_monitor.snapshots.questions import Accept, Answer, Decline, Dismiss
from tests.unit.cli.asking.questions import Talk, asked, form

pytestmark = pytest.mark.anyio

NAME = {"type": "string", "minLength": 2}
AGE = {"type": "integer", "default": 30}


async def fill(talk: Talk, schema: Any, earlier: dict[str, Any] | None = None) -> Answer:
    return await fill_in(asked(schema=schema), talk.dialogue, earlier or {})


async def test_values_defaults_and_gaps_become_the_content() -> None:
    talk = Talk("", "Ada", "", "-", "")
    schema = form(["name"], name=NAME, age=AGE, size={"default": 5}, note={"type": "string"})
    assert await fill(talk, schema) == Accept({"name": "Ada", "age": 30})
    assert "age, integer, optional [30]: " in talk.shown


@pytest.mark.parametrize(
    ("typed", "answer"), [("d", Decline()), ("decline", Decline()), ("c", Dismiss())]
)
async def test_a_declined_form_prompts_for_no_fields(typed: str, answer: Answer) -> None:
    assert await fill(Talk(typed), form(name=NAME)) == answer


async def test_a_value_that_does_not_fit_is_asked_for_again() -> None:
    talk = Talk("", "", "A", "Ada")
    assert await fill(talk, form(["name"], name=NAME)) == Accept({"name": "Ada"})
    assert "name is required." in talk.shown
    assert '"A" is shorter than 2' in talk.shown
    assert talk.shown.count("name, text") == 3


async def test_more_fields_than_people_fill_in_are_typed_as_json() -> None:
    talk = Talk("", '{"f1": "x"}')
    fields = {f"f{n}": {"type": "string"} for n in range(20_000)}
    schema = form(**fields, size={"default": 5})
    assert await fill(talk, schema) == Accept({"f1": "x", "size": 5})
    assert "The form has 20,001 fields" in talk.shown


async def test_required_fields_cannot_be_left_out() -> None:
    talk = Talk("", "-", "Ada")
    schema = form(["name"], name={"type": "string", "minLength": 2})
    assert await fill(talk, schema) == Accept({"name": "Ada"})


async def test_what_was_typed_before_is_offered_again() -> None:
    talk = Talk("", "40")
    content = {"name": "Ada", "age": 36}
    answer = await fill(talk, form(["name"], name=NAME, age=AGE), content)
    assert answer == Accept({"name": "Ada", "age": 40})
    assert "required [Ada]" in talk.shown
    assert "optional [36]" in talk.shown
    assert "Fill in the form?" not in talk.shown


async def test_a_form_without_fields_is_accepted_as_it_is() -> None:
    assert await fill(Talk(""), form()) == Accept({})


async def test_what_is_no_form_is_answered_with_json() -> None:
    talk = Talk("", "{", "[1]", '{"a": 1}')
    assert await fill(talk, None) == Accept({"a": 1})
    assert "Not valid JSON" in talk.shown
    assert "Not a JSON object." in talk.shown
    assert await fill(Talk("", ""), None) == Accept({})


async def test_the_servers_text_are_harmless() -> None:
    talk = Talk("", "x")
    hostile = {"type": "string", "title": "a\x1b[2J\n", "description": "\u202eb"}
    question = asked(message="\x1b]0;pwned\x07\nsecond", schema=form(x=hostile))
    await fill_in(question, talk.dialogue, {})
    assert "\x1b" not in talk.shown
    assert "\u202e" not in talk.shown
    assert "\\x1b]0;pwned\\x07\n  second\n" in talk.shown


async def test_who_hangs_up_is_noticed() -> None:
    with pytest.raises(HungUpError):
        await fill(Talk(""), form(["name"], name=NAME))

"""An answer file is understood as it is documented, and what is wrong with it is said at once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.cli.asking.answer_file import (
    EXAMPLE,
    AnswerFile,
    FoundAnswer,
    read_answers,
)
from mcp_progress_monitor.cli.asking.asker import KINDS
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Dismiss, Refused, Sampled
from tests.unit.cli.asking.questions import asked, form


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.json"


def read(file: Path, content: Any) -> AnswerFile:
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_answers(file)


def test_a_list_answers_in_its_order_each_once(file: Path) -> None:
    answers = read(file, [{"accept": {"n": 1}}, {"accept": {"n": 2}}])
    assert answers.take(asked()) == FoundAnswer(Accept({"n": 1}), "$[0]")
    assert answers.take(asked()) == FoundAnswer(Accept({"n": 2}), "$[1]")
    assert answers.take(asked()) is None


def test_an_answer_waits_for_the_kind_that_it_can_answer(file: Path) -> None:
    answers = read(file, [{"text": "hi"}, {"accept": {"n": 1}}])
    assert answers.take(asked()) == FoundAnswer(Accept({"n": 1}), "$[1]")
    found = answers.take(asked("sampling"))
    assert found is not None
    assert found.path == "$[0]"
    assert isinstance(found.answer, Sampled)
    assert found.answer.result["content"] == {"type": "text", "text": "hi"}


@pytest.mark.parametrize(
    ("conditions", "question"),
    [
        ({"kind": "url"}, asked("url")),
        ({"message": "^your NAME"}, asked()),
        ({"message": r"example\.com"}, asked("url")),
        ({"fields": ["name"]}, asked(schema=form(name={}, age={}))),
        ({"key": "k"}, asked(key="k")),
        ({"kind": "form", "key": "k", "fields": ["a"]}, asked(key="k", schema=form(a={}))),
    ],
)
def test_every_condition_must_hold(file: Path, conditions: dict[str, Any], question: Any) -> None:
    answers = read(file, [{**conditions, "decline": True}])
    assert answers.take(asked(message="Something else", schema=form(), key="other")) is None
    assert answers.unused() == ["$[0]"]
    assert answers.take(question) == FoundAnswer(Decline(), "$[0]")
    assert answers.unused() == []


def test_the_words_of_a_conversation_are_looked_at_too(file: Path) -> None:
    messages = [{"role": "user", "content": {"type": "text", "text": "What about rain?"}}]
    answers = read(file, [{"message": "rain", "text": "no"}])
    assert answers.take(asked("sampling", params={"messages": []})) is None
    assert answers.take(asked("sampling", params={"messages": messages})) is not None
    assert answers.take(asked("sampling", params={"messages": "no list"})) is None


@pytest.mark.parametrize(("times", "expected"), [(1, 1), (3, 3), ("any", 9)])
def test_an_answer_is_given_as_often_as_it_says(file: Path, times: Any, expected: int) -> None:
    answers = read(file, [{"decline": True, "times": times}])
    assert sum(answers.take(asked()) is not None for _ in range(9)) == expected


def test_one_answer_alone_is_for_all(file: Path) -> None:
    answers = read(file, {"decline": "not today"})
    assert answers.take(asked()) == FoundAnswer(Decline(), "$")
    assert answers.take(asked("sampling")) == FoundAnswer(Refused("not today"), "$")
    assert answers.take(asked("roots")) == FoundAnswer(Refused("not today"), "$")


def test_who_cancels_turns_away_from_each_kind(file: Path) -> None:
    answers = read(file, {"cancel": True})
    assert answers.take(asked()) == FoundAnswer(Dismiss(), "$")
    assert answers.take(asked("sampling")) == FoundAnswer(Refused(), "$")


def test_an_object_answers_by_kind(file: Path) -> None:
    content = {
        "form": {"accept": {"name": "Ada"}},
        "url": {"accept": True},
        "sampling": {"result": {"role": "assistant", "content": [], "model": "m"}},
        "roots": {"accept": [{"uri": "file:///tmp"}]},
    }
    answers = read(file, content)
    for _ in range(2):
        assert answers.take(asked()) == FoundAnswer(Accept({"name": "Ada"}), "$.form")
    assert answers.take(asked("url")) == FoundAnswer(Accept(), "$.url")
    assert answers.take(asked("roots")) == FoundAnswer(
        Accept({"roots": [{"uri": "file:///tmp"}]}), "$.roots"
    )
    assert answers.take(asked("sampling")) is not None
    assert answers.may_answer("roots")
    assert answers.unused() == []


def test_fields_fill_in_forms_by_their_names(file: Path) -> None:
    answers = read(file, {"fields": {"name": "Ada", "age": 36}, "form": {"decline": True}})
    asks_both = asked(schema=form(["name"], name={}, age={}, other={}))
    assert answers.take(asks_both) == FoundAnswer(Accept({"name": "Ada", "age": 36}), "$.fields")
    assert answers.take(asked(schema=form(["x"], name={}, x={}))) == FoundAnswer(
        Decline(), "$.form"
    )
    assert answers.take(asked(schema=form())) == FoundAnswer(Decline(), "$.form")


def test_what_fields_lack_is_named_where_they_have_some(file: Path) -> None:
    answers = read(file, {"fields": {"name": "Ada"}})
    assert answers.missing(asked(schema=form(["name", "x"], name={}, x={}))) == ["x"]
    assert answers.missing(asked(schema=form(["x"], x={}))) == []


def test_fields_that_are_left_out_get_the_forms_defaults(file: Path) -> None:
    """As on a terminal, where Enter takes them; a required field with a default is not missing."""
    schema = form(["name", "size"], name={}, size={"default": "m"}, note={})
    answers = read(file, {"fields": {"name": "Ada"}})
    assert answers.missing(asked(schema=schema)) == []
    filled = {"name": "Ada", "size": "m"}
    assert answers.take(asked(schema=schema)) == FoundAnswer(Accept(filled), "$.fields")
    listed = read(file, [{"accept": {"size": "l"}}, {"accept": {}}, {"decline": True}])
    assert listed.take(asked(schema=schema)) == FoundAnswer(Accept({"size": "l"}), "$[0]")
    assert listed.take(asked(schema=schema)) == FoundAnswer(Accept({"size": "m"}), "$[1]")
    assert listed.take(asked(schema=schema)) == FoundAnswer(Decline(), "$[2]")
    whole = read(file, {"form": {"accept": {"name": "Ada"}}, "url": {"accept": True}})
    assert whole.take(asked(schema=schema)) == FoundAnswer(Accept(filled), "$.form")
    assert whole.take(asked("url", schema=schema)) == FoundAnswer(Accept(), "$.url")


@pytest.mark.timeout(20)
def test_a_pattern_that_runs_away_on_a_message_matches_nothing(file: Path) -> None:
    answers = read(file, [{"message": "(x+x+)+y", "decline": True}])
    assert answers.take(asked(message="x" * 3_000)) is None


def test_the_list_comes_before_the_rest(file: Path) -> None:
    answers = read(file, {"answers": [{"cancel": True}], "form": {"decline": True}})
    assert answers.take(asked()) == FoundAnswer(Dismiss(), "$.answers[0]")
    assert answers.take(asked()) == FoundAnswer(Decline(), "$.form")


def test_the_example_of_the_help_is_sound(file: Path) -> None:
    answers = read(file, EXAMPLE)
    assert answers.take(asked()) == FoundAnswer(Accept({"name": "Ada"}), "$[0]")
    assert len(answers.unused()) == 2
    assert not answers.may_answer("roots")


def test_the_examples_of_the_manual_are_sound(file: Path) -> None:
    manual = (Path(__file__).parents[4] / "docs" / "questions.md").read_text("utf-8")
    examples = re.findall(r"```json\n(.*?)```", manual, re.DOTALL)
    unused = [read(file, example).unused() for example in examples]
    assert [len(each) for each in unused] == [4, 1]


@pytest.mark.parametrize(
    ("content", "where", "shown"),
    [
        ("3", "$", "expected a list or an object"),
        ([5], "$[0]", "expected an object"),
        ([{}], "$[0]", "expected exactly one of accept"),
        ([{"accept": {}, "decline": True}], "$[0]", "both accept and decline"),
        ([{"accept": {}}, {"acept": {}}], "$[1]", "unknown member 'acept'"),
        ([{"accept": 5}], "$[0]", "accept: expected true"),
        ([{"accept": False}], "$[0]", "accept: expected true"),
        ([{"decline": ""}], "$[0]", "decline: expected true, or a reason as a string"),
        ([{"cancel": "no"}], "$[0]", "cancel"),
        ([{"text": 5}], "$[0]", "text: expected a string"),
        ([{"result": "x"}], "$[0]", "result"),
        ([{"kind": "sampling", "result": {"role": "x"}}], "$[0]", "result"),
        ([{"accept": {}, "model": "m"}], "$[0]", "model"),
        ([{"text": "x", "model": 5}], "$[0]", "model"),
        ([{"kind": "from", "decline": True}], "$[0]", "kind: unknown kind 'from'"),
        ([{"kind": "sampling", "accept": {}}], "$[0]", "accept {} cannot answer a"),
        ([{"kind": "url", "accept": {"a": 1}}], "$[0]", "cannot answer a"),
        ([{"kind": "roots", "accept": [{"url": "x"}]}], "$[0]", "accept: "),
        ([{"message": "(", "decline": True}], "$[0].message", "invalid regular expression"),
        ([{"message": 5, "decline": True}], "$[0]", "message: expected a string"),
        ([{"fields": "name", "decline": True}], "$[0]", "fields: expected a list"),
        ([{"times": 0, "decline": True}], "$[0]", "times: expected a positive integer"),
        ([{"times": True, "decline": True}], "$[0]", "times: expected"),
        ({"name": "Ada"}, "$.name", 'write "fields": {"name": …}'),
        ({"fields": []}, "$.fields", "expected an object"),
        ({"answers": {}}, "$.answers", "expected a list"),
        ({"answers": [{"x": 1}]}, "$.answers[0]", "unknown member 'x'"),
        ({"form": True}, "$.form", "expected an object"),
        ({"form": {"text": "x"}}, "$.form", "cannot answer a"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(
    file: Path, content: Any, where: str, shown: str
) -> None:
    with pytest.raises(CommandFailed) as caught:
        read(file, content)
    error = caught.value.details
    assert caught.value.code is ExitCode.USAGE
    assert error.where == f"{file}, {where}"
    assert shown in error.detail
    assert EXAMPLE in error.hint


@pytest.mark.parametrize("text", ["", "{", '[{"accept": {"n": NaN}}]', "[" * 100_000])
def test_what_is_no_json_is_reported(file: Path, text: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        read(file, text)
    assert caught.value.details.what == "The answers are not valid JSON"


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff[]")
    for name in ("missing", "latin", "."):
        with pytest.raises(CommandFailed) as caught:
            read_answers(tmp_path / name)
        assert caught.value.code is ExitCode.USAGE
        assert caught.value.details.what == "Cannot read the answer file"
        assert "Errno" not in caught.value.as_text()


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ([{"kind": "url", "decline": True}], {"url"}),
        ([{"accept": {"name": "Ada"}}], {"form"}),
        ([{"text": "Rain"}], {"sampling"}),
        ([{"decline": True}], {"form", "url", "sampling"}),
        ({"fields": {"name": "Ada"}}, {"form"}),
        ({"roots": {"decline": True}}, {"roots"}),
        ({"kind": "roots", "decline": True}, {"roots"}),
        ([], set()),
    ],
)
def test_what_it_may_be_for_is_known_before_anything_is_asked(
    tmp_path: Path, content: Any, kinds: set[str]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    answers = read_answers(path)
    assert {kind for kind in KINDS if answers.may_answer(kind)} == kinds

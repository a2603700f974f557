"""Rules decide what a server may ask, and what is answered without the user."""

from typing import Any

import pytest
from pydantic import ValidationError

from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Refused, Sampled
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules, Root
from tests.unit.sessions.questioned import SAMPLED

ROOTS = [Root(uri="file:///a", name="A")]


def test_everything_is_declared_at_first() -> None:
    assert QuestionRules().capabilities(Era.HANDSHAKE) == {
        "sampling": {"tools": {}},
        "elicitation": {"form": {}, "url": {}},
        "roots": {"listChanged": True},
    }


def test_in_2026_changed_roots_are_not_reported() -> None:
    assert QuestionRules().capabilities(Era.PER_REQUEST)["roots"] == {}


@pytest.mark.parametrize(
    ("kinds", "left"),
    [
        (["form"], {"elicitation": {"url": {}}, "sampling": {"tools": {}}, "roots": {}}),
        (["form", "url"], {"sampling": {"tools": {}}, "roots": {}}),
        (["sampling", "roots"], {"elicitation": {"form": {}, "url": {}}}),
    ],
)
def test_what_is_undeclared_is_left_out(kinds: list[str], left: dict[str, Any]) -> None:
    rules = QuestionRules.model_validate({kind: {"mode": "undeclared"} for kind in kinds})
    assert rules.capabilities(Era.PER_REQUEST) == left


def test_the_user_is_asked_about_all_but_the_roots() -> None:
    rules = QuestionRules()
    assert [rules.automatic(kind, ROOTS) for kind in ("sampling", "form", "url")] == [None] * 3
    expected = Accept({"roots": [{"uri": "file:///a", "name": "A"}]})
    assert rules.automatic("roots", ROOTS) == expected


@pytest.mark.parametrize("mode", ["decline", "undeclared"])
def test_declining_says_no_in_the_text_of_each_kind(mode: Any) -> None:
    rule = QuestionRule(mode=mode)
    rules = QuestionRules(sampling=rule, form=rule, url=rule, roots=rule)
    assert rules.automatic("form", []) == rules.automatic("url", []) == Decline()
    assert rules.automatic("sampling", []) == Refused("User rejected sampling request")
    assert rules.automatic("roots", []) == Refused("User rejected listing roots")


def test_fixed_answers_are_given_as_they_are() -> None:
    rules = QuestionRules(
        sampling=QuestionRule(mode="answer", answer=SAMPLED),
        form=QuestionRule(mode="answer", answer={"a": 1}),
        url=QuestionRule(mode="answer"),
        roots=QuestionRule(mode="answer", answer={"roots": []}),
    )
    assert rules.automatic("sampling", ROOTS) == Sampled(SAMPLED)
    assert rules.automatic("form", ROOTS) == Accept({"a": 1})
    assert rules.automatic("url", ROOTS) == Accept()
    assert rules.automatic("roots", ROOTS) == Accept({"roots": []})


@pytest.mark.parametrize(
    "wrong",
    [
        {"form": {"mode": "answer"}},
        {"sampling": {"mode": "answer"}},
        {"form": {"mode": "guess"}},
        {"form": {"delay_s": -1}},
        {"form": {"delay_s": float("inf")}},
        {"form": {"more": 1}},
        {"forms": {}},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        QuestionRules.model_validate(wrong)


@pytest.mark.parametrize("uri", ["/a", "https://example.com", ""])
def test_roots_are_files(uri: str) -> None:
    with pytest.raises(ValidationError):
        Root(uri=uri)

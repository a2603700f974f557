"""Each rule is complete: an id of the table, where it is written, a text that can be filled."""

import re
import string

import pytest

from mcp_progress_monitor.findings.finding import Finding, Level, joined, texts
from mcp_progress_monitor.findings.rules import (
    ALL,
    NOT_INCREASING,
    RULES,
    TICK_AFTER_END,
    TOTAL_CHANGED,
)
from mcp_progress_monitor.protocol.eras import REVISIONS
from mcp_progress_monitor.tracker import violations

_SAMPLES = {
    "": "x",
    "number": 3,
    "or_missing": None,
    "late": 0.25,
    "and": ("x", "y"),
    "list": ("x", "y", "z"),
    ",": 4,
}


def test_the_revisions_are_those_that_are_spoken() -> None:
    assert ALL == REVISIONS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.id}: {rule.text[:30]}")
def test_a_rule_is_complete(rule) -> None:  # type: ignore[no-untyped-def]
    assert re.fullmatch(r"[A-Z]{2,6}-\d+", rule.id)
    assert rule.level in Level
    assert rule.revisions
    assert set(rule.revisions) <= set(ALL)
    assert rule.source.document
    assert rule.source.section
    fields = [spec for _, name, spec, _ in string.Formatter().parse(rule.text) if name is not None]
    arguments = tuple(_SAMPLES.get(spec or "", 2.5) for spec in fields)
    assert "{" not in Finding(rule, arguments).text


def test_a_kind_is_that_of_a_rule_or_of_a_message() -> None:
    by_message = {"wrong-type", "irregular-reply", "irregular-request", "irregular-task"}
    constants = {v for k, v in vars(violations).items() if k.isupper() and isinstance(v, str)}
    assert constants == by_message
    assert all(rule.kind == rule.kind.lower() for rule in RULES)


def test_a_sentence_is_made_of_a_rule_and_what_was_seen() -> None:
    found = (Finding(NOT_INCREASING, (5, 5.0)), Finding(TOTAL_CHANGED, (None, 10)))
    assert texts(found) == (
        "Progress did not increase: 5 after 5.0",
        "Total changed: missing after 10",
    )
    assert joined(found) == "; ".join(texts(found))
    assert (
        Finding(TICK_AFTER_END, (0.25, "Done")).text
        == "Progress received 250 ms after the job ended (Done)"
    )


def test_arguments_that_do_not_fit_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="shorter"):
        _ = Finding(NOT_INCREASING, (5,)).text

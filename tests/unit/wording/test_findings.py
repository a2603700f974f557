"""Findings as text: every rule has all that is to be said of it."""

import pytest

from mcp_progress_monitor.checking.results import RuleState
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.wording import findings as wording
from tests.unit.filtering.test_findings import finding


@pytest.mark.parametrize("rule", ADVICE)
def test_each_rule_says_what_was_due_and_how_to_fix_it(rule: str) -> None:
    said = {each.heading: each for each in wording.sections(finding(rule=rule))}
    assert said["Expected"].text == ADVICE[rule].due
    assert said["How to fix it"].text == ADVICE[rule].fix
    assert said["Required since"].text.startswith(ADVICE[rule].since)
    assert said["Confidence"].text
    assert ("Python" in said) is bool(ADVICE[rule].python)
    assert all(each.text for each in said.values())


def test_it_says_by_whom_and_how_often() -> None:
    assert wording.place(finding()) == "Server local-db, in tools/call export, job 12"
    client = finding(by="client", method="", title="", job=None)
    assert wording.place(client) == "The client of local-db"
    assert wording.frames(finding()) == "4 messages, from no. 7 to no. 20"
    assert wording.frames(finding(times=1)) == "Once, in message no. 7"


def test_rules_are_listed_as_violated_passed_or_untested() -> None:
    state = RuleState(("PROG-1",), (), ("TSK-1", "TSK-2"))
    broken, passed, others = wording.rule_sections(state)
    assert (broken.heading, broken.text) == ("Violated (0)", "None")
    assert (passed.heading, passed.text) == ("Passed (1)", "PROG-1  Progress token type")
    assert others.heading.endswith("(2)")

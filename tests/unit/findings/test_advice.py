"""Every rule has advice: what was due, since when, how sure, and how to fix it."""

import pytest

from mcp_progress_monitor.findings.advice import ADVICE, REVISIONS_OF, Needs
from mcp_progress_monitor.findings.rules import ALL, RULES


def test_every_rule_has_advice_and_all_advice_has_a_rule() -> None:
    assert set(ADVICE) == {rule.id for rule in RULES}


@pytest.mark.parametrize("id_", ADVICE)
def test_advice_is_complete(id_: str) -> None:
    advice = ADVICE[id_]
    assert advice.title
    assert not advice.title.endswith(".")
    assert advice.due.endswith(".")
    assert advice.fix.endswith(".")
    assert advice.since in {*ALL, "resume draft", "this program"}
    has_example = bool(advice.python) and bool(advice.typescript)
    assert has_example or advice.needs is Needs.EXPECTATION


def test_a_rule_applies_to_the_revisions_of_all_its_texts() -> None:
    assert REVISIONS_OF["PROG-3"] == set(ALL)
    assert REVISIONS_OF["CAN-2"] == set(ALL) - {"2026-07-28"}
    assert REVISIONS_OF["SUB-1"] == {"2026-07-28"}
    assert REVISIONS_OF["JR-3"] == set(ALL), "an empty or nested batch is wrong in all of them"


def test_advice_on_progress_names_what_starts_it_again() -> None:
    fix = ADVICE["PROG-3"].fix
    assert "version 2.4 of the TypeScript SDK" in fix
    assert "inputRequired" in fix
    assert "requestState" in fix


def test_advice_of_the_handshake_era_does_not_ask_in_the_way_of_the_next() -> None:
    for id_, advice in ADVICE.items():
        if REVISIONS_OF[id_] - {"2026-07-28"}:
            assert "inputRequired" not in advice.typescript, id_
            assert "Resolve(" not in advice.python, id_

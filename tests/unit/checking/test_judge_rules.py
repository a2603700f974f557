"""Each rule fires on the recording that breaks it, and is silent on the near miss."""

import pytest

from mcp_progress_monitor.checking.results import Result
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.finding import Level
from tests import golden_sessions
from tests.golden_sessions import FOLDER, GOLDEN
from tests.unit.checking.sessions import check_file, judge_live, summary

_OPTIONS = {
    "EXPECT-1": {"expect": "method == notifications/progress"},
    "EXPECT-2": {"max_duration": 5.0},
    "TOUR-1": {"is_tour": True},
}
_OF_CHECK_ALONE = frozenset({"SCHEMA-1", *_OPTIONS})
_RULES = [golden.rule for golden in GOLDEN]


def _errors(results: list[Result]) -> set[str]:
    return {each.rule for each in results if each.level is Level.ERROR}


def test_every_rule_has_its_recordings() -> None:
    assert list(ADVICE) == _RULES
    assert {path.name for path in FOLDER.iterdir()} == set(golden_sessions.files())


def test_the_recordings_are_those_of_the_scripts() -> None:
    old = [n for n, c in golden_sessions.files().items() if (FOLDER / n).read_bytes() != c]
    assert not old, "run python3 -m tests.golden_sessions"


@pytest.mark.parametrize("rule", _RULES)
def test_a_rule_fires_once_and_no_other_error_appears(rule: str) -> None:
    results = check_file(FOLDER / f"{rule}.broken.mcprec", **_OPTIONS.get(rule, {}))  # type: ignore[arg-type]
    (found,) = [each for each in results if each.rule == rule]
    assert found.count == 1
    assert _errors(results) <= {rule}


@pytest.mark.parametrize("rule", _RULES)
def test_a_near_miss_breaks_nothing(rule: str) -> None:
    results = check_file(FOLDER / f"{rule}.near.mcprec", **_OPTIONS.get(rule, {}))  # type: ignore[arg-type]
    assert rule not in {each.rule for each in results}
    assert not _errors(results)


@pytest.mark.parametrize("rule", [rule for rule in _RULES if rule not in _OF_CHECK_ALONE])
def test_live_traffic_has_the_same_results_as_its_recording(rule: str) -> None:
    for kind in ("broken", "near"):
        path = FOLDER / f"{rule}.{kind}.mcprec"
        assert summary(judge_live(path)) == summary(check_file(path))

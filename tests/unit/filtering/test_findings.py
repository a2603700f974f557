"""Filters of findings: the filter language with their fields, and its completion."""

from typing import Any

import pytest

from mcp_progress_monitor.checking.report import ReportedResult
from mcp_progress_monitor.filtering.filter import FilterError
from mcp_progress_monitor.filtering.findings import FINDING_FIELDS, complete_finding, finding_filter
from mcp_progress_monitor.findings.finding import Level


def finding(**more: Any) -> ReportedResult:
    given: dict[str, Any] = {
        "rule": "PROG-3",
        "level": Level.ERROR,
        "by": "server",
        "server": "local-db",
        "connection": "local-db#1",
        "job": 12,
        "method": "tools/call",
        "title": "export",
        "revision": "2025-11-25",
        "text": "Progress did not increase: 1 after 1",
        "source": "2025-11-25, Progress",
        "times": 4,
        "frames": (7, 9),
        "last": 20,
        "fingerprint": "f",
    }
    return ReportedResult(**(given | more))


def passes(filtered: str, **more: Any) -> bool:
    test = finding_filter(filtered)
    assert test is not None
    return test(finding(**more))


@pytest.mark.parametrize(
    "text",
    [
        "rule == PROG-3",
        "rule == prog-3",
        "rule in (CAN-1, PROG-3)",
        "rule matches ^PROG",
        "rule != JR-2",
        "level >= warning",
        "level == error",
        "level > note",
        "server == local-db",
        'server contains "DB"',
        "job == 12",
        "by == server",
        "method == tools/call and name == export",
        "count >= 4",
        "frame == 7",
        "certainty == certain",
        "revision == 2025-11-25",
        "connection == local-db#1",
        "text contains increase",
        "increase",
        "local-db",
        "not rule == JR-2",
        "rule == JR-2 or level >= error",
        "(rule == JR-2 or rule == PROG-3) and count < 5",
    ],
)
def test_a_filter_lets_a_finding_through(text: str) -> None:
    assert passes(text)


@pytest.mark.parametrize(
    "text",
    ["rule == PROG-30", "level < error", "level != error", "job == 1", "by == client", "nowhere"],
)
def test_a_filter_leaves_a_finding_out(text: str) -> None:
    assert not passes(text)


def test_what_a_finding_has_not_compares_to_nothing() -> None:
    for text in ("job == 12", "job != 12", "method != x", "revision != x"):
        assert not passes(text, job=None, method="", revision=None)


def test_a_pattern_that_takes_too_long_matches_nothing() -> None:
    assert not passes('text matches "(a+)+$"', text="a" * 5000 + "!")


def test_a_blank_filter_is_none() -> None:
    assert finding_filter("  ") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("levl == error", "Did you mean level?"),
        ("zzz == 1", "Use one of rule, level"),
        ("level >= grave", "unknown level"),
        ("rule = PROG-3", "Write =="),
        ("by == me", "never"),
    ],
)
def test_a_mistake_is_explained(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message.replace("?", r"\?")):
        finding_filter(text)


def test_every_field_has_a_value() -> None:
    for name in FINDING_FIELDS:
        value = {"job": "12", "count": "4", "frame": "7"}.get(name)
        word = value or {"level": "error", "by": "server", "certainty": "certain"}.get(name, "x")
        passes(f"{name} != {word}")


def completions(text: str) -> list[str]:
    seen = {"rule": ["PROG-3", "JR-2"], "server": ["local-db", "a b"]}
    return [each.text for each in complete_finding(text, len(text), seen).candidates]


def test_fields_levels_and_seen_values_are_completed() -> None:
    assert completions("ru") == ["rule"]
    assert completions("level >= ") == ["note", "warning", "error"]
    assert completions("rule == ") == ["PROG-3", "JR-2"]
    assert completions("server == ") == ["local-db", '"a b"']
    assert "token" not in completions("")

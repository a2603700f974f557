"""Findings as text: what was observed and expected, the confidence, and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.findings.advice import ADVICE, Certainty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.checking.results import RuleState

_CERTAINTY: Final = {
    Certainty.CERTAIN: "Certain: the messages themselves prove it.",
    Certainty.LIKELY: (
        "Likely: messages that crossed in transit or were not recorded may explain it."
    ),
    Certainty.HINT: "Hint: no rule is violated, but users benefit from a fix.",
}


class FindingSection(NamedTuple):
    """A part of a finding's description; code is shown in a fixed font."""

    heading: str
    text: str
    is_code: bool = False


def rule_title(rule: str) -> str:
    return f"{rule}: {ADVICE[rule].title}"


def place(finding: ReportedResult) -> str:
    """Say who violated the rule, and where."""
    who = ("Server " if finding.by == "server" else "The client of ") + finding.server
    job = "" if finding.job is None else f", job {finding.job}"
    return f"{who}, in {finding.place}{job}" if finding.method else who


def frames(finding: ReportedResult) -> str:
    """Say how often the finding occurred, and in which messages."""
    first, last = formatting.number(finding.frames[0]), formatting.number(finding.last)
    if finding.times == 1:
        return f"Once, in message no. {first}"
    times = formatting.count(finding.times, "message")
    return f"{times}, from no. {first} to no. {last}"


def sections(finding: ReportedResult) -> Iterator[FindingSection]:
    """The description of a finding, the most useful part first."""
    advice = ADVICE[finding.rule]
    yield FindingSection("Observed", finding.text)
    yield FindingSection("Expected", advice.due)
    yield FindingSection("Violated by", place(finding))
    yield FindingSection("Messages", frames(finding))
    yield FindingSection("Required since", f"{advice.since}. Source: {finding.source}")
    yield from _advised(finding.rule)


def advice_sections(rule: str) -> Iterator[FindingSection]:
    yield FindingSection("Expected", ADVICE[rule].due)
    yield FindingSection("Required since", ADVICE[rule].since)
    yield from _advised(rule)


def _advised(rule: str) -> Iterator[FindingSection]:
    advice = ADVICE[rule]
    yield FindingSection("Confidence", _CERTAINTY[advice.certainty])
    yield FindingSection("How to fix it", advice.fix)
    for name, code in (("Python", advice.python), ("TypeScript", advice.typescript)):
        if code:
            yield FindingSection(name, code, is_code=True)


def rule_names(ids: tuple[str, ...]) -> Iterator[str]:
    return (f"{id_}  {ADVICE[id_].title}" for id_ in ids)


def rule_sections(state: RuleState) -> Iterator[FindingSection]:
    for heading, ids in (
        ("Violated", state.broken),
        ("Passed", state.passed),
        ("Not applicable: the session had nothing to test them on", state.not_applicable),
    ):
        yield FindingSection(f"{heading} ({len(ids)})", "\n".join(rule_names(ids)) or "None")

"""Findings in free text, and findings as text, for tests that only carry them about."""

from collections.abc import Mapping

from mcp_progress_monitor.findings.finding import Finding, Level, Rule, Source, joined
from mcp_progress_monitor.findings.rules import ALL
from mcp_progress_monitor.tracker.snapshot import ViolationCount

_SOURCE = Source("No document", "none")


def finding(text: str, kind: str = "") -> Finding:
    """A finding whose sentence is `text`."""
    return Finding(Rule("TEST-1", Level.ERROR, ALL, _SOURCE, "{words}", kind), (text,))


def mark(key: str, text: str, count: int, first: int) -> ViolationCount:
    """A mark whose sentence is `text`."""
    return ViolationCount(key, finding(text, key), count, first)


def texts_of(marked: Mapping[int, tuple[Finding, ...]]) -> dict[int, str]:
    """What is wrong with each frame, in one text."""
    return {number: joined(found) for number, found in marked.items()}

"""A report as text for people: findings grouped by rule, with the rule's advice."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.checking.report import by_level
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.advice import ADVICE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.checking.report import CheckedFile, Report, ReportedResult

_SHOWN_PLACES: Final = 20  # listed findings with the same text; other formats list all
_SHOWN_TEXTS: Final = 5  # listed texts of one rule


def as_text(report: Report) -> str:
    """The report for people: the most severe findings first, with the rule and the fix."""
    lines: list[str] = []
    for file in report.files:
        lines += _file_lines(report, file)
    lines.append(summary(report))
    return "\n".join(map(formatting.visible, lines)) + "\n"


def summary(report: Report) -> str:
    """The counts, the conclusion, and how many tools no call tested, in one line."""
    counts = report.counts()
    total = ", ".join(
        formatting.count(counts[level], level.value) for level in counts if counts[level]
    )
    return " ".join((f"{total or 'No findings'}.", _conclusion(report), *_left_out(report)))


def _conclusion(report: Report) -> str:
    if report.untested:
        return f"Not passed: nothing was tested in {', '.join(report.untested)}."
    if report.is_failed and report.fail_on is not None:
        failing_ones = sum(map(report.fails, report.results))
        return f"Failed: {formatting.count(failing_ones, 'new finding')} at or above --fail-on."
    return "Passed."


def _left_out(report: Report) -> Iterable[str]:
    """The summary's part on tools that no call tested."""
    for each in report.results:
        if each.rule == rules.NOT_CALLED.id:
            yield f"{each.text.partition(',')[0]}."


def _file_lines(report: Report, file: CheckedFile) -> Iterable[str]:
    frames, jobs = formatting.count(file.frames, "message"), formatting.count(file.jobs, "job")
    yield f"{file.path}: {frames}, {jobs}"
    for server in file.servers:
        state = server.rules
        yield (
            f"  {server.name} ({', '.join(server.revisions) or 'no revision negotiated'}): "
            f"{formatting.count(state.tried, 'rule')} tested, {len(state.passed)} passed, "
            f"{len(state.broken)} violated, {len(state.not_applicable)} not applicable"
        )
        if server.tokens:
            tokens = formatting.count(server.tokens, "token")
            yield f"    Its tools cost about {tokens} in a model's context."
    for note in file.notes:
        yield f"  Note: {note}"
    for results in _by_rule(file.results):
        yield ""
        yield from _rule_lines(results)
    if file.dropped:
        yield ""
        yield f"  {formatting.number(file.dropped)} more results were counted but not listed."
    if file.unchecked:
        left = formatting.count(file.unchecked, "message")
        yield f"  Not validated against the official schema: {left} (too large, or out of time)."
    yield ""


def _by_rule(results: Sequence[ReportedResult]) -> Iterable[list[ReportedResult]]:
    """The results grouped by rule, level and source, which share advice; most severe first."""
    found: dict[tuple[str, str, str], list[ReportedResult]] = {}
    for result in by_level(results):
        found.setdefault((result.level.value, result.rule, result.source), []).append(result)
    return found.values()


def _rule_lines(results: list[ReportedResult]) -> Iterable[str]:
    """The texts with their places, counted if there are several, then the rule's advice."""
    result = results[0]
    advice = ADVICE[result.rule]
    head, texts = f"  {result.level.value} {result.rule}", _by_text(results)
    count = f" ({formatting.number(len(results))} findings)" if len(results) > 1 else ""
    if len(texts) == 1:
        yield f"{head}: {result.text}{count}"
        yield from _places(results)
    else:
        yield f"{head}: {advice.title}{count}"
        for text, of_text in itertools.islice(texts.items(), _SHOWN_TEXTS):
            yield f"    {text}"
            yield from (f"  {line}" for line in _places(of_text))
        if len(texts) > _SHOWN_TEXTS:
            yield f"    and {formatting.count(len(texts) - _SHOWN_TEXTS, 'more text')}"
    yield f"    Required since {advice.since}: {advice.due}"
    yield f"    Source: {result.source} ({advice.certainty.value})"
    yield f"    Fix: {advice.fix}"
    for name, call in (("Python", advice.python), ("TypeScript", advice.typescript)):
        if call:
            yield f"      {name}: {' '.join(call.split())}"


def _places(results: list[ReportedResult]) -> Iterable[str]:
    for each in results[:_SHOWN_PLACES]:
        yield f"    {_place(each)}"
    if len(results) > _SHOWN_PLACES:
        yield f"    and {formatting.number(len(results) - _SHOWN_PLACES)} more"


def _by_text(results: list[ReportedResult]) -> dict[str, list[ReportedResult]]:
    found: dict[str, list[ReportedResult]] = {}
    for result in results:
        found.setdefault(result.text, []).append(result)
    return found


def _place(result: ReportedResult) -> str:
    """Say who violated the rule, where, how often, and in which frames."""
    known = "" if result.is_new else ", known"
    job = "" if result.job is None else f", job {result.job}"
    first, last = result.frames[0], result.last
    frames = f"frame {first}" if first == last else f"frames {first} to {last}"
    times = "" if result.times == 1 else f"{formatting.count(result.times, 'time')}, "
    defined = f" ({result.definition})" if result.definition else ""
    return f"By the {result.by} in {result.place}{defined}{job}: {times}{frames}{known}"

"""A report as annotations of a run on GitHub: workflow commands, one on each line.

A server's text is escaped, so that no other command can be hidden in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.checking.report import UNTESTED, by_level
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.finding import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.checking.report import Report, ReportedResult

MOST: Final = 10  # of one level in a step; GitHub shows no more
_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def as_annotations(report: Report) -> str:
    """The new findings, the most severe first, each fault once, at the code that it is about."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    for path in report.untested:
        yield _command("error", f"{UNTESTED}.", title=path)
    by_fault = {each.fingerprint: each for each in report.results if each.is_new}
    found = by_level(list(by_fault.values()))
    for level, command in _COMMANDS.items():
        of_level = [each for each in found if each.level is level]
        shown = of_level if len(of_level) <= MOST else of_level[: MOST - 1]
        for result in shown:
            yield _annotation(report, result, command)
        if left := len(of_level) - len(shown):
            more = formatting.count(left, "more finding")
            yield _command(command, f"{more} of this level.", title="MCP")


def _annotation(report: Report, result: ReportedResult, command: str) -> str:
    advice, place = ADVICE[result.rule], report.place(result)
    where = {"file": place.path, "line": str(place.line)} if place else {}
    text = f"{result.text} ({result.by}: {result.place})\n{advice.due}\nFix: {advice.fix}"
    return _command(command, text, **where, title=f"{result.rule}: {advice.title}")


def _command(command: str, text: str, **properties: str) -> str:
    said = (
        f"{name}={formatting.visible(value).translate(_PROPERTY)}"
        for name, value in properties.items()
    )
    data = formatting.visible(text, keep_line_ends=True).translate(_DATA)
    return f"::{command} {','.join(said)}::{data}"

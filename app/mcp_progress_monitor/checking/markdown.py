"""A report as Markdown for a summary page: findings and jobs as tables, bounded in length."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.checking.report import by_level
from mcp_progress_monitor.checking.text import summary
from mcp_progress_monitor.findings.advice import ADVICE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.checking.report import CheckedFile, Report

_ROWS: Final = 100  # of a table; a summary on GitHub has at most 1 MiB
_CELL: Final = 300


def as_markdown(report: Report) -> str:
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield "## MCP check"
    yield ""
    yield _cell(summary(report))
    for file in report.files:
        yield from _servers(file)
        yield from _findings(report, file)
        yield from _jobs(file)
        if file.notes:
            yield ""
            yield from (f"- {_cell(note)}" for note in file.notes)


def _servers(file: CheckedFile) -> Iterator[str]:
    rows = [
        (
            server.name,
            ", ".join(server.revisions) or "none negotiated",
            str(server.rules.tried),
            str(len(server.rules.passed)),
            str(len(server.rules.broken)),
        )
        for server in file.servers
    ]
    yield from _table(("Server", "Revision", "Rules tested", "Passed", "Violated"), rows)


def _findings(report: Report, file: CheckedFile) -> Iterator[str]:
    rows = [
        (
            result.level.value if result.is_new else f"{result.level.value}, known",
            f"{result.rule}: {ADVICE[result.rule].title}",
            result.text,
            result.place,
            str(report.place(result) or ""),
            formatting.number(result.times),
        )
        for result in by_level(file.results)
    ]
    yield from _table(("Level", "Rule", "Finding", "Where", "Code", "Times"), rows)


def _jobs(file: CheckedFile) -> Iterator[str]:
    findings = Counter(result.job for result in file.results)
    rows = [
        (
            formatting.number(job.id),
            job.name,
            job.state,
            formatting.duration(job.duration_s),
            formatting.number(job.ticks),
            formatting.number(findings[job.id]),
        )
        for job in file.listed_jobs
    ]
    titles = ("Job", "Name", "State", "Duration", "Progress notifications", "Findings")
    yield from _table(titles, rows, file.jobs)


def _table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], total: int | None = None
) -> Iterator[str]:
    """The rows under their titles, after an empty line; nothing without rows."""
    if not rows:
        return
    yield ""
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    for row in rows[:_ROWS]:
        yield f"| {' | '.join(map(_cell, row))} |"
    left = (len(rows) if total is None else total) - len(rows[:_ROWS])
    if left:
        yield ""
        yield f"{formatting.count(left, 'more row')} not shown."


def _cell(text: str) -> str:
    return formatting.markdown(formatting.one_line(text, _CELL))

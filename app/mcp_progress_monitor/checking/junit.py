"""A report as JUnit XML, which CI servers show as tests: one suite a server, one case a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.formatting import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.checking.report import Checked, CheckedFile, CheckedServer, Report


def as_junit(report: Report) -> str:
    """The report as one document. A rule fails where a result fails the run."""
    suites = [_suite(report, file, server) for file in report.files for server in file.servers]
    totals = _attributes(
        name=report.program,
        tests=sum(suite.tests for suite in suites),
        failures=sum(suite.failures for suite in suites),
        errors=0,
        skipped=sum(suite.skipped for suite in suites),
    )
    body = "".join(suite.text for suite in suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{totals}>\n{body}</testsuites>\n'


class _Suite:
    def __init__(self) -> None:
        self.tests = self.failures = self.skipped = 0
        self.text = ""


def _suite(report: Report, file: CheckedFile, server: CheckedServer) -> _Suite:
    suite, cases = _Suite(), []
    for id_ in ADVICE:
        results = [r for r in file.results if (r.server, r.rule) == (server.name, id_)]
        suite.tests += 1
        case = _attributes(name=f"{id_} {ADVICE[id_].title}", classname=server.name, time="0")
        inner = ""
        if id_ in server.rules.not_applicable:
            suite.skipped += 1
            inner = '<skipped message="not applicable to this session"/>'
        elif failed := [result for result in results if report.fails(result)]:
            suite.failures += 1
            inner = _failure(failed)
        elif results:
            inner = f"<system-out>{_clean(_texts(results))}</system-out>"
        cases.append(f"    <testcase{case}>{inner}</testcase>\n")
    head = _attributes(
        name=f"{file.path}: {server.name}",
        tests=suite.tests,
        failures=suite.failures,
        errors=0,
        skipped=suite.skipped,
        time=f"{file.duration_s:.3f}",
    )
    suite.text = f"  <testsuite{head}>\n{''.join(cases)}  </testsuite>\n"
    return suite


def _failure(results: Sequence[Checked]) -> str:
    first = results[0]
    message = _attributes(message=first.text, type=first.level.value)
    return f"<failure{message}>{_clean(_texts(results))}</failure>"


def _texts(results: Sequence[Checked]) -> str:
    lines = []
    for result in results:
        advice = ADVICE[result.rule]
        lines += [
            f"{result.text} ({result.by}: {result.place})",
            f"  {result.times} in frames {result.frames[0]} to {result.last}",
            f"  Due: {advice.due}",
            f"  Fix: {advice.fix}",
        ]
    return "\n".join(lines)


def _clean(text: str) -> str:
    return escape(visible(text, keep_line_ends=True))


def _attributes(**values: object) -> str:
    return "".join(f" {name}={quoteattr(visible(str(value)))}" for name, value in values.items())

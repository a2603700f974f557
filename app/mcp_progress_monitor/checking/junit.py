"""A report as JUnit XML for CI servers: one suite per server, one test case per rule."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from mcp_progress_monitor.checking.report import UNTESTED
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.formatting import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.checking.report import (
        CheckedFile,
        CheckedServer,
        Report,
        ReportedResult,
    )


_HOST: Final = "localhost"
_NO_TIME: Final = "1970-01-01T00:00:00"


def as_junit(report: Report) -> str:
    """The report as a document; a rule fails if one of its results fails the run.

    It is valid for the schemas of Apache Ant and Jenkins.
    """
    servers = [(file, server) for file in report.files for server in file.servers]
    suites = [_suite(report, *each, place) for place, each in enumerate(servers)]
    untested = [file for file in report.files if not file.tested and report.fail_on]
    suites += [_untested(file, place) for place, file in enumerate(untested, len(suites))]
    body = "".join(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{body}</testsuites>\n'


def _suite(report: Report, file: CheckedFile, server: CheckedServer, place: int) -> str:
    of_server = [result for result in file.results if result.server == server.name]
    failed = {result.rule for result in of_server if report.fails(result)}
    skipped = [id_ for id_ in server.rules.not_applicable if id_ not in failed]
    cases = []
    for id_ in ADVICE:
        case = _attributes(name=f"{id_} {ADVICE[id_].title}", classname=server.name, time="0")
        inner = '<skipped message="not applicable to this session"/>' if id_ in skipped else ""
        if id_ in failed:
            inner = _failure([r for r in of_server if r.rule == id_ and report.fails(r)])
        cases.append(f"    <testcase{case}>{inner}</testcase>\n")
    others = [result for result in of_server if not report.fails(result)]
    head = _head(file, server.name, place, len(cases), len(failed), len(skipped))
    notes = _clean("\n".join(file.notes))
    revisions = _attributes(name="revisions", value=" ".join(server.revisions))
    return (
        f"  <testsuite{head}>\n    <properties><property{revisions}/></properties>\n"
        f"{''.join(cases)}    <system-out>{_clean(_texts(others))}</system-out>\n"
        f"    <system-err>{notes}</system-err>\n  </testsuite>\n"
    )


def _untested(file: CheckedFile, place: int) -> str:
    """A suite that fails: without it, CI servers show a file without tested rules as passed."""
    case = _attributes(name="Rules tested", classname=file.path, time="0")
    failure = _attributes(message=UNTESTED, type=Level.ERROR.value)
    return (
        f"  <testsuite{_head(file, file.path, place, 1, 1, 0)}>\n    <properties/>\n"
        f"    <testcase{case}><failure{failure}/></testcase>\n"
        f"    <system-out/>\n    <system-err/>\n  </testsuite>\n"
    )


def _head(file: CheckedFile, name: str, place: int, tests: int, failures: int, skipped: int) -> str:
    return _attributes(
        name=name,
        package=file.path,
        id=place,
        timestamp=_moment(file.begun_when),
        hostname=_HOST,
        tests=tests,
        failures=failures,
        errors=0,
        skipped=skipped,
        time=f"{file.duration_s:.3f}",
    )


def _moment(when: float | None) -> str:
    """Wall time in UTC to the second, without a zone, as Ant writes it."""
    try:
        moment = datetime.datetime.fromtimestamp(when or 0.0, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return _NO_TIME
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _failure(results: Sequence[ReportedResult]) -> str:
    first = results[0]
    message = _attributes(message=first.text, type=first.level.value)
    return f"<failure{message}>{_clean(_texts(results))}</failure>"


def _texts(results: Sequence[ReportedResult]) -> str:
    lines = []
    for result in results:
        advice = ADVICE[result.rule]
        lines += [
            f"{result.rule}: {result.text} ({result.by}: {result.place})",
            f"  {result.times} in frames {result.frames[0]} to {result.last}",
            f"  Expected: {advice.due}",
            f"  Fix: {advice.fix}",
        ]
    return "\n".join(lines)


def _clean(text: str) -> str:
    return escape(visible(text, keep_line_ends=True))


def _attributes(**values: object) -> str:
    return "".join(f" {name}={quoteattr(visible(str(value)))}" for name, value in values.items())

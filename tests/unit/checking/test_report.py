"""Reports: what is in them, what fails a run, what a baseline knows."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from mcp_progress_monitor.checking.report import (
    CheckedFile,
    CheckedServer,
    Report,
    ReportedResult,
    as_json,
    by_level,
    read_baseline,
)
from mcp_progress_monitor.checking.results import RuleState
from mcp_progress_monitor.findings.finding import Level

STATE = RuleState(("PROG-1", "JR-1"), ("PROG-3",), ("SUB-1",))


def checked(rule: str = "PROG-3", level: Level = Level.ERROR, **more: Any) -> ReportedResult:
    """A result of a report."""
    fields: dict[str, Any] = {
        "rule": rule,
        "level": level,
        "by": "server",
        "server": "files",
        "connection": "files#1",
        "job": 1,
        "method": "tools/call",
        "title": "copy",
        "revision": "2025-11-25",
        "text": "Progress did not increase: 1 after 1",
        "source": "2025-11-25, Basic, Utilities, Progress",
        "times": 2,
        "frames": (7, 9),
        "last": 9,
        "fingerprint": "f1",
        "line": 8,
    }
    return ReportedResult(**(fields | more))


def report(
    results: Sequence[ReportedResult],
    fail_on: Level | None = Level.ERROR,
    script: str = "",
    **more: Any,
) -> Report:
    """A report of one file with one server."""
    server = CheckedServer("files", ("2025-11-25",), STATE, {"copy": "d1"})
    more = {"artifact": "a b.mcprec"} | more
    file = CheckedFile("a b.mcprec", 20, 1, tuple(results), (server,), **more)
    return Report("mcp-progress-monitor", "1.0", (file,), fail_on, script)


@pytest.mark.parametrize(
    ("level", "fail_on", "is_failed"),
    [
        (Level.ERROR, Level.ERROR, True),
        (Level.WARNING, Level.ERROR, False),
        (Level.WARNING, Level.WARNING, True),
        (Level.NOTE, Level.WARNING, False),
        (Level.NOTE, Level.NOTE, True),
        (Level.ERROR, None, False),
    ],
)
def test_a_run_fails_from_a_level_on(level: Level, fail_on: Level | None, is_failed: bool) -> None:
    assert report([checked(level=level)], fail_on).is_failed is is_failed
    assert not report([checked(level=level, is_new=False)], fail_on).is_failed


def test_the_gravest_come_first() -> None:
    note, late = checked(level=Level.NOTE, frames=(1,)), checked(frames=(9,))
    assert by_level([note, late, checked(frames=(3,))]) == [checked(frames=(3,)), late, note]


def test_a_json_report_has_what_was_found_due_and_to_be_done() -> None:
    document = json.loads(as_json(report([checked()], dropped=3)))
    (file,) = document["files"]
    (found,) = file["findings"]
    assert found["rule"] == "PROG-3"
    assert found["due"] == "Each notification has a greater progress than the one before."
    assert found["since"] == "2024-11-05"
    assert found["certainty"] == "certain"
    assert set(found["fix"]) == {"text", "python", "typescript"}
    assert (found["count"], found["first"], found["last"]) == (2, 7, 9)
    assert file["leftOut"] == 3
    (server,) = file["servers"]
    assert server["rules"] == {
        "tried": 3,
        "passed": ["PROG-1", "JR-1"],
        "broken": ["PROG-3"],
        "notApplicable": ["SUB-1"],
    }
    assert document["summary"] == {"error": 1, "warning": 0, "note": 0, "new": 1, "failed": True}


def test_a_report_is_the_baseline_of_later_ones() -> None:
    known = read_baseline(as_json(report([checked()])))
    assert known is not None
    assert known.fingerprints == {"f1"}
    assert known.tools == {"files": {"copy": "d1"}}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 3}', '{"files": [{}]}', "\x00"])
def test_anything_else_is_no_baseline(text: str) -> None:
    assert read_baseline(text) is None


def test_a_file_in_which_nothing_could_be_tested_fails_the_run() -> None:
    empty = CheckedFile("empty.mcprec", 2, 0, (), ())
    tested = report([])
    made = tested._replace(files=(*tested.files, empty))
    assert made.untested == ("empty.mcprec",)
    assert made.is_failed
    assert not made._replace(fail_on=None).is_failed
    assert not tested.is_failed

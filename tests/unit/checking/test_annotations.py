"""Annotations for GitHub: one command for each finding, none from a server's text."""

from mcp_progress_monitor.checking.annotations import MOST, as_annotations
from mcp_progress_monitor.checking.report import UNTESTED, CheckedFile, SourcePlace
from mcp_progress_monitor.findings.finding import Level
from tests.unit.checking.test_report import checked, report


def test_a_finding_is_annotated_at_the_definition_of_its_tool() -> None:
    found = checked(definition=SourcePlace("src/a,b.py", 12))
    known = checked(is_new=False, fingerprint="f2")
    (line,) = as_annotations(report([found, found._replace(job=2), known])).splitlines()
    assert line.startswith(
        "::error file=src/a%2Cb.py,line=12,title=PROG-3%3A Progress does not increase::"
        "Progress did not increase: 1 after 1 (server: tools/call copy)%0A"
    )
    assert "%0AFix: " in line


def test_other_findings_are_annotated_at_the_script_or_nowhere() -> None:
    note = checked("PROG-10", Level.NOTE)
    assert as_annotations(report([note], script="s.py")).startswith("::notice file=s.py,line=1,")
    assert as_annotations(report([note])).startswith("::notice title=PROG-10")


def test_a_servers_text_is_no_command() -> None:
    hostile = checked(text="a\r\n::add-mask::x\n##[set-env name=A]b", title="x::y\n::warning::")
    text = as_annotations(report([hostile]))
    assert text.count("\n") == 1
    assert text.startswith("::error title=PROG-3")


def test_only_as_many_as_github_shows_are_written() -> None:
    found = [checked(fingerprint=str(number)) for number in range(MOST + 5)]
    lines = as_annotations(
        report([*found, checked("PROG-9", Level.WARNING, fingerprint="w")])
    ).splitlines()
    assert len(lines) == MOST + 1
    assert lines[MOST - 1] == "::error title=MCP::6 more findings of this level."
    assert lines[MOST].startswith("::warning ")


def test_a_run_in_which_nothing_was_tested_is_an_error() -> None:
    empty = CheckedFile("empty.mcprec", 2, 0, (), ())
    text = as_annotations(report([])._replace(files=(empty,)))
    assert text == f"::error title=empty.mcprec::{UNTESTED}.\n"

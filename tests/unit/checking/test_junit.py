"""JUnit XML as the schema of Apache Ant has it, which is stricter than that of Jenkins."""

import re
from typing import Any
from xml.etree import ElementTree  # of our own making

from mcp_progress_monitor.checking.junit import as_junit
from mcp_progress_monitor.checking.report import CheckedFile
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.finding import Level
from tests.unit.checking.test_report import checked, report


def _suite(*results: Any, **more: Any) -> ElementTree.Element:
    text = as_junit(report(results, **more))
    root = ElementTree.fromstring(text)  # noqa: S314  # idem
    assert (root.tag, root.attrib) == ("testsuites", {})
    (suite,) = root
    return suite


def test_a_suite_has_what_ant_requires() -> None:
    suite = _suite(checked(), duration_s=1.5, begun_when=1_795_000_000.0)
    assert suite.attrib == {
        "name": "files",
        "package": "a b.mcprec",
        "id": "0",
        "timestamp": "2026-11-18T11:06:40",
        "hostname": "localhost",
        "tests": str(len(ADVICE)),
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "1.500",
    }
    tags = [child.tag for child in suite]
    cases = ["testcase"] * len(ADVICE)
    assert tags == ["properties", *cases, "system-out", "system-err"]
    for case in suite.findall("testcase"):
        assert set(case.attrib) == {"name", "classname", "time"}
        assert len(case) <= 1


def test_a_rule_that_fails_the_run_fails_and_others_are_reported() -> None:
    suite = _suite(checked(), checked("JR-1", Level.WARNING, text="A doubt"))
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("type") == "error"
    assert failure.get("message") == "Progress did not increase: 1 after 1"
    assert "2 in frames 7 to 9" in str(failure.text)
    assert "Fix: Report only when" in str(failure.text)
    assert "JR-1: A doubt" in str(suite.findtext("system-out"))
    skipped = [case.get("name") for case in suite.iter("testcase") if len(case.findall("skipped"))]
    assert skipped == ["SUB-1 Notifications of a subscription"]


def test_what_has_to_be_known_of_a_file_is_beside_its_results() -> None:
    suite = _suite(notes=("Changed by the script <a>", "Damaged"))
    assert suite.findtext("system-err") == "Changed by the script <a>\nDamaged"


def test_what_a_server_says_cannot_break_the_document() -> None:
    suite = _suite(checked(text='<b>&"\x00\x1b]]>', title="\ud800"))
    (failure,) = suite.findall("testcase/failure")
    assert str(failure.get("message")).startswith('<b>&"')
    assert not re.search(r"[\x00-\x08\x0b\x1b]", str(failure.text))


def test_times_beyond_the_calendar_are_the_epoch() -> None:
    assert _suite(begun_when=1e300).get("timestamp") == "1970-01-01T00:00:00"
    assert _suite(begun_when=None).get("timestamp") == "1970-01-01T00:00:00"


def test_a_file_in_which_nothing_was_tested_is_a_suite_that_fails() -> None:
    empty = CheckedFile("empty.mcprec", 2, 0, (), ())
    made = report([])._replace(files=(empty,))
    (suite,) = ElementTree.fromstring(as_junit(made))  # noqa: S314  # idem
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    (failure,) = suite.findall("testcase/failure")
    assert str(failure.get("message")).startswith("No rule could be tested")
    never = as_junit(made._replace(fail_on=None))
    assert not list(ElementTree.fromstring(never))  # noqa: S314  # idem

"""SARIF 2.1.0: what the standard requires, and what code hosts read.

The standard's schema is not ours to ship: what it requires of the objects that are written is
checked here member by member.
"""

import json
from typing import Any, Final

from mcp_progress_monitor.checking.report import UNTESTED, CheckedFile, SourcePlace
from mcp_progress_monitor.checking.sarif import as_sarif
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.finding import Level
from tests.unit.checking.test_report import checked, report

ALLOWED: Final = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "columnKind", "originalUriBaseIds", "artifacts", "invocations", "results"},
    "driver": {"name", "version", "informationUri", "rules"},
    "rule": {
        "id",
        "name",
        "shortDescription",
        "fullDescription",
        "help",
        "defaultConfiguration",
        "properties",
    },
    "result": {
        "ruleId",
        "ruleIndex",
        "level",
        "message",
        "locations",
        "partialFingerprints",
        "occurrenceCount",
        "baselineState",
        "properties",
    },
}
"""The members that are written; the schema allows no others than those of the standard."""


RECORDING: Final = {"uri": "a%20b.mcprec", "uriBaseId": "%SRCROOT%", "index": 0}


def _run(*results: Any, **more: Any) -> dict[str, Any]:
    log = json.loads(as_sarif(report(results, **more)))
    assert set(log) == ALLOWED["log"]
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert set(run) == ALLOWED["run"]
    return dict(run)


def test_every_rule_is_described() -> None:
    driver = _run()["tool"]["driver"]
    assert set(driver) == ALLOWED["driver"]
    assert [rule["id"] for rule in driver["rules"]] == list(ADVICE)
    for rule in driver["rules"]:
        assert set(rule) == ALLOWED["rule"]
        assert rule["name"].isalnum()
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}


def test_a_result_names_its_rule_and_place() -> None:
    run = _run(checked(), checked("PROG-10", Level.NOTE, is_new=False, fingerprint="f2"))
    first, second = run["results"]
    rules = run["tool"]["driver"]["rules"]
    for each in (first, second):
        assert set(each) == ALLOWED["result"]
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
    assert (first["level"], second["level"]) == ("error", "note")
    assert (first["baselineState"], second["baselineState"]) == ("new", "unchanged")
    assert first["message"]["text"].startswith("Progress did not increase: 1 after 1")
    assert first["occurrenceCount"] == 2
    assert first["partialFingerprints"] == {"mcpFinding/v1": "f1"}
    (location,) = first["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == RECORDING
    assert physical["region"] == {"startLine": 8}
    assert run["artifacts"][0]["location"]["uri"] == "a%20b.mcprec"
    (logical,) = location["logicalLocations"]
    assert logical["fullyQualifiedName"] == "files/tools/call copy"


def test_what_has_to_be_known_of_a_file_is_a_note_about_it() -> None:
    (invocation,) = _run(notes=("Changed by the script faults.txt",))["invocations"]
    (said,) = invocation["toolExecutionNotifications"]
    assert (said["level"], said["message"]["text"]) == ("note", "Changed by the script faults.txt")
    (place,) = said["locations"]
    assert place["physicalLocation"]["artifactLocation"] == RECORDING


def test_a_run_in_which_nothing_was_tested_did_not_succeed() -> None:
    empty = CheckedFile("empty.mcprec", 2, 0, (), (), notes=(UNTESTED,))
    (run,) = json.loads(as_sarif(report([])._replace(files=(empty,))))["runs"]
    (invocation,) = run["invocations"]
    (said,) = invocation["toolExecutionNotifications"]
    assert (invocation["executionSuccessful"], said["level"]) == (False, "error")


def test_what_was_left_out_is_reported() -> None:
    (invocation,) = _run(dropped=1234)["invocations"]
    (said,) = invocation["toolExecutionNotifications"]
    assert said["message"]["text"].startswith("1,234 more results")
    assert _run()["invocations"] == [{"executionSuccessful": True}]


def test_a_result_stands_at_its_tool_else_at_the_script_with_its_message_beside() -> None:
    found = checked(definition=SourcePlace("src/a tool.py", 12))
    first, second = _run(found, checked(fingerprint="f2"), script="server.py")["results"]
    places = [each["locations"][0]["physicalLocation"] for each in (first, second)]
    assert places == [
        {
            "artifactLocation": {"uri": "src/a%20tool.py", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 12},
        },
        {
            "artifactLocation": {"uri": "server.py", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 1},
        },
    ]
    for each in (first, second):
        assert set(each) == ALLOWED["result"] | {"relatedLocations"}
        (related,) = each["relatedLocations"]
        assert related["message"]["text"] == "Message 7"
        message = related["physicalLocation"]
        assert message == {"artifactLocation": RECORDING, "region": {"startLine": 8}}

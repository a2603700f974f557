"""`check`: text for people, files for machines, exit codes for both."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.entry import main
from tests.golden_sessions import FOLDER, D, Golden, call, recording, result, tick

BROKEN, NEAR = FOLDER / "PROG-3.broken.mcprec", FOLDER / "PROG-3.near.mcprec"
WARNING, NOTE = FOLDER / "PROG-9.broken.mcprec", FOLDER / "PROG-10.broken.mcprec"


def run(*arguments: object) -> int:
    return main(["check", *map(str, arguments)])


def test_the_report_says_what_was_seen_due_and_to_be_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(BROKEN) == 7
    out = capsys.readouterr().out
    assert "error PROG-3: Progress did not increase: 1 after 1" in out
    assert "By the server in tools/call work, job 1: frame 7" in out
    assert "Required since 2024-11-05: Each notification has a greater progress" in out
    assert "Source: 2025-11-25, Basic, Utilities, Progress (certain)" in out
    assert "Fix: Report only when" in out
    assert "Python: if done > reported" in out
    assert "rules tested" in out
    assert out.endswith("1 error. Failed: 1 new finding at or above --fail-on.\n")


def test_findings_of_one_rule_are_one_group_with_a_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.mcprec"
    steps = [
        step
        for n in range(2, 20)
        for step in (call(n, n), tick(n, n), tick(n, n), tick(n, 99), result(n))
    ]
    path.write_bytes(recording(Golden("", D, steps, []), steps))
    assert run(path) == 7
    out = capsys.readouterr().out
    assert out.count("error PROG-3") == 1
    assert "error PROG-3: Progress does not increase (18 findings)\n" in out
    assert "    Progress did not increase: 2 after 2\n      By the server in tools/call work" in out
    assert "    and 13 more texts\n" in out
    assert out.count("By the server") == 5

    same = [step for n in (2, 3) for step in (call(n, n), tick(n, 1), tick(n, 1), result(n))]
    path.write_bytes(recording(Golden("", D, same, []), same))
    assert run(path) == 7
    out = capsys.readouterr().out
    assert "error PROG-3: Progress did not increase: 1 after 1 (2 findings)\n" in out


def test_nothing_found_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(NEAR) == 0
    assert capsys.readouterr().out.endswith("\nNo findings. Passed.\n")


@pytest.mark.parametrize(
    ("path", "fail_on", "code"),
    [
        (BROKEN, "never", 0),
        (WARNING, "error", 0),
        (WARNING, "warning", 7),
        (NOTE, "warning", 0),
        (NOTE, "note", 7),
    ],
)
def test_the_level_to_fail_on(path: Path, fail_on: str, code: int) -> None:
    assert run(path, "--fail-on", fail_on) == code


def test_what_a_script_changed_is_reported_in_every_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "changed.mcprec"
    tap = b'{"tap":{"script":"faults.txt"},'
    path.write_bytes(NEAR.read_bytes().replace(b"{", tap, 1))
    for form in ("json", "sarif", "junit"):
        assert run(path, "--format", form) == 0
        said = capsys.readouterr()
        assert "Changed by the script faults.txt" in said.out
        assert "Changed by the script faults.txt" in said.err


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "markdown", "github"])
def test_every_format_goes_to_a_file_as_well(form: str, tmp_path: Path) -> None:
    target = tmp_path / "report"
    assert run(BROKEN, NEAR, "--format", form, "--output", target) == 7
    text = target.read_text("utf-8")
    assert "PROG-3" in text
    assert text.endswith("\n")


def test_several_reports_are_written_in_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.sarif", tmp_path / "b.xml"
    assert run(BROKEN, "--report", f"sarif={first}", "--report", f"junit={second}") == 7
    assert capsys.readouterr().out.endswith("--fail-on.\n")
    assert json.loads(first.read_text("utf-8"))["version"] == "2.1.0"
    assert second.read_text("utf-8").startswith("<?xml")
    assert run(BROKEN, "--report", "pdf=x") == 2
    assert "is not FORMAT=FILE" in capsys.readouterr().err


def test_findings_stand_at_the_definition_of_their_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    code = tmp_path / "src" / "server.py"
    code.parent.mkdir()
    code.write_text("mcp = 1\n@mcp.tool()\ndef work(): ...\n", "utf-8")
    monkeypatch.chdir(code.parent)
    assert run(BROKEN, "--source", ".", "--report", "sarif=out.sarif") == 7
    assert "By the server in tools/call work (src/server.py:3), job 1" in capsys.readouterr().out
    text = Path("out.sarif").read_text("utf-8")
    (result,) = json.loads(text)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/server.py"
    assert place["region"] == {"startLine": 3}
    assert str(tmp_path) not in text
    assert str(FOLDER) not in text
    code.write_text("", "utf-8")
    assert run(BROKEN, "--source", ".") == 7
    assert "Note: No definition was found in . of: work" in capsys.readouterr().out


def test_only_what_is_new_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "baseline.json"
    assert run(BROKEN, "--format", "json", "-o", baseline) == 7
    assert run(BROKEN, "--baseline", baseline) == 0
    assert ", known" in capsys.readouterr().out
    assert run(BROKEN, FOLDER / "PROG-7.broken.mcprec", "--baseline", baseline) == 7


def test_a_tool_that_differs_from_the_baseline_is_found(tmp_path: Path) -> None:
    baseline, report = tmp_path / "baseline.json", tmp_path / "report.json"
    near = FOLDER / "DRIFT-1.near.mcprec"
    run(near, "--format", "json", "-o", baseline)
    document = json.loads(baseline.read_text())
    document["files"][0]["servers"][0]["tools"]["work"] = "another"
    baseline.write_text(json.dumps(document))
    assert run(near, "--baseline", baseline, "--fail-on", "warning") == 7
    run(near, "--baseline", baseline, "--format", "json", "-o", report)
    (found,) = json.loads(report.read_text())["files"][0]["findings"]
    assert (found["rule"], found["new"]) == ("DRIFT-1", True)


def test_findings_about_other_messages_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(BROKEN, "--where", "method == tools/list") == 0
    assert run(BROKEN, "--where", "kind == progress") == 7
    assert run(BROKEN, "--where", "method == tools/call") == 7
    assert "PROG-3" in capsys.readouterr().out


def test_expectations_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(NEAR, "--expect", "kind == progress", "--max-duration", "10") == 0
    assert run(NEAR, "--expect", "method == prompts/get", "--expect", "kind == progress") == 7
    assert "No message matches: method == prompts/get\n" in capsys.readouterr().out
    assert run(FOLDER / "EXPECT-2.near.mcprec", "--max-duration", "3") == 7
    assert "longer than 3.0 s" in capsys.readouterr().out


def test_the_line_of_a_finding_is_that_of_its_frame(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    run(BROKEN, "--format", "json", "-o", report)
    (found,) = json.loads(report.read_text())["files"][0]["findings"]
    line = BROKEN.read_text("utf-8").splitlines()[found["line"] - 1]
    assert "notifications/progress" in line
    assert found["line"] == found["first"] + 1, "the header is the first line"


@pytest.mark.parametrize(
    ("command_line", "code", "said"),
    [
        ([], 2, "Missing argument 'FILE...'"),
        (["missing.mcprec"], 8, "missing.mcprec"),
        ([BROKEN, "--where", "(("], 2, "--filter"),
        ([BROKEN, "--expect", "(("], 2, "--expect"),
        ([BROKEN, "--fail-on", "fatal"], 2, "--fail-on"),
        ([BROKEN, "--baseline", "missing.json"], 8, "Cannot read the baseline"),
        ([BROKEN, "--baseline", BROKEN], 2, "not a report of check"),
        ([BROKEN, "--url", "https://x/"], 2, "FILE cannot be used with a server"),
        ([BROKEN, "--tool", "work"], 2, "--tool and --args need a server"),
        (["--demo", "--args", '{"burst": 3}'], 2, "the arguments of 'burst' are not an object"),
        (["--demo", "--args", "{"], 2, "not valid JSON"),
    ],
)
def test_what_cannot_be_done_is_reported(
    command_line: list[object], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command_line) == code
    assert said in capsys.readouterr().err


def test_a_damaged_recording_is_checked_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.mcprec"
    cut.write_bytes(BROKEN.read_bytes()[:-40])
    assert run(cut) == 7
    assert "ends" in capsys.readouterr().err

"""Schemas of servers on the command line: checked in time, never in the user's way."""

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.hostile_schemas import Hostile, hostile_schemas
from tests.integration import schema_server
from tests.integration.commands import Run, linux_only, run, start
from tests.patience import PATIENCE_S

INTEGER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
COUNTED = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def text_of(tmp_path: Path, *arguments: str, **tool: Any) -> tuple[str, ...]:
    """The command line that calls the one tool of a server."""
    file = tmp_path / "tools.json"
    described = {"name": "t", "inputSchema": {"type": "object"}, **tool}
    file.write_text(json.dumps([described]), encoding="utf-8")
    server = (sys.executable, str(Path(schema_server.__file__)), str(file))
    data = ("--data-dir", str(tmp_path / "data"), "--era", "handshake")
    return ("call", *data, "t", *arguments, "--", *server)


def call(tmp_path: Path, *arguments: str, **tool: Any) -> Run:
    """Call the one tool of a server."""
    return run(*text_of(tmp_path, *arguments, **tool))


# Arguments


def test_arguments_that_break_the_schema_are_refused_with_the_way_to_send_them(
    tmp_path: Path,
) -> None:
    ran = call(tmp_path, "--args", '{"n": "three"}', inputSchema=INTEGER)
    assert (ran.code, ran.out) == (2, "")
    assert 'n: "three" is not of type "integer"' in ran.err
    assert "add --no-validate" in ran.err


def test_they_are_sent_as_they_are_where_the_user_insists(tmp_path: Path) -> None:
    sent = (("--args", '{"m": [1]}', "--arg", "n=three"), {"m": [1], "n": "three"})
    for command_line, arguments in (sent, (("--args", "{}"), {}), (("--arg", "n=3"), {"n": 3})):
        ran = call(tmp_path, *command_line, "--no-validate", inputSchema=INTEGER)
        assert ran.code == 0
        assert json.loads(ran.out) == arguments


def test_what_could_not_be_checked_is_reported_and_sent(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": "(?=x)(x+x+)+y"}}}
    ran = call(tmp_path, "--arg", f"a={'x' * 3_000}", inputSchema=schema)
    assert ran.code == 0
    assert "could not be fully validated" in ran.err
    assert "the text is too long to match against the pattern" in ran.err


# Results


def test_a_result_that_breaks_the_output_schema_is_reported(tmp_path: Path) -> None:
    result = {"content": [], "structuredContent": {"count": "three"}}
    tool = {"outputSchema": COUNTED, "result": result}
    ran = call(tmp_path, **tool)
    assert ran.code == 0
    assert (
        "warning: The result violates the tool's output schema: structuredContent: count" in ran.err
    )
    reported = call(tmp_path, "--json", **tool)
    (finding,) = reported.only("finding")
    assert finding["rule"] == "output-schema"
    assert finding["level"] == "error"
    assert finding["job"] == reported.only("result")[0]["job"]
    assert finding["text"] == 'structuredContent: count: "three" is not of type "integer"'
    assert reported.only("summary")[0]["findings"] == 1


def test_a_result_without_what_its_schema_describes_is_reported(tmp_path: Path) -> None:
    ran = call(tmp_path, "--json", outputSchema=COUNTED, result={"content": []})
    assert [each["text"] for each in ran.only("finding")] == ["structuredContent is missing"]


@pytest.mark.parametrize(
    "result",
    [
        {"content": [], "structuredContent": {"count": 3}},
        {"content": [], "isError": True},
        {"content": [], "isError": True, "structuredContent": {"count": "x"}},
    ],
)
def test_a_result_that_fits_or_tells_of_an_error_is_not_marked(
    tmp_path: Path, result: dict[str, Any]
) -> None:
    ran = call(tmp_path, "--json", outputSchema=COUNTED, result=result)
    assert ran.only("finding") == []


def test_a_result_that_cannot_be_checked_in_time_is_reported_as_such(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": "(?=x)(x+x+)+y"}}}
    result = {"content": [], "structuredContent": {"a": "x" * 3_000}}
    (finding,) = call(tmp_path, "--json", outputSchema=schema, result=result).only("finding")
    assert (finding["rule"], finding["level"]) == ("output-unchecked", "info")


# Forms


def test_fields_that_the_answer_leaves_out_get_the_forms_defaults(tmp_path: Path) -> None:
    properties = {
        "name": {"type": "string"},
        "size": {"type": "string", "default": "small"},
        "count": {"type": "integer", "default": 3},
        "note": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties, "required": ["name", "size"]}
    file = tmp_path / "answers.json"
    for answers in (
        [{"message": "Fill in", "accept": {"name": "Ada", "count": 7}}],
        {"fields": {"name": "Ada", "count": 7}},
        {"form": {"accept": {"name": "Ada", "count": 7}}},
    ):
        file.write_text(json.dumps(answers))
        ran = call(tmp_path, "--answer", str(file), ask=schema)
        assert ran.code == 0
        content = json.loads(ran.out)["content"]
        assert content == {"name": "Ada", "size": "small", "count": 7}


# The hostile


def _endures(hostile: Hostile, tmp_path: Path) -> None:
    """Call a tool with a hostile schema to its end, then again with Ctrl+C twice."""
    folder = tmp_path / "".join(filter(str.isalnum, hostile.name))
    folder.mkdir()
    file = folder / "arguments.json"
    file.write_text(json.dumps(hostile.value))
    tool: dict[str, Any] = {"inputSchema": hostile.schema, "outputSchema": hostile.schema}
    tool["result"] = {"content": [], "structuredContent": hostile.value}
    command_line = text_of(folder, "--args", f"@{file}", "--json", **tool)
    assert run(*command_line).code in {0, 2}, hostile.name
    program = start(*command_line)
    assert program.stdout is not None
    assert '"event":"connected"' in program.stdout.readline().replace(" ", ""), hostile.name
    for _ in range(2):
        program.send_signal(signal.SIGINT)
        time.sleep(0.05)
    _, errors = program.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in errors, hostile.name


@linux_only
def test_some_hostile_schemas_hold_no_call(tmp_path: Path) -> None:
    for name in ("pattern 4", "30000 fields"):
        _endures(next(each for each in hostile_schemas() if each.name == name), tmp_path)


@linux_only
@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_a_hundred_hostile_schemas_hold_no_call(tmp_path: Path) -> None:
    for hostile in hostile_schemas():
        _endures(hostile, tmp_path)

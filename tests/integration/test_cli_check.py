"""`check` as a whole process: a tour of a server, and how a server that clings is judged."""

import json
import sys
from pathlib import Path

import pytest

from tests.integration.commands import run

_CLINGING = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "clinging", "version": "1"}}
    elif message.get("method") == "tools/list":
        result = {"tools": []}
    elif "id" in message:
        result = {}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
time.sleep(60)
"""


def test_a_tour_finds_what_a_tool_does_wrong(tmp_path: Path) -> None:
    arguments = [
        "--demo",
        "--tool",
        "decreasing",
        "--args",
        '{"decreasing": {"steps": 6, "interval_s": 0.01}}',
    ]
    ran = run(
        "check", *arguments, "--format", "json", "--data-dir", str(tmp_path), HOME=str(tmp_path)
    )
    assert ran.code == 7, ran.err
    (file,) = json.loads(ran.out)["files"]
    found = {(each["rule"], each["level"]) for each in file["findings"]}
    assert ("PROG-3", "error") in found
    assert {rule for rule, level in found if level == "error"} == {"PROG-3"}
    assert "Calling 1 tool" in ran.err


def test_a_tool_that_does_not_exist_is_reported_before_anything_is_called(tmp_path: Path) -> None:
    ran = run("check", "--demo", "--tool", "nope", "--data-dir", str(tmp_path), HOME=str(tmp_path))
    assert ran.code == 2
    assert "does not list a tool 'nope'" in ran.err


def test_a_server_that_does_not_end_is_found(tmp_path: Path) -> None:
    server = tmp_path / "clinging.py"
    server.write_text(_CLINGING, encoding="utf-8")
    arguments = [
        "--era",
        "handshake",
        "--data-dir",
        str(tmp_path),
        "--",
        sys.executable,
        str(server),
    ]
    ran = run("check", "--fail-on", "warning", *arguments, HOME=str(tmp_path))
    assert ran.code == 7, ran.err
    assert "warning END-1: The server did not end within 2.0 s" in ran.out


def test_a_tour_that_calls_no_tool_says_so(tmp_path: Path) -> None:
    ran = run("check", "--demo", "--data-dir", str(tmp_path), HOME=str(tmp_path))
    assert "Note: No tool was called, because none is marked as read-only." in ran.out


_UNMARKED = """
from mcp.server import MCPServer
from mcp.types import ToolAnnotations
server = MCPServer("plain")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def wipe(path: str) -> str:
    return "wiped"
server.run()
"""


def test_tools_that_were_not_called_are_in_the_summary_and_fail_at_a_note(tmp_path: Path) -> None:
    where, command = ["--data-dir", str(tmp_path)], ["--", sys.executable, "-c", _UNMARKED]
    ran = run("check", "--fail-on", "note", *where, *command)
    assert ran.code == 7
    text = "note TOUR-1: 2 of 2 tools were not called, so nothing was tested on them: add, wipe"
    assert text in ran.out
    assert ran.out.endswith("2 of 2 tools were not called.\n")
    assert run("check", *where, *command).code == 0


def test_all_tools_are_called_but_destructive_ones_only_by_name(tmp_path: Path) -> None:
    where, command = ["--data-dir", str(tmp_path)], ["--", sys.executable, "-c", _UNMARKED]
    ran = run("check", "--all-tools", *where, *command)
    assert "1 of 2 tools were not called, so nothing was tested on them: wipe" in ran.out
    ran = run("check", "--all-tools", "--tool", "wipe", "--fail-on", "note", *where, *command)
    assert (ran.code, "TOUR-1" in ran.out) == (0, False)
    assert "wipe: done" in ran.err


def test_a_tool_whose_calls_all_fail_is_no_silent_pass(tmp_path: Path) -> None:
    arguments = ["--demo", "--tool", "rpc_error", "--data-dir", str(tmp_path)]
    ran = run("check", *arguments, HOME=str(tmp_path))
    assert ran.code == 0, ran.err
    assert "Note: All 3 calls of rpc_error failed, so most rules were not tested on it." in ran.out


_REFUSING = (
    _CLINGING.replace(
        "        result = {}\n",
        "        result = None if message['method'] == 'tools/call' else {}\n",
    )
    .replace('result = {"tools": []}', "result = None")
    .replace(
        'print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)',
        'reply = {"error": {"code": -32603, "message": "No list"}} if result is None else '
        '{"result": result}\n'
        '    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)',
    )
)


@pytest.mark.parametrize("command", ["tools", "check"])
def test_a_server_that_refuses_to_list_its_tools_is_an_error(tmp_path: Path, command: str) -> None:
    server = tmp_path / "refusing.py"
    server.write_text(_REFUSING.replace("time.sleep(60)", ""), encoding="utf-8")
    arguments = [
        "--era",
        "handshake",
        "--data-dir",
        str(tmp_path),
        "--",
        sys.executable,
        str(server),
    ]
    ran = run(command, *arguments, HOME=str(tmp_path))
    assert ran.code == 1, ran.out + ran.err
    assert "No list" in ran.out + ran.err

"""Recordings added up and compared, as text and as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.cli.exits import ExitCode
from tests.unit.recording.written import Written

_TOOL: dict[str, Any] = {"name": "export", "description": "Exports.", "inputSchema": {}}


def _session(path: Path, *tools: dict[str, Any], took: float = 5.0, says: str = "done") -> Path:
    """A call that took so long, with a silence, and one that failed."""
    written = Written(run=path.name)
    opened = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    info = {"name": "demo", "version": "1.2.3"}
    written.send("initialize", {**opened, "clientInfo": info}, 1)
    written.reply(1, result={**opened, "serverInfo": info})
    written.send("tools/list", {}, 2)
    written.reply(2, result={"tools": list(tools)})
    written.call(3, at=1.0)
    for n in range(20):
        written.tick(n + 1, at=1.0 + n / 10)
    written.tick(30, at=1.0 + took)
    content = [{"type": "text", "text": says}]
    written.reply(3, at=1.0 + took, result={"content": content})
    written.send("tools/call", {"name": "fail\x1b[31m", "arguments": {}}, 4, at=100.0)
    written.reply(4, at=101.0, result={"content": content, "isError": True})
    return written.save(path)


def _json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == ExitCode.DONE
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_folder_is_added_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _session(tmp_path / "a.mcprec", _TOOL)
    _session(tmp_path / "b.mcprec", _TOOL, took=65.0)
    found = _json(capsys, "stats", tmp_path)

    assert (found["recordings"], found["ticks"]) == (2, 42)
    export = next(each for each in found["calls"] if each["tool"] == "export")
    assert (export["calls"], export["failed"], export["longest_s"]) == (2, 0, 65.0)
    assert [(each["server"], each["stalls"]) for each in found["stalls"]] == [("demo", 1)]
    assert [each["jobs"] for each in found["errors"]] == [2]
    assert [each["tool"] for each in found["tools"]] == ["export"]
    assert 8 < found["tools"][0]["tokens"] < 30


def test_figures_for_people_are_safe_to_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = _session(tmp_path / "a.mcprec", _TOOL, took=65.0)
    assert main(["stats", str(recording)]) == ExitCode.DONE
    shown = capsys.readouterr().out

    for part in ("1 recording, ", "Calls\n", "Stalls: ", "Errors\n", "Findings\n", "about "):
        assert part in shown
    assert "\x1b" not in shown


def test_what_cannot_be_read_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _session(tmp_path / "a.mcprec", _TOOL)
    (tmp_path / "b.mcprec").write_bytes(b"nothing")
    assert main(["stats", str(tmp_path)]) == ExitCode.UNWRITABLE
    said = capsys.readouterr()

    assert said.out.startswith("1 recording, ")
    assert "This is not a recording" in said.err
    (tmp_path / "empty").mkdir()
    assert main(["stats", str(tmp_path / "empty")]) == ExitCode.UNWRITABLE


def test_differences_of_two_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = {"name": "old", "inputSchema": {}}
    changed = {**_TOOL, "description": "Exports\x1b all.", "inputSchema": {"type": "object"}}
    one = _session(tmp_path / "a.mcprec", _TOOL, gone)
    two = _session(tmp_path / "b.mcprec", changed, {**gone, "name": "new"}, took=9.0, says="more")
    found = _json(capsys, "diff", one, two)

    assert [each["tool"] for each in found["tools_added"]] == ["new"]
    assert [each["tool"] for each in found["tools_removed"]] == ["old"]
    assert any("Exports" in line for line in found["tools_changed"][0]["diff"])
    assert any('"more"' in line for line in found["results"][0]["diff"])
    assert main(["diff", str(one), str(two)]) == ExitCode.DONE
    shown = capsys.readouterr().out
    for part in ("Tool added: new", "Tool removed: old", "Tool changed: export", "Result changed"):
        assert part in shown
    assert "\x1b" not in shown
    assert main(["diff", str(one), str(one)]) == ExitCode.DONE
    assert capsys.readouterr().out == "No differences.\n"

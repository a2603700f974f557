"""Changes of a server's tools since its last session are found, from a bounded memory."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.protocol.offers import Tool, read_tools
from mcp_progress_monitor.sessions.connection import tool_memory
from mcp_progress_monitor.sessions.connection.tool_memory import ToolMemory
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

_SERVER = StdioDefinition(name="s", command="c")


def _tools(*, name: str = "export", **parts: Any) -> tuple[Tool, ...]:
    tool = {"name": name, "description": "Exports.", "inputSchema": {"type": "object"}, **parts}
    return tuple(read_tools({"tools": [tool]}).items)


@pytest.fixture
def memory(tmp_path: Path) -> ToolMemory:
    return ToolMemory(tmp_path / "data" / "tools")


def _file(folder: Path) -> Path:
    (found,) = (folder / "data" / "tools").iterdir()
    return found


def test_a_changed_definition_is_reported_once_with_its_difference(memory: ToolMemory) -> None:
    assert memory.exchange(_SERVER, _tools()) == []
    assert memory.exchange(_SERVER, _tools(_meta={"n": 1})) == []
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    changed = _tools(description="Exports, and sends it away.", inputSchema=schema)
    (change,) = memory.exchange(_SERVER.model_copy(update={"name": "renamed"}), changed)
    assert (change["tool"], change["parts"]) == ("export", ["description", "inputSchema"])
    assert "- Exports.\n+ Exports, and sends it away.\ninputSchema:\n" in change["diff"]
    assert '+  "properties": {' in change["diff"]
    assert memory.exchange(_SERVER, changed) == []


def test_another_command_is_another_server(memory: ToolMemory) -> None:
    memory.exchange(_SERVER, _tools())
    other = StdioDefinition(name="s", command="d")
    assert memory.exchange(other, _tools(description="Else.")) == []


def test_a_tool_is_compared_though_a_session_lacked_it(memory: ToolMemory) -> None:
    memory.exchange(_SERVER, _tools())
    assert memory.exchange(_SERVER, _tools(name="other")) == []
    assert len(memory.exchange(_SERVER, _tools(description="Else."))) == 1


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_the_files_are_private(memory: ToolMemory, tmp_path: Path) -> None:
    memory.exchange(_SERVER, _tools())
    file = _file(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"[]", b'{"tools":3}', b'{"tools":{"export":3}}', b"[" * 9999, b" " * 10**6],
)
def test_a_damaged_file_is_replaced(memory: ToolMemory, tmp_path: Path, content: bytes) -> None:
    memory.exchange(_SERVER, _tools())
    _file(tmp_path).write_bytes(content)
    assert memory.exchange(_SERVER, _tools(description="Else.")) == []
    assert len(memory.exchange(_SERVER, _tools())) == 1


def test_a_folder_that_cannot_be_written_costs_only_the_comparison(tmp_path: Path) -> None:
    (tmp_path / "tools").write_text("in the way")
    assert ToolMemory(tmp_path / "tools").exchange(_SERVER, _tools()) == []


def test_large_definitions_are_compared_by_their_digest(memory: ToolMemory, tmp_path: Path) -> None:
    large = "x" * 300_000
    memory.exchange(_SERVER, _tools(description=large))
    assert _file(tmp_path).stat().st_size < 1000
    assert memory.exchange(_SERVER, _tools(description=large)) == []
    (change,) = memory.exchange(_SERVER, _tools(description=f"{large}y"))
    assert change == {"tool": "export", "parts": [], "diff": ""}


def test_a_difference_is_bounded_and_begins_where_it_is(memory: ToolMemory) -> None:
    lines = [f"line {n}" for n in range(10_000)]
    memory.exchange(_SERVER, _tools(description="\n".join(lines), title="a" * 5000 + "b"))
    replaced = "\n".join(line.upper() for line in lines)
    changed = _tools(description=replaced, title="a" * 5000 + "c")
    (change,) = memory.exchange(_SERVER, changed)
    assert f"- …{'a' * 40}b\n+ …{'a' * 40}c\n" in change["diff"]
    assert change["diff"].count("\n") < 100


def test_the_servers_used_last_are_kept(
    memory: ToolMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_memory, "_MOST_SERVERS", 2)
    servers = [StdioDefinition(name="s", command=command) for command in "abc"]
    for server in servers:
        memory.exchange(server, _tools())
        for file in (tmp_path / "data" / "tools").iterdir():
            os.utime(file, (file.stat().st_mtime - 10, file.stat().st_mtime - 10))
    assert len([*(tmp_path / "data" / "tools").iterdir()]) == 2
    assert memory.exchange(servers[2], _tools(title="n")) != []
    assert memory.exchange(servers[0], _tools(title="n")) == []

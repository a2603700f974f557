"""The entry for agents in clients' configurations, and the servers that they may be let read."""

import json
import shlex
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, CURSOR, VS_CODE
from mcp_progress_monitor.catalogue.tap_install import ClientServer
from mcp_progress_monitor.catalogue.taps import EntryTap
from mcp_progress_monitor.engine import agent_entry
from mcp_progress_monitor.engine.agent_entry import AgentEntry, ReadableServer, readable_servers
from mcp_progress_monitor.errors import UserError


def test_the_chosen_servers_are_in_the_entry_and_in_the_line(tmp_path: Path) -> None:
    entry = AgentEntry(("local db", "files"), tmp_path)
    wanted = ["mcp", "--data-dir", str(tmp_path), "--server", "local db", "--server", "files"]
    written = json.loads(entry.text(CURSOR))["mcpServers"]["mcp-progress-monitor"]
    assert [written["command"], *written["args"]] == entry.command
    assert entry.command[-len(wanted) :] == wanted
    assert shlex.split(entry.line)[-len(entry.command) :] == entry.command


def test_a_running_claude_code_is_not_raced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".claude.json"
    path.write_text("{}")
    monkeypatch.setattr(agent_entry, "claude_code_processes", lambda: [77])
    with pytest.raises(UserError, match="claude mcp add --scope user"):
        AgentEntry().write(CLAUDE_CODE, path)
    assert path.read_text() == "{}"
    monkeypatch.setattr(agent_entry, "claude_code_processes", list)
    AgentEntry().write(CLAUDE_CODE, path)
    assert "mcp-progress-monitor" in path.read_text()


def test_servers_of_the_project_are_first_and_each_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    tap = EntryTap("mcp-progress-monitor", 3, "orders")
    configured = [
        ClientServer(CURSOR, path, "orders", ("a",), tap=tap, is_shared=True),
        ClientServer(VS_CODE, path, "notes", ("b",), is_shared=True),
        ClientServer(VS_CODE, path, "elsewhere", ("c",)),
        ClientServer(VS_CODE, path, "db", ("d",), tap=tap._replace(name="db")),
    ]
    found = readable_servers(["local-db", "orders"], [("db", "Zed")], configured, tmp_path)
    assert found == [
        ReadableServer("orders", "saved in this program", is_here=True),
        ReadableServer("notes", "in VS Code, not watched yet", is_here=True),
        ReadableServer("local-db", "saved in this program"),
        ReadableServer("db", "watched in Zed"),
    ]

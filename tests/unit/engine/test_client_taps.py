"""Taps in clients' files as both front ends handle them: found, running now, Claude Code's own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.catalogue.client_files import FoundFile
from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, CURSOR
from mcp_progress_monitor.catalogue.tap_install import (
    ClientServer,
    FileChange,
    servers_of,
    tapped,
    untapped,
)
from mcp_progress_monitor.catalogue.taps import TapProgram
from mcp_progress_monitor.engine import client_taps
from mcp_progress_monitor.engine.client_taps import (
    AppliedChange,
    apply,
    claude_code_processes,
    find_servers,
    live_taps,
)
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import header
from tests.taps import HandTap

HERE = TapProgram((sys.executable,))
ENTRY = {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"MODE": "fast"}}
needs_scripts = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def cursor(home: Path, **entries: Any) -> Path:
    return write(home / ".cursor" / "mcp.json", {"mcpServers": entries})


def claude_code(home: Path, entry: Any = ENTRY, project: Path | None = None) -> list[ClientServer]:
    servers = {"mcpServers": {"files": entry}}
    document = servers if project is None else {"projects": {str(project): servers}}
    path = write(home / ".claude.json", document)
    return servers_of(FoundFile(CLAUDE_CODE, path))


def test_the_servers_of_all_clients_are_found(isolated_home: Path, tmp_path: Path) -> None:
    cursor(isolated_home, a={"command": "x"})
    write(isolated_home / ".claude.json", {"mcpServers": {"b": {"command": "y"}}})
    write(isolated_home / ".codeium" / "windsurf" / "mcp_config.json", {"other": 1})
    (isolated_home / ".gemini").mkdir()
    (isolated_home / ".gemini" / "settings.json").write_text("{")
    write(tmp_path / ".mcp.json", {"mcpServers": {"shared": {"command": "z"}}})
    found = find_servers(tmp_path)
    assert [(each.client.key, each.name, each.is_shared) for each in found.servers] == [
        ("claude-code", "b", False),
        ("claude-code", "shared", True),
        ("cursor", "a", False),
    ]
    assert ["not valid JSON" in error.what for error in found.errors] == [True]


def record(folder: Path, name: str, client: str | None) -> RecordingsFolder:
    """A recording as a tap begins it, and whoever holds its lock."""
    recordings = RecordingsFolder(folder / "recordings" / "live")
    path = recordings.path / f"2026-01-02T03-04-05-p77-{name.replace(' ', '-')}.mcprec"
    recordings.begin(path)
    fields = {"started": "2026-01-02T03:04:05+00:00", "tap": {"client": client, "pid": 77}}
    connection = name.replace(" ", "%20")
    first = f'2026-01-02T03:04:05.000000Z 0.0 {connection}#1 * {{"event":"opened"}}\n'
    path.write_bytes(header(fields) + first.encode())
    return recordings


def test_taps_that_run_now_are_known_by_their_lock(isolated_home: Path, tmp_path: Path) -> None:
    file = cursor(isolated_home, **{"my files": {"command": "x"}, "b": {"command": "y"}})
    mine, other = servers_of(FoundFile(CURSOR, file))
    live = record(tmp_path, "my files", "Cursor")
    (tap,) = live_taps([tmp_path, tmp_path])
    assert (tap.name, tap.client, tap.pid) == ("my files", "Cursor", 77)
    assert tap.is_of(mine)
    assert not tap.is_of(other)
    live.end()
    assert live_taps([tmp_path]) == []


def test_a_tap_whose_client_is_gone_is_left_running(tmp_path: Path) -> None:
    live = tmp_path / "recordings" / "live"
    names = ("left", "mine", "of a container")
    taps = [HandTap(live, name, pid=os.getpid()) for name in names]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as server:
        pids = ((1, server.pid), (os.getppid(), server.pid), (1, os.getpid()))
        for tap, (client, pid) in zip(taps, pids, strict=True):
            own = tap.path.read_bytes()
            tap.path.write_bytes(own.replace(b'"parent": 1', b'"parent": %d' % client))
            tap.write(tap.event("opened", command="x", pid=pid))
        found = sorted(live_taps([tmp_path]), key=lambda tap: tap.name)
        server.kill()
    assert [each.is_orphan for each in found] == [True, False, False]
    assert [bool(each.starter) for each in found] == [False, True, False]
    assert (found[0].memory_bytes or 0) > 100_000


def test_a_client_that_is_no_text_is_unknown(tmp_path: Path) -> None:
    tap = HandTap(tmp_path / "recordings" / "live", client="Cursor")
    tap.path.write_bytes(tap.path.read_bytes().replace(b'"client": "', b'"client": [1], "x": "'))
    tap.write(tap.event("opened", command="x"))
    (found,) = live_taps([tmp_path])
    assert found.client is None


@pytest.mark.parametrize("content", [b"", b"#mcp-recording {", b"#mcp-recording {}\nx\n"])
def test_what_is_no_recording_of_a_tap_is_none(tmp_path: Path, content: bytes) -> None:
    live = record(tmp_path, "a", None)
    (file,) = live.path.glob("*.mcprec")
    file.write_bytes(content)
    assert live_taps([tmp_path]) == []
    live.end()


@pytest.mark.parametrize(
    ("arguments", "is_it"),
    [
        (["claude", "--resume"], True),
        (["/opt/a/bin/claude"], True),
        (["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], True),
        (["node", "/usr/local/bin/claude"], True),
        (["D:\\a\\.local\\bin\\claude.exe"], True),
        (["D:\\a\\AppData\\Local\\AnthropicClaude\\claude.exe"], False),
        (["/Applications/Claude.app/Contents/MacOS/Claude"], False),
        (["vim", "claude.md"], False),
        (["grep", "-r", "claude"], False),
        ([""], False),
        ([], False),
    ],
)
def test_claude_code_is_reported_from_other_programs(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], is_it: bool
) -> None:
    monkeypatch.setattr(client_taps, "command_lines", lambda: iter([(9, arguments)]))
    assert claude_code_processes() == ([9] if is_it else [])


def test_thecommand_lines_of_this_computer_are_read() -> None:
    assert os.getpid() in {pid for pid, _ in client_taps.command_lines()}


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a Claude Code was running."""
    monkeypatch.setattr(client_taps, "claude_code_processes", lambda: [1, 2])


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for `claude`, which writes down what it is asked; the file of that."""
    log = tmp_path / "asked"
    script = tmp_path / "bin" / "claude"
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib, sys\n"
        f"log = pathlib.Path({str(log)!r})\n"
        "with log.open('a') as file:\n"
        "    print(json.dumps([*sys.argv[1:], os.getcwd()]), file=file)\n"
        "number = len(log.read_text().splitlines())\n"
        "if os.environ.get('FAILS') == str(number):\n"
        "    sys.exit('it is full')\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    return log


def asked(log: Path) -> list[list[str]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_without_a_running_claude_code_its_file_is_edited(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_taps, "claude_code_processes", list)
    change = tapped(claude_code(isolated_home), HERE)
    assert apply(change) == AppliedChange(isolated_home / ".claude.json.before")
    assert (isolated_home / ".claude.json").read_bytes() == change.after


@needs_scripts
@pytest.mark.usefixtures("running")
def test_while_claude_code_runs_its_own_command_makes_the_change(
    isolated_home: Path, claude: Path
) -> None:
    change = tapped(claude_code(isolated_home), HERE)
    assert apply(change) == AppliedChange(by_command=True)
    remove, add = asked(claude)
    assert remove[:-1] == ["mcp", "remove", "--scope", "user", "--", "files"]
    assert add[:6] == ["mcp", "add-json", "--scope", "user", "--", "files"]
    assert json.loads(add[6]) == change.entries[0][1]
    assert (isolated_home / ".claude.json").read_bytes() == change.before


@needs_scripts
@pytest.mark.usefixtures("running")
def test_a_server_of_a_project_is_changed_in_its_folder(
    isolated_home: Path, claude: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    apply(tapped(claude_code(isolated_home, project=project), HERE))
    assert [text[3] for text in asked(claude)] == ["local", "local"]
    assert {text[-1] for text in asked(claude)} == {str(project.resolve())}


@needs_scripts
@pytest.mark.usefixtures("running")
def test_when_its_command_fails_the_old_entry_is_put_back(
    isolated_home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILS", "2")
    with pytest.raises(UserError, match="it is full"):
        apply(tapped(claude_code(isolated_home), HERE))
    _remove, _add, again = asked(claude)
    assert json.loads(again[6]) == ENTRY


def changed(servers: list[ClientServer]) -> FileChange:
    return tapped(servers, HERE)


@needs_scripts
@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({**ENTRY, "alwaysLoad": True}, "would drop alwaysLoad"),
        ({**ENTRY, "env": {"API_KEY": "x"}}, "has secrets"),
        ({**ENTRY, "args": ["--token", "abc"]}, "has secrets"),
    ],
)
def test_what_its_command_would_spoil_is_refused_while_it_runs(
    isolated_home: Path, claude: Path, entry: Any, why: str
) -> None:
    with pytest.raises(UserError, match=why) as refused:
        apply(changed(claude_code(isolated_home, entry)))
    assert "Claude Code is running (2 processes)" in refused.value.details.what
    assert "Close Claude Code" in refused.value.details.hint
    assert not claude.exists()


@pytest.mark.usefixtures("running")
def test_without_its_command_it_must_be_closed(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_taps, "_claude", lambda: None)
    with pytest.raises(UserError, match="claude, was not found"):
        apply(changed(claude_code(isolated_home)))


@pytest.mark.usefixtures("running")
def test_other_clients_files_are_edited_whatever_runs(isolated_home: Path) -> None:
    file = cursor(isolated_home, a={"command": "x"})
    apply(tapped(servers_of(FoundFile(CURSOR, file)), HERE))
    apply(untapped(servers_of(FoundFile(CURSOR, file))))
    assert json.loads(file.read_text()) == {"mcpServers": {"a": {"command": "x"}}}

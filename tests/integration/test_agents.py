"""The server for agents as a process, in a client's configuration, over data that others write."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from mcp_progress_monitor.audit.access import turn
from mcp_progress_monitor.audit.log import AuditReader, live_count
from tests.integration.commands import run
from tests.integration.tapping import recordings, tap_command, until
from tests.integration.terminals import Terminal
from tests.patience import PATIENCE_S

_PROGRAM = (sys.executable, "-m", "mcp_progress_monitor")
_DEMO = (sys.executable, "-m", "mcp_progress_monitor.demo")


def _parameters(*command: str) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))


async def ignored(progress: float, total: float | None, message: str | None) -> None:
    """Ask for progress, as a client does that shows it."""


async def test_an_agent_watches_a_job_that_another_client_runs(tmp_path: Path) -> None:
    messages: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        messages.append(message)

    agents = (*_PROGRAM, "mcp", "--data-dir", str(tmp_path))
    tapped = tap_command(tmp_path, *_DEMO)
    with anyio.fail_after(PATIENCE_S):
        async with (
            Client(_parameters(*tapped)) as client,
            Client(_parameters(*agents)) as agent,
            anyio.create_task_group() as tasks,
        ):
            arguments = {"steps": 30, "interval_s": 0.1}
            call = functools.partial(
                client.call_tool, "known_total", arguments, progress_callback=ignored
            )
            tasks.start_soon(call)
            jobs: list[dict[str, object]] = []
            for _ in range(500):
                answer = await agent.call_tool("jobs", {"states": ["running"]})
                jobs = (answer.structured_content or {}).get("jobs", [])
                if jobs:
                    break
                await anyio.sleep(0.05)
            waited = await agent.call_tool(
                "wait", {"job": jobs[0]["job"]}, progress_callback=on_progress
            )
    assert jobs[0]["name_quoted"] == "known_total"
    assert waited.structured_content is not None
    (job,) = waited.structured_content["jobs"]
    assert (job["state"], job["progress"]) == ("Done", 30)
    assert messages
    assert messages[0] is not None
    assert messages[0].startswith("Running")


async def test_reading_is_logged_and_ends_in_all_processes_at_once(tmp_path: Path) -> None:
    agents = _parameters(*_PROGRAM, "mcp", "--data-dir", str(tmp_path), "--server", "local-db")
    with anyio.fail_after(PATIENCE_S):
        async with Client(agents) as one, Client(agents) as other:
            await one.call_tool("jobs", {})
            assert live_count(tmp_path) == 2
            turn(tmp_path, is_on=False)
            for agent in (one, other):
                with pytest.raises(MCPError, match="turned off for all agents"):
                    await agent.call_tool("findings", {})
    assert live_count(tmp_path) == 0
    later, earlier = AuditReader(tmp_path).read()
    outcomes = [[(each.what, each.outcome) for each in log.readings] for log in (later, earlier)]
    refused = ("findings", "refused")
    assert sorted(outcomes) == [[refused], [("jobs", "answered"), refused]]
    assert later.beginning.servers == earlier.beginning.servers == ("local-db",)
    assert later.beginning.pid != earlier.beginning.pid
    assert later.name is not None


def test_a_client_that_is_gone_is_no_defect(tmp_path: Path) -> None:
    command = (*_PROGRAM, "mcp", "--data-dir", str(tmp_path))
    client = {"name": "a", "version": "1"}
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    messages: list[dict[str, object]] = [
        {"id": 0, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        *({"id": number, "method": "tools/list"} for number in range(1, 100)),
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            for message in messages:
                program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            program.stdin.flush()
        assert program.wait(PATIENCE_S) == 0
        assert b"Internal error" not in program.stderr.read()
    assert not list(tmp_path.glob("defect-*"))


def test_our_own_check_finds_nothing(tmp_path: Path) -> None:
    session = tmp_path / "a.mcprec"
    checked = run("check", "--record", str(session), "--", *_PROGRAM, "mcp")
    assert checked.code == 0, checked.out + checked.err
    assert "No findings. Passed." in checked.out


def test_the_instructions_for_agents_are_printed() -> None:
    printed = run("mcp", "--skill")
    assert printed.out.startswith("---\nname: mcp-progress-monitor\n")
    assert "_quoted" in printed.out


@pytest.fixture
def cursor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client's configuration, with a server that must stay."""
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"files": {"command": "npx", "args": ["files"]}}, "x": 1}')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return file


def test_the_server_is_added_to_a_clients_configuration(cursor: Path) -> None:
    added = run("mcp", "install", "cursor", "local-db", "files")
    assert added.code == 0, added.err
    assert "Restart" in added.out or "Reload" in added.out or "cursor" in added.out.lower()
    written = json.loads(cursor.read_text())
    assert written["x"] == 1
    assert written["mcpServers"]["files"] == {"command": "npx", "args": ["files"]}
    entry = written["mcpServers"]["mcp-progress-monitor"]
    assert entry["args"][-5:] == ["mcp", "--server", "local-db", "--server", "files"]


def test_an_entry_says_that_the_agent_may_act(cursor: Path) -> None:
    shown = run("mcp", "install", "cursor", "local-db", "--allow-actions", "--dry-run")
    assert "read the recorded traffic, and act on those you approved, of local-db" in shown.out
    added = run("mcp", "install", "cursor", "local-db", "--allow-actions")
    assert added.code == 0, added.err
    entry = json.loads(cursor.read_text())["mcpServers"]["mcp-progress-monitor"]
    assert entry["args"][-4:] == ["mcp", "--allow-actions", "--server", "local-db"]


def test_nothing_is_changed_unless_somebody_agrees(cursor: Path) -> None:
    before = cursor.read_text()
    shown = run("mcp", "install", "cursor", "--dry-run")
    unasked = run("mcp", "install", "cursor")
    assert (shown.code, unasked.code) == (0, 2)
    assert str(cursor) in shown.out
    assert "No servers chosen" in unasked.err
    assert cursor.read_text() == before


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("typed", "servers"),
    [
        ("3 other", ["my notes", "other"]),
        ("db,my notes", ["db", "my notes"]),
        ("2", ["2"]),
        ("my notes", ["my notes"]),
        ("all", []),
    ],
)
def test_on_a_terminal_the_servers_are_asked_for(
    cursor: Path, tmp_path: Path, typed: str, servers: list[str]
) -> None:
    data = saved(tmp_path)
    with Terminal("mcp", "install", "cursor", "--data-dir", str(data)) as user:
        for line in ("1. db", "3. my notes", "4. 2"):
            user.expect(f"{line}, saved in this program")
        user.expect("Numbers or names, or all: ")
        user.type(typed)
        user.expect("Let Cursor read the recorded traffic of")
        user.expect("Add it?")
        user.type("y")
        assert user.end() == 0
    args = json.loads(cursor.read_text())["mcpServers"]["mcp-progress-monitor"]["args"]
    flags = [word for name in servers for word in ("--server", name)]
    assert args[args.index("mcp") :] == ["mcp", "--data-dir", str(data), *flags]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_without_a_server_nothing_is_added(cursor: Path, tmp_path: Path) -> None:
    before = cursor.read_text()
    with Terminal("mcp", "install", "cursor", "--data-dir", str(saved(tmp_path))) as user:
        user.expect("Numbers or names, or all: ")
        user.type("")
        assert user.end() == 5
    assert cursor.read_text() == before


def saved(folder: Path) -> Path:
    """A data folder with servers, one of which has a number as its name."""
    data = folder / "data"
    data.mkdir(0o700)
    servers = {name: {"command": name} for name in ("db", "my notes", "2")}
    (data / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    return data


def test_a_client_that_is_not_here_is_named(cursor: Path) -> None:
    refused = run("mcp", "install", "zed", "--all")
    assert refused.code == 2
    assert "No configuration of Zed was found" in refused.err
    assert cursor.exists()


def test_a_recording_of_a_tap_is_there_for_the_next_agent(tmp_path: Path) -> None:
    ran = run("tools", "--data-dir", str(tmp_path), "--", *tap_command(tmp_path, *_DEMO))
    assert ran.code == 0, ran.err
    until(lambda: recordings(tmp_path))
    asked = run("call", "servers", "--", *_PROGRAM, "mcp", "--data-dir", str(tmp_path))
    assert asked.code == 0, asked.err
    assert "known_total" in asked.out

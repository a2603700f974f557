"""Servers that a client starts from its configuration file: watched, and without this program."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.catalogue.client_files import FoundFile
from mcp_progress_monitor.catalogue.clients import CURSOR
from mcp_progress_monitor.catalogue.tap_install import servers_of
from mcp_progress_monitor.engine.client_taps import LiveTap, live_taps
from tests.integration.commands import DEMO, ROOT, run, start
from tests.patience import PATIENCE_S

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a-client", "version": "1"},
    },
}


@pytest.fixture
def cursor(isolated_home: Path) -> Path:
    """The file of a client that starts the demo server."""
    path = isolated_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    entry = {"command": DEMO[0], "args": list(DEMO[1:]), "env": {"A_NAME": "a value"}}
    path.write_text(json.dumps({"mcpServers": {"demo": entry}}, indent=2))
    return path


@contextlib.contextmanager
def started(file: Path) -> Iterator[tuple[subprocess.Popen[bytes], Any]]:
    """The server as the client starts it, with what it answered."""
    entry = json.loads(file.read_text())["mcpServers"]["demo"]
    with subprocess.Popen(
        [entry["command"], *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **entry["env"]},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        yield process, json.loads(process.stdout.readline())
        process.communicate(timeout=PATIENCE_S)


def wait_for_tap(folder: Path) -> LiveTap:
    """The tap that records there; it begins to while its server answers."""
    until = time.monotonic() + PATIENCE_S
    while not (taps := live_taps([folder])):
        assert time.monotonic() < until
        time.sleep(0.01)
    return taps[0]


def test_a_watched_server_is_recorded_and_listed_while_it_runs(
    cursor: Path, tmp_path: Path
) -> None:
    folder = ("--data-dir", str(tmp_path))
    with started(cursor) as (process, alone):
        pass
    code = process.returncode
    before = cursor.read_bytes()
    assert run("tap", "install", "cursor", "--all", *folder).code == 0
    with started(cursor) as (process, answer):
        assert answer == alone
        recorded = wait_for_tap(tmp_path)
        assert "watched, running since" in run("tap", "list", *folder).out
        (server,) = servers_of(FoundFile(CURSOR, cursor))
        assert recorded.is_of(server)
    assert process.returncode == code
    assert "watched, not running" in run("tap", "list", *folder).out
    (recording,) = (tmp_path / "recordings" / "live").glob("*-demo.mcprec")
    content = recording.read_bytes()
    assert b'"client": "Cursor"' in content
    assert b"a-client" in content
    assert b"a value" not in content
    assert run("tap", "remove", "--all", *folder).code == 0
    assert cursor.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="there is no shell that starts the server alone")
def test_when_this_program_is_gone_the_server_starts_alone(cursor: Path, tmp_path: Path) -> None:
    with started(cursor) as (process, alone):
        pass
    code = process.returncode
    assert run("tap", "install", "cursor", "--all", "--data-dir", str(tmp_path)).code == 0
    (server,) = servers_of(FoundFile(CURSOR, cursor))
    assert server.tap is not None
    # As if it had been uninstalled: the entry names a program that is not there.
    program = json.dumps(server.tap.program)
    text = cursor.read_text()
    cursor.write_text(text.replace(f"{program},", json.dumps(f"{tmp_path}/gone") + ","))
    assert "program not found" in run("tap", "list", "--data-dir", str(tmp_path)).out
    with started(cursor) as (process, answer):
        assert answer == alone
    assert process.returncode == code
    assert not (tmp_path / "recordings").exists()
    # Installing again corrects the entry.
    assert run("tap", "install", "cursor", "--all", "--data-dir", str(tmp_path)).code == 0
    assert cursor.read_text() == text


def _install_at_once(cursor: Path) -> None:
    """Let eight programs add, then remove, a tap of one server each."""
    names = [f"demo-{number}" for number in range(8)]
    entry = json.loads(cursor.read_text())["mcpServers"]["demo"]
    before = json.dumps({"mcpServers": dict.fromkeys(names, entry)}, indent=2)
    cursor.write_text(before)
    for command in ("install", "remove"):
        programs = [start("tap", command, "cursor", name) for name in names]
        assert [program.wait(PATIENCE_S) for program in programs] == [0] * len(names)
        taps = {each.name for each in servers_of(FoundFile(CURSOR, cursor)) if each.tap is not None}
        assert taps == (set(names) if command == "install" else set())
        for program in programs:
            program.communicate()
    assert cursor.read_text() == before
    assert [each.name for each in cursor.parent.iterdir()] == [cursor.name]


def test_programs_that_install_at_once_all_take_effect(cursor: Path) -> None:
    _install_at_once(cursor)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("_turn", range(25))
def test_programs_that_install_at_once_all_take_effect_each_time(cursor: Path, _turn: int) -> None:
    _install_at_once(cursor)

"""Clients of the official SDKs say and hear the same with a tap before their server.

A spy of the tests stands on either side of the tap and keeps the bytes; what is recorded must be
those bytes as well.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.reader import RecordingReader
from tests.integration.commands import DEMO, PROGRAM, linux_only
from tests.patience import PATIENCE_S
from tests.strangers.clients import CLIENTS, LIBRARIES, SPY, Client
from tests.strangers.servers import PROGRAMS, STRANGERS, Stranger, Tool
from tests.strangers.test_matrix import _filled, _installed, _scratch, check_recorded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = linux_only

INSTALLED = Client(
    "installed", (), (PROGRAM[0], str(PROGRAMS / "python_v2_client.py"), "{tool}", "{arguments}")
)
DEMO_TOOL = Tool("known_total", {"steps": 3, "interval_s": 0}, ticks=3)
_STREAMS = ("in", "out", "err")
_CHANNELS = {"in": Channel.SENT, "out": Channel.RECEIVED, "err": Channel.STDERR}
_SERVERS = [
    stranger
    for stranger in STRANGERS
    if stranger.name in {"everything", "filesystem", "memory", "git", "python-newest"}
]


class Run(NamedTuple):
    """What a client printed, and how it ended."""

    code: int
    out: bytes


def _run(command: Sequence[str], environment: dict[str, str] | None = None) -> Run:
    ran = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=2 * PATIENCE_S,
    )
    assert b"Traceback" not in ran.stderr, ran.stderr.decode()
    return Run(ran.returncode, _without_progress(ran.stdout))


def _without_progress(printed: bytes) -> bytes:
    """TypeScript's SDK 1 loses progress that it reads together with the reply, tapped or not.

    What passed is compared by the spies.
    """
    lines = printed.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b'{"progress":'))


def check_tapped(client: Client, server: Sequence[str], tool: Tool, folder: Path) -> None:
    """Run a client with its server, then with a tap between: the same words, the same bytes."""
    direct = _run(client.calling(tool, _script(folder, [*SPY, str(folder / "direct"), *server])))
    assert direct.code == 0
    data = folder / "data"
    tap = [*PROGRAM, "tap", "--name", "tapped", "--data-dir", str(data), "--"]
    outer, inner = folder / "outer", folder / "inner"
    command = _script(folder, [*SPY, str(outer), *tap, *SPY, str(inner), *server])
    assert _run(client.calling(tool, command)) == direct
    (recording,) = (data / "recordings" / "live").glob("*.mcprec")
    recorded = {name: _recorded(recording, channel) for name, channel in _CHANNELS.items()}
    for name in _STREAMS:
        passed = (inner / name).read_bytes()
        assert (outer / name).read_bytes() == passed, name
        assert b"".join(line + b"\n" for line in recorded[name]) == passed, name


def check_whole(
    client: Client, server: Sequence[str], tool: Tool, folder: Path, *, times: int
) -> None:
    """Run a client with its server, then with a tap before it: the same words, whole recordings."""
    direct = _run(client.calling(tool, _script(folder, server)))
    assert direct.code == 0
    for number in range(times):
        data = folder / str(number)
        tap = [*PROGRAM, "tap", "--name", "tapped", "--data-dir", str(data), "--"]
        assert _run(client.calling(tool, _script(folder, [*tap, *server]))) == direct
        check_recorded(data, tool)


def _script(folder: Path, command: Sequence[str]) -> list[str]:
    """The command as one word: some clients would take its options for theirs."""
    path = folder / "server.sh"
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return [str(path)]


def _recorded(path: Path, channel: Channel) -> list[bytes]:
    reader = RecordingReader(path)
    chunks = [chunk for chunk in reader.slices() if chunk is not None]
    assert not reader.errors
    return [frame.raw for chunk in chunks for frame in chunk.frames if frame.channel is channel]


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("client", [*CLIENTS, *LIBRARIES], ids=lambda client: client.name)
@pytest.mark.parametrize("server", _SERVERS, ids=lambda server: server.name)
def test_clients_of_others_do_not_notice_a_tap(
    client: Client, server: Stranger, tmp_path: Path
) -> None:
    _installed(client)
    _installed(server)
    values = {"folder": server.folder, "scratch": _scratch(tmp_path)}
    command = [word.format_map(values) for word in server.command]
    check_tapped(client, command, _filled(server.tool, values), tmp_path)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("client", LIBRARIES, ids=lambda client: client.name)
def test_a_job_of_an_agents_library_is_recorded_whole_however_it_ends_its_server(
    client: Client, tmp_path: Path
) -> None:
    server = next(stranger for stranger in STRANGERS if stranger.name == "everything")
    _installed(client)
    _installed(server)
    command = [word.format(folder=server.folder) for word in server.command]
    check_whole(client, command, replace(server.tool, long=None), tmp_path, times=8)


def test_a_job_of_the_installed_sdk_is_recorded_whole(tmp_path: Path) -> None:
    check_whole(INSTALLED, DEMO, DEMO_TOOL, tmp_path, times=1)


def test_the_installed_sdk_does_not_notice_a_tap(tmp_path: Path) -> None:
    check_tapped(INSTALLED, DEMO, DEMO_TOOL, tmp_path)
    opened = next((tmp_path / "data").rglob("*.mcprec")).read_bytes().splitlines()[0]
    assert json.loads(opened.partition(b" ")[2])["tap"]["transport"] == "stdio"

"""Clients of the official SDKs hear of a recording what they heard of its server.

Each plays the same script against both: lists, calls one after the other and at once, questions,
subscriptions, tasks, a cancel, errors.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.commands import PROGRAM, linux_only
from tests.patience import PATIENCE_S
from tests.strangers.clients import Client
from tests.strangers.servers import PROGRAMS, STRANGERS, Stranger
from tests.strangers.test_matrix import _installed, on_stdio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

pytestmark = [linux_only, pytest.mark.campaign, pytest.mark.timeout(900)]

_CLIENTS = (
    Client(
        "client-typescript-1",
        ("@modelcontextprotocol/sdk@1",),
        ("node", "{folder}/scripted_typescript_v1.mjs"),
        registry="npm",
    ),
    Client(
        "client-typescript-2",
        ("@modelcontextprotocol/client@2",),
        ("node", "{folder}/scripted_typescript_v2.mjs"),
        registry="npm",
    ),
    Client(
        "client-python-1.30.0",
        ("mcp==1.30.0",),
        ("{folder}/bin/python", str(PROGRAMS / "scripted_python_v1.py")),
    ),
    Client(
        "client-python-newest",
        ("mcp",),
        ("{folder}/bin/python", str(PROGRAMS / "scripted_python_v2.py")),
    ),
)
_NAMES = {
    "everything",
    "filesystem",
    "memory",
    "kubernetes",
    "go",
    "fastmcp-4",
    "fastmcp-typescript",
    "python-1.30.0",
    "python-newest",
    "typescript-1",
    "typescript-2",
}
_SERVERS = [stranger for stranger in STRANGERS if stranger.name in _NAMES]
_OPENINGS = (b'"initialize"', b'"server/discover"')


_LATE = {"wait_s": 1.0}
"""Time for what servers send late, at which the Python SDK 1 fails while it is leaving."""


def _call(tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"method": "tools/call", "params": params, "progress": True, **options}


def _steps(server: Stranger) -> list[dict[str, Any]]:
    arguments = dict(server.tool.arguments)
    call = _call(server.tool.name, arguments)
    lists = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    steps: list[dict[str, Any]] = [{"method": method, "pages": True} for method in lists]
    steps += [{"method": "ping"}, call, {"concurrently": [call, {"method": "ping"}]}]
    steps += [_call("nothing", {}), {"method": "prompts/get", "params": {"name": "nothing"}}]
    if server.tool.long is not None:
        steps.append(_call(server.tool.name, dict(server.tool.long), cancel_after=2))
    return [*steps, *(_EVERYTHING if server.name == "everything" else []), call, _LATE]


_URI = "demo://resource/dynamic/text/1"
_QUERY = _call("simulate-research-query", {"topic": "python", "ambiguous": True})
_EVERYTHING: list[dict[str, Any]] = [
    {"method": "logging/setLevel", "params": {"level": "debug"}},
    _call("trigger-elicitation-request", {}),
    _call("trigger-sampling-request", {"prompt": "Say", "maxTokens": 10}),
    _call("get-roots-list", {}),
    {"method": "resources/read", "params": {"uri": _URI}},
    {"method": "resources/read", "params": {"uri": "demo://resource/nothing"}},
    {"method": "resources/subscribe", "params": {"uri": _URI}},
    _call("toggle-subscriber-updates", {}),
    {"wait_s": 5.5},
    _call("toggle-subscriber-updates", {}),
    {"method": "resources/unsubscribe", "params": {"uri": _URI}},
    {**_QUERY, "task": {"ttl": 60_000}},
]


def _heard(client: Client, steps: Path, target: Sequence[str]) -> Counter[str]:
    """Everything that a client got, without what its SDK may lose; the order of answers is free.

    TypeScript's SDK 1 loses progress that it reads together with the reply. Progress that follows a
    cancel, which only the scripts in TypeScript send, goes on for as long as the recording has it.
    """
    command = [word.format(folder=client.folder) for word in client.command]
    ran = subprocess.run(
        [*command, str(steps), *target],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=2 * PATIENCE_S,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    lines = ran.stdout.decode().splitlines()
    if client.registry == "npm":
        lines = [line for line in lines if not _is_progress(line)]
    return Counter(lines)


def _is_progress(line: str) -> bool:
    return line.startswith('["progress"') or "for an unknown token" in line


def _script(path: Path, command: Sequence[str], **environment: str) -> list[str]:
    """The command as one word, without the environment that some clients hold back."""
    arguments = ["env", *(f"{name}={value}" for name, value in environment.items()), *command]
    path.write_text(f"#!/bin/sh\nexec {shlex.join(arguments)}\n", encoding="utf-8")
    path.chmod(0o700)
    return [str(path)]


def _recording(data: Path) -> Path:
    """The recording with the most requests, after its end."""
    paths = list((data / "recordings" / "live").glob("*.mcprec"))
    found = max(paths, key=lambda path: path.read_bytes().count(b"#1 > "))
    ends_at = time.monotonic() + PATIENCE_S
    while b'"event":"closed"' not in found.read_bytes():
        assert time.monotonic() < ends_at
        time.sleep(0.1)
    return found


@contextlib.contextmanager
def _over_http(command: Sequence[str]) -> Iterator[str]:
    null = subprocess.DEVNULL
    with subprocess.Popen(
        [*command, "--http", "0"], stdout=subprocess.PIPE, stderr=null, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.mark.parametrize("client", _CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize("server", _SERVERS, ids=lambda server: server.name)
def test_a_recording_says_to_clients_what_its_server_said(
    client: Client, server: Stranger, tmp_path: Path
) -> None:
    _installed(client)
    data, steps = tmp_path / "data", tmp_path / "steps.json"
    steps.write_text(json.dumps(_steps(server)), encoding="utf-8")
    tap = [*PROGRAM, "tap", "--name", "tapped", "--data-dir", str(data), "--"]
    with on_stdio(server, tmp_path) as started:
        pairs = [word.partition("=") for word in started.options[1::2]]
        environment = {name: value for name, _, value in pairs}
        tapped = _script(tmp_path / "tap.sh", [*tap, *started.command], **environment)
        real = _heard(client, steps, tapped)
    recording = _recording(data)
    serving = [*PROGRAM, "serve", str(recording), "--speed", "max", "--strict"]
    heard = [_heard(client, steps, _script(tmp_path / "serve.sh", serving))]
    with _over_http(serving) as url:
        heard.append(_heard(client, steps, [url]))
    if not any(opening in recording.read_bytes() for opening in _OPENINGS):
        # The TypeScript SDK 2 sends `server/discover` to a process of its own, which is recorded
        # apart: what it answered is made up here.
        for each in [real, *heard]:
            _forget_opening(each)
    assert heard == [real, real]


def _forget_opening(heard: Counter[str]) -> None:
    for line in [line for line in heard if line.startswith('["server"')]:
        del heard[line]

"""What a client left behind a tap while no window was open is listed, shown and finished later."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.tapping import PROGRAM, PYTHON, Tap, live, recordings, tap_command, until
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

_SERVER = """
import json, sys, time

def answer(number, result):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)

for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize":
        about = {"serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {}}}
        answer(request["id"], {"protocolVersion": "2025-11-25", **about})
    elif request["method"] == "tools/call":
        answer(request["id"], {"content": [], "_meta": {"nextResumeToken": "T1"}})
"""


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _resume(data_dir: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [*(word for word in PROGRAM if word != "-S"), "resume", "--data-dir", str(data_dir)]
    return subprocess.run([*command, *arguments], capture_output=True, check=False)


def _listed(data_dir: Path) -> list[dict[str, Any]]:
    done = _resume(data_dir, "--list", "--json")
    assert done.returncode == 0, done.stderr
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def _close(tap: Tap) -> None:
    assert tap.stdin is not None
    tap.stdin.close()


def _kill(tap: Tap) -> None:
    tap.kill()


def _terminate(tap: Tap) -> None:
    os.kill(tap.pid, signal.SIGTERM)


@pytest.mark.parametrize(
    "end", [_kill, *(pytest.param(end, marks=pytest.mark.campaign) for end in (_close, _terminate))]
)
def test_a_job_left_behind_a_tap_without_a_window_is_listed_at_once(
    tmp_path: Path, end: Callable[[Tap], None]
) -> None:
    client = {"name": "c", "version": "1"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    params = {"name": "crawl", "arguments": {}, "_meta": {"progressToken": "t"}}
    with Tap(tmp_path, sys.executable, "-c", _SERVER) as tap:
        until(lambda: recordings(tmp_path))
        tap.send(_line({"id": 1, "method": "initialize", "params": opening}))
        assert tap.stdout is not None
        assert tap.stdout.readline()
        tap.send(_line({"id": 2, "method": "tools/call", "params": params}))
        assert b"T1" in tap.stdout.readline()
        end(tap)
        tap.wait()
    until(lambda: _listed(tmp_path))
    (job,) = _listed(tmp_path)
    assert (job["name"], job["client"], job["usable"]) == ("crawl", "c", True)


_CLIENT = """
import json, subprocess, sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()

client = {"name": "mcp", "version": "1"}
opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
send({"id": 1, "method": "initialize", "params": opening})
server.stdout.readline()
send({"method": "notifications/initialized"})
arguments = {"chunks": 6, "chunks_per_attempt": 3, "interval_s": 0}
params = {"name": "resumable_export", "arguments": arguments, "_meta": {"progressToken": 7}}
send({"id": 2, "method": "tools/call", "params": params})
for line in server.stdout:
    if json.loads(line).get("id") == 2:
        print("replied", flush=True)
"""


def test_a_job_of_a_client_that_was_killed_without_a_window_is_shown_and_finished(
    tmp_path: Path,
) -> None:
    data_dir, state = tmp_path / "data", tmp_path / "state"
    server = (*COMMAND, "--state-dir", str(state))
    arguments = tap_command(data_dir, *server, options=("--client", "Cursor"))
    with subprocess.Popen([*PYTHON, "-c", _CLIENT, *arguments], stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"replied\n"
        client.kill()
    until(lambda: recordings(data_dir) and not list(live(data_dir).glob("*.lock")))
    window = [sys.executable, "-m", "tests.integration.resuming_window", "show", str(data_dir)]
    shown = subprocess.run(window, capture_output=True, check=True, timeout=PATIENCE_S)
    assert json.loads(shown.stdout) == {"state": "Resumable", "progress": 3, "attempts": 1}
    (job,) = _listed(data_dir)
    assert (job["name"], job["client"], job["usable"]) == ("resumable_export", "Cursor", True)
    assert (state / "export.txt").read_text().splitlines() == ["chunk 1", "chunk 2", "chunk 3"]
    done = _resume(data_dir, "1", "--", *server)
    assert done.returncode == 0, done.stderr
    chunks = [f"chunk {number}" for number in range(1, 7)]
    assert (state / "export.txt").read_text().splitlines() == chunks
    assert _listed(data_dir) == []

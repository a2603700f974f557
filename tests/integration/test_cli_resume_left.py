"""`resume --list` knows what a client left behind a tap while no window was open."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.tapping import PROGRAM, Tap, recordings, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def _listed(data_dir: Path) -> list[dict[str, Any]]:
    command = [*(word for word in PROGRAM if word != "-S"), "resume", "--list", "--json"]
    done = subprocess.run([*command, "--data-dir", str(data_dir)], capture_output=True, check=True)
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def _close(tap: Tap) -> None:
    assert tap.stdin is not None
    tap.stdin.close()


def _kill(tap: Tap) -> None:
    tap.kill()


def _terminate(tap: Tap) -> None:
    os.kill(tap.pid, signal.SIGTERM)


@pytest.mark.parametrize("end", [_close, _kill, _terminate])
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

"""What is copied of a call works where it is pasted: in a shell, against the same server."""

import json
import shutil
import subprocess

import anyio.to_thread
import pytest

from mcp_progress_monitor.exports.snippet import as_curl
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from tests.integration.http_servers import http_server
from tests.patience import PATIENCE_S


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("sh")), reason="needs curl")
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_the_curl_command_gets_ticks_and_result(revision: str) -> None:
    async with http_server() as server:
        definition = HttpDefinition(name="demo", url=server.url)
        params = {"name": "known_total", "arguments": {"steps": 3, "interval_s": 0}}
        script = as_curl(definition, revision, "tools/call", params, {})
        assert script is not None
        printed = await anyio.to_thread.run_sync(_run, script)
    messages = [json.loads(line[5:]) for line in printed.splitlines() if line.startswith("data:")]
    ticks = [each for each in messages if each.get("method") == "notifications/progress"]
    assert [tick["params"]["progress"] for tick in ticks][-1] == 3
    assert messages[-1]["result"]["content"]


def _run(script: str) -> str:
    shell = shutil.which("sh") or "sh"
    done = subprocess.run(
        [shell, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return done.stdout

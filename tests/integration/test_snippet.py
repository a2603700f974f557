"""The program that repeats a call really repeats it, with the official SDK."""

import os
import sys
from pathlib import Path

import anyio

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.snippet import snippet
from mcp_progress_monitor.paths import import_root
from tests.servers.definition import server_definition


async def test_a_copied_call_runs_and_shows_its_progress(tmp_path: Path) -> None:
    arguments = {"steps": 3, "interval_s": 0.0}
    async with Engine() as engine:
        name = engine.servers.add(server_definition())
        await engine.servers.connect(name)
        params = {"name": "known_total", "arguments": arguments}
        outcome = await engine.calls.make(Call(name, "tools/call", params))
        assert outcome.job is not None
        job = engine.jobs.snapshot(outcome.job)
        assert job is not None
        code = snippet(engine, job.request, Redaction())
    program = tmp_path / "again.py"
    program.write_text(code, encoding="utf-8")
    done = await anyio.run_process(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(import_root())},
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"3 of 3" in done.stdout
    assert b'"content"' in done.stdout

"""Runs over HTTP: one event stream into a bare loop, the official SDK, and the real window."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from pydantic_core import from_json

from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from tests.benchmarks.heartbeat import Heartbeat, per_second
from tests.benchmarks.ingest_runs import FloodWatch, flooded, frames_in
from tests.benchmarks.window_runs import open_window_on, snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE_S = 30


@contextmanager
def streaming(count: str, kind: str) -> Iterator[str]:
    """The URL of a server process that floods; `kind` is "ids" or "plain"."""
    command = [sys.executable, "-m", "tests.benchmarks.streaming_server", count, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def bare_stream(count: str, kind: str) -> dict[str, Any]:
    """A loop that only reads, splits and decodes."""
    params = {"name": "flood", "arguments": {}, "_meta": {"progressToken": "token-1"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    first = cpu = 0.0
    tail = b""
    with streaming(count, kind) as url:
        async with (
            httpx2.AsyncClient(timeout=None) as client,
            client.stream("POST", url, json=call) as response,
        ):
            async for chunk in response.aiter_raw():
                if not first:
                    first, cpu = time.perf_counter(), time.process_time()
                lines = (tail + chunk).split(b"\n")
                tail = lines.pop()
                for line in lines:
                    if line.startswith(b"data: "):
                        from_json(line[6:])
            spent, used = time.perf_counter() - first, time.process_time() - cpu
    return {"rate": per_second(int(count), spent), "cpu_us": used / int(count) * 1e6}


async def sdk_stream(count: str, kind: str) -> dict[str, Any]:
    """The official SDK's session with a bare progress callback."""
    seen = 0
    first = last = 0.0

    async def tick(_progress: float, _total: float | None, _message: str | None) -> None:
        nonlocal seen, first, last
        last = time.perf_counter()
        first = first or last
        seen += 1

    progressed: Any = tick  # its parameters go by place

    with streaming(count, kind) as url:
        async with (
            streamable_http_client(url) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            await session.call_tool("flood", {}, progress_callback=progressed)
            with anyio.move_on_after(_PATIENCE_S):
                while seen < int(count):  # noqa: ASYNC110  # callbacks may come after the reply
                    await anyio.sleep(0.01)
    return {"rate": per_second(seen, last - first)}


async def window_stream(count: str, kind: str) -> dict[str, Any]:
    """One stream of `count` notifications into the window, recorded."""
    watch, beat = FloodWatch(), Heartbeat()
    with tempfile.TemporaryDirectory(prefix="bench-http-") as name, streaming(count, kind) as url:
        async with open_window_on(Path(name)) as program:
            engine = program.engine
            engine.servers.add(HttpDefinition(name="bench", url=url, era="handshake"))
            await engine.servers.connect("bench")
            engine.subscribe(watch)
            await flooded(engine, beat, 1)
            shown = sum(job.tick_count for job in snapshots(engine))
        written = frames_in(Path(name))
    late, work = beat.lateness(watch.first, watch.last), beat.task_work(watch.first, watch.last)
    return {
        "rate": per_second(watch.count, watch.last - watch.first),
        "cpu_us": (watch.cpu_last - watch.cpu_first) / int(count) * 1e6,
        "lost": int(count) - watch.count,
        "lost_in_jobs": int(count) - shown,
        "lost_on_disk": engine.recording.count - written,
        "late_p99_ms": late.p99,
        "late_max_ms": late.maximum,
        "work_p99_ms": work.p99,
    }

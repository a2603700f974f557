"""HTTP on Qt's loop: the transport needs nothing of asyncio's own."""

import gc
import sys
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.sessions.transport.http import streams, transport
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.http_servers import http_server
from tests.integration.watching import Watch


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_calls_are_made_and_cancelled_on_the_loop_of_the_window(era: Any) -> None:
    arguments = {"steps": 100_000, "interval_s": 0.01, "on_cancel": "error"}
    long = Call("demo", "tools/call", {"name": "known_total", "arguments": arguments})
    burst = Call("demo", "tools/call", {"name": "burst", "arguments": {"count": 20_000}})
    outcomes: list[Any] = []
    async with http_server() as server, Engine() as engine:
        watch = Watch(engine)
        engine.servers.add(HttpDefinition(name="demo", url=server.url, era=era))
        await engine.servers.connect("demo")

        async def call() -> None:
            outcomes.append(await engine.calls.make(long))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await watch.until(lambda: any(update.changes.ticks for update in watch.updates))
            done = await engine.calls.make(burst)
            jobs = [job for update in watch.updates for job, _, _ in update.changes.ticks]
            assert jobs[0] is not None
            await engine.calls.cancel(jobs[0])
    ticks = [job for update in watch.updates for job, _, _ in update.changes.ticks]
    assert done.state is JobState.DONE
    assert ticks.count(done.job) == 20_000
    assert [outcome.state for outcome in outcomes] == [JobState.CANCELLED]


@pytest.mark.parametrize("answer", ["json", "sse"])
@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_what_is_too_large_is_broken_off_on_the_loop_of_the_window(
    era: Any, answer: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (transport, streams):
        monkeypatch.setattr(module, "MOST_BYTES", 1_000_000)
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    call = Call("demo", "tools/call", {"name": "known_total", "arguments": {"steps": 1}})
    async with http_server("--huge", "3000000", "--reply", answer) as server, Engine() as engine:
        engine.servers.add(HttpDefinition(name="demo", url=server.url, era=era))
        await engine.servers.connect("demo")
        outcomes = []
        for _ in range(3):
            outcomes.append(await engine.calls.make(call))
            gc.collect()
        state = engine.servers.snapshot("demo").state
    gc.collect()
    assert [outcome.state for outcome in outcomes] == [JobState.FAILED] * 3
    assert state is ServerState.CONNECTED
    assert complaints == []
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []

"""Servers over HTTP that go away and come back, as real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_progress_monitor.monitor import Call, Monitor, Outcome
from mcp_progress_monitor.sessions.definitions import HttpDefinition, RestartPolicy
from mcp_progress_monitor.sessions.snapshot import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.http_servers import http_server
from tests.integration.mending import Told

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.definitions import Era

SOON = RestartPolicy(first_delay_s=0.2, longest_delay_s=0.5, limit=50)


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_silent_server_is_asked_for_a_sign_of_life(
    monkeypatch: pytest.MonkeyPatch, era: Era
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.monitor._TICK_S", 0.05)
    async with http_server() as server, Monitor() as monitor:
        told = Told(monitor)
        definition = HttpDefinition(name="h", url=server.url, era=era, ping_interval_s=1)
        monitor.add_server(definition)
        await monitor.connect("h")
        params = {"name": "stall", "arguments": {"before": 1, "silence_s": 60}}
        async with anyio.create_task_group() as calls:
            calls.start_soon(monitor.call, Call("h", "tools/call", params))
            await told.until(lambda: monitor.server("h").health is not None)
            health = monitor.server("h").health
            assert health is not None
            assert not health.is_hung
            await monitor.disconnect("h")


async def test_a_server_killed_during_a_call_comes_back() -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        params = {"name": "stall", "arguments": {"before": 3, "silence_s": 60}}
        outcomes.append(await monitor.call(Call("h", "tools/call", params)))

    async with http_server() as server, Monitor(mends=True) as monitor:
        told = Told(monitor)
        definition = HttpDefinition(name="h", url=server.url, era="handshake", restart=SOON)
        monitor.add_server(definition)
        await monitor.connect("h")
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            await told.until(lambda: b'"notifications/progress"' in told.raw())
            server.kill()
            await told.until(lambda: monitor.server("h").state is not ServerState.CONNECTED)
            await server.restart()
            await told.until_back(server="h")
        assert outcomes[0].state is JobState.LOST


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_server_killed_while_nothing_runs_comes_back(era: Era) -> None:
    async with http_server() as server, Monitor(mends=True) as monitor:
        told = Told(monitor)
        monitor.add_server(HttpDefinition(name="h", url=server.url, era=era, restart=SOON))
        await monitor.connect("h")
        await told.until(lambda: b'"subscriptions/listen"' in told.raw() or era == "handshake")
        server.kill()
        await told.until(lambda: monitor.server("h").state is ServerState.WAITING)
        assert b'"reason":"The server refused the connection' in told.raw()
        await server.restart()
        await told.until_back(server="h")

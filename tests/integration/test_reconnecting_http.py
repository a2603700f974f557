"""Servers over HTTP that go away and come back, as real processes."""

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.definitions import Era, HttpDefinition, RestartPolicy
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.http_servers import http_server
from tests.integration.reconnecting import Reports

SOON = RestartPolicy(first_delay_s=0.2, longest_delay_s=0.5, limit=50)


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_silent_server_is_asked_for_a_sign_of_life(
    monkeypatch: pytest.MonkeyPatch, era: Era
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.engine._TICK_S", 0.05)
    async with http_server() as server, Engine() as engine:
        reported = Reports(engine)
        definition = HttpDefinition(name="h", url=server.url, era=era, ping_interval_s=1)
        engine.servers.add(definition)
        await engine.servers.connect("h")
        params = {"name": "stall", "arguments": {"before": 1, "silence_s": 60}}
        async with anyio.create_task_group() as calls:
            calls.start_soon(engine.calls.make, Call("h", "tools/call", params))
            await reported.until(lambda: engine.servers.snapshot("h").health is not None)
            health = engine.servers.snapshot("h").health
            assert health is not None
            assert not health.is_hung
            await engine.servers.disconnect("h")


async def test_a_server_killed_during_a_call_comes_back() -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        params = {"name": "stall", "arguments": {"before": 3, "silence_s": 60}}
        outcomes.append(await engine.calls.make(Call("h", "tools/call", params)))

    async with http_server() as server, Engine(reconnects=True) as engine:
        reported = Reports(engine)
        definition = HttpDefinition(name="h", url=server.url, era="handshake", restart=SOON)
        engine.servers.add(definition)
        await engine.servers.connect("h")
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            await reported.until(lambda: b'"notifications/progress"' in reported.raw())
            server.kill()
            await reported.until(
                lambda: engine.servers.snapshot("h").state is not ServerState.CONNECTED
            )
            await server.restart()
            await reported.until_back(server="h")
        assert outcomes[0].state is JobState.LOST


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_server_killed_while_nothing_runs_comes_back(era: Era) -> None:
    async with http_server() as server, Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(HttpDefinition(name="h", url=server.url, era=era, restart=SOON))
        await engine.servers.connect("h")
        await reported.until(
            lambda: b'"subscriptions/listen"' in reported.raw() or era == "handshake"
        )
        server.kill()
        await reported.until(lambda: engine.servers.snapshot("h").state is ServerState.WAITING)
        assert b'"reason":"The server refused the connection' in reported.raw()
        await server.restart()
        await reported.until_back(server="h")

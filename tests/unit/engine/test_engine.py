"""What the monitor promises its front ends, without a server."""

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState


def server(name: str = "a") -> StdioDefinition:
    return StdioDefinition(name=name, command="no-such-command-anywhere")


def test_a_listener_hears_until_it_unsubscribes() -> None:
    engine = Engine()
    heard: list[Update] = []
    unsubscribe = engine.subscribe(heard.append)
    engine.servers.add(server())
    unsubscribe()
    unsubscribe()
    engine.servers.add(server())
    assert [update.servers for update in heard] == [{"a"}]


def test_the_same_listener_may_subscribe_twice_and_leave_once() -> None:
    engine = Engine()
    heard: list[Update] = []
    engine.subscribe(heard.append)
    engine.subscribe(heard.append)()
    engine.servers.add(server())
    assert len(heard) == 1


def test_time_is_the_clocks() -> None:
    assert Engine(Clock(lambda: 12.5, lambda: 0.0)).now() == 12.5


def test_servers_are_added_seen_and_removed() -> None:
    engine = Engine()
    names = [engine.servers.add(server()), engine.servers.add(server())]
    assert names == ["a", "a-2"]
    assert [found.name for found in engine.servers.snapshots()] == names
    assert engine.servers.snapshot("a").state is ServerState.IDLE
    engine.servers.remove("a")
    assert [found.name for found in engine.servers.snapshots()] == ["a-2"]


async def test_calls_need_a_server_that_is_connected() -> None:
    async with Engine() as engine:
        engine.servers.add(server())
        with pytest.raises(UserError, match="not connected"):
            await engine.calls.make(Call("a", "tools/call", {"name": "t"}))
        with pytest.raises(UserError, match="Server not found"):
            await engine.calls.make(Call("b", "tools/call", {"name": "t"}))


async def test_a_server_that_cannot_be_started_shows_every_state_on_the_way() -> None:
    async with Engine() as engine:
        name = engine.servers.add(server())
        states: list[ServerState] = []
        engine.subscribe(lambda _update: states.append(engine.servers.snapshot(name).state))
        with pytest.raises(UserError, match="no-such-command-anywhere"):
            await engine.servers.connect(name)
        await engine.servers.disconnect(name)
    assert states[0] is ServerState.CONNECTING
    assert states[-1] is ServerState.FAILED


async def test_disconnecting_what_is_not_connected_does_nothing() -> None:
    async with Engine() as engine:
        engine.servers.add(server())
        await engine.servers.disconnect("a")
        with pytest.raises(UserError, match="Server not found"):
            await engine.servers.disconnect("b")


async def test_what_is_not_there_is_none() -> None:
    async with Engine() as engine:
        assert engine.jobs.snapshot(1) is None
        assert engine.jobs.detail(1) is None
        assert engine.jobs.job_of(1) is None
        assert list(engine.jobs.ids()) == []
        engine.jobs.remove([1, 2])
        await engine.calls.cancel(1)


async def test_nothing_is_published_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.engine._TICK_S", 0.005)
    async with Engine() as engine:
        heard: list[Update] = []
        engine.subscribe(heard.append)
        await anyio.sleep(0.05)
    assert heard == []


async def test_a_monitor_that_is_closed_starts_nothing() -> None:
    engine = Engine()
    engine.servers.add(server())
    with pytest.raises(UserError, match="closing"):
        await engine.servers.connect("a")

"""What the monitor promises its front ends, without a server."""

from __future__ import annotations

import anyio
import pytest

from mcp_progress_monitor.monitor import Call, Monitor, Update
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.clock import Clock
from mcp_progress_monitor.sessions.definitions import StdioDefinition
from mcp_progress_monitor.sessions.snapshot import ServerState


def server(name: str = "a") -> StdioDefinition:
    return StdioDefinition(name=name, command="no-such-command-anywhere")


def test_a_listener_hears_until_it_unsubscribes() -> None:
    monitor = Monitor()
    heard: list[Update] = []
    unsubscribe = monitor.subscribe(heard.append)
    monitor.add_server(server())
    unsubscribe()
    unsubscribe()
    monitor.add_server(server())
    assert [update.servers for update in heard] == [{"a"}]


def test_the_same_listener_may_subscribe_twice_and_leave_once() -> None:
    monitor = Monitor()
    heard: list[Update] = []
    monitor.subscribe(heard.append)
    monitor.subscribe(heard.append)()
    monitor.add_server(server())
    assert len(heard) == 1


def test_time_is_the_clocks() -> None:
    assert Monitor(Clock(lambda: 12.5, lambda: 0.0)).now() == 12.5


def test_servers_are_added_seen_and_removed() -> None:
    monitor = Monitor()
    names = [monitor.add_server(server()), monitor.add_server(server())]
    assert names == ["a", "a-2"]
    assert [found.name for found in monitor.servers()] == names
    assert monitor.server("a").state is ServerState.IDLE
    monitor.remove_server("a")
    assert [found.name for found in monitor.servers()] == ["a-2"]


async def test_calls_need_a_server_that_is_connected() -> None:
    async with Monitor() as monitor:
        monitor.add_server(server())
        with pytest.raises(ProblemError, match="not connected"):
            await monitor.call(Call("a", "tools/call", {"name": "t"}))
        with pytest.raises(ProblemError, match="no such server"):
            await monitor.call(Call("b", "tools/call", {"name": "t"}))


async def test_a_server_that_cannot_be_started_shows_every_state_on_the_way() -> None:
    async with Monitor() as monitor:
        name = monitor.add_server(server())
        states: list[ServerState] = []
        monitor.subscribe(lambda _update: states.append(monitor.server(name).state))
        with pytest.raises(ProblemError, match="no-such-command-anywhere"):
            await monitor.connect(name)
        await monitor.disconnect(name)
    assert states[0] is ServerState.CONNECTING
    assert states[-1] is ServerState.FAILED


async def test_disconnecting_what_is_not_connected_does_nothing() -> None:
    async with Monitor() as monitor:
        monitor.add_server(server())
        await monitor.disconnect("a")
        with pytest.raises(ProblemError, match="no such server"):
            await monitor.disconnect("b")


async def test_what_is_not_there_is_none() -> None:
    async with Monitor() as monitor:
        assert monitor.snapshot(1) is None
        assert monitor.detail(1) is None
        assert monitor.job_of(1) is None
        assert list(monitor.jobs()) == []
        monitor.remove_jobs([1, 2])
        await monitor.cancel(1)


async def test_nothing_is_published_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.monitor._TICK_S", 0.005)
    async with Monitor() as monitor:
        heard: list[Update] = []
        monitor.subscribe(heard.append)
        await anyio.sleep(0.05)
    assert heard == []


async def test_a_monitor_that_is_closed_starts_nothing() -> None:
    monitor = Monitor()
    monitor.add_server(server())
    with pytest.raises(ProblemError, match="closing"):
        await monitor.connect("a")

"""What a monitor is asked of its servers."""

from __future__ import annotations

import pytest

from mcp_progress_monitor.monitor import Monitor
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.definitions import StdioDefinition
from mcp_progress_monitor.sessions.snapshot import ServerState
from tests.many_servers import connect_all, disconnect_all


def server(name: str, command: str = "no-such-command-anywhere") -> StdioDefinition:
    return StdioDefinition(name=name, command=command)


def test_servers_are_edited_placed_and_removed() -> None:
    monitor = Monitor()
    for name in ("a", "b"):
        monitor.add_server(server(name))
    monitor.set_definition("a", server("z", "other"))
    monitor.place_server("z", 1)
    assert monitor.server_names() == ("b", "z")
    assert [found.definition.address for found in monitor.servers()][1] == "other"
    monitor.remove_server("z")
    assert monitor.server_names() == ("b",)


def test_each_server_has_a_report() -> None:
    monitor = Monitor()
    monitor.add_server(server("a"))
    report = monitor.doctor("a")
    assert (report.server, report.state) == ("a", ServerState.IDLE)
    assert report.causes[0].text.startswith("None of the")
    with pytest.raises(ProblemError, match="no such server"):
        monitor.doctor("b")


async def test_many_servers_that_cannot_be_connected_each_say_why() -> None:
    async with Monitor() as monitor:
        names = [monitor.add_server(server("a")), monitor.add_server(server("b"))]
        problems = await connect_all(monitor.connect, names)
        assert set(problems) == {"a", "b"}
        assert problems["a"].where == "no-such-command-anywhere"
        with pytest.raises(ProblemError):
            await monitor.restart("a")
        await disconnect_all(monitor.disconnect, names)
        assert {found.state for found in monitor.servers()} == {ServerState.FAILED}


def test_wishes_about_servers_that_are_not_there_are_refused() -> None:
    monitor = Monitor()
    with pytest.raises(ProblemError, match="no such server"):
        monitor.stop_mending("a")
    with pytest.raises(ProblemError, match="no such server"):
        monitor.place_server("a", 0)

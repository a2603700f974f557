"""What a monitor is asked of its servers."""

import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.many_servers import connect_all, disconnect_all


def server(name: str, command: str = "no-such-command-anywhere") -> StdioDefinition:
    return StdioDefinition(name=name, command=command)


def test_servers_are_edited_placed_and_removed() -> None:
    engine = Engine()
    for name in ("a", "b"):
        engine.servers.add(server(name))
    engine.servers.set_definition("a", server("z", "other"))
    engine.servers.place("z", 1)
    assert engine.servers.names() == ("b", "z")
    assert [found.definition.address for found in engine.servers.snapshots()][1] == "other"
    engine.servers.remove("z")
    assert engine.servers.names() == ("b",)


def test_each_server_has_a_report() -> None:
    engine = Engine()
    engine.servers.add(server("a"))
    report = engine.servers.doctor("a")
    assert (report.server, report.state) == ("a", ServerState.IDLE)
    assert "folders of PATH" in report.causes[0].text
    with pytest.raises(UserError, match="Server not found"):
        engine.servers.doctor("b")


async def test_many_servers_that_cannot_be_connected_each_say_why() -> None:
    async with Engine() as engine:
        names = [engine.servers.add(server("a")), engine.servers.add(server("b"))]
        errors = await connect_all(engine.servers.connect, names)
        assert set(errors) == {"a", "b"}
        assert errors["a"].where == "no-such-command-anywhere"
        with pytest.raises(UserError):
            await engine.servers.restart("a")
        await disconnect_all(engine.servers.disconnect, names)
        assert {found.state for found in engine.servers.snapshots()} == {ServerState.FAILED}


def test_requests_about_servers_that_are_not_there_are_refused() -> None:
    engine = Engine()
    with pytest.raises(UserError, match="Server not found"):
        engine.servers.stop_reconnecting("a")
    with pytest.raises(UserError, match="Server not found"):
        engine.servers.place("a", 0)

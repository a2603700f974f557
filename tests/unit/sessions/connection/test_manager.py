"""Servers by name."""

import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import ClientIdentity
from mcp_progress_monitor.protocol.framing import FrameNumbers
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.sessions.connection.manager import SessionManager
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.unit.sessions.playbook import Log
from tests.unit.sessions.questioned import broker


def manager() -> tuple[SessionManager, list[str]]:
    changed: list[str] = []
    made = SessionManager(
        ClientIdentity({}, {}),
        FrameNumbers(),
        TokenSource(0),
        Clock(),
        Log().take,
        changed.append,
        broker(),
    )
    return made, changed


def server(name: str) -> StdioDefinition:
    return StdioDefinition(name=name, command="c")


def test_servers_keep_their_order_and_get_names_of_their_own() -> None:
    servers, changed = manager()
    names = [servers.add(server(name)) for name in ("b", "a", "b")]
    assert names == servers.names() == changed == ["b", "a", "b-2"]
    assert servers.snapshot("b-2").definition.name == "b-2"


def test_a_new_server_is_not_connected() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    assert servers.snapshot("a").state is ServerState.IDLE
    with pytest.raises(UserError, match="not connected"):
        servers.connection("a")


def test_an_unknown_name_is_answered_with_one_like_it() -> None:
    servers, _ = manager()
    servers.add(server("weather"))
    with pytest.raises(UserError, match="Did you mean weather"):
        servers.snapshot("wether")
    with pytest.raises(UserError, match="Servers: weather"):
        servers.snapshot("zzz")


def test_a_removed_server_is_gone() -> None:
    servers, changed = manager()
    servers.add(server("a"))
    servers.remove("a")
    assert servers.names() == []
    assert changed == ["a", "a"]


async def test_a_server_that_is_coming_up_cannot_be_removed() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    servers.begin("a")
    with pytest.raises(UserError, match="Disconnect it first"):
        servers.remove("a")


async def test_an_unknown_connection_is_nobodys() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    servers.begin("a")
    assert servers.connection_of("a#1") is None


def test_a_definition_is_taken_in_for_the_next_connection() -> None:
    servers, changed = manager()
    servers.add(server("a"))
    servers.set_definition("a", StdioDefinition(name="a", command="other"))
    assert servers.newest("a").address == servers.snapshot("a").definition.address == "other"
    assert changed == ["a", "a"]


async def test_while_it_is_up_a_server_is_what_it_was_connected_as() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    key = servers.key_of("a")
    servers.begin("a")
    servers.set_definition("a", StdioDefinition(name="a", command="other"))
    assert servers.snapshot("a").definition.address == "c"
    assert servers.key_of("a") == key
    assert servers.newest("a").address == "other"


def test_a_server_is_renamed_in_its_place() -> None:
    servers, changed = manager()
    for name in ("a", "b"):
        servers.add(server(name))
    servers.set_definition("a", server("z"))
    assert servers.names() == ["z", "b"]
    assert servers.snapshot("z").name == servers.reconnecting("z").name == "z"
    assert changed[-2:] == ["a", "z"]
    with pytest.raises(UserError, match="server with this name already exists"):
        servers.set_definition("z", server("b"))
    with pytest.raises(UserError, match="Server not found"):
        servers.set_definition("a", server("a"))


async def test_a_server_that_is_up_keeps_its_name() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    servers.begin("a")
    with pytest.raises(UserError, match="cannot be renamed"):
        servers.set_definition("a", server("b"))


def test_servers_stand_where_they_are_put() -> None:
    servers, _ = manager()
    for name in ("a", "b", "c"):
        servers.add(server(name))
    servers.place("c", 0)
    assert servers.names() == ["c", "a", "b"]
    servers.place("c", 99)
    assert servers.names() == ["a", "b", "c"]
    servers.place("b", -1)
    assert servers.names() == ["b", "a", "c"]


def test_a_sign_in_is_in_the_snapshot_of_its_server() -> None:
    servers, changed = manager()
    servers.add(server("a"))
    servers.sign_ins.begin("a", "http://sign/in")
    sign_in = servers.snapshot("a").sign_in
    assert sign_in is not None
    assert sign_in.url == "http://sign/in"
    servers.sign_ins.end("a")
    assert servers.snapshot("a").sign_in is None
    servers.sign_ins.begin("gone", "http://sign/in")
    assert changed == ["a", "a", "a", "gone"]


def test_why_files_are_not_watched_is_reported_once() -> None:
    servers, changed = manager()
    servers.add(server("a"))
    error = ErrorDetails("no")
    servers.note_watch("a", error)
    servers.note_watch("a", error)
    assert changed == ["a", "a"]
    assert servers.snapshot("a").error is None  # it is not connected: nothing is watched


def test_snapshots_of_a_server_cost_its_fingerprint_once(monkeypatch: pytest.MonkeyPatch) -> None:
    servers, _ = manager()
    servers.add(server("a"))
    made: list[str] = []

    def counted(definition: StdioDefinition) -> str:
        made.append(definition.command)
        return definition.model_dump_json()

    monkeypatch.setattr(StdioDefinition, "fingerprint", property(counted))
    for _ in range(3):
        servers.snapshot("a")
    assert made == ["c"]
    servers.set_definition("a", StdioDefinition(name="a", command="other"))
    assert '"other"' in servers.key_of("a")
    known = len(made)
    for _ in range(3):
        servers.snapshot("a")
    assert len(made) == known


def test_a_server_that_was_brought_back_for_a_job_is_known_by_the_jobs_key_until_it_changes() -> (
    None
):
    servers, _ = manager()
    name = servers.add(server("a"), key="as the job knows it")
    assert servers.key_of(name) == "as the job knows it"
    servers.set_definition(name, server("a").model_copy(update={"command": "other"}))
    assert servers.key_of(name) == servers.newest(name).job_key

"""What a recording tells of servers."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.engine.recorded_servers import SERVERS_KEPT
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.unit.recording.written import Written

_OPENING = {"protocolVersion": "2025-11-25"}


def negotiated(written: Written, connection: str = "demo#1") -> None:
    where: dict[str, Any] = {"connection": connection}
    written.event("opened", connection=connection, command="python3", args=["-m", "x"], pid=7)
    written.send("initialize", _OPENING, 0, **where)
    result = _OPENING | {"serverInfo": {"name": "Demo"}, "capabilities": {"tools": {}}}
    written.reply(0, result=result, **where)


def played(written: Written, tmp_path: Path) -> list[ServerSnapshot]:
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    while playback.advance(1):
        pass
    return playback.servers.snapshots()


def test_a_server_is_known_from_its_start_and_its_opening(tmp_path: Path) -> None:
    written = Written()
    negotiated(written)
    (server,) = played(written, tmp_path)
    assert server.name == "demo"
    assert server.definition.address == "python3 -m x"
    assert (server.state, server.revision, server.pid) == (ServerState.CONNECTED, "2025-11-25", 7)
    assert (server.title, server.connection) == ("Demo", "demo#1")
    assert server.capabilities == {"tools": {}}


def test_tools_that_changed_are_those_of_the_newest_connection(tmp_path: Path) -> None:
    written = Written()
    negotiated(written)
    written.event("definitions_changed", tools=[{"tool": "export", "diff": "title:\n+ E"}, 3])
    (server,) = played(written, tmp_path)
    assert server.tool_changes == (("export", "title:\n+ E"),)
    negotiated(written, "demo#2")
    (server,) = played(written, tmp_path)
    assert server.tool_changes == ()


def test_a_server_that_ended_by_itself_has_failed_and_tells_its_last_lines(tmp_path: Path) -> None:
    written = Written()
    negotiated(written)
    written.line(Channel.STDERR, b"out of memory", 1.0)
    written.event("closed", 2.0, reason="The server exited", exit_code=3)
    (server,) = played(written, tmp_path)
    assert server.state is ServerState.FAILED
    assert server.error is not None
    assert server.error.what == "The server exited with exit code 3"
    assert "out of memory" in server.error.detail
    assert server.stderr_tail == ("out of memory",)


def test_a_server_that_never_opened_says_so(tmp_path: Path) -> None:
    written = Written()
    written.event("opened", command="python3")
    written.event("closed", 2.0, reason="The server exited", exit_code=1)
    (server,) = played(written, tmp_path)
    assert server.error is not None
    assert server.error.what == "The server exited with exit code 1 before it was connected"


def test_a_server_that_could_not_be_started_keeps_the_reason(tmp_path: Path) -> None:
    written = Written()
    written.event("failed", what="There is no such program", where="nope", hint="h", detail="")
    written.event("closed", 1.0, reason="There is no such program", exit_code=None)
    (server,) = played(written, tmp_path)
    assert server.state is ServerState.FAILED
    assert server.error is not None
    assert "There is no such program" in server.error.what


def test_a_new_connection_begins_again(tmp_path: Path) -> None:
    written = Written()
    negotiated(written)
    written.event("closed", 2.0, reason="The server exited", exit_code=3)
    written.event("opened", 3.0, "demo#2", command="python3", pid=8)
    (server,) = played(written, tmp_path)
    assert (server.connection, server.state) == ("demo#2", ServerState.CONNECTING)
    assert (server.error, server.revision, server.pid) == (None, None, 8)


def test_events_that_lie_change_nothing_that_can_hurt(tmp_path: Path) -> None:
    written = Written()
    written.event("opened", command=7, args="no list", cwd=[1], env={"a": 1}, pid="x")
    written.event("opened", command="a\0b", args=["\0", 3, None])
    written.event("closed", reason={"a": 1}, exit_code="none", wanted="yes")
    written.line(Channel.EVENT, b"no json")
    written.event("timed_out", request="1", text=[1])
    written.event("cancel_requested", request=1.5, grace_s=-1)
    (server,) = played(written, tmp_path)
    assert server.state is ServerState.FAILED
    assert server.pid is None


def test_servers_of_a_hostile_file_are_bounded(tmp_path: Path) -> None:
    written = Written()
    for place in range(SERVERS_KEPT + 5):
        written.event("opened", connection=f"s{place}#1", command="python3")
    path = written.save(tmp_path / "a.mcprec")
    playback = Playback(path)
    while playback.advance(1):
        pass
    assert len(playback.servers.snapshots()) == SERVERS_KEPT
    assert any("only these are listed" in error.what for error in playback.errors)


def test_updates_of_resources_are_counted_until_the_next_connection(tmp_path: Path) -> None:
    written = Written()
    negotiated(written)
    for uri in ("demo://a", "demo://b", "demo://a", 7):
        reported = {"method": "notifications/resources/updated", "params": {"uri": uri}}
        raw = json.dumps({"jsonrpc": "2.0", **reported}).encode()
        written.line(Channel.RECEIVED, raw, connection="demo#1")
    (server,) = played(written, tmp_path)
    counted = [(each.uri, each.number) for each in server.resource_updates]
    assert counted == [("demo://b", 1), ("demo://a", 2)]
    written.event("opened", 3.0, "demo#2", command="python3", pid=8)
    (server,) = played(written, tmp_path)
    assert server.resource_updates == ()


def test_a_server_that_was_reached_by_a_url_is_known_by_it(tmp_path: Path) -> None:
    written = Written()
    written.event(
        "opened", url="https://x.example/mcp", transport="sse", headers=["X-Key"], auth="oauth"
    )
    (server,) = played(written, tmp_path)
    definition = server.definition
    assert isinstance(definition, HttpDefinition)
    assert (definition.url, definition.transport) == ("https://x.example/mcp", "sse")
    assert (definition.headers, definition.auth) == ({"X-Key": ""}, "oauth")
    assert server.state is ServerState.CONNECTING


@pytest.mark.parametrize(
    "detail",
    [
        {"url": "ftp://x"},
        {"url": "http://[x"},
        {"url": ""},
        {"url": 7},
        {"url": "http://x", "headers": {"a": 1}, "transport": 7, "auth": []},
        {"url": "http://x", "headers": ["a b", None, 3]},
    ],
)
def test_a_url_that_cannot_be_is_reported_all_the_same(
    tmp_path: Path, detail: dict[str, Any]
) -> None:
    written = Written()
    written.event("opened", **detail)
    (server,) = played(written, tmp_path)
    assert server.definition.name == "demo"
    assert server.definition.address in {"unknown", "http://x"}

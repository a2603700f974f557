"""Connecting to servers of both eras and of every kind of bad manners, as real processes."""

import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.definitions import Era as EraChoice
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.patience import allowed
from tests.servers.definition import server_definition

_SOON_S = eras.DISCOVER_LIMIT_S


@pytest.fixture
def own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask in the newer era no longer than the program does."""
    monkeypatch.setattr(eras, "DISCOVER_LIMIT_S", _SOON_S)


async def connect(*options: str, **settings: Any) -> ServerSnapshot:
    """The demo server as it is once it was connected."""
    async with Engine() as engine:
        return await engine.servers.connect(
            engine.servers.add(server_definition(*options, **settings))
        )


async def error_of(definition: StdioDefinition) -> ErrorDetails:
    """Why the server cannot be connected; its snapshot must tell the same."""
    async with Engine() as engine:
        name = engine.servers.add(definition)
        with pytest.raises(UserError) as caught:
            await engine.servers.connect(name)
        assert engine.servers.snapshot(name).state is ServerState.FAILED
        assert engine.servers.snapshot(name).error == caught.value.details
        return caught.value.details


@pytest.mark.parametrize(
    ("speaks", "era", "revision"),
    [
        ("both", "auto", "2026-07-28"),
        ("both", "handshake", "2025-11-25"),
        ("both", "per-request", "2026-07-28"),
        ("handshake", "auto", "2025-11-25"),
        ("per-request", "auto", "2026-07-28"),
    ],
)
async def test_the_era_is_found_out_or_as_the_user_fixed_it(
    speaks: str, era: EraChoice, revision: str
) -> None:
    server = await connect("--era", speaks, era=era)
    assert server.state is ServerState.CONNECTED
    assert server.revision == revision
    assert server.era is (Era.PER_REQUEST if revision == "2026-07-28" else Era.HANDSHAKE)
    assert server.title == "MCP Progress Monitor demo server"
    assert server.capabilities.keys() >= {"tools", "resources", "prompts"}
    assert server.instructions
    assert server.pid


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_any_older_counter_offer_is_accepted(revision: str) -> None:
    assert (await connect("--protocol-version", revision)).revision == revision


@pytest.mark.usefixtures("own_limit")
async def test_a_server_that_ignores_what_it_does_not_know_costs_two_seconds() -> None:
    began = time.monotonic()
    server = await connect("--profile", "old-and-silent")
    assert server.revision == "2025-11-25"
    assert 1.9 < time.monotonic() - began < allowed(4)


@pytest.mark.usefixtures("own_limit")
async def test_the_verdict_on_a_servers_era_is_remembered() -> None:
    async with Engine() as engine:
        name = engine.servers.add(server_definition("--profile", "old-and-silent"))
        await engine.servers.connect(name)
        await engine.servers.disconnect(name)
        updates: list[Update] = []
        engine.subscribe(updates.append)
        await engine.servers.connect(name)
    sent = b"".join(frame.raw for update in updates for frame in update.frames)
    assert b'"initialize"' in sent
    assert b'"server/discover"' not in sent


@pytest.mark.usefixtures("own_limit")
@pytest.mark.parametrize("speaks", ["handshake", "per-request"])
async def test_a_server_that_starts_slowly_is_understood_in_either_era(speaks: str) -> None:
    server = await connect("--start-delay", "2.5", "--era", speaks)
    assert server.era is Era(speaks)


@pytest.mark.usefixtures("own_limit")
async def test_a_server_that_starts_slowly_and_speaks_both_is_spoken_to_in_the_newer_era_next() -> (
    None
):
    slow = server_definition("--start-delay", "2.5", "--era", "both")
    async with Engine() as engine:
        name = engine.servers.add(slow)
        assert (await engine.servers.connect(name)).era is Era.HANDSHAKE
        await engine.servers.disconnect(name)
        assert (await engine.servers.connect(name)).era is Era.PER_REQUEST


async def test_a_server_that_ends_at_an_unknown_question_is_started_again_without_it() -> None:
    code = (
        "import json, sys\n"
        "first = json.loads(sys.stdin.readline())\n"
        "if first['method'] != 'initialize': sys.exit('expected initialize')\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': first['id'], 'result': {'protocolVersion':"
        " '2025-06-18', 'capabilities': {}, 'serverInfo': {'name': 'strict', 'version': '1'}}}))\n"
        "sys.stdout.flush(); sys.stdin.read()"
    )
    async with Engine() as engine:
        name = engine.servers.add(python(code))
        server = await engine.servers.connect(name)
        assert server.revision == "2025-06-18"
        assert server.connection == "test#2"
        assert server.tools == ()


def python(code: str, **settings: Any) -> StdioDefinition:
    return StdioDefinition(name="test", command=sys.executable, args=("-c", code), **settings)


async def test_lists_are_read_page_by_page() -> None:
    whole = await connect()
    paged = await connect("--page-size", "3")
    assert len(whole.tools) > 10
    assert [tool.name for tool in paged.tools] == [tool.name for tool in whole.tools]


async def test_a_server_without_a_list_is_connected_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.listing.LIMIT_S", 0.2)
    server = await connect("--ignore-method", "tools/list")
    assert server.state is ServerState.CONNECTED
    assert server.tools == ()
    assert server.error is not None
    assert "tools/list" in server.error.what


async def test_a_command_that_does_not_exist_is_named() -> None:
    error = await error_of(StdioDefinition(name="t", command="no-such-command-anywhere"))
    assert error.where == "no-such-command-anywhere"


async def test_a_server_that_exits_at_once_tells_its_code_and_last_lines() -> None:
    error = await error_of(server_definition("--profile", "exit"))
    assert "exit code 3" in error.what
    assert "DEMO_API_KEY is not set" in error.detail
    assert "--profile exit" in error.where
    assert "terminal" in error.hint


async def test_a_server_killed_by_a_signal_tells_which() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    assert "SIGSEGV" in (await error_of(python(code))).what


@pytest.mark.usefixtures("own_limit")
async def test_a_program_that_speaks_no_mcp_is_quoted() -> None:
    code = "import sys; print('Welcome to Not An MCP Server', flush=True); sys.stdin.read()"
    error = await error_of(python(code, connect_timeout_s=2.5))  # starts in far less
    assert "not JSON-RPC" in error.what
    assert "Welcome to Not An MCP Server" in error.detail


async def test_a_server_that_never_answers_fails_at_the_limit() -> None:
    definition = server_definition("--profile", "silent", connect_timeout_s=0.5)
    began = time.monotonic()
    error = await error_of(definition)
    assert "server/discover" in error.what
    assert "0.5 s" in error.what
    assert "--connect-timeout" in error.hint
    assert time.monotonic() - began < allowed(3)


async def test_a_version_that_nobody_knows_is_reported_beside_those_we_speak() -> None:
    error = await error_of(server_definition("--profile", "wrong-version"))
    assert "3000-01-01" in error.detail
    assert "2025-11-25" in error.as_text()
    assert "--profile wrong-version" in error.where


@pytest.mark.parametrize(
    ("fixed", "speaks"), [("handshake", "per-request"), ("per-request", "handshake")]
)
async def test_an_era_that_was_fixed_wrongly_is_said_to_be_so(
    fixed: EraChoice, speaks: str
) -> None:
    error = await error_of(server_definition("--era", speaks, era=fixed))
    assert "era" in error.hint


async def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    definition = server_definition().model_copy(update={"cwd": str(tmp_path / "none")})
    assert (await error_of(definition)).where == str(tmp_path / "none")


async def test_a_failed_server_can_be_connected_again() -> None:
    async with Engine() as engine:
        name = engine.servers.add(server_definition("--profile", "exit"))
        for _attempt in range(2):
            with pytest.raises(UserError):
                await engine.servers.connect(name)


async def test_giving_up_on_connecting_ends_the_server() -> None:
    async with Engine() as engine:
        name = engine.servers.add(server_definition("--profile", "silent"))
        with anyio.move_on_after(0.3):
            await engine.servers.connect(name)
        await engine.servers.disconnect(name)
        assert engine.servers.snapshot(name).state is ServerState.CLOSED


async def test_everything_on_the_wire_is_published_from_the_first_event_to_the_last() -> None:
    updates: list[Update] = []
    async with Engine() as engine:
        engine.subscribe(updates.append)
        await engine.servers.connect(engine.servers.add(server_definition()))
    frames = [frame for update in updates for frame in update.frames]
    assert frames[0].channel is frames[-1].channel is Channel.EVENT
    assert b'"opened"' in frames[0].raw
    assert b'"closed"' in frames[-1].raw
    assert b'"exit_code":0' in frames[-1].raw
    assert b"server/discover" in frames[1].raw
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))


async def test_two_connects_at_the_same_time_are_one() -> None:
    async with Engine() as engine:
        name = engine.servers.add(server_definition())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.servers.connect, name)
            tasks.start_soon(engine.servers.connect, name)
        assert engine.servers.snapshot(name).connection == "demo#1"

"""Servers that are started anew when their files change, with real files and processes."""

import shutil
from pathlib import Path
from typing import Any

import anyio

from mcp_progress_monitor.engine.call import Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import FileWatch, StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.reconnecting import LATE, SCRIPT, Reports, pid_of, plain, text_of, tool
from tests.patience import PATIENCE_S

_RESTARTING = b'{"event":"restarting"'


def watched(folder: Path, **settings: Any) -> StdioDefinition:
    """A copy of the small server that is watched."""
    script = folder / "server.py"
    shutil.copy(SCRIPT, script)
    settings.setdefault("watch", FileWatch(is_on=True))
    return plain(script=script, cwd=str(folder), **settings)


def edit(folder: Path, word: str) -> None:
    """Have the server answer with another word."""
    script = folder / "server.py"
    text = SCRIPT.read_text().replace('"plain"\n', f'"{word}"\n', 1)
    beside = folder / "server.py.tmp"
    beside.write_text(text)
    beside.replace(script)  # as editors do


async def settled(
    engine: Engine, reported: Reports, folder: Path, word: str, restarts: int
) -> None:
    """Edit until the watch, which takes a moment to begin, has noticed; wait for the server."""
    noticed = reported.raw().count(_RESTARTING)
    with anyio.fail_after(PATIENCE_S):
        while reported.raw().count(_RESTARTING) == noticed:
            edit(folder, word)
            with anyio.move_on_after(2):
                await reported.until(lambda: reported.raw().count(_RESTARTING) > noticed)
    await reported.until_back(restarts)


async def test_an_edit_restarts_the_server_and_a_call_in_flight_says_so(tmp_path: Path) -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        outcomes.append(await engine.calls.make(tool("tick")))

    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(watched(tmp_path))
        await engine.servers.connect("plain")
        first = pid_of(engine)
        assert text_of(await engine.calls.make(tool("echo"))) == "plain"
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            await reported.until(lambda: len(list(engine.jobs.ids())) == 2)
            await settled(engine, reported, tmp_path, "edited", 1)
        assert outcomes[0].state is JobState.LOST
        assert outcomes[0].failure is not None
        text = "The server was restarted because files changed: server.py"
        assert outcomes[0].failure.message.startswith(text)
        assert outcomes[0].failure.is_wanted
        assert pid_of(engine) != first
        assert text_of(await engine.calls.make(tool("echo"))) == "edited"
        assert ServerState.WAITING not in reported.states
        assert b'"event":"restarting"' in reported.raw()
        assert b'"files":["server.py"],"count":1' in reported.raw()


async def test_a_repaired_file_reconnects_a_failed_server(tmp_path: Path) -> None:
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(watched(tmp_path))
        (tmp_path / "server.py").write_text("syntax error here\n")
        try:
            await engine.servers.connect("plain")
        except UserError:
            assert engine.servers.snapshot("plain").state is ServerState.FAILED
        await settled(engine, reported, tmp_path, "mended", 1)
        assert text_of(await engine.calls.make(tool("echo"))) == "mended"


async def test_a_repaired_file_is_retried_before_the_back_off_ends(tmp_path: Path) -> None:
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(watched(tmp_path, restart=LATE))
        await engine.servers.connect("plain")
        await engine.calls.make(tool("quit"))
        await reported.until_state(ServerState.WAITING)
        await settled(engine, reported, tmp_path, "mended", 1)
        assert text_of(await engine.calls.make(tool("echo"))) == "mended"


async def test_a_server_that_was_disconnected_is_left_alone(tmp_path: Path) -> None:
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(watched(tmp_path))
        await engine.servers.connect("plain")
        await settled(engine, reported, tmp_path, "edited", 1)
        connection = engine.servers.snapshot("plain").connection
        await engine.servers.disconnect("plain")
        edit(tmp_path, "again")
        await anyio.sleep(1)
        assert engine.servers.snapshot("plain").state is ServerState.CLOSED
        assert engine.servers.snapshot("plain").connection == connection


async def test_a_path_that_does_not_exist_is_reported_while_the_server_works(
    tmp_path: Path,
) -> None:
    watch = FileWatch(is_on=True, paths=("none", "server.py"))
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(watched(tmp_path, watch=watch))
        await engine.servers.connect("plain")
        error = engine.servers.snapshot("plain").error
        assert error is not None
        assert error.where == str(tmp_path / "none")
        await settled(engine, reported, tmp_path, "edited", 1)


async def test_nothing_is_watched_where_auto_reconnect_is_off(tmp_path: Path) -> None:
    async with Engine() as engine:
        engine.servers.add(watched(tmp_path))
        await engine.servers.connect("plain")
        edit(tmp_path, "edited")
        await anyio.sleep(1)
        assert engine.servers.snapshot("plain").connection == "plain#1"

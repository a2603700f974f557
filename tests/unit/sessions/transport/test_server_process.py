"""Processes of servers: started one at a time, whoever asks; ended with all their children."""

import os
import signal
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import Process

from mcp_progress_monitor.sessions.transport import process_guard, process_tree, server_process
from mcp_progress_monitor.sessions.transport.process_tree import ProcessTree
from mcp_progress_monitor.sessions.transport.server_process import ServerProcess
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.anyio

_WITH_STRAY = (
    "import subprocess, sys, time\n"
    "sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
    "print(subprocess.Popen(sleep, start_new_session=True).pid, flush=True)\n"
    "time.sleep(600)\n"
)


async def test_never_are_two_processes_started_in_one_turn_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, starting, most = anyio.open_process, 0, 0

    async def watched(*command: Any, **options: Any) -> Process:
        nonlocal starting, most
        starting += 1
        most = max(most, starting)
        await anyio.lowlevel.checkpoint()
        started = await real(*command, **options)
        starting -= 1
        return started

    monkeypatch.setattr(anyio, "open_process", watched)
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", ""))
    started: list[ServerProcess] = []

    async def start() -> None:
        started.append(await ServerProcess.start(definition))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(start)
    for each in started:
        await each.end()
        await each.release()
    assert len(started) == 4
    assert most == 1


async def test_a_start_that_is_given_up_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", ""))
    waits = anyio.Event()

    async def never(*_command: Any, **_options: Any) -> Process:
        waits.set()
        await anyio.sleep_forever()
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(anyio, "open_process", never)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ServerProcess.start, definition)
            await waits.wait()
            tasks.cancel_scope.cancel()
    with anyio.fail_after(20):
        started = await ServerProcess.start(definition)
        await started.end()
        await started.release()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose child is where")
async def test_children_that_left_the_group_of_a_server_that_crashes_are_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, looks = ProcessTree.look_up, 0

    async def counted(family: ProcessTree) -> None:
        nonlocal looks
        await real(family)
        looks += 1

    monkeypatch.setattr(server_process, "_POLL_S", 0.02)
    monkeypatch.setattr(ProcessTree, "look_up", counted)
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", _WITH_STRAY))
    server = await ServerProcess.start(definition)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.watch)
        stray = int(await server.read_stdout())
        entry, known = process_tree.entry_of(stray), looks + 2  # of which the second began after it
        assert entry is not None
        await until(lambda: looks >= known)
        os.kill(server.pid, signal.SIGKILL)
    await server.release()
    await until(lambda: process_tree.entry_of(stray) != entry)


async def test_looking_for_children_ends_with_the_server() -> None:
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", ""))
    server = await ServerProcess.start(definition)
    with anyio.fail_after(PATIENCE_S):
        await server.watch()
    await server.release()
    assert server.exit_code == 0


@pytest.mark.parametrize("has_own_pipe", [True, False])
async def test_output_is_read_to_its_end_whoever_made_the_pipe(
    monkeypatch: pytest.MonkeyPatch, *, has_own_pipe: bool
) -> None:
    if not has_own_pipe:
        monkeypatch.setattr(process_guard, "open_pipe", lambda: None)
    code = "import sys; sys.stdout.write('x' * 1_000_000)"
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", code))
    server, size = await ServerProcess.start(definition), 0
    while data := await server.read_stdout():
        size += len(data)
    await server.end()
    await server.release()
    assert size == 1_000_000
    assert await server.read_stdout() == b""


async def test_a_reader_that_waits_learns_that_the_pipe_was_closed() -> None:
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", "input()"))
    server, found = await ServerProcess.start(definition), list[bytes]()

    async def read() -> None:
        found.append(await server.read_stdout())

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.lowlevel.checkpoint()
            await server.end()
            await server.release()
    assert found == [b""]

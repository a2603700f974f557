"""Ending the program: no process is left, nothing on stderr, in bounded time."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.tracker.snapshot import JobId, JobState
from tests.integration.commands import ROOT
from tests.patience import allowed
from tests.servers.definition import server_definition

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


async def pids_of(engine: Engine, *options: str, count: int = 1) -> list[int]:
    """Connect so many demo servers; their process ids."""
    found = []
    for _number in range(count):
        server = await engine.servers.connect(engine.servers.add(server_definition(*options)))
        assert server.pid is not None
        found.append(server.pid)
    return found


async def test_polite_servers_with_running_calls_are_gone_within_two_seconds() -> None:
    async with Engine() as engine, anyio.create_task_group() as calls:
        pids = await pids_of(engine, count=3)
        have_ticked = anyio.Event()
        ticking: set[JobId | None] = set()

        def listen(update: Update) -> None:
            ticking.update(job for job, _, _ in update.changes.ticks)
            if len(ticking) == 3:
                have_ticked.set()

        engine.subscribe(listen)
        for server in engine.servers.snapshots():
            call = Call(server.name, "tools/call", {"name": "never_answers", "arguments": {}})
            calls.start_soon(engine.calls.make, call)
        await have_ticked.wait()
        began = time.monotonic()
        await engine.aclose()
        assert time.monotonic() - began < allowed(2)
        assert not any(map(is_alive, pids))
        states = {job and job.state for job in map(engine.jobs.snapshot, engine.jobs.ids())}
        assert states == {JobState.LOST}


async def test_stubborn_servers_are_gone_within_five_seconds() -> None:
    async with Engine() as engine:
        pids = await pids_of(engine, "--profile", "stubborn", count=2)
        began = time.monotonic()
        await engine.aclose()
        assert time.monotonic() - began < allowed(5)
        assert not any(map(is_alive, pids))


async def test_an_exception_in_the_program_leaves_no_server_behind() -> None:
    pids: list[int] = []

    async def fail() -> None:
        async with Engine() as engine:
            pids.extend(await pids_of(engine))
            raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        await fail()
    assert not any(map(is_alive, pids))


async def test_cancelling_the_program_leaves_no_server_behind() -> None:
    pids: list[int] = []
    with anyio.CancelScope() as scope:
        async with Engine() as engine:
            pids += await pids_of(engine)
            scope.cancel()
            await anyio.sleep(60)
    assert scope.cancelled_caught
    assert not any(map(is_alive, pids))


async def test_a_monitor_that_was_never_used_ends_at_once() -> None:
    began = time.monotonic()
    async with Engine() as engine:
        await engine.aclose()
    assert time.monotonic() - began < allowed(0.5)


_PROGRAM = """
    import asyncio, sys
    import anyio
    from mcp_progress_monitor.engine.call import (Call)
    from mcp_progress_monitor.engine.engine import Engine
    from tests.servers.definition import server_definition

    async def main():
        asyncio.get_running_loop().slow_callback_duration = 60  # it is the machine that is slow
        async with Engine() as engine, anyio.create_task_group() as calls:
            server = await engine.servers.connect(
                engine.servers.add(server_definition(*sys.argv[2:]))
            )
            call = Call(server.name, "tools/call", {"name": "never_answers", "arguments": {}})
            calls.start_soon(engine.calls.make, call)
            await anyio.sleep(0.2)
            print(server.pid, flush=True)
            await anyio.sleep(float(sys.argv[1]))
            await engine.aclose()

    anyio.run(main)
"""


@pytest.mark.parametrize("profile", ["polite", "stubborn"])
def test_a_program_that_ends_during_a_call_says_nothing_and_leaves_nothing(profile: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(_PROGRAM), "0", "--profile", profile],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not is_alive(int(done.stdout))


def test_a_program_that_is_killed_takes_its_polite_server_with_it() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_PROGRAM), "60"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    with program, program.stdout:
        pid = int(program.stdout.readline())
        program.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(pid)

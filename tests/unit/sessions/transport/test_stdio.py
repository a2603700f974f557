"""Reading from a process that is always faster than we are."""

from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.sessions.transport.server_process import ServerProcess
from mcp_progress_monitor.sessions.transport.stdio import StdioTransport
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

pytestmark = pytest.mark.anyio


async def test_other_tasks_run_while_a_long_message_comes_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chunks: Iterator[bytes] = iter([b"x" * 1000] * 100 + [b"\n"])

    async def start(_definition: StdioDefinition) -> ServerProcess:
        return server

    async def read(_server: ServerProcess) -> bytes:
        return next(chunks)

    server = object.__new__(ServerProcess)
    monkeypatch.setattr(ServerProcess, "start", start)
    monkeypatch.setattr(ServerProcess, "pid", 1)
    monkeypatch.setattr(ServerProcess, "read_stdout", read)
    transport = StdioTransport(
        StdioDefinition(name="s", command="x"), Framer("s#1", FrameNumbers()), Clock()
    )
    await transport.open()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        (frame,) = await transport.receive()
        tasks.cancel_scope.cancel()
    assert len(frame.raw) == 100_000
    assert turns > 50

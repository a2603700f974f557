"""The monitor against the official SDK's server over HTTP, in both eras."""

import contextlib
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.definitions import Era, HttpDefinition
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.watching import Watch
from tests.patience import PATIENCE_S

_SERVER = textwrap.dedent("""
    import socket
    import sys

    import anyio
    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server = MCPServer("official")

    @server.tool()
    async def count(to: int, ctx: Context) -> str:
        for number in range(1, to + 1):
            await ctx.report_progress(number, to, f"step {number}")
        return "counted"

    @server.tool()
    async def wait(ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            print("cancelled", flush=True)
            raise
        return "waited"

    @server.resource("text://one")
    def one() -> str:
        return "first"

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])
""")


@contextlib.contextmanager
def served() -> Iterator[subprocess.Popen[str]]:
    """An official server as a process; the first line it prints is its port."""
    process = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that a server prints."""
    assert process.stdout is not None
    with anyio.fail_after(PATIENCE_S):
        line = await anyio.to_thread.run_sync(process.stdout.readline, abandon_on_cancel=True)
    return line.strip()


@contextlib.asynccontextmanager
async def connected(era: Era) -> AsyncIterator[tuple[Engine, Watch, subprocess.Popen[str]]]:
    """A monitor with an official server, called "sdk"."""
    with served() as process:
        url = f"http://127.0.0.1:{await line_of(process)}/mcp"
        async with Engine() as engine:
            watch = Watch(engine)
            engine.servers.add(HttpDefinition(name="sdk", url=url, era=era, connect_timeout_s=60))
            await engine.servers.connect("sdk")
            yield engine, watch, process


def tool(name: str, **arguments: Any) -> Call:
    return Call("sdk", "tools/call", {"name": name, "arguments": arguments})


def ticks(watch: Watch) -> list[Any]:
    return [fact.progress for update in watch.updates for _, _, fact in update.changes.ticks]


@pytest.mark.parametrize(
    ("era", "revision"),
    [("auto", "2026-07-28"), ("handshake", "2025-11-25"), ("per-request", "2026-07-28")],
)
async def test_an_official_server_is_connected_called_and_read(era: Era, revision: str) -> None:
    async with connected(era) as (engine, watch, _):
        server = engine.servers.snapshot("sdk")
        counted = await engine.calls.make(tool("count", to=5))
        read = await engine.calls.make(Call("sdk", "resources/read", {"uri": "text://one"}))
    assert server.revision == revision
    assert {tool.name for tool in server.tools} == {"count", "wait"}
    assert ticks(watch) == [1, 2, 3, 4, 5]
    assert [outcome.state for outcome in (counted, read)] == [JobState.DONE] * 2


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_cancel_reaches_an_official_server(era: Era) -> None:
    async with connected(era) as (engine, watch, process):
        outcomes: list[Any] = []

        async def call() -> None:
            outcomes.append(await engine.calls.make(tool("wait")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await watch.until(lambda: ticks(watch))
            jobs = [job for update in watch.updates for job, _, _ in update.changes.ticks]
            assert jobs[0] is not None
            await engine.calls.cancel(jobs[0])
        said = await line_of(process)
    assert said == "cancelled"
    assert [outcome.state for outcome in outcomes] == [JobState.CANCELLED]

"""The monitor against a server made with the official SDK, in both eras."""

import sys
import textwrap

import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition
from mcp_progress_monitor.tracker.snapshot import JobState

_SERVER = textwrap.dedent("""
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server = MCPServer("official")

    @server.tool()
    async def count(to: int, ctx: Context) -> str:
        for number in range(1, to + 1):
            await ctx.report_progress(number, to, f"step {number}")
        return "counted"

    @server.resource("text://one")
    def one() -> str:
        return "first"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Say hello to {name}"

    server.run("stdio")
""")


@pytest.mark.parametrize(
    ("era", "revision"),
    [("auto", "2026-07-28"), ("handshake", "2025-11-25"), ("per-request", "2026-07-28")],
)
async def test_an_official_server_is_connected_called_and_read(era: Era, revision: str) -> None:
    definition = StdioDefinition(
        name="sdk", command=sys.executable, args=("-c", _SERVER), era=era, connect_timeout_s=60
    )
    updates: list[Update] = []
    async with Engine() as engine:
        engine.subscribe(updates.append)
        server = await engine.servers.connect(engine.servers.add(definition))
        params = {"name": "count", "arguments": {"to": 5}}
        counted = await engine.calls.make(Call("sdk", "tools/call", params))
        read = await engine.calls.make(Call("sdk", "resources/read", {"uri": "text://one"}))
        params = {"name": "greet", "arguments": {"name": "Ada"}}
        greeted = await engine.calls.make(Call("sdk", "prompts/get", params))
        assert (await engine.calls.check_arguments("sdk", "count", {"to": "x"})).violations
    ticks = [fact for update in updates for _, _, fact in update.changes.ticks]
    assert server.revision == revision
    assert [tool.name for tool in server.tools] == ["count"]
    assert [(tick.progress, tick.total, tick.message) for tick in ticks] == [
        (number, 5, f"step {number}") for number in range(1, 6)
    ]
    assert [outcome.state for outcome in (counted, read, greeted)] == [JobState.DONE] * 3
    assert read.result is not None
    assert read.result["contents"][0]["text"] == "first"
    assert "Ada" in str(greeted.result)

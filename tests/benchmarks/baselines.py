"""What our reading is compared with: a bare loop, and the official SDK's client."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import anyio
from pydantic_core import from_json

from tests.benchmarks.heartbeat import per_second
from tests.benchmarks.shapes import SHAPES

if TYPE_CHECKING:
    from mcp.client.session import ClientSession


def flood_command(count: int, tokens: int, shape: str = "") -> list[str]:
    """The server that answers `tokens` calls with `count` notifications, interleaved."""
    return [
        sys.executable,
        "-m",
        "tests.servers.flood",
        "--count",
        str(count),
        "--tokens",
        str(tokens),
        *(["--shape", shape] if shape else []),
    ]


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _opening(tokens: int) -> bytes:
    client = {"name": "bare", "version": "0"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    lines = [_line({"id": 0, "method": "initialize", "params": params})]
    lines.append(_line({"method": "notifications/initialized"}))
    for number in range(1, tokens + 1):
        meta = {"progressToken": f"token-{number}"}
        call = {"name": "flood", "arguments": {}, "_meta": meta}
        lines.append(_line({"id": number, "method": "tools/call", "params": call}))
    return b"".join(lines)


async def bare(count: str, tokens: str, shape: str) -> dict[str, Any]:
    """A loop that only reads, splits and decodes."""
    seen, tail, most = 0, b"", int(count)
    began = cpu = 0.0
    command = flood_command(most, int(tokens), shape)
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.send(_opening(int(tokens)))
        while seen < most:
            lines = (tail + await process.stdout.receive()).split(b"\n")
            tail = lines.pop()
            if not seen:
                began, cpu = time.perf_counter(), time.process_time()
            for line in lines:
                try:
                    message = from_json(line)
                except ValueError:  # a line that is no JSON is a message of the stream, too
                    seen += 1
                    continue
                if type(message) is list:
                    seen += len(message)
                elif message.get("method"):
                    seen += 1
        spent, used = time.perf_counter() - began, time.process_time() - cpu
        await process.stdin.aclose()
        await process.wait()
    return {"rate": per_second(most, spent), "cpu_us": used / most * 1e6}


async def sdk(count: str, tokens: str, shape: str) -> dict[str, Any]:
    """The official SDK's session with a bare progress callback; other messages it drops."""
    # Imported here: the bare loop starts in a third of the time that it takes.
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    seen, most = 0, SHAPES[shape].ticks(int(count))
    first = last = 0.0

    async def progressed(_progress: float, _total: float | None, _message: str | None) -> None:
        nonlocal seen, first, last
        last = time.perf_counter()
        first = first or last
        seen += 1

    command = flood_command(int(count), int(tokens), shape)
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        async with anyio.create_task_group() as group:
            for _ in range(int(tokens)):
                group.start_soon(_sdk_call, session, progressed)
        with anyio.move_on_after(30):
            while seen < most:  # noqa: ASYNC110  # callbacks still come after the replies
                await anyio.sleep(0.01)
    return {"rate": per_second(int(count) * seen // most, last - first)}


async def _sdk_call(session: ClientSession, progressed: Any) -> None:
    await session.call_tool("flood", {}, progress_callback=progressed)

"""What our reading is compared with: a bare loop, and the official SDK's client."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import anyio
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from pydantic_core import from_json

from tests.benchmarks.heartbeat import per_second


def flood_command(count: int, tokens: int) -> list[str]:
    """The server that answers `tokens` calls with `count` notifications, interleaved."""
    return [
        sys.executable,
        "-m",
        "tests.servers.flood",
        "--count",
        str(count),
        "--tokens",
        str(tokens),
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


async def bare_rate(count: int, tokens: int) -> float:
    """Messages per second of a loop that only reads, splits and decodes."""
    seen, tail = 0, b""
    started = time.perf_counter()
    async with await anyio.open_process(flood_command(count, tokens), stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.send(_opening(tokens))
        while seen < count:
            lines = (tail + await process.stdout.receive()).split(b"\n")
            tail = lines.pop()
            if not seen:
                started = time.perf_counter()
            for line in lines:
                if from_json(line).get("method") == "notifications/progress":
                    seen += 1
        spent = time.perf_counter() - started
        await process.stdin.aclose()
        await process.wait()
    return per_second(count, spent)


async def sdk_rate(count: int, tokens: int) -> float:
    """Messages per second of the official SDK's session with a bare progress callback."""
    seen = 0
    first = last = 0.0

    async def progressed(_progress: float, _total: float | None, _message: str | None) -> None:
        nonlocal seen, first, last
        last = time.perf_counter()
        first = first or last
        seen += 1

    command = flood_command(count, tokens)
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        async with anyio.create_task_group() as group:
            for _ in range(tokens):
                group.start_soon(_sdk_call, session, progressed)
        with anyio.move_on_after(30):
            while seen < count:  # noqa: ASYNC110  # callbacks still come after the replies
                await anyio.sleep(0.01)
    return per_second(seen, last - first)


async def _sdk_call(session: ClientSession, progressed: Any) -> None:
    await session.call_tool("flood", {}, progress_callback=progressed)

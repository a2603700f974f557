"""A client on the official Python SDK 1: ``python python_v1_client.py TOOL ARGUMENTS COMMAND…``."""

import json
import sys

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

tool, arguments, *command = sys.argv[1:]


async def show(progress: float, total: float | None, message: str | None = None) -> None:
    pass


async def main() -> None:
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        [each.name for each in (await session.list_tools()).tools]
        await session.call_tool(tool, json.loads(arguments), progress_callback=show)


anyio.run(main)

"""A client on the official Python SDK 2: ``python python_v2_client.py TOOL ARGUMENTS COMMAND…``."""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters

tool, arguments, *command = sys.argv[1:]


async def show(progress: float, total: float | None, message: str | None = None) -> None:
    pass


async def main() -> None:
    async with Client(StdioServerParameters(command=command[0], args=command[1:])) as client:
        [each.name for each in (await client.list_tools()).tools]
        await client.call_tool(tool, json.loads(arguments), progress_callback=show)


anyio.run(main)

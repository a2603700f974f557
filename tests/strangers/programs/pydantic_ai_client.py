"""A client on pydantic-ai: ``python pydantic_ai_client.py TOOL ARGUMENTS COMMAND…``."""

import asyncio
import json
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

tool, arguments, *command = sys.argv[1:]


async def show(progress: float, total: float | None, message: str | None) -> None:
    pass


async def main() -> None:
    transport = StdioTransport(command=command[0], args=command[1:])
    async with MCPToolset(transport, progress_handler=show) as server:
        [each.name for each in await server.list_tools()]
        sys.stdout.write(f"{await server.direct_call_tool(tool, json.loads(arguments))}\n")


asyncio.run(main())

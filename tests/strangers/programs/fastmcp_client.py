"""A client on fastmcp: ``python fastmcp_client.py TOOL ARGUMENTS COMMAND…``.

At its end it kills its server, without a warning.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

tool, arguments, *command = sys.argv[1:]


async def show(progress: float, total: float | None, message: str | None) -> None:
    pass


async def main() -> None:
    transport = StdioTransport(command=command[0], args=command[1:])
    async with Client(transport, progress_handler=show) as client:
        [each.name for each in await client.list_tools()]
        result = await client.call_tool(tool, json.loads(arguments))
        sys.stdout.write(f"{[each.text for each in result.content]}\n")


asyncio.run(main())

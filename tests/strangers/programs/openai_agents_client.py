"""A client on openai-agents: ``python openai_agents_client.py TOOL ARGUMENTS COMMAND…``.

It asks for no progress itself.
"""

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio

tool, arguments, *command = sys.argv[1:]


async def main() -> None:
    async with MCPServerStdio({"command": command[0], "args": command[1:]}) as server:
        [each.name for each in await server.list_tools()]
        meta = {"progressToken": "job-1"}
        result = await server.call_tool(tool, json.loads(arguments), meta)
        sys.stdout.write(f"{[each.text for each in result.content]}\n")


asyncio.run(main())

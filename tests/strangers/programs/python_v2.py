"""A server on the official Python SDK 2: ``python python_v2.py [http PORT]``."""

import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("stranger")


@server.tool()
async def count(to: int, ctx: Context, pause_s: float = 0) -> str:
    for number in range(1, to + 1):
        await anyio.sleep(pause_s)
        await ctx.report_progress(number, to)
    return f"counted to {to}"


if len(sys.argv) == 1:
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))

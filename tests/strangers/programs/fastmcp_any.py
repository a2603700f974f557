"""A server on fastmcp 2, 3 or 4: ``python fastmcp_any.py [http PORT]``."""

import sys

import anyio
from fastmcp import Context, FastMCP

server = FastMCP("stranger")


@server.tool
async def count(to: int, ctx: Context, pause_s: float = 0) -> str:
    for number in range(1, to + 1):
        await anyio.sleep(pause_s)
        await ctx.report_progress(number, to)
    return f"counted to {to}"


if len(sys.argv) == 1:
    server.run(show_banner=False)
else:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)

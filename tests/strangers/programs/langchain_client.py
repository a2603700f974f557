"""A client on LangChain's adapters: ``python langchain_client.py TOOL ARGUMENTS COMMAND…``."""

import asyncio
import json
import sys

from langchain_mcp_adapters.callbacks import CallbackContext, Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

tool, arguments, *command = sys.argv[1:]


async def show(
    progress: float, total: float | None, message: str | None, context: CallbackContext
) -> None:
    pass


async def main() -> None:
    server = {"transport": "stdio", "command": command[0], "args": command[1:]}
    callbacks = Callbacks(on_progress=show)
    client = MultiServerMCPClient({"server": server}, callbacks=callbacks)
    async with client.session("server") as session:
        tools = await load_mcp_tools(session, callbacks=callbacks, server_name="server")
        (found,) = [each for each in tools if each.name == tool]
        result = await found.ainvoke(json.loads(arguments))
        sys.stdout.write(f"{[each['text'] for each in result]}\n")


asyncio.run(main())

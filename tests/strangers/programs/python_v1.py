"""A server on the official Python SDK, 1.0 to 1.30, by its low-level interface.

Run with an interpreter that has one of those versions: ``python python_v1.py [sse|http PORT]``.
"""

import sys

import anyio
from mcp import types
from mcp.server import Server

server = Server("stranger")

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "integer"}, "pause_s": {"type": "number"}},
    "required": ["to"],
}


@server.list_tools()
async def list_tools():
    return [types.Tool(name="count", description="Counts, with progress", inputSchema=SCHEMA)]


@server.call_tool()
async def call_tool(name, arguments):
    context = server.request_context
    token = context.meta.progressToken if context.meta else None
    to = arguments["to"]
    for number in range(1, to + 1):
        await anyio.sleep(arguments.get("pause_s", 0))
        if token is not None:
            await context.session.send_progress_notification(token, number, to)
    return [types.TextContent(type="text", text=f"counted to {to}")]


async def run_stdio():
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def run_sse(port):
    import uvicorn
    from mcp.server.sse import SseServerTransport
    from starlette.applications import Starlette
    from starlette.routing import Mount, Route

    transport = SseServerTransport("/messages/")

    class Stream:
        async def __call__(self, scope, receive, send):
            async with transport.connect_sse(scope, receive, send) as (read, write):
                await server.run(read, write, server.create_initialization_options())

    app = Starlette(
        routes=[
            Route("/sse", endpoint=Stream(), methods=["GET"]),
            Mount("/messages/", app=transport.handle_post_message),
        ]
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def run_http(port):
    import contextlib

    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Mount

    manager = StreamableHTTPSessionManager(app=server)

    @contextlib.asynccontextmanager
    async def lifespan(_app):
        async with manager.run():
            yield

    app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if len(sys.argv) == 1:
    anyio.run(run_stdio)
else:
    {"sse": run_sse, "http": run_http}[sys.argv[1]](int(sys.argv[2]))

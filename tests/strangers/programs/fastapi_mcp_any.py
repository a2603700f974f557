"""A web service as a server, by fastapi-mcp: ``python fastapi_mcp_any.py http|sse PORT``."""

import sys

import anyio
import uvicorn
from fastapi import FastAPI
from fastapi_mcp import FastApiMCP

app = FastAPI(title="stranger")


@app.get("/count", operation_id="count")
async def count(to: int, pause_s: float = 0) -> str:
    await anyio.sleep(to * pause_s)
    return f"counted to {to}"


server = FastApiMCP(app)
server.mount_sse() if sys.argv[1] == "sse" else server.mount_http()
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")

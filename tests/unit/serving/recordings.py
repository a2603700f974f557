"""Messages of recordings that are served."""

from pathlib import Path
from typing import Any

from mcp_progress_monitor.serving.exchanges import RecordedServer


async def indexed(path: Path, name: str | None = None) -> RecordedServer:
    """A recording's server, after its last line was read."""
    server = RecordedServer(path, name)
    await server.index()
    return server


def call(number: int, *, token: str | None = None, **arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": "export", "arguments": arguments}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def answer(identity: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": result or {"content": []}}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def tick(token: str, progress: int) -> dict[str, Any]:
    return notification("notifications/progress", progressToken=token, progress=progress)


def log(text: str) -> dict[str, Any]:
    return notification("notifications/message", level="info", data=text)


def cancelled(identity: Any) -> dict[str, Any]:
    return notification("notifications/cancelled", requestId=identity)

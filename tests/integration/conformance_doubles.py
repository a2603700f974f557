"""Stand-ins for scenarios of the conformance suite: servers that check a client as the suite does.

They run without Node.js, and so in every run of the tests. What the suite checks of signing in is
in `tests/unit/sessions/transport/http/test_oauth_flow_discovery.py`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from mcp_progress_monitor.protocol.eras import LATEST_HANDSHAKE, PER_REQUEST
from tests.integration.conformance_suite import Verdict
from tests.unit.sessions.http.scripted import Asked, Out, Web, event, reply

_UNKNOWN = {"code": -32601, "message": "Method not found"}
_RETRY_S = 0.3


class Double:
    """A server of one scenario; `checks` are what it has seen done right or wrong, by name."""

    scenario = ""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self.checks: dict[str, bool] = {}

    @property
    def verdict(self) -> Verdict:
        """What the checks come to."""
        passed = sum(self.checks.values())
        return Verdict(passed, len(self.checks), 0, str(self.checks))

    async def script(self, asked: Asked, out: Out) -> None:
        """Answer one request over HTTP."""
        method = (asked.message or {}).get("method", "")
        answer = None if asked.method != "POST" else self.result(method, asked.message)
        if asked.method != "POST":
            await out.nothing("405 Method Not Allowed")
        elif "id" not in asked.message:
            await out.nothing()
        elif answer is None:
            error = {"jsonrpc": "2.0", "id": asked.message["id"], "error": _UNKNOWN}
            await out.json(error, "404 Not Found" if method == "server/discover" else "200 OK")
        else:
            await out.json(reply(asked, answer))

    def result(self, method: str, message: Any) -> dict[str, Any] | None:
        """The result of a request; None for an unknown method."""
        raise NotImplementedError


def _initialized() -> dict[str, Any]:
    info = {"name": "double", "version": "1"}
    revision = LATEST_HANDSHAKE
    return {"protocolVersion": revision, "serverInfo": info, "capabilities": {"tools": {}}}


class SseRetry(Double):
    """Closes the stream of a call politely; the reply is on the next one, after the due pause."""

    scenario = "sse-retry"

    def __init__(self) -> None:
        """No call yet."""
        super().__init__()
        self._call: Asked | None = None
        self._closed_at = 0.0

    def result(self, method: str, message: Any) -> dict[str, Any] | None:
        """Have one tool."""
        if method == "initialize":
            return _initialized()
        tool = {"name": "test_reconnection", "inputSchema": {"type": "object", "properties": {}}}
        return {"tools": [tool]} if method == "tools/list" else None

    async def script(self, asked: Asked, out: Out) -> None:
        """Answer a call with a stream that ends before the reply."""
        if asked.method == "POST" and asked.message.get("method") == "tools/call":
            self._call = asked
            await out.events(f"id: event-1\nretry: {int(_RETRY_S * 1000)}\ndata: \n\n")
            self._closed_at = anyio.current_time()
            await out.drop()
        elif asked.method == "GET" and self._call is not None:
            pause_s = anyio.current_time() - self._closed_at
            self.checks["the stream is taken up"] = True
            self.checks["not before its time"] = pause_s >= _RETRY_S - 0.05
            self.checks["from its last event"] = asked.headers.get("last-event-id") == "event-1"
            await out.events(event(reply(self._call, {"content": []}), "event-2"))
            await out.drop()
        else:
            await super().script(asked, out)


class InvalidToolHeaders(Double):
    """Lists tools whose headers break the rules among one that keeps them (2026-07-28)."""

    scenario = "http-invalid-tool-headers"
    properties: dict[str, dict[str, Any]] = {  # noqa: RUF012 - never changed
        "valid_tool": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "empty": {"value": {"type": "string", "x-mcp-header": ""}},
        "object": {"data": {"type": "object", "x-mcp-header": "Data"}},
        "number": {"score": {"type": "number", "x-mcp-header": "Score"}},
        "twice": {
            "one": {"type": "string", "x-mcp-header": "Region"},
            "two": {"type": "string", "x-mcp-header": "region"},
        },
        "space": {"value": {"type": "string", "x-mcp-header": "My Region"}},
        "not_ascii": {"value": {"type": "string", "x-mcp-header": "Région"}},
    }

    def result(self, method: str, message: Any) -> dict[str, Any] | None:
        """Note which tools are called."""
        if method == "server/discover":
            return {
                "resultType": "complete",
                "supportedVersions": [PER_REQUEST],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "double", "version": "1"},
                "ttlMs": 0,
                "cacheScope": "private",
            }
        whole = {"resultType": "complete"}
        if method == "tools/list":
            self.checks = {name: name != "valid_tool" for name in self.properties}
            tools = [
                {"name": name, "inputSchema": {"type": "object", "properties": properties}}
                for name, properties in self.properties.items()
            ]
            return {**whole, "tools": tools, "ttlMs": 0, "cacheScope": "private"}
        if method == "tools/call":
            name = message["params"]["name"]
            self.checks[name] = name == "valid_tool"
            return {**whole, "content": []}
        return None


DOUBLES = (SseRetry, InvalidToolHeaders)


@asynccontextmanager
async def served(double: Double) -> AsyncIterator[str]:
    """The URL of a double, which is served until the end of the context."""
    web = Web(double.script)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(web.serve, listener)
        while not web.port:
            await anyio.lowlevel.checkpoint()
        yield web.url
        tasks.cancel_scope.cancel()

"""A demo server over HTTP in the same process, and a client that says what it is told to."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.demo.eras import CAPABILITIES_STAMP, PER_REQUEST_VERSIONS, VERSION_STAMP
from tests.servers.http.serving import HttpServer, Site
from tests.servers.http.sessions import Sessions, restore
from tests.servers.options import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

NEWEST = PER_REQUEST_VERSIONS[-1]
ACCEPT = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "Connection": "close",
}
Message = dict[str, Any]


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, str]]:
        """The fields of each event of the stream, comments left out."""
        blocks = self.body.decode().replace("\r\n", "\n").split("\n\n")
        lines = [[line for line in b.split("\n") if line and line[0] != ":"] for b in blocks]
        return [dict(line.split(": ", 1) for line in block) for block in lines if block]

    @property
    def messages(self) -> list[Any]:
        return [json.loads(e["data"]) for e in self.events if e.get("data", "").strip()]

    @property
    def ticks(self) -> list[Any]:
        return [m["params"]["progress"] for m in self.messages if "params" in m]


@dataclass
class Client:
    """Talks to one server; knows its session once there is one."""

    port: int
    session: dict[str, str] = field(default_factory=dict)

    def request(
        self, method: str, path: str = "/mcp", body: bytes = b"", /, **headers: str | None
    ) -> Answer:
        """Make one request on a connection of its own; a header that is None is not sent."""
        response = self.begin(method, path, body, **headers)
        try:
            data = response.read()
        except http.client.IncompleteRead as error:
            data = error.partial
        return Answer(response.status, dict(response.getheaders()), data)

    def begin(
        self, method: str, path: str = "/mcp", body: bytes = b"", /, **headers: str | None
    ) -> http.client.HTTPResponse:
        """The same, without reading the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**ACCEPT, **self.session, **named}
        connection.request(method, path, body or None, {k: v for k, v in sent.items() if v})
        return connection.getresponse()

    def post(self, message: object, **headers: str | None) -> Answer:
        return self.request("POST", "/mcp", json.dumps(message).encode(), **headers)

    def open(self, version: str = "2025-11-25", **capabilities: Any) -> Answer:
        """Shake hands and keep the session."""
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        }
        answer = self.post(request("initialize", params))
        self.session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, request_id: int = 1, /, **arguments: Any) -> Answer:
        """Call a tool in the session."""
        return self.post(called(tool, request_id, **arguments))

    def call_alone(self, tool: str, request_id: int = 1, /, **arguments: Any) -> Answer:
        """Call a tool in the revision without sessions."""
        message = stamped(called(tool, request_id, **arguments))
        return self.post(message, **mirrored(message, tool))


@contextlib.contextmanager
def running(*options: str) -> Iterator[Client]:
    """Serve with these options until the end of the context."""
    wanted = parse(["--http", *options])
    sessions = Sessions(wanted)
    for session in sessions.restored():
        restore(session)
    with HttpServer(Site(wanted, sessions), 0, None) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield Client(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
            sessions.leave()
            server.hangups.close()


def request(method: str, params: Message | None = None, request_id: int | str = 1) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def called(tool: str, request_id: int = 1, /, **arguments: Any) -> Message:
    """Return a call whose progress token is its id."""
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": f"t{request_id}"}}
    return request("tools/call", params, request_id)


def stamped(message: Message) -> Message:
    """Return the same request in the revision without sessions."""
    params = message["params"]
    stamps = {VERSION_STAMP: NEWEST, CAPABILITIES_STAMP: {}}
    return {**message, "params": {**params, "_meta": {**params.get("_meta", {}), **stamps}}}


def mirrored(message: Message, name: str | None = None) -> dict[str, str | None]:
    """Return the headers that go with a stamped request."""
    return {"MCP_Protocol_Version": NEWEST, "Mcp_Method": message["method"], "Mcp_Name": name}

"""A client for tests that drives the demo server in the same process, one line at a time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mcp_progress_monitor.demo.eras import (
    CAPABILITIES_STAMP,
    ERAS,
    PER_REQUEST_VERSIONS,
    VERSION_STAMP,
    Negotiation,
)
from mcp_progress_monitor.demo.server import Server
from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools import TOOLS
from mcp_progress_monitor.demo.wire import Wire

NEWEST_HANDSHAKE = "2025-11-25"
PER_REQUEST = PER_REQUEST_VERSIONS[-1]
STAMPS: dict[str, Any] = {VERSION_STAMP: PER_REQUEST, CAPABILITIES_STAMP: {}}
PATIENCE_S = 10.0
TOKEN = "a"

Message = dict[str, Any]


class Sink:
    """Stands for stdout: keeps the bytes, and lets a test wait for what it wants to see."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = False
        self._changed = threading.Condition()

    def write(self, data: memoryview, /) -> int:
        with self._changed:
            if not self.is_closed:
                self.written += bytes(data)
            self._changed.notify_all()
        return len(data)

    def wait_for(self, is_there: Callable[[bytes], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: is_there(self.written), PATIENCE_S)

    def pause(self, seconds: float) -> None:
        """Wait for the next thing that is written, at most that long."""
        with self._changed:
            self._changed.wait(seconds)


class NoSource:
    """Stands for a stdin nobody reads: tests hand each line to the server themselves."""

    def readline(self) -> bytes:
        return b""


@dataclass(frozen=True)
class Played:
    """What the server wrote while one thing was done to it."""

    raw: bytes

    @property
    def messages(self) -> list[Any]:
        return [json.loads(line) for line in self.raw.splitlines()]

    @property
    def ticks(self) -> list[Any]:
        """The parameters of all progress notifications."""
        return [m["params"] for m in self.messages if m.get("method") == "notifications/progress"]

    @property
    def replies(self) -> list[Message]:
        return [m for m in self.messages if "result" in m or "error" in m]

    @property
    def reply(self) -> Message:
        (reply,) = self.replies
        return reply

    @property
    def result(self) -> Message:
        result: Message = self.reply["result"]
        return result

    @property
    def error(self) -> Message:
        error: Message = self.reply["error"]
        return error

    @property
    def values(self) -> list[Any]:
        return [tick["progress"] for tick in self.ticks]

    @property
    def next_token(self) -> Any:
        """The token to go on with, None when there is none."""
        return self.result.get("_meta", {}).get("nextResumeToken")


class JoinedServer(Server):
    """A server whose requests can be waited for."""

    def join(self, timeout_s: float) -> None:
        """Wait until no request is being served, at most `timeout_s` per request."""
        for _, thread in self._open():
            thread.join(timeout_s)


class Client:
    """Speaks one revision with a server of its own; the handshake is done when it is built.

    Each test's servers are closed after it (`close_all`), with the calls that still run: some would
    write for ever.
    """

    _made: ClassVar[list[Client]] = []

    def __init__(
        self,
        version: str = NEWEST_HANDSHAKE,
        *,
        tools: Sequence[Tool] = TOOLS,
        negotiation: Negotiation | None = None,
        state_dir: Path | None = None,
        capabilities: Message | None = None,
        opens: bool = True,
    ) -> None:
        self.sink = self._make_sink()
        self.version = version
        self.server = JoinedServer(
            Wire(NoSource(), self.sink),
            negotiation or Negotiation(ERAS["both"]),
            tools,
            state_dir=state_dir,
        )
        self._made.append(self)
        self.capabilities = capabilities or {}
        stamps = {**STAMPS, CAPABILITIES_STAMP: self.capabilities}
        self._stamps = stamps if version == PER_REQUEST else {}
        self._last_id = 0
        if opens and not self._stamps:
            self.open()

    @classmethod
    def close_all(cls) -> None:
        """Close every server that was made since this was called last."""
        made, cls._made[:] = list(cls._made), []
        for client in made:
            client.server.close()
            client.sink.is_closed = True  # some tasks listen to nobody

    def _make_sink(self) -> Sink:
        return Sink()

    def open(self) -> Played:
        """Do the handshake and return the server's part of it."""
        params = {
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        }
        played = self.request("initialize", params)
        self.notify("notifications/initialized")
        return played

    def line(self, line: bytes) -> Played:
        """Send one line as it is and wait until all that it started has ended."""
        start = len(self.sink.written)
        self.server.receive(line)
        self.server.join(PATIENCE_S)
        return Played(self.sink.written[start:])

    def send(self, message: object) -> Played:
        return self.line(json.dumps(message).encode() + b"\n")

    def request(self, method: str, params: Message | None = None, token: object = None) -> Played:
        return self.send(self.message(method, params, token))

    def begin(self, method: str, params: Message, token: object = None) -> int:
        """Send a request, do not wait for its end, and return its id."""
        message = self.message(method, params, token)
        self.server.receive(json.dumps(message).encode())
        return int(message["id"])

    def message(self, method: str, params: Message | None = None, token: object = None) -> Message:
        """Return the request as this revision wants it, with the next id."""
        self._last_id += 1
        meta = {**self._stamps, **({} if token is None else {"progressToken": token})}
        complete = {**(params or {}), **({"_meta": meta} if meta else {})}
        return {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": complete}

    def notify(self, method: str, params: Message | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def call(self, tool: str, token: object = TOKEN, /, **arguments: object) -> Played:
        """Call a tool and return all that came of it."""
        return self.request("tools/call", {"name": tool, "arguments": arguments}, token)

    def resumed(self, message: Message, resume_token: object) -> Played:
        """Send a request again, with a new id and that resume token."""
        self._last_id += 1
        params = message["params"]
        meta = {**params.get("_meta", {}), "resumeToken": resume_token}
        return self.send({**message, "id": self._last_id, "params": {**params, "_meta": meta}})

    def begin_call(self, tool: str, token: object = TOKEN, /, **arguments: object) -> int:
        """Start a tool and return the request's id once its first tick is there."""
        params = {"name": tool, "arguments": arguments}
        request_id = self.begin("tools/call", params, token)
        self.sink.wait_for(lambda written: b"notifications/progress" in written)
        return request_id

    def cancel(self, request_id: int) -> Played:
        """Cancel a call and wait for its end."""
        params = {"requestId": request_id, "reason": "test"}
        return self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

"""A tap by hand: writes recordings as the contract between taps and their followers has them."""

import datetime
import json
import os
import time
from pathlib import Path
from typing import Any

from filelock import FileLock

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.format import header, prefix

TOKEN = "abc"
INFO = {"name": "claude-code", "title": "Claude Code", "version": "2.1.0"}


class HandTap:
    """A tap's recording, line by line, with the lock that a running tap holds."""

    def __init__(
        self,
        folder: Path,
        name: str = "local-db",
        *,
        pid: int = 4242,
        client: str | None = None,
        at: float | None = None,
        when: float | None = None,
        transport: str = "stdio",
        script: str | None = None,
        saves: bool = False,
    ) -> None:
        """Begin a recording in `folder`; nothing but its header is in it."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.pid = name, pid
        self.at = time.monotonic() if at is None else at
        self.when = time.time() if when is None else when
        self._base = self.at
        self._id = 0
        stamp = datetime.datetime.fromtimestamp(self.when).astimezone()
        run = f"{stamp:%Y-%m-%dT%H-%M-%S}-p{pid}-{name}"
        self.path = folder / f"{run}.mcprec"
        self.lock = FileLock(folder / f"{run}.lock", thread_local=False)
        self.lock.acquire(timeout=1)
        about: dict[str, Any] = {"client": client, "pid": pid, "parent": 1, "transport": transport}
        if script is not None:
            about["script"] = script
        if saves:
            about["saves"] = True
        started = datetime.datetime.fromtimestamp(self.when, datetime.UTC).isoformat()
        self._header = {
            "program": "mcp-progress-monitor 0.0.0",
            "started": started,
            "at": self.at,
            "first": 1,
            "part": 1,
            "run": os.urandom(16).hex(),
            "tap": about,
        }
        self._written = self.path
        self.path.write_bytes(header(self._header))

    def begin_part(self, part: int) -> None:
        """Continue in another file, as when one is full."""
        lines = sum(
            file.read_bytes().count(b"\n") - 1 for file in self.path.parent.glob("*.mcprec")
        )
        self._written = self.path.with_suffix(f".{part}.mcprec")
        self._written.write_bytes(header({**self._header, "first": lines + 1, "part": part}))

    def line(self, channel: Channel, raw: bytes, passed_s: float = 0.0, number: int = 1) -> bytes:
        """One line, `passed_s` after the last."""
        self.at += passed_s
        self.when += passed_s
        connection = f"{self.name}#{number}"
        return prefix(connection, channel, self.when, self.at - self._base) + raw + b"\n"

    def write(self, *lines: bytes) -> None:
        """Add lines, or parts of them."""
        with self._written.open("ab") as file:
            file.write(b"".join(lines))

    def event(self, name: str, **fields: Any) -> bytes:
        """An event of the connection."""
        return self.line(Channel.EVENT, _json({"event": name, **fields}))

    def opened(self, command: str = "server") -> bytes:
        """The session begins."""
        return self.event(
            "opened", command=command, args=["--fast"], cwd="/srv", env=["HOME"], pid=77, parent=1
        )

    def closed(self, reason: str = "The client closed the session", **fields: Any) -> bytes:
        """The session ends."""
        given = {"exit_code": 0, "signal": None, "ended_by": "client", **fields}
        return self.event("closed", reason=reason, **given)

    def sent(self, message: dict[str, Any], passed_s: float = 0.0) -> bytes:
        """A message of the client."""
        return self.line(Channel.SENT, _json(message), passed_s)

    def received(self, message: dict[str, Any], passed_s: float = 0.0) -> bytes:
        """A message of the server."""
        return self.line(Channel.RECEIVED, _json(message), passed_s)

    def handshake(self, info: dict[str, Any] | None = None) -> bytes:
        """What opens a session of the handshake era."""
        asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info or INFO}
        reported = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "db", "version": "1"},
        }
        return (
            self.sent(_request(0, "initialize", asked))
            + self.received({"jsonrpc": "2.0", "id": 0, "result": reported}, 0.01)
            + self.sent({"jsonrpc": "2.0", "method": "notifications/initialized"})
        )

    def call(self, identity: int = 1, token: Any = TOKEN, tool: str = "export") -> bytes:
        """A call of a tool with a progress token."""
        params = {"name": tool, "arguments": {"n": 3}, "_meta": {"progressToken": token}}
        return self.sent(_request(identity, "tools/call", params), 0.01)

    def tick(self, progress: float, token: Any = TOKEN, total: float | None = 10) -> bytes:
        """A progress notification."""
        params = {"progressToken": token, "progress": progress, "total": total, "message": "rows"}
        method = "notifications/progress"
        return self.received({"jsonrpc": "2.0", "method": method, "params": params}, 0.01)

    def answer(self, identity: int = 1, **result: Any) -> bytes:
        """The result of a call."""
        given = {"content": [{"type": "text", "text": "done"}], **result}
        return self.received({"jsonrpc": "2.0", "id": identity, "result": given}, 0.01)

    def end(self) -> None:
        """Let go of the lock, as the system does for a tap that is gone."""
        self.lock.release()


def _request(identity: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def _json(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()

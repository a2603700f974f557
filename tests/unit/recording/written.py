"""Recordings written line by line, as a recorder would or as nobody should."""

import json
from pathlib import Path
from typing import Any, Final

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.format import header, prefix

WHEN: Final = 1_763_665_391.123456
AT: Final = 500.25
CONNECTION: Final = "demo#1"


class Written:
    """The lines of a recording in the making. Times are seconds since its begin."""

    def __init__(self, **fields: Any) -> None:
        self.lines = [header({"at": AT, "first": 1, "part": 1, "run": "a"} | fields)]

    def line(
        self,
        channel: Channel,
        raw: bytes,
        at: float = 0.0,
        *,
        connection: str = CONNECTION,
        **flags: bool,
    ) -> None:
        self.lines.append(prefix(connection, channel, WHEN + at, at, **flags) + raw + b"\n")

    def event(self, name: str, at: float = 0.0, connection: str = CONNECTION, **more: Any) -> None:
        raw = json.dumps({"event": name, **more}).encode()
        self.line(Channel.EVENT, raw, at, connection=connection)

    def call(self, identity: int = 1, token: object = "a", at: float = 0.0, **more: Any) -> None:  # noqa: S107
        params = {"name": "export", "arguments": {}, "_meta": {"progressToken": token}}
        self.send("tools/call", params, identity, at, **more)

    def send(
        self, method: str, params: dict[str, Any], identity: int, at: float = 0.0, **more: Any
    ) -> None:
        message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        self.line(Channel.SENT, json.dumps(message).encode(), at, **more)

    def tick(self, progress: int, at: float = 0.0, token: object = "a", **more: Any) -> None:  # noqa: S107
        self.line(Channel.RECEIVED, tick(progress, token), at, **more)

    def reply(self, identity: int = 1, at: float = 0.0, result: Any = None, **more: Any) -> None:
        message = {"jsonrpc": "2.0", "id": identity, "result": {} if result is None else result}
        self.line(Channel.RECEIVED, json.dumps(message).encode(), at, **more)

    @property
    def content(self) -> bytes:
        return b"".join(self.lines)

    def save(self, path: Path) -> Path:
        path.write_bytes(self.content)
        return path


def tick(progress: int, token: object = "a") -> bytes:  # noqa: S107
    """A well-formed notification."""
    params = {"progressToken": token, "progress": progress, "total": 100}
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    return json.dumps(message).encode()

"""A server that handles one request at a time: it reads nothing while it works.

What lay in its input when it was done with a request is part of the answer to that.
"""

import json
import os
import select
import sys
import time
from typing import Any

WORK_S = 0.6
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
LISTS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]},
    "resources/list": {"resources": [{"uri": "x:1", "name": "one"}]},
    "prompts/list": {"prompts": [{"name": "one"}]},
    "logging/setLevel": {},
}


class Lines:
    """Standard input, line by line, without a buffer that hides what is there already."""

    def __init__(self) -> None:
        self._held = b""

    def next(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while b"\n" not in self._held:
            piece = os.read(0, 65536)
            if not piece:
                return None
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def waiting(self) -> list[str]:
        """The methods of messages that have come and were not read yet."""
        while select.select([0], [], [], 0)[0]:
            piece = os.read(0, 65536)
            if not piece:
                break
            self._held += piece
        return [json.loads(line).get("method", "") for line in self._held.splitlines()]


def answer(message: dict[str, Any], lines: Lines, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request."""
    head = {"jsonrpc": "2.0", "id": message["id"]}
    method = message["method"]
    if method == "initialize":
        info = {"name": "single", "version": "0"}
        opening = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
        return {**head, "result": {**opening, "serverInfo": info}}
    if method in LISTS:
        return {**head, "result": LISTS[method]}
    if method not in {"tools/call", "resources/read"}:
        return {**head, "error": {"code": -32601, "message": "Method not found"}}
    time.sleep(WORK_S)
    text = f"waiting: {lines.waiting()}"
    if method == "tools/call":
        return {**head, "result": {"content": [{"type": "text", "text": text}]}}
    return {**head, "result": {"contents": [{"uri": "x:1", "text": text}]}}


def main() -> None:
    """Serve until the input ends; what is named by arguments is not declared."""
    capabilities = {k: v for k, v in CAPABILITIES.items() if k not in sys.argv[1:]}
    lines = Lines()
    while (message := lines.next()) is not None:
        if "id" in message:
            sys.stdout.write(json.dumps(answer(message, lines, capabilities)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

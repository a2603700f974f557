"""A server whose tasks are those of a draft of 2025-11-25, message by message as FastMCP 2.14's."""

import json
import sys
from typing import Any

_DRAFT = "modelcontextprotocol.io/"
_TASK = {"taskId": "d1", "createdAt": "2025-11-25T10:30:00Z", "ttl": 60000, "pollInterval": 20}
_TOOL = {
    "name": "slow",
    "inputSchema": {"type": "object"},
    "execution": {"taskSupport": "optional"},
}


class Server:
    """Has one tool, whose task is done when it was looked at twice."""

    def __init__(self) -> None:
        """No task yet."""
        self._looks = 0

    def answer(self, method: str) -> dict[str, Any] | None:
        """The result of a request; None for a method that is unknown."""
        if method == "initialize":
            tasks: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
            capabilities = {"tools": {}, "tasks": tasks}
            info = {"name": "draft tasks", "version": "1"}
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "serverInfo": info,
            }
        if method == "tools/list":
            return {"tools": [_TOOL]}
        if method == "tools/call":
            stub = {"taskId": "d1", "status": "working"}
            return {"content": [], "_meta": {f"{_DRAFT}task": stub}}
        if method == "tasks/get":
            self._looks += 1
            status = "completed" if self._looks > 1 else "working"
            return {**_TASK, "status": status, "lastUpdatedAt": _TASK["createdAt"]}
        if method == "tasks/result":
            content = [{"type": "text", "text": "finished"}]
            return {"content": content, "_meta": {f"{_DRAFT}related-task": {"taskId": "d1"}}}
        return None


def main() -> None:
    """Serve until the input ends."""
    server = Server()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        result = server.answer(message["method"])
        if result is None:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            reply["result"] = result
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

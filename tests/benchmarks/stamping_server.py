"""A server whose ticks carry the moment they were written: ``… stamping_server TICKS``.

The message is the system's monotonic clock (shared by all processes of the machine on Linux).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def _write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def _answer(id_: object, params: dict[str, Any], ticks: int) -> None:
    token = params["_meta"]["progressToken"]
    for tick in range(1, ticks + 1):
        time.sleep(0.1)
        progress = {"progressToken": token, "progress": tick, "total": ticks}
        _write(
            {
                "method": "notifications/progress",
                "params": {**progress, "message": f"{time.monotonic():.9f}"},
            }
        )
    _write({"id": id_, "result": {"content": []}})


def main() -> None:
    """Serve until stdin closes."""
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                info = {"name": "stamps", "version": "0"}
                opening = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
                _write({"id": message["id"], "result": {**opening, "serverInfo": info}})
            case "tools/list":
                tool = {"name": "stamp", "inputSchema": {"type": "object"}}
                _write({"id": message["id"], "result": {"tools": [tool]}})
            case "tools/call":
                _answer(message["id"], message["params"], int(sys.argv[1]))
            case _ if "id" in message:
                error = {"code": -32601, "message": "Method not found"}
                _write({"id": message["id"], "error": error})


if __name__ == "__main__":
    main()

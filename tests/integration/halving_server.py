"""A server whose ids and tokens each hold half of a surrogate pair, which JSON can only escape.

It writes each line that it reads to the file that is its argument.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

HALF: Final = "half \ud83d"


def write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {},
                "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
            },
            "serverInfo": {"name": "halving", "version": "1"},
        }
    if method == "tools/list":
        if "cursor" not in params:
            return {"tools": [], "nextCursor": HALF}
        return {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
    if method == "tasks/list":
        return {"tasks": [_TASK]}
    if method in ("tasks/get", "tasks/cancel"):
        return {**_TASK, "status": "cancelled"}
    meta = params.get("_meta", {})
    content = [{"type": "text", "text": HALF}]
    if method == "tools/call" and "resumeToken" not in meta:
        return {"content": content, "_meta": {"nextResumeToken": HALF}}
    return {"content": content}


_TASK: Final = {
    "taskId": HALF,
    "status": "working",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "2026-01-01T00:00:00Z",
    "ttl": None,
}


def main() -> None:
    with Path(sys.argv[1]).open("a", encoding="ascii") as log:
        for line in sys.stdin:
            log.write(line)
            log.flush()
            message = json.loads(line)
            method = message.get("method")
            if method is None or "id" not in message:
                continue
            params = message.get("params", {})
            token = params.get("_meta", {}).get("progressToken")
            if method == "tools/call":
                write(id=HALF, method="ping")
                write(id=f"{HALF}!", method="unknown/method")
            if token is not None:
                tick = {"progressToken": token, "progress": 1, "message": HALF}
                write(method="notifications/progress", params=tick)
            write(id=message["id"], result=result_of(method, params))


if __name__ == "__main__":
    main()

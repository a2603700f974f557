"""A server that lists one tool and runs any: it answers with the arguments it was given."""

import json
import sys
from typing import Any

LISTED = {"name": "listed", "inputSchema": {"type": "object", "properties": {"n": {}}}}
RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "echoing", "version": "0"},
    },
    "tools/list": {"tools": [LISTED]},
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request; the method not found is an error."""
    head = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "tools/call":
        text = json.dumps({key: request["params"].get(key) for key in ("name", "arguments")})
        return {**head, "result": {"content": [{"type": "text", "text": text}]}}
    if request["method"] in RESULTS:
        return {**head, "result": RESULTS[request["method"]]}
    return {**head, "error": {"code": -32601, "message": "Not found"}}


def serve() -> None:
    """Answer until the end of the input."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(json.dumps(answer(message)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve()

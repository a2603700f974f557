"""A small server of the handshake era that starts fast: `python plain_server.py [WORD]`.

It serves what a test of mending needs: `echo` answers at once (with WORD, if given), `tick` sends
progress until it is killed, `slow` answers after a time while it goes on reading, `block` does not
read meanwhile, `quit` ends the process with a code. "dies" as WORD ends it once it was listed.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

_WORD = sys.argv[1] if len(sys.argv) > 1 else "plain"
_TOOLS = ("echo", "tick", "slow", "block", "quit")
_lock = threading.Lock()


def say(message: dict[str, Any]) -> None:
    """Write one message."""
    with _lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def result(identity: object, words: str) -> None:
    """Answer a call."""
    say({"id": identity, "result": {"content": [{"type": "text", "text": words}]}})


def tick(token: object) -> None:
    """Send progress for as long as there is a process."""
    for number in range(1, 1_000_000):
        params = {"progressToken": token, "progress": number}
        say({"method": "notifications/progress", "params": params})
        time.sleep(0.01)


def call(identity: object, params: dict[str, Any]) -> None:
    """Do what a tool does."""
    arguments = params.get("arguments", {})
    match params["name"]:
        case "echo":
            result(identity, _WORD)
        case "tick":
            token = params.get("_meta", {}).get("progressToken")
            threading.Thread(target=tick, args=(token,), daemon=True).start()
        case "slow":
            timer = threading.Timer(arguments["seconds"], result, (identity, "late"))
            timer.daemon = True
            timer.start()
        case "block":
            time.sleep(arguments["seconds"])
            result(identity, "late")
        case "quit":
            sys.exit(arguments.get("code", 3))


def answer(message: dict[str, Any]) -> None:
    """Answer one request."""
    identity, params = message["id"], message.get("params", {})
    match message["method"]:
        case "initialize":
            about = {"name": "plain", "version": "1"}
            agreed = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            say({"id": identity, "result": {**agreed, "serverInfo": about}})
        case "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in _TOOLS]
            say({"id": identity, "result": {"tools": tools}})
            if _WORD == "dies":
                print("that was all", file=sys.stderr, flush=True)  # noqa: T201
                sys.exit(7)
        case "tools/call":
            call(identity, params)
        case "ping":
            say({"id": identity, "result": {}})
        case method:
            say({"id": identity, "error": {"code": -32601, "message": f"no {method}"}})


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer(request)

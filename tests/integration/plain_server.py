"""A small server of the handshake era that starts fast: `python plain_server.py [WORD]`.

It serves what a test of mending needs: `echo` answers at once (with WORD, if given), `tick` sends
progress until it is killed, `slow` answers once there is a file while it goes on reading, `block`
does not read meanwhile, `quit` ends the process with a code. "dies" as WORD ends it once it was
listed.
"""

import json
import os.path
import sys
import threading
import time
from pathlib import Path
from typing import Any

_WORD = sys.argv[1] if len(sys.argv) > 1 else "plain"
_TOOLS = ("echo", "tick", "slow", "block", "quit", "mute", "deaf", "haunt")
_HAUNT = """
import os, sys, time
data = b"x" * 4000  # what fills a pipe is to be a few messages
while True:
    os.write(1, b'{"jsonrpc":"2.0","method":"notifications/message","params":"' + data + b'"}\\n')
    os.write(2, b"boo\\n")
    time.sleep(float(sys.argv[1]))
"""
_lock = threading.Lock()


def say(message: dict[str, Any]) -> None:
    """Write one message."""
    with _lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def result(identity: object, expected: str) -> None:
    """Answer a call."""
    say({"id": identity, "result": {"content": [{"type": "text", "text": expected}]}})


def tick(token: object) -> None:
    """Send progress for as long as there is a process."""
    for number in range(1, 1_000_000):
        params = {"progressToken": token, "progress": number}
        say({"method": "notifications/progress", "params": params})
        time.sleep(0.01)


def answer_late(identity: object, path: str) -> None:
    """Answer a call once there is something at a path."""
    while not os.path.exists(path):  # noqa: PTH110  # starts faster without pathlib
        time.sleep(0.01)
    result(identity, "late")


def call(identity: object, params: dict[str, Any]) -> None:  # a case for each
    """Do what a tool does."""
    arguments = params.get("arguments", {})
    match params["name"]:
        case "echo":
            result(identity, _WORD)
        case "tick":
            token = params.get("_meta", {}).get("progressToken")
            threading.Thread(target=tick, args=(token,), daemon=True).start()
        case "slow":
            waiting = (identity, arguments["until"])
            threading.Thread(target=answer_late, args=waiting, daemon=True).start()
        case "block":
            answer_late(identity, arguments["until"])
        case "quit":
            sys.exit(arguments.get("code", 3))
        case "mute":
            os.close(1)
            time.sleep(600)
        case "deaf":
            os.close(0)
            time.sleep(600)
        case "haunt":
            haunt(Path(arguments["file"]), arguments["pause"])


def haunt(file: Path, pause: float) -> None:
    """End, and leave a process of nobody's that writes for ever; `file` has its number first."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            beside = file.with_suffix(".new")
            beside.write_text(str(os.getpid()))
            beside.rename(file)
            # Without an environment, so that nobody can tell whose it is.
            arguments = [sys.executable, "-S", "-c", _HAUNT, str(pause)]
            os.execve(sys.executable, arguments, {})  # noqa: S606  # no shell is the point
        os._exit(0)
    while not file.exists():
        time.sleep(0.01)
    os._exit(3)


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

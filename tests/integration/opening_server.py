"""Servers as they open in the field: `python opening_server.py MANNER [SECONDS]`, started late.

Each manner imitates what a server that many people run does, byte for byte as far as it matters:

- `breaks`: Python SDK 1.0 to 1.9.3. A request before `initialize` breaks its loop without a word;
  the process ends with a traceback once the next line comes.
- `locks`: Go SDK 1.8 and other servers of both eras. A good answer to `server/discover` opens the
  session, and `initialize` is refused from then on.
- `empties`: a hand-written server of the handshake era that answers unknown methods with `{}`.
- `insists`: refuses the first `server/discover` with -32022, naming the revision it was asked in.
- `in-turn`: Python SDK 1.2 and short hand-written servers. While it works on a request, the next
  one it reads stops its reading until that is done; `ask` asks for the roots and needs the answer,
  `change` says before that the tools have changed.
- `wedges`: reads on after a request before `initialize`, and answers nothing any more.
- `chatty`: says on its standard error what it downloads until it starts.
- `newest`: knows no `initialize` at all.
- `quits`: answers unknown methods with an error, and ends when the first one is not `initialize`.
"""

import json
import sys
import time
from typing import Any

MANNER = sys.argv[1]
if MANNER.startswith("@"):  # as a file says today
    with open(MANNER[1:]) as file:  # noqa: PTH123  # starts faster without pathlib
        MANNER = file.read()
DELAY_S = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
NEWEST = "2026-07-28"
ALL: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}


def say(message: dict[str, Any]) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Write a line of standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def refuse(message: dict[str, Any], code: int, text: str, **data: Any) -> None:
    """Answer with an error."""
    error = {"code": code, "message": text} | ({"data": data} if data else {})
    say({"id": message["id"], "error": error})


def answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    """Answer with a result."""
    say({"id": message["id"], "result": result})


def read() -> dict[str, Any]:
    """The next message; ends with the input."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    found: dict[str, Any] = json.loads(line)
    return found


def serve(message: dict[str, Any]) -> None:
    """Do what every server does once it is open, and answer what it does not know."""
    method = message["method"]
    if method == "initialize":
        info = {"name": MANNER, "version": "1"}
        opened = {"protocolVersion": "2025-06-18", "capabilities": ALL, "serverInfo": info}
        answer(message, opened)
    elif method.endswith("/list"):
        kind = method.removesuffix("/list")
        tools = [
            {"name": name, "inputSchema": {"type": "object"}} for name in ("work", "ask", "change")
        ]
        answer(message, {kind: tools if kind == "tools" else []})
    elif method == "tools/call" and message["params"]["name"] == "ask":
        ask_in_turn(message)
    elif method == "tools/call" and message["params"]["name"] == "change":
        say({"method": "notifications/tools/list_changed"})
        time.sleep(0.5)
        ask_in_turn(message)
    elif method == "tools/call":
        answer(message, {"content": [{"type": "text", "text": "done"}]})
    elif MANNER == "empties":
        answer(message, {})
    else:
        refuse(message, -32601, "Method not found")


def ask_in_turn(message: dict[str, Any]) -> None:
    """Ask for the roots and wait; a request that comes first is never got past."""
    time.sleep(0.3)
    say({"id": "q", "method": "roots/list"})
    while True:
        found = read()
        if found.get("id") == "q":
            return answer(message, {"content": [{"type": "text", "text": "asked"}]})
        if "method" in found and "id" in found:
            complain(f"stuck at {found['method']}")
            while True:
                time.sleep(60)


def discover(message: dict[str, Any]) -> None:
    """Answer as a server of the newest revision."""
    meta = {"io.modelcontextprotocol/serverInfo": {"name": MANNER, "version": "1"}}
    found = {"supportedVersions": [NEWEST], "capabilities": {"tools": {}}, "_meta": meta}
    answer(message, {**found, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})


def run_broken() -> None:
    """What a server does after a first message that is not `initialize`."""
    if MANNER == "breaks":
        read()
        raise RuntimeError("Received request before initialization was complete")
    while True:
        read()


def run_newer(first: dict[str, Any]) -> None:
    """Serve in the newest revision, refusing what is not of it."""
    message, is_refused = first, False
    while True:
        if message["method"] == "initialize":
            code = -32601 if MANNER == "newest" else 0
            refuse(message, code, 'duplicate "initialize" received')
        elif message["method"] == "server/discover" and MANNER == "insists" and not is_refused:
            is_refused = True
            refuse(message, -32022, "Unsupported", supported=[NEWEST], requested=NEWEST)
        elif message["method"] == "server/discover":
            discover(message)
        elif "id" in message:
            serve(message)
        message = read()


def start() -> None:
    """Be not there yet."""
    ready_at = time.monotonic() + DELAY_S
    while (left_s := ready_at - time.monotonic()) > 0:
        if MANNER == "chatty":
            complain("Downloading")
        time.sleep(min(left_s, 0.1))


def main() -> None:
    """Read and answer until the input ends."""
    start()
    message = read()
    if message["method"] != "initialize":
        if MANNER in {"breaks", "wedges"}:
            run_broken()
        if MANNER in {"locks", "insists"}:
            run_newer(message)
    if MANNER == "newest":
        run_newer(message)
    if message["method"] != "initialize" and MANNER == "quits":
        refuse(message, -32600, "Expected initialize")
        sys.exit(1)
    while True:
        if "id" in message and "method" in message:
            serve(message)
        message = read()


main()

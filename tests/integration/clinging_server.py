"""A server that is hard to be rid of: `python -m tests.integration.clinging_server FILE [WORD]…`.

FILE gets what happened, a line each; it stands in the command line of every process of the
server, so that these can be found. The arguments: "stubborn" goes on after the end of its input and
SIGTERM; "child" starts one in a session of its own at once, "late" when its tools are listed, which
is just before the test ends the program; "breeds" goes on to start such children; "deep" has the
child have a child in yet another session.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

_DEAF = "import signal, sys, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
_CHILD = f"{_DEAF}time.sleep(600)"
_DEEP = (
    f"{_DEAF}import subprocess\n"
    f"subprocess.Popen([sys.executable, '-c', {_CHILD!r}, sys.argv[1]], start_new_session=True)\n"
    "time.sleep(600)"
)
_file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("unused")
_texts = frozenset(sys.argv[2:])


def note(text: str) -> None:
    """Tell the test."""
    with _file.open("a") as file:
        file.write(f"{text}\n")


def have_child() -> None:
    """Start a process in a session of its own, that ignores all it can."""
    code = _DEEP if "deep" in _texts else _CHILD
    nowhere = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-c", code, str(_file)],
        start_new_session=True,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
    )


def breed() -> None:
    """Have a child every moment, for as long as there is a server."""
    for _ in range(40):
        have_child()
        time.sleep(0.1)


def say(message: dict[str, Any]) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tick(token: object) -> None:
    """Send progress for as long as there is a process."""
    for number in range(1, 1_000_000):
        params = {"progressToken": token, "progress": number}
        say({"method": "notifications/progress", "params": params})
        if number == 2:
            note("ticks")
        time.sleep(0.05)


def answer(message: dict[str, Any]) -> None:
    """Answer one request."""
    identity, params = message["id"], message.get("params", {})
    match message["method"]:
        case "initialize":
            about = {"name": "clinging", "version": "1"}
            agreed = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            say({"id": identity, "result": {**agreed, "serverInfo": about}})
        case "tools/list":
            tools = [{"name": "hold", "inputSchema": {"type": "object"}}]
            say({"id": identity, "result": {"tools": tools}})
            if "late" in _texts:
                have_child()
            if "breeds" in _texts:
                threading.Thread(target=breed, daemon=True).start()
            note("listed")
        case "tools/call":
            token = params.get("_meta", {}).get("progressToken")
            threading.Thread(target=tick, args=(token,), daemon=True).start()
        case method:
            say({"id": identity, "error": {"code": -32601, "message": f"no {method}"}})


def main() -> None:
    """Serve to the end of the input, and cling to life after it."""
    if "stubborn" in _texts:
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if "child" in _texts:
        have_child()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer(request)
    while "stubborn" in _texts:
        time.sleep(60)


if __name__ == "__main__":
    main()

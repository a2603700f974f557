"""Another client, which runs a resumable export behind a tap until it is killed.

    … watched_client.py ARGUMENTS TAP… -- SERVER…

Calls `resumable_export` with ARGUMENTS (JSON). With `"hangs": true` among them it calls it again
with the token of each reply; with `"task": true` it calls `task_work` as a task instead, and does
not look after it. Prints a line for each message it gets.
"""

import json
import subprocess
import sys
from typing import Any


def main() -> None:
    """Be the client."""
    arguments = json.loads(sys.argv[1])
    hangs, is_task = arguments.pop("hangs", False), arguments.pop("task", False)
    pipe = subprocess.PIPE
    with subprocess.Popen(sys.argv[2:], stdin=pipe, stdout=pipe) as tap:
        client = _Client(tap)
        info = {"name": "agent", "title": "Agent", "version": "1"}
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        client.ask("initialize", opening)
        client.send({"method": "notifications/initialized"})
        token = None
        while True:
            meta = {"progressToken": "p"} | ({} if token is None else {"resumeToken": token})
            tool = "task_work" if is_task else "resumable_export"
            call = {"name": tool, "arguments": arguments, "_meta": meta}
            call |= {"task": {"ttl": 600_000}} if is_task else {}
            result = client.ask("tools/call", call)
            token = result.get("_meta", {}).get("nextResumeToken")
            if token is None or not hangs:
                break
        sys.stdin.read()


class _Client:
    def __init__(self, tap: subprocess.Popen[bytes]) -> None:
        self._tap = tap
        self._id = 0

    def send(self, message: dict[str, Any]) -> None:
        assert self._tap.stdin is not None
        self._tap.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._tap.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._tap.stdout is not None
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        for line in self._tap.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.flush()
            message = json.loads(line)
            if message.get("id") == self._id:
                result: dict[str, Any] = message["result"]
                return result
        raise EOFError


if __name__ == "__main__":
    main()

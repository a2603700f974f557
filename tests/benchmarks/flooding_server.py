"""A hostile server: ``… flooding_server KIND[,KIND…] SECONDS``.

A call of its tool `flood` is answered after so long; meanwhile each of the kinds (see `FLOODS`) is
written at its own rate, or as fast as the pipe takes it. It reads whatever it is sent meanwhile.
Calls of `work` report progress ten times a second until the flood ends. Calls of `hold` are held
until there are `together` of them, then all fail in one write, or until there are `until_exit`
of them, then it exits; or else they are never answered.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROUND_S: Final = 0.02
"""How often the lines that have come due are written."""
_TICK_S: Final = 0.1
_FORM: Final = {"type": "object", "properties": {"name": {"type": "string"}}}
_SAMPLING: Final = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say something."}}],
    "maxTokens": 10,
}
_LOGGED: Final = {"level": "info", "logger": "flood", "data": "Line %d of a server that talks"}
_WHEN: Final = "2026-11-22T12:00:00Z"
_TASK: Final = {
    "taskId": "task-%d",
    "status": "working",
    "createdAt": _WHEN,
    "lastUpdatedAt": _WHEN,
    "ttl": 60000,
}
_OPENING: Final[Mapping[str, Any]] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "resources": {}, "logging": {}},
    "serverInfo": {"name": "flooding", "version": "0"},
}
_LISTS: Final[Mapping[str, Any]] = {
    "tools": [{"name": "flood", "inputSchema": {"type": "object"}}],
    "prompts": [],
    "resources": [],
    "resourceTemplates": [],
}
"""The result of a list, whichever is asked for."""
_NOTHING: Final[Mapping[str, Any]] = {}
_BATCH_SIZE: Final = 1000


def _message(method: str, params: object, **more: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})


def _request(method: str, params: object) -> str:
    return _message(method, params, id="flood-%d")


_ELICITATION: Final = _request("elicitation/create", {"message": "?", "requestedSchema": _FORM})
_UNKNOWN: Final = _request("unknown/method", {})
_TOKEN: Final = _message("notifications/progress", {"progressToken": "new-%d", "progress": 1})
_CHANGED: Final = [
    _message(f"notifications/{kind}/list_changed", {"number": "%d"})
    for kind in ("tools", "prompts", "resources")
]


class Flood(NamedTuple):
    """So many lines a second, of these forms in turn; each line has a number of its own."""

    per_s: int
    forms: Sequence[str]
    is_stderr: bool = False
    is_batch: bool = False
    round_s: float = _ROUND_S
    line_end: str = "\n"

    def lines(self, start: int, count: int) -> list[str]:
        """Lines with the numbers from `start` on."""
        numbers = range(start, start + count)
        if self.is_batch:
            size, form = _BATCH_SIZE, self.forms[0]
            batches = (range(number * size, (number + 1) * size) for number in numbers)
            return [f"[{','.join([form % number for number in each])}]" for each in batches]
        forms = itertools.cycle(self.forms)
        return [f.replace("%d", str(number)) for f, number in zip(forms, numbers, strict=False)]


FLOODS: Final[Mapping[str, Flood]] = {
    "requests": Flood(
        10_000,
        [
            _ELICITATION,
            _request("sampling/createMessage", _SAMPLING),
            _request("roots/list", {}),
            _request("ping", {}),
            _UNKNOWN,
        ],
    ),
    "steady-requests": Flood(1_000, [_ELICITATION]),
    "elicitations": Flood(10_000, [_ELICITATION]),
    "bursts": Flood(500, [_ELICITATION], round_s=1.0),
    "unknown-methods": Flood(10_000, [_UNKNOWN]),
    "pings": Flood(10_000, [_request("ping", {})]),
    "tokens": Flood(100_000, [_TOKEN]),
    "logs": Flood(100_000, [_message("notifications/message", _LOGGED)]),
    "stderr": Flood(100_000, ["line %d of standard error"], is_stderr=True),
    "loud-stderr": Flood(100_000, ["line %d of standard error " + 975 * "#"], is_stderr=True),
    "endless-stderr": Flood(100_000, [1000 * "#"], is_stderr=True, line_end=""),
    "list-changed": Flood(10_000, _CHANGED),
    "updates": Flood(100_000, [_message("notifications/resources/updated", {"uri": "demo://%d"})]),
    "garbage": Flood(100_000, ["no JSON at all, line %d {"]),
    "batches": Flood(100, [_TOKEN], is_batch=True),
    "replies": Flood(100_000, ['{"jsonrpc": "2.0", "id": "asked-by-nobody-%d", "result": {}}']),
    "tasks": Flood(100_000, [_message("notifications/tasks/status", _TASK)]),
}
"""By name, what is written and how much of it a second."""


class _Server:
    def __init__(self, floods: list[Flood], seconds: float) -> None:
        self._floods = floods
        self._seconds = seconds
        self._writing = threading.Lock()
        self._working: dict[Any, Any] = {}
        """The tokens of calls of `work`, by their ids."""
        self._held: list[Any] = []

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        match message["method"]:
            case "initialize":
                result = _OPENING
            case "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list":
                result = _LISTS
            case "tools/call":
                self._call(message["id"], message["params"])
                return
            case "server/discover":
                error = {"code": -32601, "message": "Method not found"}
                self._write(1, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                return
            case _:
                result = _NOTHING
        self._reply(message["id"], result)

    def _reply(self, id_: object, result: object) -> None:
        self._write(1, json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}))

    def _call(self, id_: object, params: dict[str, Any]) -> None:
        if params["name"] == "work":
            self._working[id_] = params["_meta"]["progressToken"]
        elif params["name"] == "hold":
            self._held.append(id_)
            if len(self._held) == params["arguments"].get("until_exit"):
                os._exit(1)
            if len(self._held) == params["arguments"].get("together"):
                error = {"code": -32603, "message": "All of them failed"}
                replies = [{"jsonrpc": "2.0", "id": held, "error": error} for held in self._held]
                self._write(1, "\n".join(map(json.dumps, replies)))
        else:
            threading.Thread(target=self._flood_all, args=[id_], daemon=True).start()

    def _flood_all(self, id_: object) -> None:
        until = time.monotonic() + self._seconds
        threads = [
            threading.Thread(target=self._flood, args=(each, until), daemon=True)
            for each in self._floods
        ]
        threads.append(threading.Thread(target=self._tick, args=[until], daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for each in (*self._working, id_):
            self._reply(each, {"content": []})

    def _tick(self, until: float) -> None:
        for number in itertools.count(1):
            if time.monotonic() >= until:
                break
            ticks = [
                _message("notifications/progress", {"progressToken": token, "progress": number})
                for token in self._working.values()
            ]
            if ticks:
                self._write(1, "\n".join(ticks))
            time.sleep(_TICK_S)

    def _flood(self, flood: Flood, until: float) -> None:
        number, began, written = 0, time.monotonic() - flood.round_s, 0
        most = int(flood.per_s * max(0.1, flood.round_s))
        while (now := time.monotonic()) < until:
            # What the pipe did not take is not made up for: a server falls behind, too.
            due = min(int((now - began) * flood.per_s) - written, most)
            if due > 0:
                written = int((now - began) * flood.per_s)
                text = flood.line_end.join(flood.lines(number, due))
                self._write(2 if flood.is_stderr else 1, text, flood.line_end)
                number += due
            time.sleep(min(flood.round_s, max(0.0, until - now)))

    def _write(self, stream: int, text: str, end: str = "\n") -> None:
        data = memoryview((text + end).encode())
        if stream == 2:
            while data:
                data = data[os.write(stream, data) :]
            return
        with self._writing:
            while data:
                data = data[os.write(stream, data) :]


def main() -> None:
    """Serve until stdin closes."""
    kinds, seconds = sys.argv[1:]
    _Server([FLOODS[kind] for kind in kinds.split(",") if kind], float(seconds)).serve()


if __name__ == "__main__":
    main()

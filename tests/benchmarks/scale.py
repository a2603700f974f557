"""What grows with servers, jobs, connections and messages, and where it stops: no processes.

Sessions are made up, and read through the classes that a live session goes through: index,
conversation, tracker, servers and judge. ``python -m tests.benchmarks.scale KIND COUNT`` measures
one point in a process of its own and prints bytes of memory and seconds of a processor.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from tests.benchmarks import recordings as made
from tests.benchmarks.figures import Figure, Size
from tests.benchmarks.memory import own_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_progress_monitor.engine.updates import Update
    from tests.benchmarks.recordings import Line

_TICKS: Final = 30
_TOOLS: Final = 20
_SECONDS: Final = 0.001


def _tools(connection: str) -> Iterator[Line]:
    schema = {"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}}
    tools = [
        {"name": f"tool-{n}", "description": "Exports a table. " * 5, "inputSchema": schema}
        for n in range(_TOOLS)
    ]
    yield _SECONDS, connection, Channel.SENT, made.message(id=1, method="tools/list")
    yield _SECONDS, connection, Channel.RECEIVED, made.message(id=1, result={"tools": tools})


def _call(connection: str, number: int, *, is_ended: bool, ticks: int = _TICKS) -> Iterator[Line]:
    token = f"{connection}-{number}"
    yield made.request(connection, number, token, {"path": f"/data/{number}"})
    for step in range(1, ticks + 1):
        text = f"Step {step} of {ticks}"
        yield made.tick(_SECONDS, connection, token, step, ticks, text)
    if is_ended:
        yield made.reply(connection, number, "done")


def _servers(count: int) -> Iterator[Line]:
    for number in range(count):
        connection = f"server-{number}#1"
        yield from made.opening(connection)
        yield from _tools(connection)
        for line in range(20):
            yield _SECONDS, connection, Channel.STDERR, f"line {line} of {connection}".encode()


def _open_jobs(count: int) -> Iterator[Line]:
    yield from made.opening("s#1")
    for number in range(count):
        yield from _call("s#1", number + 1, is_ended=False)


def _ended_jobs(count: int) -> Iterator[Line]:
    yield from made.opening("s#1")
    for number in range(count):
        yield from _call("s#1", number + 1, is_ended=True)


def _connections(count: int) -> Iterator[Line]:
    """One server that is connected again and again, with one short call each time."""
    closed = {"event": "closed", "reason": "The server ended.", "exit_code": 1}
    for number in range(count):
        connection = f"s#{number + 1}"
        yield from made.opening(connection)
        yield from _call(connection, 1, is_ended=True, ticks=3)
        yield _SECONDS, connection, Channel.EVENT, json.dumps(closed).encode()


_KINDS: Final[Mapping[str, Callable[[int], Iterator[Line]]]] = {
    "servers": _servers,
    "open_jobs": _open_jobs,
    "ended_jobs": _ended_jobs,
    "connections": _connections,
}
_COUNTS: Final = {
    "servers": ((10, 30, 100), (10, 30, 100), (1, 2, 3)),
    "open_jobs": ((1_000, 3_000, 10_000), (300, 1_000, 3_000), (2, 3, 4)),
    "ended_jobs": ((3_000, 10_000, 20_000), (300, 1_000, 3_000), (2, 3, 4)),
    "connections": ((3_000, 10_000, 20_000), (300, 1_000, 3_000), (2, 3, 4)),
    "frames": ((500_000, 1_000_000, 2_000_000), (50_000, 100_000, 200_000), (300, 400, 500)),
}


def scale(size: Size) -> list[Figure]:
    """Memory and processor time at three counts of each kind; `more` is of one more at the end."""
    figures = []
    for kind, counts in _COUNTS.items():
        rows = [_measured(kind, count, size) for count in size.pick(*counts)]
        for row in rows:
            name = f"{kind}_{row['count']}"
            figures.append(Figure(f"{name}_memory", row["bytes"] / 2**20, "MB"))
            figures.append(Figure(f"{name}_time", row["used_s"] / row["count"] * 1e6, "us each"))
        before, last = rows[-2:]
        more = (last["bytes"] - before["bytes"]) / (last["count"] - before["count"])
        figures.append(Figure(f"{kind}_more", max(more, 0.0), "bytes each"))
    return figures


def _measured(kind: str, count: int, size: Size) -> dict[str, Any]:
    if size is Size.TINY:  # in this process: its figures mean nothing
        return measure(kind, count)
    command = (sys.executable, "-m", "tests.benchmarks.scale", kind, str(count))
    done = subprocess.run(command, check=True, capture_output=True, timeout=900)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def measure(kind: str, count: int) -> dict[str, Any]:
    """Make a session of `count`, read it, and say what that took."""
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as folder:
        path = Path(folder) / "made.mcprec"
        if kind == "frames":
            made.write_recording(path, count)
        else:
            made.write_lines(path, _KINDS[kind](count))
        playback = Playback(path)
        check = SessionChecker(playback.jobs.job_of)

        def judge(update: Update) -> None:
            check.take(update.frames, update.facts, update.changes.marked)

        playback.subscribe(judge)
        gc.collect()
        before, began = own_bytes() or 0, time.process_time()
        while playback.advance(1.0):
            pass
        used = time.process_time() - began
        gc.collect()
        held = max((own_bytes() or 0) - before, 0)
        return {
            "count": count,
            "bytes": held,
            "used_s": used,
            "file_bytes": path.stat().st_size,
            "jobs": len(playback.jobs.ids()),
        }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))

"""One contender in a process of its own: ``python -m tests.benchmarks.contender NAME ARG…``.

Prints one line of JSON. Started by `figures.contend`, on the same event loop as the window.
Without a name it reads contenders, each a line of JSON, from stdin until that closes: the first
costs what starting costs, and the figures of the others mean little. That is for tests.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from typing import Any, Final

import anyio
import anyio.to_thread
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.gui.aio import run_on_qt
from tests.benchmarks.waiting import Waiting


async def _measured(name: str, *arguments: str) -> str:
    """Run one contender; the line to print."""
    module, function = _RUNS[name].split(".")
    run = getattr(importlib.import_module(f"tests.benchmarks.{module}"), function)
    waiting = Waiting()
    figures: dict[str, Any] = await run(*arguments)
    figures["waiting_percent"] = waiting.percent()
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return json.dumps(figures)


async def _one() -> int:
    print(await _measured(*sys.argv[1:]))
    return 0


async def _those_asked_for() -> int:
    while line := await anyio.to_thread.run_sync(sys.stdin.readline):
        print(await _measured(*json.loads(line)), flush=True)
    return 0


_RUNS: Final = {
    "bare": "baselines.bare",
    "sdk": "baselines.sdk",
    "bare-stream": "stream_runs.bare_stream",
    "sdk-stream": "stream_runs.sdk_stream",
    "window-stream": "stream_runs.window_stream",
    "window-ingest": "ingest_runs.ingest",
    "window-latency": "window_runs.latency",
    "window-many-jobs": "job_runs.many_jobs",
    "window-many-servers": "server_runs.many_servers",
    "window-log-open": "log_runs.log_open",
    "window-log-filter": "log_runs.log_filter",
    "window-soak": "soak_runs.soak",
    "window-long-line": "window_runs.long_line",
    "window-idle": "window_runs.idle",
    "window-flood": "flood_runs.flood",
    "window-calls": "flood_runs.calls",
    "watch-delay": "watch_runs.delay",
    "watch-flood": "watch_runs.flood",
    "watch-silence": "watch_runs.silence",
}
"""The module and function of each: loaded when it is run, that nobody pays for the others."""


def main() -> int:
    """Run the contender named on the command line, or those named on stdin."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication(sys.argv[:1])
    return run_on_qt(application, _one if sys.argv[1:] else _those_asked_for)


if __name__ == "__main__":
    sys.exit(main())

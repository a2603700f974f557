"""One contender in a process of its own: ``python -m tests.benchmarks.contender NAME ARG…``.

Prints one line of JSON. Started by `figures.contend`, on the same event loop as the window.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QApplication

from app.shell.aio import run_on_qt
from tests.benchmarks import baselines, ingest_runs, job_runs, log_runs, soak_runs, window_runs
from tests.benchmarks.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


async def _bare(count: str, tokens: str) -> dict[str, Any]:
    return {"rate": await baselines.bare_rate(int(count), int(tokens))}


async def _sdk(count: str, tokens: str) -> dict[str, Any]:
    return {"rate": await baselines.sdk_rate(int(count), int(tokens))}


_RUNS: Mapping[str, Callable[..., Awaitable[dict[str, Any]]]] = {
    "bare": _bare,
    "sdk": _sdk,
    "window-ingest": ingest_runs.ingest,
    "window-latency": window_runs.latency,
    "window-many-jobs": job_runs.many_jobs,
    "window-log-open": log_runs.log_open,
    "window-log-filter": log_runs.log_filter,
    "window-soak": soak_runs.soak,
    "window-long-line": window_runs.long_line,
    "window-idle": window_runs.idle,
}


def main() -> int:
    """Run the contender named on the command line."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication(sys.argv[:1])
    name, *arguments = sys.argv[1:]

    async def measured() -> int:
        waiting = Waiting()
        figures = await _RUNS[name](*arguments)
        figures["waiting_percent"] = waiting.percent()
        figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(figures))
        return 0

    return run_on_qt(application, measured)


if __name__ == "__main__":
    sys.exit(main())

"""The benchmarks by name: what runs, in which turn, and which figures come of it.

Machines are shared and noisy: contenders take turns, and ratios are made of neighbours.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Protocol

from app.protocol.peer import TokenSource
from tests.benchmarks.figures import Figure, contend, median
from tests.benchmarks.resume_store import resume_store

if TYPE_CHECKING:
    from collections.abc import Mapping


class Suite(Protocol):
    """A benchmark: runs for a while and yields figures."""

    def __call__(self, *, quick: bool) -> list[Figure]:
        """Measure; `quick` at a tenth of the size and once."""


def ingest(*, quick: bool) -> list[Figure]:
    """500,000 notifications over 1, 50 and 1,000 tokens into the real window, offscreen."""
    count, rounds = (50_000, 1) if quick else (500_000, 3)
    figures: list[Figure] = []
    for tokens in (1, 50, 1000):
        figures += _ingest(count, tokens, rounds)
    small = contend("window-ingest", count // 10, 50)
    full = contend("window-ingest", count, 50)
    growth = small["rate"] / full["rate"]
    return [*figures, Figure("cost_growth_tenth_to_full", growth, "x", "<= 1.25")]


def _ingest(count: int, tokens: int, rounds: int) -> list[Figure]:
    sdk_count = max(tokens, count // 20)
    bare, sdk, window = [], [], []
    for _ in range(rounds):
        bare.append(contend("bare", count, tokens))
        window.append(contend("window-ingest", count, tokens))
        sdk.append(contend("sdk", sdk_count, tokens))
    rate = median(window, "rate")
    to_bare = statistics.median(w["rate"] / b["rate"] for w, b in zip(window, bare, strict=True))
    to_sdk = statistics.median(w["rate"] / s["rate"] for w, s in zip(window, sdk, strict=True))
    prefix = f"{tokens}_tokens_"
    return [
        Figure(prefix + "messages_per_s", rate, "/s", ">= 150,000"),
        Figure(prefix + "bare_loop_per_s", median(bare, "rate"), "/s"),
        Figure(prefix + "sdk_per_s", median(sdk, "rate"), "/s"),
        Figure(prefix + "ratio_to_sdk", to_sdk, "x", ">= 15"),
        Figure(prefix + "ratio_to_bare_loop", to_bare, "x", ">= 0.3"),
        Figure(prefix + "lost", max(w["lost"] + w["lost_in_jobs"] for w in window), "", "0"),
        Figure(prefix + "late_p99", median(window, "late_p99_ms"), "ms", "<= 16"),
        Figure(prefix + "late_max", median(window, "late_max_ms"), "ms", "<= 50"),
        Figure(prefix + "late_max_with_calls", median(window, "whole_late_max_ms"), "ms"),
        Figure(prefix + "peak_memory", median(window, "peak_mb"), "MB"),
    ]


def latency(*, quick: bool) -> list[Figure]:
    """From a server's write to the changed snapshot and the painted row, at 10 ticks a second."""
    row = contend("window-latency", 30 if quick else 300)
    return [
        Figure("snapshot_p50", row["snapshot_p50_ms"], "ms"),
        Figure("snapshot_p99", row["snapshot_p99_ms"], "ms", "<= 2"),
        Figure("paint_p50", row["paint_p50_ms"], "ms"),
        Figure("paint_p99", row["paint_p99_ms"], "ms", "<= 120"),
        Figure("ticks", row["ticks"], ""),
    ]


_BARE_WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
application = QApplication(sys.argv)
window = QMainWindow()
window.resize(1280, 800)
window.show()
QTimer.singleShot(0, application.quit)
application.exec()
"""


def startup(*, quick: bool) -> list[Figure]:
    """Process start to the painted window beside a bare one, in turn; and ``--help``."""
    rounds = 3 if quick else 11
    bare, ours, text = [], [], []
    for _ in range(rounds):
        bare.append(_timed([sys.executable, "-c", _BARE_WINDOW]))
        ours.append(_timed([sys.executable, "-m", "tests.benchmarks.first_paint"]))
        text.append(_timed([sys.executable, "-m", "app", "--help"]))
    ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
    return [
        Figure("window", statistics.median(ours), "s"),
        Figure("bare_window", statistics.median(bare), "s"),
        Figure("ratio_to_bare_window", ratio, "x", "<= 3"),
        Figure("help", statistics.median(text), "s", "<= 0.3"),
    ]


def _timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return time.perf_counter() - started


def idle(*, quick: bool) -> list[Figure]:
    """The window with 50 silent running jobs for a minute."""
    row = contend("window-idle", 50, 10 if quick else 60)
    return [
        Figure("cpu", row["cpu_percent"], "% of a core", "<= 1.5"),
        Figure("running_jobs", row["running"], ""),
    ]


def long_line(*, quick: bool) -> list[Figure]:
    """One message of 64 MB, as one string and as many small items; and of a quarter of that."""
    size = 16 if quick else 64
    figures: list[Figure] = []
    for shape in ("text", "items"):
        quarter = contend("window-long-line", size // 4, shape)
        whole = contend("window-long-line", size, shape)
        growth = (whole["seconds"] / size) / (quarter["seconds"] / (size // 4))
        figures += [
            Figure(f"{shape}_seconds", whole["seconds"], "s"),
            Figure(f"{shape}_megabytes", whole["bytes"] / 2**20, "MB"),
            Figure(f"{shape}_cost_per_byte_growth", growth, "x", "<= 1.25"),
            Figure(f"{shape}_late_max", whole["late_max_ms"], "ms", "<= 100"),
            Figure(f"{shape}_peak_memory", whole["peak_mb"], "MB"),
        ]
    return figures


def tokens(*, quick: bool) -> list[Figure]:
    """Making progress tokens (NFR-3: under a millisecond each)."""
    count = 100_000 if quick else 1_000_000
    source = TokenSource(int(time.time() * 1000))
    started = time.perf_counter()
    made = {source.next() for _ in range(count)}
    spent = time.perf_counter() - started
    return [
        Figure("per_token", spent / count * 1e3, "ms", "< 1"),
        Figure("unique", len(made), "", f"{count:,}"),
    ]


SUITES: Mapping[str, Suite] = {
    "ingest": ingest,
    "latency": latency,
    "startup": startup,
    "long-line": long_line,
    "idle": idle,
    "tokens": tokens,
    "resume-store": resume_store,
}

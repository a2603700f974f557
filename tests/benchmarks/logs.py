"""The log at scale: a recording opened, and filtered, at a tenth and at the full size."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Figure, Size, contend, median, waiting
from tests.benchmarks.log_runs import FILTERS
from tests.benchmarks.recordings import write_recording

_TARGETS = {"field": "<= 0.3", "path": "<= 3", "path_in_every_frame": "<= 3", "text": "<= 2"}

_Row = dict[str, Any]


def log_open(size: Size) -> list[Figure]:
    """A recording of 1,000,000 frames opened in the real window, its log in sight."""
    count, rounds = size.pick((1_000_000, 3), (1_000_000, 1), (2_000, 1))
    pairs = _pairs("window-log-open", count, rounds)
    full = [row for _, row in pairs]
    return [
        Figure("frames", median(full, "frames"), ""),
        Figure("lost", max(abs(count - row["frames"]) for row in full), "", "0"),
        Figure("first_rows", median(full, "first_rows_s"), "s", "<= 0.5"),
        Figure("indexed", median(full, "indexed_s"), "s", "<= 5"),
        Figure("memory_per_frame", _memory_growth(pairs), "bytes", "<= 48"),
        Figure("memory", _megabytes(full), "MB"),
        Figure("late_p99", median(full, "late_p99_ms"), "ms"),
        Figure("late_max", median(full, "late_max_ms"), "ms"),
        Figure("cost_growth_tenth_to_full", _growth(pairs, "reading_s"), "x", "<= 1.25"),
        waiting(full),
    ]


def log_filter(size: Size) -> list[Figure]:
    """Filters over 1,000,000 frames in the real window, its log in sight."""
    count, rounds = size.pick((1_000_000, 3), (1_000_000, 1), (2_000, 1))
    pairs = _pairs("window-log-filter", count, rounds)
    full = [row for _, row in pairs]
    figures = []
    for name in FILTERS:
        figures += [
            Figure(name, median(full, f"{name}_s"), "s", _TARGETS[name]),
            Figure(f"{name}_found", median(full, f"{name}_found"), ""),
            Figure(f"{name}_late_p99", median(full, f"{name}_late_p99_ms"), "ms", "<= 16"),
            Figure(f"{name}_cost_growth", _growth(pairs, f"{name}_s"), "x", "<= 1.25"),
        ]
    return [
        *figures,
        Figure("late_p99", median(full, "late_p99_ms"), "ms", "<= 16"),
        Figure("late_max", median(full, "late_max_ms"), "ms"),
        waiting(full),
    ]


def _pairs(contender: str, count: int, rounds: int) -> list[tuple[_Row, _Row]]:
    """What the contender yields for a tenth of `count` frames and for all, in turn."""
    with tempfile.TemporaryDirectory(prefix="bench-recordings-") as folder:
        tenth, full = Path(folder, "tenth.mcprec"), Path(folder, "full.mcprec")
        write_recording(tenth, count // 10)
        write_recording(full, count)
        return [(contend(contender, tenth), contend(contender, full)) for _ in range(rounds)]


def _growth(pairs: list[tuple[_Row, _Row]], key: str) -> float:
    """How much more a frame costs in ten times as many."""
    return statistics.median(float(full[key] / (10 * tenth[key])) for tenth, full in pairs)


def _memory_growth(pairs: list[tuple[_Row, _Row]]) -> float | None:
    """Bytes that one more frame takes: with as many jobs, and the same window, in both."""
    if any(row["held_bytes"] is None for pair in pairs for row in pair):
        return None
    slopes = (
        (full["held_bytes"] - tenth["held_bytes"]) / (full["frames"] - tenth["frames"])
        for tenth, full in pairs
    )
    return max(0.0, statistics.median(map(float, slopes)))


def _megabytes(rows: list[_Row]) -> float | None:
    held = [row["held_bytes"] for row in rows if row["held_bytes"] is not None]
    return statistics.median(held) / 2**20 if held else None

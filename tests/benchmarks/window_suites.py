"""Suites of the window under load and at rest: latency, many of each, silence, one long line."""

from __future__ import annotations

from typing import Any, Final

from tests.benchmarks.figures import Figure, Size, contend, waiting
from tests.benchmarks.flooding_server import FLOODS


def latency(size: Size) -> list[Figure]:
    """From a server's write to the changed snapshot and the painted row, at 10 ticks a second."""
    row = contend("window-latency", size.pick(300, 30, 3))
    return [
        Figure("snapshot_p50", row["snapshot_p50_ms"], "ms"),
        Figure("snapshot_p99", row["snapshot_p99_ms"], "ms", "<= 2"),
        Figure("paint_p50", row["paint_p50_ms"], "ms"),
        Figure("paint_p99", row["paint_p99_ms"], "ms", "<= 120"),
        Figure("ticks", row["ticks"], ""),
        waiting([row]),
    ]


def many_jobs(size: Size) -> list[Figure]:
    """1,000 jobs at 10 ticks a second each, the window shown and its list scrolled."""
    jobs, seconds = size.pick((1000, 30.0), (1000, 5.0), (5, 0.3))
    row = contend("window-many-jobs", jobs, seconds, "start")
    by_progress = contend("window-many-jobs", jobs, seconds, "progress")
    return [
        Figure("late_p50", row["late_p50_ms"], "ms"),
        Figure("late_p99", row["late_p99_ms"], "ms", "<= 16"),
        Figure("late_max", row["late_max_ms"], "ms"),
        Figure("late_max_with_calls", row["whole_late_max_ms"], "ms", "<= 50"),
        Figure("own_work_p99", row["work_p99_ms"], "ms of a core", "<= 16"),
        Figure("own_work_max_with_calls", row["whole_work_max_ms"], "ms of a core", "<= 50"),
        Figure("sorted_late_p99", by_progress["late_p99_ms"], "ms", "<= 16"),
        Figure("sorted_late_max", by_progress["late_max_ms"], "ms"),
        Figure("sorted_own_work_p99", by_progress["work_p99_ms"], "ms of a core", "<= 16"),
        Figure("cpu", row["cpu_percent"], "% of a core", "<= 40"),
        Figure("sorted_cpu", by_progress["cpu_percent"], "% of a core", "<= 40"),
        Figure("ticks_per_s", row["ticks_per_s"], "/s", "10,000"),
        Figure("lost", row["lost"], "", "0"),
        Figure("scrolled_per_s", row["scrolled_per_s"], "/s"),
        Figure("peak_memory", row["peak_mb"], "MB"),
        waiting([row, by_progress]),
    ]


def many_servers(size: Size) -> list[Figure]:
    """50 servers connected at once, 20 of them busy with 100 ticks a second each, all ended."""
    servers, busy, seconds = size.pick((50, 20, 20.0), (50, 20, 3.0), (3, 2, 0.2))
    row = contend("window-many-servers", servers, busy, seconds)
    return [
        Figure("connect_all", row["connect_s"], "s"),
        Figure("disconnect_all", row["disconnect_s"], "s"),
        Figure("lost", row["lost"], "servers", "0"),
        Figure("late_p99", row["busy_late_p99_ms"], "ms", "<= 16"),
        Figure("late_max", row["busy_late_max_ms"], "ms", "<= 50"),
        Figure("window_late_p99", row["busy_felt_p99_ms"], "ms"),
        Figure("window_late_max", row["busy_felt_max_ms"], "ms"),
        Figure("own_work_p99", row["busy_work_p99_ms"], "ms of a core", "<= 16"),
        Figure("own_work_max", row["busy_work_max_ms"], "ms of a core", "<= 50"),
        Figure("connecting_late_p99", row["connect_late_p99_ms"], "ms"),
        Figure("connecting_late_max", row["connect_late_max_ms"], "ms"),
        Figure("connecting_own_work_max", row["connect_work_max_ms"], "ms of a core"),
        Figure("disconnecting_late_p99", row["disconnect_late_p99_ms"], "ms"),
        Figure("disconnecting_late_max", row["disconnect_late_max_ms"], "ms"),
        Figure("disconnecting_own_work_max", row["disconnect_work_max_ms"], "ms of a core"),
        Figure("cpu", row["cpu_percent"], "% of a core"),
        Figure("ticks_per_s", row["ticks_per_s"], "/s"),
        Figure("ticks_lost", row["ticks_lost"], "", "0"),
        Figure("peak_memory", row["peak_mb"], "MB"),
        waiting([row]),
    ]


_JOBS_IN_BURSTS: Final = 200


def floods(size: Size) -> list[Figure]:
    """Servers that flood the window with all that costs something, and 1,000 calls at once."""
    seconds = size.pick(10.0, 3.0, 0.05)
    figures: list[Figure] = []
    rows = []
    alone = size.pick([*FLOODS], [*FLOODS], [*FLOODS][:1])
    for kinds in (*((kind,) for kind in alone), ("logs", "stderr", "requests", "tokens")):
        name = "several" if len(kinds) > 1 else kinds[0].replace("-", "_")
        jobs = _JOBS_IN_BURSTS if name == "bursts" else 0
        row = contend("window-flood", ",".join(kinds), seconds, jobs)
        rows.append(row)
        figures += _felt(name, row)
        figures.append(Figure(f"{name}_messages_per_s", row["messages_per_s"], "/s"))
    for ending in ("answered", "failed", "lost", "cancelled")[: size.pick(4, 4, 1)]:
        calls = contend("window-calls", size.pick(1000, 1000, 5), ending)
        rows.append(calls)
        figures += _felt(f"calls_{ending}", calls)
        figures.append(Figure(f"calls_{ending}_seconds", calls["seconds"], "s"))
    return [*figures, waiting(rows)]


def _felt(name: str, row: dict[str, Any]) -> list[Figure]:
    return [
        Figure(f"{name}_late_p99", row["late_p99_ms"], "ms", "<= 16"),
        Figure(f"{name}_late_max", row["late_max_ms"], "ms", "<= 50"),
        Figure(f"{name}_own_work_p99", row["work_p99_ms"], "ms of a core", "<= 16"),
        Figure(f"{name}_own_work_max", row["work_max_ms"], "ms of a core", "<= 50"),
        Figure(f"{name}_lost", row["lost"], "", "0"),
        Figure(f"{name}_peak_memory", row["peak_mb"], "MB"),
    ]


def idle(size: Size) -> list[Figure]:
    """The window with 50 silent running jobs for a minute."""
    row = contend("window-idle", *size.pick((50, 60), (50, 10), (5, 0.5)))
    return [
        Figure("cpu", row["cpu_percent"], "% of a core", "<= 1.5"),
        Figure("running_jobs", row["running"], ""),
    ]


def long_line(size: Size) -> list[Figure]:
    """One message of 64 MB, as one string and as many small items; and of a quarter of that."""
    megabytes = size.pick(64, 16, 4)
    figures: list[Figure] = []
    for shape in ("text", "items"):
        quarter = contend("window-long-line", megabytes // 4, shape)
        whole = contend("window-long-line", megabytes, shape)
        growth = whole["seconds"] / (4 * quarter["seconds"])
        figures += [
            Figure(f"{shape}_seconds", whole["seconds"], "s"),
            Figure(f"{shape}_megabytes", whole["bytes"] / 2**20, "MB"),
            Figure(f"{shape}_cost_per_byte_growth", growth, "x", "<= 1.25"),
            Figure(f"{shape}_late_max", whole["late_max_ms"], "ms", "<= 100"),
            Figure(f"{shape}_peak_memory", whole["peak_mb"], "MB"),
        ]
    return figures

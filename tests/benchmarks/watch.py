"""The suite of watched clients: delay from the wire to the window, ten taps in a flood, silence."""

from __future__ import annotations

from tests.benchmarks.figures import Figure, Size, contend, waiting


def watch(size: Size) -> list[Figure]:
    """What taps record is soon in the window, and costs it no more than servers of its own."""
    slow = contend("watch-delay", size.pick(300, 50, 3))
    taps, rate, seconds = size.pick((10, 2000, 20.0), (10, 2000, 5.0), (2, 100, 0.3))
    busy = contend("watch-flood", taps, rate, seconds)
    silent = contend("watch-silence", taps, size.pick(30, 5, 0.3))
    return [
        Figure("delay_p50", slow["snapshot_p50_ms"], "ms"),
        Figure("delay_p99", slow["snapshot_p99_ms"], "ms", "<= 150"),
        Figure("painted_p50", slow["paint_p50_ms"], "ms"),
        Figure("painted_p99", slow["paint_p99_ms"], "ms", "<= 150"),
        Figure("flood_late_p99", busy["late_p99_ms"], "ms", "<= 16"),
        Figure("flood_late_max", busy["late_max_ms"], "ms"),
        Figure("flood_task_late_p99", busy["task_late_p99_ms"], "ms"),
        Figure("flood_own_work_p99", busy["work_p99_ms"], "ms of a core", "<= 16"),
        Figure("flood_own_work_max", busy["work_max_ms"], "ms of a core"),
        Figure("flood_delay_p50", busy["delay_p50_ms"], "ms"),
        Figure("flood_delay_p99", busy["delay_p99_ms"], "ms"),
        Figure("flood_ticks_per_s", busy["ticks_per_s"], "/s"),
        Figure("flood_lost", busy["lost"], "", "0"),
        Figure("flood_cpu", busy["cpu_percent"], "% of a core"),
        Figure("silent_cpu", silent["cpu_percent"], "% of a core"),
        Figure("silent_taps", silent["live"], ""),
        waiting([busy]),
    ]

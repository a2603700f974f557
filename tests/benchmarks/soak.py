"""Ten million frames: recorded, and browsed while they come in."""

from __future__ import annotations

from tests.benchmarks.figures import Figure, Size, contend, waiting


def soak(size: Size) -> list[Figure]:
    """10,000,000 frames into the real window; memory counts from the first tenth on."""
    count = size.pick(10_000_000, 1_000_000, 2_000)
    row = contend("window-soak", count, count // 10)
    return [
        Figure("frames", row["frames"], ""),
        Figure("lost", row["lost"] + row["lost_on_disk"], "", "0"),
        Figure("memory_growth_per_frame", row["growth_bytes"], "bytes", "<= 40"),
        Figure("peak_memory", row["peak_mb"], "MB"),
        Figure("recorded", row["recorded_bytes"] / 2**20, "MB"),
        Figure("messages_per_s", row["rate"], "/s"),
        Figure("scrolled_per_s", row["scrolled_per_s"], "/s"),
        Figure("late_p99", row["late_p99_ms"], "ms", "<= 16"),
        Figure("late_max", row["late_max_ms"], "ms"),
        waiting([row]),
    ]

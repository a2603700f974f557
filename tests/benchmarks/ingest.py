"""How fast messages come in, beside a bare loop and the official SDK's client.

Machines are shared and noisy: contenders take turns, and ratios are made of neighbours.
"""

from __future__ import annotations

import statistics

from tests.benchmarks.figures import Figure, Size, contend, median


def ingest(size: Size) -> list[Figure]:
    """500,000 notifications over 1, 50 and 1,000 tokens into the real window, offscreen."""
    count, rounds = size.pick((500_000, 3), (50_000, 1), (20_000, 1))
    figures: list[Figure] = []
    for tokens in size.pick((1, 50, 1000), (1, 50, 1000), (50,)):
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

"""How fast messages come in, beside a bare loop and the official SDK's client.

Machines are shared and noisy: contenders take turns, and ratios are made of neighbours.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Size, contend, median, ratio, waiting

if TYPE_CHECKING:
    _Rows = list[dict[str, Any]]


def ingest(size: Size) -> list[Figure]:
    """500,000 notifications over 1, 50 and 1,000 tokens into the real window, recorded."""
    count, rounds = size.pick((500_000, 3), (50_000, 1), (2_000, 1))
    figures: list[Figure] = []
    for tokens in size.pick((1, 50, 1000), (1, 50, 1000), (50,)):
        figures += _ingest(count, tokens, rounds)
    return [*figures, _growth(size.pick(500_000, 500_000, 2_000), rounds)]


def _ingest(count: int, tokens: int, rounds: int) -> list[Figure]:
    bare, window, unrecorded, sdk = _contest(count, tokens, rounds)
    losses = ("lost", "lost_in_jobs", "lost_on_disk")
    figures = [
        Figure("messages_per_s", median(window, "rate"), "/s", ">= 150,000"),
        Figure("bare_loop_per_s", median(bare, "rate"), "/s"),
        Figure("sdk_per_s", median(sdk, "rate"), "/s"),
        Figure("ratio_to_sdk", ratio(window, sdk), "x", ">= 15"),
        Figure("ratio_to_bare_loop", ratio(window, bare), "x", ">= 0.3"),
        Figure("unrecorded_per_s", median(unrecorded, "rate"), "/s"),
        Figure("unrecorded_to_recorded", ratio(unrecorded, window), "x"),
        Figure("lost", max(sum(row[loss] for loss in losses) for row in window), "", "0"),
        Figure("late_p99", median(window, "late_p99_ms"), "ms", "<= 16"),
        Figure("late_max", median(window, "late_max_ms"), "ms", "<= 50"),
        Figure("late_max_with_calls", median(window, "whole_late_max_ms"), "ms"),
        Figure("unrecorded_late_p99", median(unrecorded, "late_p99_ms"), "ms"),
        Figure("peak_memory", median(window, "peak_mb"), "MB"),
        waiting(window),
    ]
    return [figure._replace(name=f"{tokens}_tokens_{figure.name}") for figure in figures]


def _contest(count: int, tokens: int, rounds: int) -> tuple[_Rows, _Rows, _Rows, _Rows]:
    """Bare loop, window, window that records nothing, SDK: in turn, round after round."""
    sdk_count = max(tokens, count // 20)
    turns = [
        (
            contend("bare", count, tokens),
            contend("window-ingest", count, tokens, "recorded"),
            contend("window-ingest", count, tokens, "unrecorded"),
            contend("sdk", sdk_count, tokens),
        )
        for _ in range(rounds)
    ]
    bare, window, unrecorded, sdk = zip(*turns, strict=True)
    return list(bare), list(window), list(unrecorded), list(sdk)


def _growth(count: int, rounds: int) -> Figure:
    """What a message costs in a full flood, compared with one of a tenth."""
    pairs = [
        (
            contend("window-ingest", count // 10, 50, "recorded"),
            contend("window-ingest", count, 50, "recorded"),
        )
        for _ in range(rounds)
    ]
    growth = statistics.median(tenth["rate"] / full["rate"] for tenth, full in pairs)
    return Figure("cost_growth_tenth_to_full", growth, "x", "<= 1.25")

"""How fast messages come in, beside a bare loop and the official SDK's client.

Machines are shared and noisy: contenders take turns, and ratios are made of neighbours.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Size, contend, median, ratio, time_ratio, waiting
from tests.benchmarks.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    _Rows = list[dict[str, Any]]

_TOKENS = (1, 50, 1000)
_USUAL = 50
_LOSSES = ("lost", "lost_in_jobs", "lost_on_disk")
_SDK_SHARE = 50
"""The SDK's client is given so much less to do, or it would take minutes."""


def ingest(size: Size, shapes: Sequence[str] = ()) -> list[Figure]:
    """500,000 messages of each shape over 1, 50 and 1,000 tokens into the real window, recorded."""
    figures: list[Figure] = []
    for tokens, shape in _cases(size, shapes):
        figures += _ingest(size, tokens, shape)
    if shapes:
        return figures
    rounds = size.pick(3, 1, 1)
    return [*figures, _growth(size.pick(500_000, 50_000, 2_000), rounds)]


def _cases(size: Size, shapes: Sequence[str]) -> list[tuple[int, str]]:
    """Which shapes to measure over how many tokens; a look takes less than two minutes."""
    every = shapes or tuple(SHAPES)
    whole = [(tokens, shape) for tokens in _TOKENS for shape in every]
    quick = [case for case in whole if case[0] == _USUAL or case[1] == "plain"]
    tiny = [(_USUAL, shape) for shape in ("plain", "mix", "batches")]
    return size.pick(whole, quick, tiny)


def _ingest(size: Size, tokens: int, shape: str) -> list[Figure]:
    count, rounds = size.pick((500_000, 3), (50_000, 1), (2_000, 1))
    bare, window = _contest(count, tokens, shape, rounds)
    due = ">= 0.3" if shape == "plain" else ""
    rate = "" if SHAPES[shape].batch else ">= 100,000"
    figures = [
        Figure("messages_per_s", median(window, "rate"), "/s", rate),
        Figure("bare_loop_per_s", median(bare, "rate"), "/s"),
        Figure("ratio_to_bare_loop", ratio(window, bare), "x", due),
        Figure("ratio_of_processor_time", time_ratio(window, bare), "x"),
        Figure("lost", max(sum(row[loss] for loss in _LOSSES) for row in window), "", "0"),
        Figure("late_p99", median(window, "late_p99_ms"), "ms", "<= 16"),
        Figure("late_max", median(window, "late_max_ms"), "ms", "<= 50"),
        Figure("own_work_p99", median(window, "work_p99_ms"), "ms of a core", "<= 16"),
        Figure("late_max_with_calls", median(window, "whole_late_max_ms"), "ms"),
        Figure("peak_memory", median(window, "peak_mb"), "MB"),
        waiting(window),
    ]
    if shape == "plain":
        figures += _compared(count, tokens, window)
    return [figure._replace(name=f"{tokens}_tokens_{shape}_{figure.name}") for figure in figures]


def _contest(count: int, tokens: int, shape: str, rounds: int) -> tuple[_Rows, _Rows]:
    """Bare loop and window in turn, round after round."""
    turns = [
        (
            contend("bare", count, tokens, shape),
            contend("window-ingest", count, tokens, shape, "recorded"),
        )
        for _ in range(rounds)
    ]
    bare, window = zip(*turns, strict=True)
    return list(bare), list(window)


def _compared(count: int, tokens: int, window: _Rows) -> list[Figure]:
    """The window beside one that records nothing, and beside the official SDK's client."""
    unrecorded = [contend("window-ingest", count, tokens, "plain", "unrecorded") for _ in window]
    sdk = [contend("sdk", max(tokens, count // _SDK_SHARE), tokens, "plain") for _ in window]
    return [
        Figure("sdk_per_s", median(sdk, "rate"), "/s"),
        Figure("ratio_to_sdk", ratio(window, sdk), "x", ">= 40"),
        Figure("unrecorded_per_s", median(unrecorded, "rate"), "/s"),
        Figure("unrecorded_to_recorded", ratio(unrecorded, window), "x"),
        Figure("unrecorded_late_p99", median(unrecorded, "late_p99_ms"), "ms"),
    ]


def _growth(count: int, rounds: int) -> Figure:
    """What a message costs in a full flood, compared with one of a tenth."""
    pairs = [
        (
            contend("window-ingest", count // 10, 50, "plain", "recorded"),
            contend("window-ingest", count, 50, "plain", "recorded"),
        )
        for _ in range(rounds)
    ]
    growth = statistics.median(tenth["rate"] / full["rate"] for tenth, full in pairs)
    return Figure("cost_growth_tenth_to_full", growth, "x", "<= 1.25")

"""How fast messages come in over HTTP, beside a bare loop and the official SDK's client.

Contenders take turns, as in `ingest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Size, contend, median, ratio, time_ratio, waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    _Rows = Sequence[dict[str, Any]]

_LOSSES = ("lost", "lost_in_jobs", "lost_on_disk")
_SDK_SHARE = 50
"""The SDK's client is given so much less to do, or it would take minutes."""


def http(size: Size) -> list[Figure]:
    """One event stream of 500,000 notifications into the real window, recorded; also with ids."""
    count, rounds = size.pick((500_000, 3), (100_000, 1), (2_000, 1))
    turns = [
        (
            contend("bare-stream", count, "plain"),
            contend("window-stream", count, "plain"),
            contend("window-ingest", count, 1, "plain", "recorded"),
            contend("bare-stream", count, "ids"),
            contend("window-stream", count, "ids"),
            contend("sdk-stream", count // _SDK_SHARE, "plain"),
        )
        for _ in range(rounds)
    ]
    bare, window, stdio, bare_ids, ids, sdk = zip(*turns, strict=True)
    return [
        *_rates("", bare, window),
        *_rates("with_ids_", bare_ids, ids),
        Figure("sdk_per_s", median(sdk, "rate"), "/s"),
        Figure("ratio_to_sdk", ratio(window, sdk), "x"),
        Figure("ratio_to_stdio", ratio(window, stdio), "x"),
        Figure("peak_memory", median(window, "peak_mb"), "MB"),
        waiting([*window, *ids]),
    ]


def _rates(name: str, bare: _Rows, window: _Rows) -> list[Figure]:
    figures = [
        Figure("messages_per_s", median(window, "rate"), "/s"),
        Figure("bare_loop_per_s", median(bare, "rate"), "/s"),
        Figure("ratio_to_bare_loop", ratio(window, bare), "x", ">= 0.3"),
        Figure("ratio_of_processor_time", time_ratio(window, bare), "x"),
        Figure("lost", max(sum(row[loss] for loss in _LOSSES) for row in window), "", "0"),
        Figure("late_p99", median(window, "late_p99_ms"), "ms", "<= 16"),
        Figure("late_max", median(window, "late_max_ms"), "ms", "<= 50"),
        Figure("own_work_p99", median(window, "work_p99_ms"), "ms of a core", "<= 16"),
    ]
    return [figure._replace(name=name + figure.name) for figure in figures]

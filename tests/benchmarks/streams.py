"""How fast messages come in over HTTP, beside the bare HTTP client and the official SDK's client.

Contenders take turns, as in `ingest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Size, contend, median, ratio, waiting

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
            contend("window-stream", count, "ids"),
            contend("sdk-stream", count // _SDK_SHARE, "plain"),
        )
        for _ in range(rounds)
    ]
    bare, window, stdio, ids, sdk = zip(*turns, strict=True)
    return [
        Figure("messages_per_s", median(window, "rate"), "/s", ">= 150,000"),
        Figure("with_ids_per_s", median(ids, "rate"), "/s", ">= 80,000"),
        Figure("sdk_per_s", median(sdk, "rate"), "/s"),
        Figure("bare_client_per_s", median(bare, "rate"), "/s"),
        Figure("ratio_to_sdk", ratio(window, sdk), "x"),
        Figure("ratio_to_bare_client", ratio(window, bare), "x"),
        Figure("ratio_to_stdio", ratio(window, stdio), "x"),
        *_losses(window, ids),
        *_lateness(window, ids),
        Figure("peak_memory", median(window, "peak_mb"), "MB"),
        waiting([*window, *ids]),
    ]


def _losses(window: _Rows, ids: _Rows) -> list[Figure]:
    counts = {"lost": window, "with_ids_lost": ids}
    return [
        Figure(name, max(sum(row[loss] for loss in _LOSSES) for row in rows), "", "0")
        for name, rows in counts.items()
    ]


def _lateness(window: _Rows, ids: _Rows) -> list[Figure]:
    return [
        Figure("late_p99", median(window, "late_p99_ms"), "ms", "<= 16"),
        Figure("late_max", median(window, "late_max_ms"), "ms", "<= 50"),
        Figure("with_ids_late_p99", median(ids, "late_p99_ms"), "ms", "<= 16"),
        Figure("with_ids_late_max", median(ids, "late_max_ms"), "ms", "<= 50"),
    ]

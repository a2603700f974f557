"""How long making progress tokens takes."""

from __future__ import annotations

import time

from mcp_progress_monitor.protocol.peer import TokenSource
from tests.benchmarks.figures import Figure, Size


def tokens(size: Size) -> list[Figure]:
    """Making progress tokens (NFR-3: under a millisecond each)."""
    count = size.pick(1_000_000, 100_000, 1_000)
    source = TokenSource(int(time.time() * 1000))
    started = time.perf_counter()
    made = {source.next() for _ in range(count)}
    spent = time.perf_counter() - started
    return [
        Figure("per_token", spent / count * 1e3, "ms", "< 1"),
        Figure("unique", len(made), "", f"{count:,}"),
    ]

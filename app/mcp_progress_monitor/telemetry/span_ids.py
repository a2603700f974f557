"""Chooses the ids of spans before they begin to be reported."""

from __future__ import annotations

import hashlib
import os

from mcp_progress_monitor.protocol.trace_context import TraceContext


class SpanIds:
    """Chooses the ids of spans: at random, or the same each time for a recording (`seed`)."""

    def __init__(self, seed: str | None = None) -> None:
        self._seed = seed

    def span(self, key: str, parent: TraceContext | None = None) -> TraceContext:
        """Choose a span in the trace of `parent`, or in a new one; `key` names it, if seeded."""
        if self._seed is None:
            raw = os.urandom(24)
        else:
            raw = hashlib.sha256(f"{self._seed}\0{key}".encode(errors="replace")).digest()
        span_id = int.from_bytes(raw[:8]) or 1
        if parent is not None:
            return TraceContext(parent.trace_id, span_id, parent.flags)
        return TraceContext(int.from_bytes(raw[8:24]) or 1, span_id)

"""How late a 5 ms timer fires: what a user feels as a stutter."""

from __future__ import annotations

import asyncio
import math
import time
from typing import NamedTuple

PERIOD_S = 0.005


class Lateness(NamedTuple):
    """How late the beats were, in milliseconds."""

    p50: float
    p99: float
    maximum: float


class Heartbeat:
    """Beats every 5 ms on the running loop until stopped; keeps how late each beat was."""

    def __init__(self) -> None:
        self._beats: list[tuple[float, float]] = []

    async def run(self) -> None:
        """Beat for ever; to be started in a task group and cancelled."""
        while True:
            due = time.perf_counter() + PERIOD_S
            await asyncio.sleep(PERIOD_S)
            now = time.perf_counter()
            self._beats.append((now, max(0.0, now - due)))

    def lateness(self, since: float = -math.inf, until: float = math.inf) -> Lateness:
        """Percentiles of the beats between two moments of `time.perf_counter`."""
        late = sorted(late for at, late in self._beats if since <= at <= until) or [0.0]
        return Lateness(percentile(late, 0.50) * 1e3, percentile(late, 0.99) * 1e3, late[-1] * 1e3)


def percentile(ordered: list[float], share: float) -> float:
    """The value below which `share` of the ordered values lie (nearest rank)."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

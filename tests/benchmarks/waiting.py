"""How much of its time a process could not run because others had the processor."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

_STATISTICS: Final = Path("/proc/self/schedstat")


class Waiting:
    """Measures from its making on; tells how far lateness is the machine's and not ours."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._waited = _waited_s()

    def percent(self) -> float | None:
        """The share of the time that the main thread waited for a processor; None if unknown."""
        waited = _waited_s()
        if waited is None or self._waited is None:
            return None
        return (waited - self._waited) / (time.perf_counter() - self._began) * 100


def _waited_s() -> float | None:
    """Seconds for which the main thread was ready and did not run. Linux alone tells it."""
    if not _STATISTICS.exists():
        return None
    _ran, waited, *_ = _STATISTICS.read_text().split()
    return int(waited) / 1e9

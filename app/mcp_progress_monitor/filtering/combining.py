"""`and`, `or`, `not` of tests: each looks only at rows that those before it left open."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.filtering.compiling import Test
    from mcp_progress_monitor.filtering.stride import Rows, Stride, Work


class AllTest:
    """Chooses what all tests choose; the cheapest comes first."""

    def __init__(self, parts: Iterable[Test]) -> None:
        self._parts = sorted(parts, key=attrgetter("cost"))
        self.cost: int = self._parts[-1].cost

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
        for part in self._parts:
            if not rows:
                break
            rows = yield from part.select(stride, rows)
        return rows


class AnyTest:
    """Chooses what one of the tests chooses; the dearest see only what is left."""

    def __init__(self, parts: Iterable[Test]) -> None:
        self._parts = sorted(parts, key=attrgetter("cost"))
        self.cost: int = self._parts[-1].cost

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
        found: list[int] = []
        for part in self._parts:
            hits = yield from part.select(stride, rows)
            if hits:
                found += hits
                rows = _without(rows, hits)
            if not rows:
                break
        return sorted(found)


class NotTest:
    """Chooses what a test leaves out."""

    def __init__(self, part: Test) -> None:
        self._part = part
        self.cost: int = part.cost

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
        hits = yield from self._part.select(stride, rows)
        return _without(rows, hits)


def _without(rows: Rows, hits: Rows) -> Rows:
    gone = set(hits)
    return [row for row in rows if row not in gone]

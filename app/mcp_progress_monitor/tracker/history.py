"""A job's whole course in bounded memory, thinned so that its chart keeps its shape."""

from __future__ import annotations

from array import array
from typing import Final

from mcp_progress_monitor.tracker.snapshot import ChartPoint

CAPACITY: Final = 1024
"""Most points a chart has; an even number."""
_FIRST_STRETCH_S: Final = 0.05
_WIDTH: Final = 4
_FULL: Final = CAPACITY * _WIDTH


class Chart:
    """Stretches of equal length in time, each with its lowest, highest and last value.

    When all places are taken, neighbours are joined in pairs and the stretch doubles: the lowest
    and highest value ever seen and the newest one are never lost. Flat doubles: 32 bytes a point.
    """

    __slots__ = ("_cells", "_stretch_s", "_until")

    def __init__(self) -> None:
        self._cells = array("d")
        self._stretch_s = _FIRST_STRETCH_S
        self._until = float("-inf")

    def add(self, at: float, value: float) -> None:
        """Take a value seen at `at`; times are expected not to go back."""
        cells = self._cells
        if at < self._until:
            cells[-4] = at
            if value < cells[-3]:
                cells[-3] = value
            elif value > cells[-2]:
                cells[-2] = value
            cells[-1] = value
            return
        if len(cells) >= _FULL:
            self.condense()
            cells = self._cells
        self._until = at + self._stretch_s
        cells.append(at)
        cells.append(value)
        cells.append(value)
        cells.append(value)

    def condense(self) -> None:
        """Join neighbours in pairs; half the points remain, each twice as long."""
        points = self.points()
        pairs = zip(points[::2], points[1::2], strict=False)
        joined = [_join(first, second) for first, second in pairs]
        if len(points) % 2:
            joined.append(points[-1])
        self._cells = array("d", (number for point in joined for number in point))
        self._stretch_s *= 2

    def condense_to(self, most: int) -> None:
        """Keep at most `most` points (at least one)."""
        while len(self) > max(most, 1):
            self.condense()

    def __len__(self) -> int:
        return len(self._cells) // _WIDTH

    def points(self) -> list[ChartPoint]:
        """All points, oldest first."""
        cells = iter(self._cells)
        return [ChartPoint(*cell) for cell in zip(cells, cells, cells, cells, strict=True)]


def _join(first: ChartPoint, second: ChartPoint) -> ChartPoint:
    """Two neighbouring stretches as one."""
    low, high = min(first.low, second.low), max(first.high, second.high)
    return ChartPoint(second.at, low, high, second.last)

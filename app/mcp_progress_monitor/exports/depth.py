"""How much of a job a report tells."""

from __future__ import annotations

from typing import Final, NamedTuple


class Depth(NamedTuple):
    """How much of a job is told: rows and messages at either end, and characters of a value."""

    ticks: int
    between: int
    messages: int
    characters: int

    def thinned(self, count: int) -> list[int]:
        """Which of `count` rows are shown: the first, the last, and some evenly between."""
        ends, between = self.ticks, self.between
        if count <= 2 * ends + between:
            return list(range(count))
        step = (count - 2 * ends) / (between + 1)
        middle = (ends + int(step * n) for n in range(1, between + 1))
        return [*range(ends), *middle, *range(count - ends, count)]


WHOLE: Final = Depth(ticks=20, between=60, messages=15, characters=20_000)
BRIEF: Final = Depth(ticks=5, between=10, messages=3, characters=4_000)

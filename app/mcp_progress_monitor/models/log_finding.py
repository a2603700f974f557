"""The search behind a filtered log: goes on as the log grows, hands over what it has found."""

from __future__ import annotations

import bisect
from array import array
from typing import TYPE_CHECKING

from mcp_progress_monitor.filtering.compiling import compiled
from mcp_progress_monitor.filtering.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mcp_progress_monitor.filtering.chosen import LogFilter
    from mcp_progress_monitor.recording.timeline import Timeline


class LogFinding:
    """Places that a filter lets through, from one on, in rising order.

    A search may run ahead of the `end` that the view knows, because the timeline grows between two
    batches or because the view is paused: what it finds there is kept until the end has come.

    Raises:
        FilterError: the filter's text has a mistake.
    """

    def __init__(
        self,
        wanted: LogFilter,
        timeline: Timeline,
        requests_of: Callable[[int], Collection[int]],
        place: int,
    ) -> None:
        self._search = Search(timeline, compiled(wanted, timeline, requests_of), place)
        self._found = array("q")

    @property
    def undecided(self) -> int:
        """How many texts a regular expression took too long for: they are taken for no match."""
        return self._search.timed_out

    def left(self, first: int, end: int) -> int:
        """How many frames between `first` and `end` have not been searched."""
        return max(0, end - max(self._search.place, first))

    def run(self, end: int, budget_s: float) -> None:
        """Search for about `budget_s` seconds, unless `end` has been reached."""
        if self._search.place < end:
            self._found.extend(self._search.run(budget_s))

    def take(self, first: int, end: int) -> array[int]:
        """Hand over what was found since the last time between `first` and `end`."""
        until = bisect.bisect_left(self._found, end)
        taken = self._found[bisect.bisect_left(self._found, first) : until]
        self._found = self._found[until:]
        return taken

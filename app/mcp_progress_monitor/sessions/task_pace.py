"""How often a task is looked at: at its server's interval within bounds, seldomer after errors."""

from __future__ import annotations

from typing import Final

SHORTEST_S: Final = 0.1
"""Shortest time between two looks, whatever a server or its notifications say."""
LONGEST_S: Final = 300.0
USUAL_S: Final = 1.0
"""The interval where the server suggests none."""
_MOST_DOUBLINGS: Final = 6


class Pace:
    """The time between two looks at one task (2025-11-25 "Tasks", "Polling")."""

    def __init__(self) -> None:
        self._interval_s = USUAL_S
        self._failures = 0

    def note(self, poll_ms: float | None) -> None:
        """A look went well; `poll_ms` is the interval that the server suggests, if it does."""
        self._failures = 0
        wanted_ms = USUAL_S * 1000 if poll_ms is None else poll_ms
        # First the bounds: a server may send a number that no float can hold.
        self._interval_s = min(max(wanted_ms, SHORTEST_S * 1000), LONGEST_S * 1000) / 1000

    def note_failure(self) -> None:
        """A look failed: leave the server alone for longer, twice as long each time."""
        self._failures += 1

    @property
    def pause_s(self) -> float:
        """Seconds from one look to the next."""
        doubled_s: float = self._interval_s * 2 ** min(self._failures, _MOST_DOUBLINGS)
        return min(doubled_s, LONGEST_S)

"""When something may be told again: so many times a second, and no less for being told late."""

from __future__ import annotations

import math
from typing import Final

INTERVAL_MS: Final = 100
"""Time between two batches of a kind: at most ten updates a second for each token."""
FORGIVEN_MS: Final = 10
"""What a batch may be late, or take, and still the next keeps its moment.

Were every millisecond of a timer added up, news that come ten times a second would fall behind
their batches more each time: then half an interval late on average, where they could be told at
once, and painted just when the next come in.
"""


class Cadence:
    """The moments of one kind of batches, in milliseconds of any clock that only goes forward."""

    def __init__(self) -> None:
        self._due = -math.inf
        self._begun = -math.inf

    def told(self, begun: float, ended: float, *, has_ticks: bool = True) -> None:
        """Take note of a batch. One that was late or long moves those after it: none is made up.

        After a pause one without ticks leaves the next its moment: what begins tells so first, and
        its first tick need not wait for that.
        """
        pause, self._begun = begun - self._begun, begun
        if not has_ticks and pause >= 2 * INTERVAL_MS:
            self._due = ended
            return
        on_time = self._due if begun - self._due <= FORGIVEN_MS else begun
        self._due = max(on_time, ended - FORGIVEN_MS) + INTERVAL_MS

    def wait_ms(self, now: float) -> int:
        """How long until the next, in whole milliseconds as timers have them."""
        return math.ceil(max(0.0, self._due - now))

    def overdue_ms(self, now: float) -> float:
        """How long ago the next was due; infinite before the first."""
        return now - self._due

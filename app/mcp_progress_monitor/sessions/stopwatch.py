"""A limit of processor time for work on what a server sent."""

from __future__ import annotations

import time
from typing import Final

QUICK_S: Final = 0.04
"""For work between two events of the window."""
PATIENT_S: Final = 3.0
"""For work in a thread, while the program goes on."""


class TimeUpError(Exception):
    """The time that was given is used up."""


class Stopwatch:
    """Ends work that calls `tick` often. Counts the processor time of the thread it is made in.

    Processor time, so that a busy machine changes no result.
    """

    __slots__ = ("_end", "_is_cancelled")

    def __init__(self, limit_s: float = QUICK_S) -> None:
        """Start."""
        self._end = time.thread_time() + limit_s
        self._is_cancelled = False

    @property
    def left_s(self) -> float:
        """Seconds until the time is up; 0 once it is."""
        return 0.0 if self._is_cancelled else max(0.0, self._end - time.thread_time())

    def tick(self) -> None:
        """Go on. `TimeUpError` when there is no time left."""
        if self._is_cancelled or time.thread_time() > self._end:
            raise TimeUpError

    def cancel(self) -> None:
        """Let the time be up now; from any thread."""
        self._is_cancelled = True

"""Phases: the stretches of a job's progress under one message.

Messages that differ in their numbers only ("Processing item 12 of 500") are one phase. They are
compared without digits, points, commas and spaces, over their first 200 characters. That costs a
microsecond, so the tracker asks only when a message differs from the job's newest, for a bounded
number of ticks in a chunk, and again at each rate sample and at the job's end: in a flood a phase
may be found some milliseconds late, and one that comes and goes within a chunk be passed over.
"""

from __future__ import annotations

import collections
from typing import Final

from app.tracker.snapshot import Phase

CAPACITY: Final = 500
_COMPARED: Final = 200
_WITHOUT_NUMBERS: Final = str.maketrans("", "", "0123456789., ")


class Phases:
    """The newest phases of one job, at most 500; older ones are dropped and counted."""

    __slots__ = ("_began_at", "_began_count", "_ended", "_key", "_message", "_seen", "dropped")

    def __init__(self) -> None:
        self._ended: collections.deque[Phase] = collections.deque(maxlen=CAPACITY - 1)
        self._seen: str | None = None
        self._key: str | None = None
        self._message = ""
        self._began_at = 0.0
        self._began_count = 0
        self.dropped = 0

    def turn(self, message: str, at: float, count: int) -> None:
        """Look at the message of the job's tick number `count`: it may begin a phase."""
        if message == self._seen:
            return
        self._seen = message
        key = message[:_COMPARED].translate(_WITHOUT_NUMBERS)
        if key == self._key:
            return
        self._close(at, count)
        self._key = key
        self._message = message
        self._began_at = at
        self._began_count = count

    def _close(self, at: float, count: int) -> None:
        """Put the phase under way, if there is one, among the ended ones."""
        if self._key is None:
            return
        if len(self._ended) == self._ended.maxlen:
            self.dropped += 1
        ticks = count - self._began_count
        self._ended.append(Phase(self._message, self._began_at, at, ticks))

    def shrink(self, most: int) -> None:
        """Keep the newest `most` (at least one)."""
        while len(self._ended) >= max(most, 1):
            self._ended.popleft()
            self.dropped += 1

    def read(self, count: int, ended_at: float | None) -> list[Phase]:
        """All phases, oldest first, after `count` ticks; `ended_at` is the job's end, if any."""
        phases = list(self._ended)
        if self._key is not None:
            ticks = count - self._began_count + 1
            phases.append(Phase(self._message, self._began_at, ended_at, ticks))
        return phases

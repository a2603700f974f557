"""Phases: the stretches of a job's progress under one message.

Messages that differ in their numbers only ("Processing item 12 of 500") are one phase. They are
compared without digits, points, commas and spaces, over their first 200 characters. That costs a
microsecond, so the tracker asks only when a message differs from the job's newest, for a bounded
number of ticks in a chunk, and again at each rate sample and at the job's end: in a flood a phase
may be found some milliseconds late, and one that comes and goes within a chunk be passed over.
"""

from __future__ import annotations

import collections
import re
from typing import Final

from mcp_progress_monitor.tracker.snapshot import Phase

CAPACITY: Final = 500
_COMPARED: Final = 200
_WITHOUT_NUMBERS: Final = str.maketrans("", "", "0123456789., ")
_NUMBER: Final = re.compile(r"([0-9]+(?:[.,][0-9]+)*)")
_GAP: Final = "…"
_JOINTS: Final = " ([{<:;,.=#/|·–—-"  # noqa: RUF001 - the dashes and points that servers do send
_PAIRS: Final = ("()", "[]", "{}", "<>")


class Phases:
    """The newest phases of one job, at most 500; older ones are dropped and counted."""

    __slots__ = ("_began_at", "_began_count", "_ended", "_first", "_key", "_newest", "dropped")

    def __init__(self) -> None:
        self._ended: collections.deque[Phase] = collections.deque(maxlen=CAPACITY - 1)
        self._key: str | None = None
        self._first = ""
        self._newest: str | None = None
        self._began_at = 0.0
        self._began_count = 0
        self.dropped = 0

    def turn(self, message: str, at: float, count: int) -> None:
        """Look at the message of the job's tick number `count`: it may begin a phase."""
        if message == self._newest:
            return
        key = message[:_COMPARED].translate(_WITHOUT_NUMBERS)
        if key != self._key:
            self._close(at, count)
            self._key = key
            self._first = message
            self._began_at = at
            self._began_count = count
        self._newest = message

    def _close(self, at: float, count: int) -> None:
        """Put the phase under way, if there is one, among the ended ones."""
        if self._key is None:
            return
        if len(self._ended) == self._ended.maxlen:
            self.dropped += 1
        ticks = count - self._began_count
        self._ended.append(Phase(self._name(), self._began_at, at, ticks))

    def _name(self) -> str:
        """What the messages of the phase under way have in common."""
        return common_words(self._first, self._first if self._newest is None else self._newest)

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
            phases.append(Phase(self._name(), self._began_at, ended_at, ticks))
        return phases


def common_words(first: str, newest: str) -> str:
    """What stays of two messages that differ in their numbers only, bounded.

    Numbers that differ become "…": "Step … of 64". Where no word follows the first of them, what
    stands before it is enough: "Compiling (1/20)" and "Compiling (7/20)" are "Compiling".
    """
    short = first[:_COMPARED]
    bounded = short if short == first else short + _GAP
    if first == newest:
        return bounded
    # With an odd place each, numbers; the words between them at the even ones.
    mine, others = _NUMBER.split(short), _NUMBER.split(newest[:_COMPARED])
    if len(mine) != len(others):
        return bounded
    numbers = [one if one == other else _GAP for one, other in zip(mine, others, strict=True)]
    mine[1::2] = numbers[1::2]
    whole = "".join(mine)
    return _without_tail(whole) or (whole if short == first else whole + _GAP)


def _without_tail(words: str) -> str:
    """What stands before the first gap, if no letter follows it and no bracket is cut open."""
    head, gap, rest = words.partition(_GAP)
    head = head.rstrip(_JOINTS)
    is_cut_open = any(head.count(left) > head.count(right) for left, right in _PAIRS)
    is_needed = not gap or is_cut_open or any(map(str.isalpha, rest))
    return "" if is_needed else head

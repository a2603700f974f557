"""What is wrong with messages of the log, by the number of the frame."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

CAPACITY: Final = 200_000
"""Marks kept in words; that a frame is marked at all, the timeline knows of every one."""


class LogMarks:
    """Words by frame number.

    Numbers come in rising order, and the oldest go first: with their frames, or beyond `capacity`.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._words: dict[int, str] = {}
        # A dictionary finds its first key slower with each one that was taken from its front.
        self._order: collections.deque[int] = collections.deque()

    def __len__(self) -> int:
        return len(self._words)

    def of(self, number: int) -> str:
        """What is wrong with the frame of that number; empty when nothing is."""
        return self._words.get(number, "")

    def add(self, marked: Mapping[int, str]) -> None:
        """Take the words for newer frames (`Feed.frames_marked`)."""
        self._order.extend(number for number in marked if number not in self._words)
        self._words.update(marked)
        while len(self._order) > self._capacity:
            del self._words[self._order.popleft()]

    def forget_before(self, number: int) -> None:
        """Let go what was said of older frames."""
        while self._order and self._order[0] < number:
            del self._words[self._order.popleft()]

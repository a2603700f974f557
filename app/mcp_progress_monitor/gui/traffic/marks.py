"""Annotations of messages: findings, and the user's marks and notes."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal

from mcp_progress_monitor.recording.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.findings.finding import Finding

CAPACITY: Final = 200_000  # marks whose findings are kept; the timeline knows of every mark


class TrafficFindings:
    """Findings by frame number.

    Numbers are added in ascending order, and the oldest are dropped: with their frames, or beyond
    `capacity`.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._found: dict[int, tuple[Finding, ...]] = {}
        # A dictionary finds its first key more slowly with each deleted one.
        self._order: collections.deque[int] = collections.deque()

    def __len__(self) -> int:
        return len(self._found)

    def of(self, number: int) -> tuple[Finding, ...]:
        """The findings of the frame with that number."""
        return self._found.get(number, ())

    def add(self, marked: Mapping[int, tuple[Finding, ...]]) -> None:
        """Add the findings of newer frames (`Feed.frames_marked`)."""
        self._order.extend(number for number in marked if number not in self._found)
        self._found.update(marked)
        while len(self._order) > self._capacity:
            del self._found[self._order.popleft()]

    def forget_before(self, number: int) -> None:
        """Drop the findings of older frames."""
        while self._order and self._order[0] < number:
            del self._found[self._order.popleft()]


class TrafficNotes(QObject):
    """The user's marks and notes; every change is emitted, and saved if there is a file."""

    changed = Signal()  # marks or notes changed; rows are to be repainted
    problem_found = Signal(object)
    """The `ErrorDetails` of notes that cannot be read or saved; emitted once for each."""

    def __init__(self, path: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._notes = Notes(path)
        self._told: ErrorDetails | None = None

    @property
    def problem(self) -> ErrorDetails | None:
        """Why notes are only in memory; None without an error."""
        return self._notes.problem

    def open(self, path: Path | None) -> None:
        """Open the notes at `path` unless they are open, and add those made until now."""
        if path == self._path:
            return
        self._path = path
        before, self._notes = self._notes, Notes(path)
        for number in before.numbers:
            if before.is_marked(number):
                self._notes.set_marked([number], is_marked=True)
            if before.note(number):
                self._notes.set_note(number, before.note(number))
        self._tell()

    def is_marked(self, number: int) -> bool:
        """Whether the frame with that number is marked."""
        return self._notes.is_marked(number)

    def note(self, number: int) -> str:
        """The note on the frame with that number; empty without one."""
        return self._notes.note(number)

    def after(self, number: int) -> int | None:
        return self._notes.after(number)

    def before(self, number: int) -> int | None:
        return self._notes.before(number)

    def toggle(self, numbers: Sequence[int]) -> None:
        """Mark frames; remove the marks if all of them are marked."""
        are_marked = all(self.is_marked(number) for number in numbers)
        self._notes.set_marked(numbers, is_marked=not are_marked)
        self._tell()

    def set_note(self, number: int, text: str) -> None:
        """Set the note on a frame; an empty one removes it."""
        if text != self.note(number):
            self._notes.set_note(number, text)
            self._tell()

    def _tell(self) -> None:
        self.changed.emit()
        problem = self._notes.problem
        if problem is not None and problem != self._told:
            self.problem_found.emit(problem)
        self._told = problem

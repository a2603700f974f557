"""Marks and notes as the views of the log see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from mcp_progress_monitor.recording.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.problem import Problem


class LogNotes(QObject):
    """What a person put on messages; every change is told, and saved where there is a file."""

    changed = Signal()
    """Marks or notes are others; rows are to be painted again."""
    problem_found = Signal(object)
    """The `Problem` that keeps notes from being read or saved; told once for each."""

    def __init__(self, path: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._notes = Notes(path)
        self._told: Problem | None = None

    @property
    def problem(self) -> Problem | None:
        """Why notes are in memory alone; None while all is well."""
        return self._notes.problem

    def open(self, path: Path | None) -> None:
        """Take up the notes kept at `path`, unless they are; those made until now come along."""
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
        """Whether the frame of that number is marked."""
        return self._notes.is_marked(number)

    def note(self, number: int) -> str:
        """The note on the frame of that number; empty without one."""
        return self._notes.note(number)

    def after(self, number: int) -> int | None:
        """The next frame's number with a mark or a note."""
        return self._notes.after(number)

    def before(self, number: int) -> int | None:
        """The previous frame's number with a mark or a note."""
        return self._notes.before(number)

    def toggle(self, numbers: Sequence[int]) -> None:
        """Mark frames; take the marks away where all of them are marked."""
        are_marked = all(self.is_marked(number) for number in numbers)
        self._notes.set_marked(numbers, is_marked=not are_marked)
        self._tell()

    def set_note(self, number: int, text: str) -> None:
        """Put a note on a frame; an empty one takes it away."""
        if text != self.note(number):
            self._notes.set_note(number, text)
            self._tell()

    def _tell(self) -> None:
        self.changed.emit()
        problem = self._notes.problem
        if problem is not None and problem != self._told:
            self.problem_found.emit(problem)
        self._told = problem

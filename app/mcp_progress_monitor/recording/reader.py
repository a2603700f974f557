"""A recording read back: chunks of frames, in their order, from all files that make it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.recording.cutting import WRONG_NUMBER, Chunk, Cutter, Framers
from mcp_progress_monitor.recording.faults import Faults
from mcp_progress_monitor.recording.file_bytes import FileBytes
from mcp_progress_monitor.recording.lines import read_blocks
from mcp_progress_monitor.recording.numbering import Numbers
from mcp_progress_monitor.recording.parts import parts_of
from mcp_progress_monitor.recording.tail import first_stamp, last_stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.recording.parts import RecordingPart
    from mcp_progress_monitor.recording.stamps import Stamp

__all__ = ["Chunk", "FileBytes", "RecordingReader"]


class RecordingReader:
    """Reads a recording once, from its first part to its last, in bounded memory.

    What is not sound is left out and told in `problems`; never raises for what a file says but
    when it is opened. Iterating gives the chunks; `slices` gives a None as well wherever a few
    milliseconds have been worked without one.
    """

    def __init__(self, path: Path) -> None:
        """Open the run that the file at `path` belongs to.

        `ProblemError` when it cannot be read, is no recording, or is of a newer version.
        """
        self._faults = Faults()
        self.parts: list[RecordingPart] = parts_of(path, self._faults)
        """The files that are read, in their order."""
        self.read_bytes = 0
        self.total_bytes = sum(part.size for part in self.parts)

    @property
    def header(self) -> JsonObject:
        """The fields of the oldest part's header; empty when it has none."""
        return self.parts[0].fields

    @property
    def problems(self) -> list[Problem]:
        """What was found not to be sound so far: one for each kind, with how often."""
        return self._faults.problems

    def first(self) -> Stamp | None:
        """The stamp of the first frame; None when none is found near the beginning."""
        return next(filter(None, map(first_stamp, self.parts)), None)

    def last(self) -> Stamp | None:
        """The stamp of the last frame; None when none is found near the end."""
        return next(filter(None, map(last_stamp, reversed(self.parts))), None)

    def __iter__(self) -> Iterator[Chunk]:
        return (chunk for chunk in self.slices() if chunk is not None)

    def slices(self) -> Iterator[Chunk | None]:
        """The chunks, and None as a pause."""
        numbers = Numbers(self._note_clash)
        framers = Framers(numbers)
        done = 0
        for part in self.parts:
            if part.first is not None and not numbers.go_to(part.first):
                self._faults.note(WRONG_NUMBER, str(part.path), detail=f"first: {part.first}")
            cutter = Cutter(part, framers, numbers, self._faults)
            yield from self._part(part, cutter, done)
            done += part.size
            self.read_bytes = done
            yield None

    def _note_clash(self) -> None:
        self._faults.note(WRONG_NUMBER, str(self.parts[0].path))

    def _part(self, part: RecordingPart, cutter: Cutter, done: int) -> Iterator[Chunk | None]:
        try:
            with part.path.open("rb", buffering=0) as file:
                for block in read_blocks(file, part.begin):
                    self.read_bytes = min(done + file.tell(), self.total_bytes)
                    if block is None:
                        yield None
                    else:
                        yield from cutter.cut(block)
        except OSError as error:
            self._faults.note(
                "The recording cannot be read on",
                str(part.path),
                "Check the disk, then open it again.",
                error.strerror or str(error),
            )

"""Reads a recording while another program writes it: each time what was added."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording.files import open_part
from mcp_progress_monitor.recording.folder import part_path
from mcp_progress_monitor.recording.numbering import FrameNumbering
from mcp_progress_monitor.recording.reader import (
    WRONG_NUMBER,
    Chunk,
    Cutter,
    LineBlocks,
    RecordingReader,
)
from mcp_progress_monitor.recording.sources import Framers, same_name
from mcp_progress_monitor.recording.timeline import FileBytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcp_progress_monitor.recording.files import RecordingPart
    from mcp_progress_monitor.recording.sources import Named

READ_BYTES: Final = 64 * 1024  # bytes read in one go: about two milliseconds of work
_LONGEST_HEADER: Final = 64 * 1024
_CHECK_S: Final = 1.0
"""How often to check whether a recording has ended or continues in another file."""


class GrowingRecording(RecordingReader):
    """A recording that is still being written. Only lines with a line feed count.

    `slices` never ends before `is_over` returns True: if nothing more is available it yields None
    with `is_waiting` set; ask again after a while.
    """

    def __init__(
        self,
        path: Path,
        is_over: Callable[[], bool],
        *,
        numbers: FrameNumbering | None = None,
        name_of: Callable[[str], str] = same_name,
        shift_us: Callable[[RecordingPart], int] = lambda _part: 0,
        on_part: Callable[[RecordingPart], object] = lambda _part: None,
        on_named: Named = lambda _connection, _number_of: None,
    ) -> None:
        """Open the recording of the file at `path`, whose header must be complete.

        `name_of` renames its connections; `shift_us` microseconds are added to its monotonic times
        (another value counts for later lines);
        `on_part` is called for each further file. `UserError` as for `RecordingReader`.
        """
        super().__init__(path, on_named)
        self._is_over = is_over
        self._given_numbers = numbers
        self._name_of = name_of
        self._shift_us = shift_us
        self._on_part = on_part
        self._checked_at = -_CHECK_S

    def slices(self) -> Iterator[Chunk | None]:
        """The chunks, and None as a pause."""
        numbers = self._given_numbers or FrameNumbering(self._note_clash)
        framers = Framers(numbers, self._name_of)
        sources, faults = self._new_sources(numbers), self._faults
        cutter_of = partial(
            Cutter, framers=framers, numbers=numbers, faults=faults, sources=sources
        )
        self.is_waiting = False
        done = place = 0
        while place < len(self.parts):
            part = self.parts[place]
            if part.first is not None and not numbers.go_to(part.first):
                self._faults.note(WRONG_NUMBER, str(part.path), detail=f"first: {part.first}")
            for chunk in self._grown(part, cutter_of):
                self.read_bytes = done + self._at
                self.total_bytes = max(self.total_bytes, self.read_bytes)
                yield chunk
            done += self._at
            place += 1

    def _grown(
        self, part: RecordingPart, cutter_of: Callable[[RecordingPart], Cutter]
    ) -> Iterator[Chunk | None]:
        """The chunks of one file, to its end: another file follows, or nothing more will come."""
        blocks, source = LineBlocks(part.begin), FileBytes(part.path)
        self._at = part.begin
        is_last_read = False
        shift_us = self._shift_us(part)
        cutter = cutter_of(part._replace(base_us=part.base_us + shift_us))
        while True:
            data = source.read(self._at, READ_BYTES) if self._has_grown(part) else b""
            if data:
                self.is_waiting = False
                self._at += len(data)
                if shift_us != (shift_us := self._shift_us(part)):
                    cutter = cutter_of(part._replace(base_us=part.base_us + shift_us))
                for block in blocks.feed(data):
                    if block is None:
                        yield None
                    else:
                        yield from cutter.cut(block)
            elif is_last_read:
                break
            elif self._has_ended(part):
                is_last_read = True  # first read what was written before that
            else:
                self.is_waiting = True
                yield None
        rest = blocks.end()
        if rest is not None:
            yield from cutter.cut(rest)

    def _has_grown(self, part: RecordingPart) -> bool:
        """Return whether a file has grown since the last read; eight times as fast as reading."""
        try:
            return os.stat(part.path).st_size > self._at  # noqa: PTH116  # asked all the time
        except OSError:
            return False

    def _has_ended(self, part: RecordingPart) -> bool:
        """Return whether a file no longer grows."""
        if part.path != self.parts[-1].path:
            return True
        now = time.monotonic()
        if now - self._checked_at < _CHECK_S:
            return False
        self._checked_at = now
        return self._goes_on_behind(part) or self._is_over()

    def _goes_on_behind(self, part: RecordingPart) -> bool:
        """Return whether another file of the recording has begun; it is read next."""
        following = part_path(self.parts[0].path, part.number + 1)
        if not has_header(following):
            return False
        try:
            found = open_part(following)
        except UserError:
            return False
        if found.fields.get("run") != part.fields.get("run"):
            return False
        self.parts.append(found)
        self._on_part(found)
        return True


def has_header(path: Path) -> bool:
    """Return whether the first line of a file is complete, or cannot be a header anyway."""
    head = FileBytes(path).read(0, _LONGEST_HEADER)
    return b"\n" in head or len(head) >= _LONGEST_HEADER

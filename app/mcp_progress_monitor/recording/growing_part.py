"""One file of a recording as it grows: what is written of it, and what still waits in memory."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from mcp_progress_monitor.recording.file_bytes import FileBytes

if TYPE_CHECKING:
    from pathlib import Path


class GrowingPart:
    """Bytes that are only ever added to: the first `written` in a file, the others in memory.

    What was added can be read at once.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.path: Path | None = None
        """Its file, to be set before any bytes in it are read."""
        self.end = 0
        """How many bytes were added."""
        self.written = 0
        self._starts: list[int] = []
        self._blobs: list[bytes] = []

    @property
    def waiting(self) -> int:
        """How many bytes memory holds."""
        return self.end - self._starts[0] if self._starts else 0

    def append(self, blob: bytes) -> None:
        """Add bytes."""
        self._starts.append(self.end)
        self._blobs.append(blob)
        self.end += len(blob)

    def unwritten(self, most: int) -> list[bytes]:
        """What is to be written next: about `most` bytes, unless one piece has more."""
        reach = bisect.bisect_left(self._starts, self.written + most)
        return self._blobs[:reach]

    def note_written(self, size: int) -> None:
        """The next `size` bytes are in the file now."""
        self.written += size
        done = bisect.bisect_right(self._starts, self.written) - 1
        if self._starts and self.written >= self.end:
            done = len(self._starts)
        if done > 0:
            del self._starts[:done], self._blobs[:done]

    def forget(self) -> None:
        """Give up what is in memory only; it reads as nothing from now on."""
        self._starts.clear()
        self._blobs.clear()

    def read(self, offset: int, size: int) -> bytes:
        """The bytes from `offset` on; fewer, or none, where they are gone."""
        end = min(offset + size, self.end)
        if offset >= self.written:
            return self._held(offset, end)
        from_file = min(end, self.written)
        found = self._from_file(offset, from_file - offset)
        if end <= self.written or len(found) < from_file - offset:
            return found
        return found + self._held(self.written, end)

    def _from_file(self, offset: int, size: int) -> bytes:
        return b"" if self.path is None else FileBytes(self.path).read(offset, size)

    def _held(self, offset: int, end: int) -> bytes:
        """Bytes that are in memory, up to `end`."""
        if not self._starts or offset < self._starts[0]:
            return b""
        at = bisect.bisect_right(self._starts, offset) - 1
        begin = offset - self._starts[at]
        first = self._blobs[at][begin : begin + end - offset]
        if len(first) == end - offset:
            return first
        pieces = [first]
        while (at := at + 1) < len(self._starts) and self._starts[at] < end:
            pieces.append(self._blobs[at][: end - self._starts[at]])
        return b"".join(pieces)

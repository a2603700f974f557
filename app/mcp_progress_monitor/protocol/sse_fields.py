"""What the lines of one server-sent event say, read as far as they have come."""

from __future__ import annotations

import io
import re
from typing import Final

END_OF_LINE: Final = re.compile(rb"\r\n|\n|\r")
_LONGEST_RETRY: Final = 12


class Fields:
    """What the lines of one event say, the first of which begins at `start`."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.stop = 0
        """How far the event is read."""
        self.count = 0
        """How many lines of data it has."""
        self.place = (0, 0)
        """Where the value of the last of them stands in the event."""
        self.name = ""
        self.id: str | None = None
        self.retry_ms: int | None = None
        self._lines: list[bytes] = []
        self._blocks: list[bytes] = []

    @property
    def data(self) -> bytes | None:
        """All lines of data, joined; None if there are none."""
        return b"\n".join(self._blocks) if self.count else None

    def read(self, text: bytes) -> None:
        """Read the lines of `text`, which follows what was read so far."""
        begin = 0 if self.stop else self.start
        for match in END_OF_LINE.finditer(text, begin):
            self._line(text, begin, match.start())
            begin = match.end()
        self._line(text, begin, len(text))
        self.stop += len(text)
        if self._lines:
            # Millions of short lines would take many times their bytes.
            self._gather(b"\n".join(self._lines))
            self._lines.clear()

    def _gather(self, block: bytes) -> None:
        self._blocks.append(block)

    def _line(self, piece: bytes, begin: int, stop: int) -> None:
        colon = piece.find(b":", begin, stop)
        if colon == begin:
            return
        field = piece[begin : stop if colon < 0 else colon]
        value = stop if colon < 0 else colon + 1
        if piece[value : min(value + 1, stop)] == b" ":
            value += 1
        match field:
            case b"data":
                self.count += 1
                self._lines.append(piece[value:stop])
                self.place = (self.stop + value, self.stop + stop)
            case b"event":
                self.name = piece[value:stop].decode(errors="replace")
            case b"id":
                self._identify(piece[value:stop])
            case b"retry":
                self._wait(piece[value:stop])
            case _:
                pass

    def _identify(self, value: bytes) -> None:
        if b"\0" not in value:
            self.id = value.decode(errors="replace")

    def _wait(self, value: bytes) -> None:
        if value.isdigit() and len(value) <= _LONGEST_RETRY:
            self.retry_ms = int(value)


class LongFields(Fields):
    """Those of a long event: its data is joined as it comes, and needs no room twice.

    A line of data may be read before its end is there: `open_line`, `go_on`, `close_line`.
    """

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self._joined = io.BytesIO()
        self._is_some = False

    @property
    def data(self) -> bytes | None:
        """All lines of data, joined; None if there are none. Nothing may be added afterwards."""
        return self._joined.getvalue() if self.count else None  # the very bytes, no copy

    @property
    def are_empty(self) -> bool:
        """Whether nothing was said so far."""
        return not (self.count or self.name or self.id is not None or self.retry_ms is not None)

    def open_line(self, begin: int, value: bytes) -> None:
        """A line of data has come as far as `value`, which begins `begin` bytes further on."""
        self.count += 1
        self._gather(value)
        self.place = (self.stop + begin, self.stop + begin + len(value))
        self.stop = self.place[1]

    def go_on(self, value: bytes) -> None:
        """More of that line has come."""
        self._joined.write(value)
        self.stop += len(value)
        self.place = (self.place[0], self.stop)

    def skip(self, size: int) -> None:
        """So many bytes say nothing."""
        self.stop += size

    def _gather(self, block: bytes) -> None:
        if self._is_some:
            self._joined.write(b"\n")
        self._is_some = True
        self._joined.write(block)

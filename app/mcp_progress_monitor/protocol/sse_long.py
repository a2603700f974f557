"""One long server-sent event, read as it comes: hundreds of megabytes in no step that takes long.

What of it is no message is told in pieces, of which those in the middle say nothing: they are
events of their own with only their bytes. All pieces together are the event, to the byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.sse_fields import END_OF_LINE, LongFields

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE: Final = 32 * 1024
"""Bytes of a piece, at the least; what comes at once is not cut for it."""
LONGEST_FIELD: Final = 64 * 1024
"""A longer id, or name of an event, is not read: the id is none, the name that of no message."""
_DATA: Final = b"data:"
_UNREAD_NAME: Final = "(too long)"


class LongEvent:
    """Bytes of one event, none of which is its blank line."""

    def __init__(self, start: int) -> None:
        """Nothing came yet; its first line begins at `start`."""
        self.fields = LongFields(start)
        self.size = 0
        """How many bytes are held."""
        self._pieces: list[bytes] = []
        self._piece = bytearray()
        self._released = 0
        # What follows the lines that were read, and whether it is a line of which the end is not
        # needed to know what it says.
        self._unread = bytearray()
        self._is_data = False
        self._is_skipped = False

    def add(self, text: bytes) -> None:
        """Take the next bytes."""
        self._keep(text)
        had_half = self._unread.endswith(b"\r")
        if self._is_data or self._is_skipped:
            text = self._within_line(text)
        if not text:
            return
        self._unread += text
        if had_half or b"\n" in text or b"\r" in text:
            self._read_lines()
        self._begin_line()

    def release(self) -> list[bytes]:
        """Pieces that say nothing, whatever follows them; they are not held any more."""
        rest = bytes(self._unread)
        is_silent = self.fields.are_empty and not self._is_data
        if not is_silent or self.size - len(rest) < PIECE:
            return []
        pieces = list(self.pieces())
        if len(pieces[-1]) < len(rest):
            self._pieces = pieces
            return []
        pieces[-1] = pieces[-1][: len(pieces[-1]) - len(rest)]
        self._released += self.size - len(rest)
        self._piece += rest
        self.size = len(rest)
        return pieces

    def finish(self) -> None:
        """All has come: read what is left."""
        if self._unread:
            self.fields.read(bytes(self._unread))
            self._unread.clear()

    def pieces(self) -> Iterator[bytes]:
        """All of it; each piece is held no longer once the next is asked for."""
        if self._piece:
            self._pieces.append(bytes(self._piece))
            self._piece.clear()
        self._pieces.reverse()
        while self._pieces:
            yield self._pieces.pop()

    def around(self) -> tuple[list[bytes], list[bytes]]:
        """The pieces before and after the only line of data's value; the others are let go."""
        begin, stop = (place - self._released for place in self.fields.place)
        before: list[bytes] = []
        after: list[bytes] = []
        place = 0
        for piece in self.pieces():
            if place < begin:
                before.append(piece[: begin - place])
            if place + len(piece) > stop:
                after.append(piece[max(stop - place, 0) :])
            place += len(piece)
        return before, after

    def _keep(self, text: bytes) -> None:
        self.size += len(text)
        if not self._piece and len(text) >= PIECE:
            self._pieces.append(text)
            return
        self._piece += text
        if len(self._piece) >= PIECE:
            self._pieces.append(bytes(self._piece))
            self._piece.clear()

    def _within_line(self, text: bytes) -> bytes:
        """Read on within a line; what follows it, with its end of line."""
        match = END_OF_LINE.search(text)
        stop = len(text) if match is None else match.start()
        if self._is_data:
            self.fields.go_on(text[:stop])
        else:
            self.fields.skip(stop)
        if match is not None:
            self._is_data = self._is_skipped = False
        return text[stop:]

    def _read_lines(self) -> None:
        """Read the whole lines of what is not read yet."""
        unread = self._unread
        # A CR at the end may be half of an end of line.
        stop = 1 + max(unread.rfind(b"\n"), unread.rfind(b"\r", 0, len(unread) - 1))
        if stop:
            self.fields.read(bytes(unread[:stop]))
            del unread[:stop]

    def _begin_line(self) -> None:
        """Look what the line is that has begun, as far as that can be known."""
        unread = self._unread
        start = 0 if self.fields.stop else self.fields.start
        if len(unread) <= start + len(_DATA) or b"\r" in unread[start:]:
            return
        if unread.startswith(_DATA, start):
            begin = start + len(_DATA)
            begin += unread[begin : begin + 1] == b" "
            self.fields.open_line(begin, bytes(unread[begin:]))
            self._is_data = True
        elif unread.startswith(b":", start) or len(unread) > LONGEST_FIELD:
            if unread.startswith(b"event:", start):
                self.fields.name = _UNREAD_NAME
            self.fields.skip(len(unread))
            self._is_skipped = True
        else:
            return
        unread.clear()

"""The lines of a recording's file, in blocks of about a megabyte, however long a line may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

BLOCK_BYTES: Final = 1024 * 1024
LONGEST_LINE: Final = 128 * 1024 * 1024
"""A longer line is never held as a whole."""
HEAD_BYTES: Final = 64 * 1024
"""What is kept of such a line."""


class Block(NamedTuple):
    """Lines that follow each other, without their line feeds; the first begins at `offset`.

    With `size`, there is one line of so many bytes, of which only the head is here. `is_ended` is
    False for a last line that the file ends within.
    """

    offset: int
    lines: list[bytes]
    size: int | None = None
    is_ended: bool = True


class _Rest:
    """The beginning of a line whose end has not been read yet, held up to a bound."""

    def __init__(self, longest: int) -> None:
        self.size = 0
        self._longest = longest
        self._pieces: list[bytes] = []

    @property
    def is_too_long(self) -> bool:
        return self.size > self._longest

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self._pieces and self.is_too_long:
            piece = b""
            del self._pieces[1:]
        if piece:
            self._pieces.append(piece)

    def take(self) -> bytes:
        """The line, or its head if it is too long; begin anew."""
        whole = b"".join(self._pieces)
        line = whole[:HEAD_BYTES] if self.is_too_long else whole
        self._pieces.clear()
        self.size = 0
        return line


def read_blocks(
    file: FileIO, offset: int, longest: int = LONGEST_LINE, at_once: int = BLOCK_BYTES
) -> Iterator[Block | None]:
    """Read lines from `offset` on, `at_once` bytes at a time; None between, within a long line.

    `OSError` when the file cannot be read on.
    """
    file.seek(offset)
    rest = _Rest(longest)
    while data := file.read(at_once):
        end = data.find(b"\n")
        if end < 0:
            rest.add(data)
            yield None
            continue
        if rest.size:
            rest.add(data[:end])
            block = _ended(rest, offset)
            offset += (block.size or len(block.lines[0])) + 1
            yield block
            data = data[end + 1 :]
        lines = data.split(b"\n")
        rest.add(lines.pop())
        if lines:
            yield Block(offset, lines)
            offset += len(data) - rest.size
    if rest.size:
        yield _ended(rest, offset)._replace(is_ended=False)


def _ended(rest: _Rest, offset: int) -> Block:
    size = rest.size if rest.is_too_long else None
    return Block(offset, [rest.take()], size)

"""Finds the elements of one array in a JSON file of any size, in bounded memory."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import FileIO

LARGEST: Final = 256 * 1024 * 1024  # an element with more bytes is given up
_BLOCK: Final = 1024 * 1024
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}:,]', re.DOTALL)
_LONGEST_KEY: Final = 200


class JsonStreamError(Exception):
    """The file is no JSON, ends too early, or has something larger than is held."""


class _Scanner:
    """Tokens of a file. What was passed is let go of, but for what begins at `kept`."""

    def __init__(self, file: FileIO) -> None:
        self.kept: int | None = None  # where an element begins in the buffer
        self.end = 0  # where the last token ends in the buffer
        self.buffer = b""
        self._file = file
        self._step = _BLOCK

    def next(self) -> bytes | None:
        """The next token, a string as a whole; None at the end of the file."""
        while True:
            found = _TOKEN.search(self.buffer, self.end)
            # A quotation mark alone is a string whose end is still to come.
            if found is not None and found[0] != b'"':
                self.end = found.end()
                self._step = _BLOCK
                return found[0]
            begin = len(self.buffer) if found is None else found.start()
            if not self._read_on(begin):
                return None

    def _read_on(self, begin: int) -> bool:
        """Have more in the buffer, of which all before `begin` is read; False at the end."""
        kept = begin if self.kept is None else self.kept
        data = self._file.read(self._step)
        # A long string is looked through again each time: each time there is twice as much of it.
        self._step *= 2
        if not data:
            if begin < len(self.buffer):
                raise JsonStreamError("it ends within a string")
            return False
        self.buffer = self.buffer[kept:] + data
        self.end = begin - kept
        if self.kept is not None:
            self.kept = 0
        if len(self.buffer) > LARGEST:
            raise JsonStreamError("it has an element that is too large")
        return True


def elements(file: FileIO, path: Sequence[str]) -> Iterator[bytes]:
    """The objects in the array at `path`, below an object each, as they stand in the file.

    Raises:
        JsonStreamError: the rest cannot be read.
    """
    scanner = _Scanner(file)
    _find(scanner, path)
    depth = 0
    while (token := scanner.next()) is not None:
        if token in {b"{", b"["}:
            if not depth:
                scanner.kept = scanner.end - 1
            depth += 1
        elif token in {b"}", b"]"}:
            depth -= 1
            if depth < 0 and token == b"]":
                return
            if depth < 0:
                break
            if not depth and scanner.kept is not None:
                element = scanner.buffer[scanner.kept : scanner.end]
                scanner.kept = None
                yield element
    raise JsonStreamError("it ends within the list")


def _find(scanner: _Scanner, path: Sequence[str]) -> None:
    depth, matched = 0, 0
    key = ""
    before = b""
    while (token := scanner.next()) is not None:
        if token == b":" and depth == matched + 1:
            key = _key(before)
        elif token in {b"{", b"["}:
            is_wanted = depth == matched + 1 and matched < len(path) and key == path[matched]
            if is_wanted:
                matched += 1
                if matched == len(path) and token == b"[":
                    return
            depth += 1
            key = ""
        elif token in {b"}", b"]"}:
            depth -= 1
            matched = min(matched, max(depth - 1, 0))
            key = ""
        elif token == b",":
            key = ""
        before = token
    raise JsonStreamError(f"it has no {'.'.join(path)}")


def _key(token: bytes) -> str:
    if len(token) > _LONGEST_KEY:
        return ""
    try:
        found = json.loads(token)
    except ValueError:
        return ""
    return found if isinstance(found, str) else ""

"""Writes a recording's files. Runs in a thread of its own; nothing here is shared with others."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_AT_ONCE: Final = 1024 * 1024
"""Bytes handed to the system at one go."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Writer:
    """Appends to new files, readable by their owner alone, one after the other."""

    def __init__(self) -> None:
        self.written = 0
        """Bytes that the last `write` has got into the file, though it may have failed."""
        self._path: Path | None = None
        self._descriptor = -1

    def write(self, path: Path, blobs: Sequence[bytes]) -> None:
        """Append to the file at `path`, which is made when it is not the one of last time.

        Raises:
            OSError: not all could be written; the file is there already, or not any more.
        """
        self.written = 0
        if path != self._path:
            self._open(path)
        self._check()
        for block in _blocks(blobs):
            self._write(memoryview(block))

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def discard(self) -> None:
        """Close the file and delete it."""
        self.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _open(self, path: Path) -> None:
        self.close()
        self._descriptor = os.open(path, _FLAGS, 0o600)
        self._path = path

    def _check(self) -> None:
        """See that what is written will be found: the system writes to deleted files as well."""
        if self._path is None or not os.path.samestat(
            self._path.stat(), os.fstat(self._descriptor)
        ):
            raise FileNotFoundError(errno.ENOENT, "The file was moved or replaced")

    def _write(self, view: memoryview) -> None:
        while view:
            size = os.write(self._descriptor, view[:_AT_ONCE])
            self.written += size
            view = view[size:]


def _blocks(blobs: Sequence[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces, of bounded size but for single large ones."""
    gathered: list[bytes] = []
    size = 0
    for blob in blobs:
        if gathered and size + len(blob) > _AT_ONCE:
            yield b"".join(gathered)
            gathered, size = [], 0
        gathered.append(blob)
        size += len(blob)
    if gathered:
        yield b"".join(gathered)

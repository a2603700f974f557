"""The bytes of one part of a recording, read from its file when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class FileBytes:
    """Reads stretches of a file (see `timeline.Bytes`).

    The file is opened for each of them, some 15 µs, so that it can be renamed, grow, or be deleted
    meanwhile on every platform.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, offset: int, size: int) -> bytes:
        """The bytes from `offset` on; fewer, or none, where they are gone or unreadable."""
        pieces: list[bytes] = []
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(offset)
                while size > 0 and (piece := file.read(size)):
                    pieces.append(piece)
                    size -= len(piece)
        except OSError:
            return b"".join(pieces)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

"""Files that only their owner can read, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

_LONGEST_NAME: Final = 100
"""Of a file's name, in the name of the one beside it: file systems bound both."""


def begin_beside(path: Path) -> tuple[BinaryIO, Path]:
    """An empty file beside `path`, to be put in its place: its owner's from the first moment.

    `OSError` when it cannot be made.
    """
    # Nobody else may read what mkstemp makes.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:_LONGEST_NAME]}.", dir=path.parent)
    return os.fdopen(descriptor, "wb"), Path(name)


def put(
    path: Path, content: bytes, *, waits_for_disk: bool = True, mode: int | None = None
) -> None:
    """Replace a file by one with that content; its folder is there already.

    With `mode` the file gets these permissions, in place of its owner's alone. `waits_for_disk` has
    it outlive a power cut right afterwards, which takes long on a busy disk.
    `OSError` when that fails: what was there before is there still, and nothing beside it.
    """
    file, made = begin_beside(path)
    try:
        with file:
            file.write(content)
            file.flush()
            if waits_for_disk:
                os.fsync(file.fileno())
        if mode is not None:
            made.chmod(mode)
        made.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            made.unlink()
        raise

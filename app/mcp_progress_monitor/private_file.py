"""Files that only their owner can read, written atomically."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO, Final

_LONGEST_NAME: Final = 100
"""Longest prefix of a file's name in that of its temporary file: file systems limit both."""


def begin_beside(path: Path) -> tuple[BinaryIO, Path]:
    """An empty private file beside `path`, which will replace it.

    `OSError` if it cannot be created.
    """
    import tempfile  # a twentieth of the start of a command that writes nothing

    # mkstemp creates it readable only by its owner.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:_LONGEST_NAME]}.", dir=path.parent)
    return os.fdopen(descriptor, "wb"), Path(name)


def put(
    path: Path, content: bytes, *, waits_for_disk: bool = True, mode: int | None = None
) -> None:
    """Replace a file atomically; its folder must exist.

    With `mode` the file gets these permissions instead of its owner's only. `waits_for_disk` makes
    it survive a power cut right afterwards, which takes long on a busy disk. `OSError` if that
    fails: the previous file is kept, and nothing is left beside it.
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

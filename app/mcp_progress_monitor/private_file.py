"""Files and folders that only their owner can read; files are written atomically."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pathlib import Path

_NEW: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)  # only on Windows
)
_LONGEST_NAME: Final = 100
"""Longest prefix of a file's name in that of its temporary file: file systems limit both."""


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, each for its owner only, whatever the umask.

    Existing ones keep their permissions. `OSError` if one cannot be created.
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        if path.parent == path:
            raise
        # Not `parents=True`: that creates parents with the umask's mode.
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def begin_beside(path: Path) -> tuple[BinaryIO, Path]:
    """An empty private file beside `path`, which will replace it.

    `OSError` if it cannot be created. As `tempfile` does it, which takes 5 ms to load.
    """
    made = path.with_name(f".{path.name[:_LONGEST_NAME]}.{os.urandom(8).hex()}")
    return os.fdopen(os.open(made, _NEW, 0o600), "wb"), made


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


def append(path: Path, size: int, content: bytes) -> None:
    """Write `content` into a file at `size`, which becomes its end; an empty one is created.

    `OSError` if that fails. A part may then have been written; the next call replaces it.
    """
    flags = (_NEW & ~os.O_EXCL) if size == 0 else (_NEW & ~(os.O_EXCL | os.O_CREAT))
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(content)

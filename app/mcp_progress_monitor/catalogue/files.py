"""Reads, locks and atomically replaces text files of the user and of other programs."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting, private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PATIENCE_S: Final = 5.0


class UnwritableError(UserError):
    """A file cannot be written, because of the disk, its folder or its permissions."""


@contextlib.contextmanager
def exclusive_lock(path: Path, what: str) -> Iterator[None]:
    """Lock a file against other instances of this program while it is changed.

    Proceeds unlocked where locking is unsupported, or the folder cannot be created.

    Raises:
        UserError: another instance holds the lock for too long; `what` names the data.
    """
    from filelock import FileLock, Timeout  # imported by writers only

    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o600, timeout=_PATIENCE_S)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        hint = "Try again in a moment."
        details = ErrorDetails(f"Another program is changing {what}", str(path), hint)
        raise UserError(details) from error
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        lock.release()


LARGEST_BYTES: Final = 16 * 1024 * 1024  # larger files are not configuration files and are not read

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks with their encodings; longer marks before their prefixes."""


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        UserError: it cannot be read, is not a regular file, or is larger than `LARGEST_BYTES`.
        FileNotFoundError: it does not exist.
    """
    try:
        if path.exists() and not path.is_file():
            # Reading a pipe or a device could block forever.
            raise UserError(_unreadable(path, "it is a folder or a device, not a file"))
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(_unreadable(path, reason)) from error
    if len(content) > LARGEST_BYTES:
        limit = formatting.size(LARGEST_BYTES)
        what = f"The file is larger than {limit}, too large for a configuration file"
        raise UserError(ErrorDetails(what, str(path), "Check that this is the right file."))
    return content


def read_text(path: Path) -> str:
    """Read a file's text; `UserError` also if it does not exist or is not text."""
    try:
        return decoded(read_bytes(path), path)
    except FileNotFoundError as error:
        raise UserError(_unreadable(path, error.strerror or str(error))) from error


def decoded(content: bytes, path: Path) -> str:
    """Decode UTF-8, or the encoding of the byte order mark, which is removed.

    Raises:
        UserError: the text is not valid; names line and column of the first invalid byte.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, "replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        details = ErrorDetails(
            f"The file is not valid {encoding.removesuffix('-sig').upper()}",
            f"{path}, line {line}, column {column}",
            "Save it as UTF-8.",
        )
        raise UserError(details) from error


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable only by its owner.

    A missing folder is created with the same restriction. A link is followed and kept.

    Raises:
        UserError: it cannot be written; the previous content is kept.
    """
    try:
        place = path.resolve()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        private_file.put(place, content)
    except OSError as error:
        hint = "Choose another folder, or free some disk space."
        reason = error.strerror or str(error)
        raise UnwritableError(
            ErrorDetails("Cannot write the file", str(path), hint, reason)
        ) from error


def replace_content(path: Path, content: bytes) -> None:
    """Replace the content of another program's file atomically, keeping its permissions.

    A link is followed and kept.

    Raises:
        UserError: it cannot be written; the previous content is kept.
    """
    try:
        place = path.resolve(strict=True)
        if not os.access(place, os.W_OK):  # replacing it would succeed
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # as below
        private_file.put(place, content, mode=stat.S_IMODE(place.stat().st_mode))
    except OSError as error:
        hint = "Check the permissions of the file and its folder."
        reason = error.strerror or str(error)
        raise UnwritableError(
            ErrorDetails("Cannot change the file", str(path), hint, reason)
        ) from error


def _unreadable(path: Path, reason: str) -> ErrorDetails:
    hint = "Check the path and the file's permissions."
    return ErrorDetails("Cannot read the configuration file", str(path), hint, reason)

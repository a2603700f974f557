"""Text files of the user and of other programs: read within bounds, locked, written whole."""

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


@contextlib.contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """While no other program of ours changes the file. Where locks cannot be, without one.

    Raises:
        UserError: another one takes too long; `what` is what it changes then, in words.
    """
    from filelock import FileLock, Timeout  # only for who changes something

    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o600, timeout=_PATIENCE_S)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        said, hint = f"Another program is changing {what}", "Try again in a moment."
        raise UserError(ErrorDetails(said, str(path), hint)) from error
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        lock.release()


LARGEST_BYTES: Final = 16 * 1024 * 1024
"""A file that is larger is no configuration, and is not read."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""What a file in another encoding begins with; the longer before the shorter."""


def read_bytes(path: Path) -> bytes:
    """All of a file.

    Raises:
        UserError: it cannot be read, is no ordinary file, or is larger than `LARGEST_BYTES`.
        FileNotFoundError: there is none.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device would be waited for without end.
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
    """A file's text; `UserError` as well when there is none, or when it is no text."""
    try:
        return decoded(read_bytes(path), path)
    except FileNotFoundError as error:
        raise UserError(_unreadable(path, error.strerror or str(error))) from error


class UnwritableError(UserError):
    """A file cannot be written: the disk, a folder or its rights are why."""


def decoded(content: bytes, path: Path) -> str:
    """UTF-8, or what a byte order mark says; a mark is left out.

    Raises:
        UserError: it is another encoding; with line and column of the first byte of that.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, "replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        problem = ErrorDetails(
            f"The file is not valid {encoding.removesuffix('-sig').upper()}",
            f"{path}, line {line}, column {column}",
            "Save it as UTF-8.",
        )
        raise UserError(problem) from error


def write_private(path: Path, content: bytes) -> None:
    """Put a file in its place, whole or not at all, readable by its owner alone.

    A folder that is missing is made, for its owner alone as well; a link stays, and what it points
    to is written.

    Raises:
        UserError: it cannot be written; what was there before is there still.
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
    """Give a file of another program new content, whole or not at all; its permissions stay.

    A link stays as well, and what it points to is written.

    Raises:
        UserError: it cannot be written; what was there before is there still.
    """
    try:
        place = path.resolve(strict=True)
        if not os.access(place, os.W_OK):  # it could be replaced all the same
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

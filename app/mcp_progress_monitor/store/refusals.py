"""What SQLite or the system refuses, in words for a person."""

from __future__ import annotations

import contextlib
import errno
import shutil
import sqlite3
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises: its messages may quote bytes of a damaged file that are not UTF-8."""


class _Words(NamedTuple):
    why: str
    hint: str


_ELSEWHERE: Final = "or choose another folder with --data-dir."
_FULL: Final = _Words("the disk is full", f"Free some space, {_ELSEWHERE}")
_LOCKED: Final = _Words(
    "another program keeps them locked", f"Close the other program and try again, {_ELSEWHERE}"
)
_FORBIDDEN: Final = _Words(
    "they cannot be written", f"Check the rights of the file and its folder, {_ELSEWHERE}"
)
_FAULTY: Final = _Words("the disk reports an error", f"Check the disk, {_ELSEWHERE}")
_UNOPENED: Final = _Words(
    "the file cannot be opened", f"Check the rights of its folder, {_ELSEWHERE}"
)
_OTHER: Final = _Words("something is wrong with the file", f"Try again, {_ELSEWHERE}")

_BY_SQLITE_CODE: Final = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_IOERR: _FAULTY,
    sqlite3.SQLITE_CANTOPEN: _UNOPENED,
    sqlite3.SQLITE_CORRUPT: _Words(
        "the file is damaged",
        "Start the program again: it sets the damaged file aside and begins a new one.",
    ),
    sqlite3.SQLITE_NOTADB: _Words(
        "the file is no database",
        "Start the program again: it sets the file aside and begins a new one.",
    ),
}
_MAYBE_FULL: Final = frozenset({_FAULTY, _UNOPENED})
"""What SQLite says of a full disk, too: its files beside the database have no room."""
_ROOM_BYTES: Final = 4096
"""A disk with less free space than a page counts as full."""
_BY_ERRNO: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.EIO: _FAULTY,
    errno.ENOSYS: _Words(
        "the file system has no locks", "Choose a folder on a local disk with --data-dir."
    ),
    errno.ENOENT: _Words("their folder is gone", f"Start the program again, {_ELSEWHERE}"),
}


def text_or_bytes(raw: bytes) -> str | bytes:
    """For `text_factory`: text that is not UTF-8, as in a damaged file, stays bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def problem_of(
    error: sqlite3.Error | UnicodeDecodeError | OSError, what: str, path: Path
) -> Problem:
    """Say why `what` ("The saved resume tokens"), kept in `path`, cannot be read or written."""
    words = _words_of(error)
    if words in _MAYBE_FULL and _is_full(path):
        words = _FULL
    return Problem(f"{what} cannot be used: {words.why}", str(path), words.hint, str(error))


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is bad, as opposed to locked, full or out of reach."""
    if isinstance(error, UnicodeDecodeError):
        return True
    return _sqlite_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def damage(what: str) -> sqlite3.DatabaseError:
    """Make the error for damage that SQLite found only when asked to look for it."""
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _words_of(error: sqlite3.Error | UnicodeDecodeError | OSError) -> _Words:
    if isinstance(error, UnicodeDecodeError):
        return _BY_SQLITE_CODE[sqlite3.SQLITE_CORRUPT]
    if isinstance(error, TimeoutError):
        return _LOCKED
    if isinstance(error, OSError):
        return _BY_ERRNO.get(error.errno or 0, _OTHER)
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return _FULL  # the index beside the journal could not be made as large as it must be
    return _BY_SQLITE_CODE.get(_sqlite_code(error), _OTHER)


def _is_full(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(path.parent).free < _ROOM_BYTES
    return False


def _sqlite_code(error: BaseException) -> int:
    """The primary result code; errors of Python's own binding have none (0)."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF

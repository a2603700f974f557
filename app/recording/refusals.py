"""What to tell the user when a recording cannot be made or goes no further."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, NamedTuple

from app.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

_GOES_ON: Final = (
    "Everything else goes on; the newest messages are kept in memory until the program ends."
)


class _Refusal(NamedTuple):
    what: str
    hint: str

    def at(self, path: Path | None, detail: str = "") -> Problem:
        """The problem of the file at `path`."""
        where = "" if path is None else str(path)
        return Problem(self.what, where, f"{self.hint} {_GOES_ON}", detail)


STUCK: Final = _Refusal(
    "The recording stopped: the disk takes no more data and does not say why",
    "Look after the drive, or choose another folder with --data-dir or --record.",
)
UNFINISHED: Final = _Refusal(
    "The end of the recording is lost: the disk did not take it in time",
    "Look after the drive, or choose another folder with --data-dir or --record.",
)
_FULL: Final = _Refusal(
    "The recording stopped: the disk is full",
    "Free some space, or choose another folder with --data-dir or --record.",
)
_TOO_LARGE: Final = _Refusal(
    "The recording stopped: the system lets its file grow no further",
    "Raise the limit (ulimit -f), or choose a folder on another disk with --data-dir.",
)
_FORBIDDEN: Final = _Refusal(
    "The session is not recorded: the file may not be written",
    "Check the rights of its folder, or choose another one with --data-dir or --record.",
)
_GONE: Final = _Refusal(
    "The recording stopped: its file or folder is gone",
    "Leave it where it is while the program runs.",
)
_THERE: Final = _Refusal(
    "The session is not recorded: the file is there already",
    "Choose another one with --record.",
)
_OTHER: Final = _Refusal(
    "The recording stopped: it cannot be written",
    "Choose another folder with --data-dir or --record.",
)
_KINDS: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _TOO_LARGE,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.ENOENT: _GONE,
    errno.ENOTDIR: _GONE,
    errno.EEXIST: _THERE,
}


def refusal(error: OSError, path: Path | None) -> Problem:
    """What to tell of an error that the system answered a write with."""
    kind = _KINDS.get(error.errno or 0, _OTHER)
    return kind.at(path, error.strerror or str(error))

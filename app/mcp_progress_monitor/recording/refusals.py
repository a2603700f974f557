"""What to tell the user when a recording cannot be made or goes no further."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

_GOES_ON: Final = (
    "Everything else goes on; the newest messages are kept in memory until the program ends."
)
_NOT_BEGUN: Final = "The session is not recorded"
_STOPPED: Final = "The recording stopped"
_ELSEWHERE: Final = "choose another folder with --data-dir, or another file with --record"


class _Reason(NamedTuple):
    what: str
    hint: str


_FULL: Final = _Reason("the disk is full", f"Free some space, or {_ELSEWHERE}.")
_TOO_LARGE: Final = _Reason(
    "the system lets its file grow no further",
    f"Raise the limit of your system (ulimit -f), or {_ELSEWHERE}.",
)
_FORBIDDEN: Final = _Reason(
    "its file may not be written", f"Check the rights of its folder, or {_ELSEWHERE}."
)
_GONE: Final = _Reason("its file or folder is gone", "Leave it where it is while the program runs.")
_NOWHERE: Final = _Reason("its file cannot be made", f"Check the folder, or {_ELSEWHERE}.")
_THERE: Final = _Reason("its file is there already", "Name another one with --record.")
_OTHER: Final = _Reason("its file cannot be written", f"Check the disk, or {_ELSEWHERE}.")
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


def refusal(error: OSError, path: Path, *, has_begun: bool) -> Problem:
    """What to tell of an error that the system answered a write with."""
    reason = _KINDS.get(error.errno or 0, _OTHER)
    if reason is _GONE and not has_begun:
        reason = _NOWHERE
    begin = _STOPPED if has_begun else _NOT_BEGUN
    return _problem(f"{begin}: {reason.what}", reason.hint, path, error.strerror or str(error))


def stuck(path: Path) -> Problem:
    """What to tell of a disk that takes nothing any more while messages wait for it."""
    what = f"{_STOPPED}: the disk takes no more data and does not say why"
    return _problem(what, f"Look after the drive, or {_ELSEWHERE}.", path)


def unfinished(path: Path) -> Problem:
    """What to tell of a disk that did not take the last messages before the program ended."""
    what = "The end of the recording is lost: the disk did not take it in time"
    return Problem(what, str(path), f"Look after the drive, or {_ELSEWHERE}.")


def _problem(what: str, hint: str, path: Path, detail: str = "") -> Problem:
    return Problem(what, str(path), f"{hint} {_GOES_ON}", detail)

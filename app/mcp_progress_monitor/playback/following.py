"""Where a recording that is followed comes from: a file that grows, or standard input."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import SUFFIX
from mcp_progress_monitor.recording.growing import has_header

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

_READ_BYTES: Final = 64 * 1024
_LOOK_S: Final = 0.02
_PREFIX: Final = "followed-"
_NAME: Final = f"stdin{SUFFIX}"
_BEGINNING_S: Final = 60  # a folder without a lock may be one that another program has just made


class FollowedRecording(NamedTuple):
    """A recording that grows: where it is, whether it grows no more, and what went wrong."""

    path: Path
    is_over: Callable[[], bool]
    problems: Callable[[], list[ErrorDetails]] = list


def followed_file(path: Path) -> FollowedRecording:
    """The recording at `path`, until the program that writes it releases its lock.

    One without a lock, as a copy that another program adds to, is followed for good.
    """
    folder = RecordingsFolder(path.parent)
    was_written = False

    def is_over() -> bool:
        nonlocal was_written
        is_written = folder.is_written(path)
        was_written |= is_written
        return was_written and not is_written

    is_over()
    return FollowedRecording(path, is_over)


class Spool:
    """Writes a stream into a file as it comes, so that all of it can be looked at again.

    The file is gone with `close`. What a program that was killed left of its own goes when the next
    one is made.
    """

    def __init__(self, stream: BinaryIO, folder: Path) -> None:
        """Make the file in a private folder within `folder`, and begin to read `stream`.

        `UserError` when it cannot be made.
        """
        delete_spools_left(folder)
        try:
            self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))  # its owner's alone
            self.path = self._folder / _NAME
            self._lock = RecordingsFolder(self._folder)
            self._lock.begin(self.path)
            self.path.touch(mode=0o600)
            self._file = self.path.open("wb", buffering=0)
        except OSError as error:
            raise UserError(_problem(error, folder)) from error
        self._stream = stream
        self._is_over = False
        self._problem: ErrorDetails | None = None
        # A daemon: nobody can end its waiting for a stream that never ends.
        self._thread = threading.Thread(target=self._copy, name="spool", daemon=True)
        self._thread.start()

    def followed(self) -> FollowedRecording:
        return FollowedRecording(self.path, lambda: self._is_over, self._problems)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        self._lock.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _problems(self) -> list[ErrorDetails]:
        return [] if self._problem is None else [self._problem]

    def _copy(self) -> None:
        try:
            # Not `stream.read`, which waits until so many bytes are there.
            while data := os.read(self._stream.fileno(), _READ_BYTES):
                self._file.write(data)
        except (OSError, ValueError) as error:
            self._problem = _problem(error, self._folder)
        self._is_over = True


def delete_spools_left(folder: Path) -> None:
    for left in folder.glob(f"{_PREFIX}*/"):
        with contextlib.suppress(OSError):
            was_locked = (left / f"{Path(_NAME).stem}.lock").exists()
            is_old = time.time() - left.stat().st_mtime > _BEGINNING_S
            if not RecordingsFolder(left).is_written(left / _NAME) and (was_locked or is_old):
                shutil.rmtree(left, ignore_errors=True)


def _problem(error: Exception, folder: Path) -> ErrorDetails:
    what, hint = "Cannot keep what standard input brings", "Check the free disk space."
    reason = getattr(error, "strerror", None) or str(error)
    return ErrorDetails(what, str(folder), hint, reason)


def wait_for_header(followed: FollowedRecording) -> None:
    """Wait until the first line is there, or will never be."""
    while not (has_header(followed.path) or followed.is_over()):
        time.sleep(_LOOK_S)

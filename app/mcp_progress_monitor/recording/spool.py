"""A private folder for what a stream brings, as long as this program runs."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import SUFFIX

_PREFIX: Final = "followed-"
SPOOL_NAME: Final = f"stdin{SUFFIX}"
_STARTING_S: Final = 60  # a younger folder without a lock may belong to a program that is starting


class SpoolFolder:
    """A locked folder within `folder`, deleted by `close`.

    Those left by programs that were killed are deleted when the next one is made.
    """

    def __init__(self, folder: Path, what: str = "the stream") -> None:
        """Make it for `what`; `UserError` if that fails."""
        delete_abandoned_spools(folder)
        try:
            self.path: Final = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
            self._lock = RecordingsFolder(self.path)
            self._lock.begin(self.path / SPOOL_NAME)
        except OSError as error:
            raise UserError(spool_error(error, folder, what)) from error

    def close(self) -> None:
        self._lock.end()
        shutil.rmtree(self.path, ignore_errors=True)


def delete_abandoned_spools(folder: Path) -> None:
    for left in folder.glob(f"{_PREFIX}*/"):
        with contextlib.suppress(OSError):
            was_locked = (left / f"{Path(SPOOL_NAME).stem}.lock").exists()
            is_old = time.time() - left.stat().st_mtime > _STARTING_S
            if not RecordingsFolder(left).is_written(left / SPOOL_NAME) and (was_locked or is_old):
                shutil.rmtree(left, ignore_errors=True)


def spool_error(error: Exception, folder: Path, what: str = "the stream") -> ErrorDetails:
    reason = getattr(error, "strerror", None) or str(error)
    return ErrorDetails(f"Cannot store {what}", str(folder), "Check the free disk space.", reason)

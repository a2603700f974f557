"""Which of the programs that share a data folder still run."""

from __future__ import annotations

import contextlib
import re
import secrets
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from pathlib import Path

    from filelock import FileLock

_NAME: Final = re.compile(r"[0-9a-f]{32}")
_LOOK_S: Final = 0.005
"""Longer than another program holds a lock that it only tries, shorter than anyone would notice."""


class Owners:
    """Running programs by name, each with a lock on a file of its own.

    The system lets go of a lock however its holder ends, `kill -9` included; process ids would be
    given out again. To move in or to sweep while another program does either is not safe: do it
    under a lock that all of them share (here, a write transaction).
    """

    def __init__(self, folder: Path) -> None:
        """Keep the locks in `folder`, which is made when the first program moves in."""
        self._folder = folder
        self._lock: FileLock | None = None
        self.me: Final = secrets.token_hex(16)
        """The name of this program, for as long as this object lives."""

    @property
    def has_moved_in(self) -> bool:
        """Whether other programs can tell that this one runs."""
        with contextlib.suppress(OSError):
            return self._lock is not None and self._path(self.me).exists()
        return False

    def move_in(self) -> None:
        """Let other programs know that this one runs; done again, it is repaired if need be.

        Raises:
            ProblemError: the lock cannot be made.
        """
        if self.has_moved_in:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = self._lock_of(self.me)
            lock.acquire(blocking=False)
        except OSError as error:  # a Timeout is one
            raise ProblemError(self._problem(error)) from error
        self._lock = lock

    def move_out(self) -> None:
        """Leave no trace of this program."""
        if self._lock is not None:
            lock, self._lock = self._lock, None
            with contextlib.suppress(OSError):
                lock.release()
                self._path(self.me).unlink(missing_ok=True)

    def lives(self, owner: object) -> bool:
        """Whether the program of that name runs. In doubt it does: two at once would be worse.

        What a damaged file has in place of a name is nobody's.
        """
        if not isinstance(owner, str) or not _NAME.fullmatch(owner):
            return False
        if owner == self.me:
            return True
        lock = self._lock_of(owner)
        try:
            if not self._path(owner).exists():
                return False
            lock.acquire(timeout=_LOOK_S, poll_interval=_LOOK_S / 5)
        except OSError:
            return True
        lock.release()
        return False

    def sweep(self) -> None:
        """Delete the locks of programs that ended without moving out."""
        for path in self._folder.glob("*.lock"):
            if not self.lives(path.stem):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _path(self, owner: str) -> Path:
        return self._folder / f"{owner}.lock"

    def _lock_of(self, owner: str) -> FileLock:
        from filelock import FileLock  # late: no start waits for it

        # No soft locks: they outlive their holder. Not by thread: workers come and go.
        return FileLock(self._path(owner), mode=0o600, thread_local=False, fallback_to_soft=False)

    def _problem(self, error: OSError) -> Problem:
        from filelock import Timeout

        return Problem(
            "Resumable jobs cannot be kept apart from those of other running programs",
            str(self._folder),
            "Check the rights of the folder, or choose another one with --data-dir.",
            "somebody else holds the lock" if isinstance(error, Timeout) else str(error),
        )

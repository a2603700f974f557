"""Locks between processes, which the system releases however their holder ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from filelock import FileLock

CHECK_S: Final = 0.005
"""Longer than another program holds a lock while trying it, too short to notice."""


def process_lock(path: Path) -> FileLock:
    """Make the lock of a private file at `path`, which nobody holds yet."""
    from filelock import FileLock  # late: not needed at startup

    # No soft locks: they outlive their holder. Not per thread: workers come and go.
    return FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)


def is_held(path: Path, patience_s: float = 0.0) -> bool:
    """Return whether a lock stays taken for `patience_s`; in doubt, it does."""
    try:
        if not path.exists():
            return False
        lock = process_lock(path)
        lock.acquire(timeout=patience_s, poll_interval=CHECK_S / 5)
    except (OSError, NotImplementedError):  # a Timeout is an OSError
        return True
    lock.release()
    return False

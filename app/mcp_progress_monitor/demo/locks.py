"""A lock on an open file, which ends with the file or with the process, however that ends."""

import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def has_locked(file: int) -> bool:
    """Try to lock the file of this number, for this process alone."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True

"""How many files, pipes and connections may be open: made enough for many servers, or told.

A server takes three pipes. macOS lets a program that was started from the desktop have 256.
"""

from __future__ import annotations

import errno
import functools
import sys
from typing import Final

from mcp_progress_monitor.problem import Problem

_ENOUGH: Final = 4096
"""A thousand servers; below what any system refuses to a user."""


@functools.cache
def make_room() -> None:
    """Raise our own limit as far as we need and may. Servers that we start have it as well."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return  # then it stays as it is, and `problem` tells of it if it is met


def problem(error: OSError, where: str) -> Problem | None:
    """What to say when `error` is that no more can be opened; None when it is another."""
    if error.errno not in {errno.EMFILE, errno.ENFILE}:
        return None
    return Problem(
        "No more files and pipes can be opened",
        where,
        "Disconnect servers that are not needed, or raise the limit (ulimit -n) and start anew.",
        error.strerror or "",
    )

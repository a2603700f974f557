"""A process that stays when this one, or its whole group, is killed; it can kill another."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # `signal` wraps it in enumerations, which take 10 ms to import

_OPEN = "/dev/fd"
_MANY = 256
"""As many files as are closed where the system does not list the open ones."""

if sys.platform == "win32":

    def run_detached(_run: Callable[[int, int], None], _first: int, _second: int) -> bool:
        """Return False: a process cannot be split on Windows."""
        return False

    def handle_of(_pid: int) -> int:
        """Return -1: a job object ends what a killed tap leaves."""
        return -1

    def kill(_handle: int) -> None:
        """Do nothing."""

else:

    def run_detached(run: Callable[[int, int], None], first: int, second: int) -> bool:
        """Run a function in a copy of this process, with no open files but two of this one's.

        Returns whether it could be started. It is no child of this process, so that those who end
        a process with its children leave it alone. There must be no other threads.
        """
        try:
            child = os.fork()
        except OSError:
            return False
        if child:
            _, status = os.waitpid(child, 0)
            return status == 0
        status = 1
        try:
            os.setsid()
            if os.fork() == 0:
                run(*_only_open(first, second))
            status = 0
        finally:
            os._exit(status)

    _HAS_HANDLES = hasattr(os, "pidfd_open")

    def handle_of(pid: int) -> int:
        """A handle on a process that runs: on Linux a descriptor, which names no later process."""
        if not _HAS_HANDLES:
            return pid
        try:
            return os.pidfd_open(pid)
        except OSError:  # it has ended, or the system is old
            return -1

    def kill(handle: int) -> None:
        """Kill a process, unless it has ended."""
        try:
            if handle < 0:
                return
            if _HAS_HANDLES:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            else:
                os.kill(handle, signal.SIGKILL)
        except OSError:
            return

    def _only_open(first: int, second: int) -> tuple[int, int]:
        """Close all files but two; returns their new numbers.

        Others would never see the end of a pipe that stays open here.
        """
        null = os.open(os.devnull, os.O_RDWR)
        lowest = max(first, second, null, 4) + 1
        kept = [os.dup2(number, lowest + place) for place, number in enumerate((first, second))]
        for number in range(3):
            os.dup2(null, number)
        for number in _open_files():
            if number > 2 and number not in kept:
                try:
                    os.close(number)
                except OSError:  # the folder that was listed
                    continue
        return kept[0], kept[1]

    def _open_files() -> list[int]:
        try:
            return [int(name) for name in os.listdir(_OPEN)]  # noqa: PTH208
        except OSError:
            return list(range(_MANY))

"""Servers do not outlive the program: what it tells the watchdog, a process that does.

There is one guard in a process of the program, as there is one set of signal handlers: what ends
it ends all servers, whichever monitor they belong to.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import subprocess
import sys
import threading
from typing import Final

from mcp_progress_monitor import paths
from mcp_progress_monitor.sessions import process_group

_log = logging.getLogger(__name__)

_END_S: Final = 3.0
"""How long the watchdog may take to end all servers."""
_CLOSE_S: Final = 0.5


class ProcessGuard:
    """Knows the servers that run. All of it may be called from any thread."""

    def __init__(self) -> None:
        """Nothing is started before the first server is."""
        self._run = ""
        self._count = 0
        self._pids: dict[str, int] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._owner = 0

    def prepare(self) -> str:
        """Have the watchdog run; returns the mark for the environment of the next server."""
        with self._lock:
            self._count += 1
            if self._owner != os.getpid():
                # Also in a process that was forked: its servers are its own.
                self._owner, self._run = os.getpid(), os.urandom(8).hex()
                self._pids.clear()
                self._watchdog = self._started()
            return f"{self._run}-{self._count}"

    def add(self, pid: int, mark: str) -> None:
        """A server was started, with this mark in its environment."""
        self._pids[mark] = pid
        self._tell(f"+ {pid} {mark}")

    def remove(self, mark: str) -> None:
        """A server has ended, with all its children."""
        if self._pids.pop(mark, None) is not None:
            self._tell(f"- {mark}")

    def end_all(self) -> None:
        """End all servers and their children at once, and wait for that; never raises."""
        watchdog = self._watchdog
        if watchdog is not None and self._tell("!"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                watchdog.wait(_END_S)
        for pid in list(self._pids.values()):
            with contextlib.suppress(OSError):
                process_group.kill(pid)

    def close(self) -> None:
        """Let the watchdog go, which ends what is left."""
        watchdog = self._watchdog
        if watchdog is not None and watchdog.stdin is not None and self._owner == os.getpid():
            with contextlib.suppress(OSError):
                watchdog.stdin.close()
            if not self._pids:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    watchdog.wait(_CLOSE_S)

    def _started(self) -> subprocess.Popen[bytes] | None:
        """The watchdog; None on Windows, and where it cannot be started, which is logged."""
        if sys.platform == "win32":
            return None
        try:
            watchdog = subprocess.Popen(
                [*paths.internal_command(paths.WATCHDOG), self._run],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",  # it keeps no folder from being unmounted
                start_new_session=True,  # what is sent to the program's group is not for it
            )
        except OSError as error:
            _log.warning("servers are not ended if this program is killed: %s", error)
            return None
        atexit.register(self.close)
        return watchdog

    def _tell(self, line: str) -> bool:
        """Write one line, which a pipe takes whole; whether somebody is there to read it."""
        watchdog = self._watchdog
        if watchdog is None or watchdog.stdin is None:
            return False
        try:
            os.write(watchdog.stdin.fileno(), f"{line}\n".encode())
        except (OSError, ValueError):
            return False
        return True


guard: Final = ProcessGuard()
"""The guard of this process."""

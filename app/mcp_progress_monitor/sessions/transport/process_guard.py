"""Ends a process with its whole group on each platform; reports servers to the watchdog."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import paths

if TYPE_CHECKING:
    from collections.abc import Mapping


PIPE_BYTES: Final = 256 * 1024
"""Bytes that are read from a pipe at once, and that it holds where the system allows it."""


class Pipe(NamedTuple):
    """The file descriptors of a pipe; neither is inherited."""

    reader: int
    writer: int


def kill_tree(head: int) -> None:
    """Kill a process and its descendants, for systems without process groups."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(head)
        for member in [*process.children(recursive=True), process]:
            with contextlib.suppress(
                psutil.Error
            ):  # it ended meanwhile, or belongs to another user
                member.kill()


if sys.platform == "win32":

    def start_options() -> dict[str, Any]:
        """Options that put a new process at the head of its own group."""
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    def open_pipe() -> Pipe | None:
        """A pipe for a process's output; None where only the loop itself can make one."""
        return None

    def executable(command: str, environment: Mapping[str, str]) -> str:
        """The program that `command` names; Windows itself does not find `npx.cmd` as `npx`."""
        import shutil

        return shutil.which(command, path=environment.get("PATH")) or command

    def terminate(leader: int) -> None:
        """End the process and its children; Windows cannot ask them all to exit."""
        kill(leader)

    def kill(leader: int) -> None:
        kill_tree(leader)

    def is_alive(leader: int) -> bool:
        """Return whether any process of the group is left: unknown once its head has ended."""
        return False

else:
    import fcntl

    def start_options() -> dict[str, Any]:
        """Options that put a new process at the head of its own session and group."""
        return {"start_new_session": True}

    def open_pipe() -> Pipe | None:
        """A pipe for a process's output; None where only the loop itself can make one.

        It holds more than others where the system allows that (Linux): fewer and longer reads.
        """
        pipe = Pipe(*os.pipe())
        os.set_blocking(pipe.reader, False)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # the user's pipes may hold no more in all
                fcntl.fcntl(pipe.reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return pipe

    def executable(command: str, environment: Mapping[str, str]) -> str:
        """The program that `command` names; the system searches PATH itself."""
        return command

    def terminate(leader: int) -> None:
        """Ask every process of the group to end (SIGTERM)."""
        _signal(leader, signal.SIGTERM)

    def kill(leader: int) -> None:
        """Kill every process of the group (SIGKILL)."""
        _signal(leader, signal.SIGKILL)

    def is_alive(leader: int) -> bool:
        """Return whether any process of the group is left, its head or a child that outlived it.

        A group keeps its number as long as it has a member, so the number is not reused while this
        is true.
        """
        return _signal(leader, 0)

    def _signal(leader: int, number: int) -> bool:
        try:
            os.killpg(leader, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            # macOS reports this for a group of zombies; elsewhere a member changed its user.
            return False
        return True


_log = logging.getLogger(__name__)

_END_S: Final = 3.0  # how long the watchdog may take to end all servers
_CLOSE_S: Final = 0.5


class ProcessGuard:
    """Tracks the running servers. Thread-safe."""

    def __init__(self) -> None:
        """The watchdog is started with the first server."""
        self._run = ""
        self._count = 0
        self._pids: dict[str, int] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._owner = 0

    def prepare(self) -> str:
        """Start the watchdog if needed; returns the mark for the environment of the next server."""
        with self._lock:
            self._count += 1
            if self._owner != os.getpid():
                # Also in a forked process: its servers are its own.
                self._owner, self._run = os.getpid(), os.urandom(8).hex()
                self._pids.clear()
                self._watchdog = self._started()
            return f"{self._run}-{self._count}"

    def add(self, pid: int, mark: str) -> None:
        self._pids[mark] = pid
        self._send(f"+ {pid} {mark}")

    def remove(self, mark: str) -> None:
        if self._pids.pop(mark, None) is not None:
            self._send(f"- {mark}")

    def end_all(self) -> None:
        """End all servers and their children, and wait for that; never raises."""
        watchdog = self._watchdog
        if watchdog is not None and self._send("!"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                watchdog.wait(_END_S)
        for pid in list(self._pids.values()):
            with contextlib.suppress(OSError):
                kill(pid)

    def close(self) -> None:
        watchdog = self._watchdog
        if watchdog is not None and watchdog.stdin is not None and self._owner == os.getpid():
            with contextlib.suppress(OSError):
                watchdog.stdin.close()
            if not self._pids:
                # At exit another Ctrl+C may arrive: the watchdog does its work anyway.
                with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                    watchdog.wait(_CLOSE_S)

    def _started(self) -> subprocess.Popen[bytes] | None:
        """The watchdog; None on Windows, and where it cannot be started, which is logged."""
        if sys.platform == "win32":
            return None
        try:
            watchdog = subprocess.Popen(
                [*paths.internal_command(paths.WATCHDOG), self._run, *_libraries()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",  # do not keep a folder in use
                start_new_session=True,  # signals to the program's group do not reach it
            )
        except OSError as error:
            _log.warning("servers are not ended if this program is killed: %s", error)
            return None
        atexit.register(self.close)
        return watchdog

    def _send(self, line: str) -> bool:
        """Write one line atomically; whether anyone reads it."""
        watchdog = self._watchdog
        if watchdog is None or watchdog.stdin is None:
            return False
        try:
            os.write(watchdog.stdin.fileno(), f"{line}\n".encode())
        except (OSError, ValueError):
            return False
        return True


def _libraries() -> list[str]:
    """Say where the watchdog finds psutil, which it needs without /proc."""
    spec = None if sys.platform == "linux" else importlib.util.find_spec("psutil")
    return [] if spec is None or spec.origin is None else [str(Path(spec.origin).parents[1])]


guard: Final = ProcessGuard()  # the guard of this process

"""The server's process on Windows, in a job object that ends when this process is killed."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from mcp_progress_monitor.tap.environment import Environment

_NOT_STARTED = 127

if sys.platform == "win32":
    from ctypes import wintypes

    _EXTENDED_LIMITS = 9
    """JobObjectExtendedLimitInformation"""
    _BREAKAWAY_OK = 0x0800
    _KILL_ON_CLOSE = 0x2000

    class _BasicLimits(ctypes.Structure):
        _fields_ = (
            ("per_process_user_time", wintypes.LARGE_INTEGER),
            ("per_job_user_time", wintypes.LARGE_INTEGER),
            ("flags", wintypes.DWORD),
            ("least_working_set", ctypes.c_size_t),
            ("most_working_set", ctypes.c_size_t),
            ("most_processes", wintypes.DWORD),
            ("affinity", ctypes.c_size_t),
            ("priority", wintypes.DWORD),
            ("scheduling", wintypes.DWORD),
        )

    class _ExtendedLimits(ctypes.Structure):
        _fields_ = (
            ("basic", _BasicLimits),
            ("io", ctypes.c_ulonglong * 6),
            ("process_memory", ctypes.c_size_t),
            ("job_memory", ctypes.c_size_t),
            ("peak_process_memory", ctypes.c_size_t),
            ("peak_job_memory", ctypes.c_size_t),
        )

    class _Job:
        """A job object with this process and its children, ended when this process is killed."""

        def __init__(self) -> None:
            kernel = ctypes.WinDLL("kernel32", use_last_error=True)
            kernel.CreateJobObjectW.restype = wintypes.HANDLE
            kernel.GetCurrentProcess.restype = wintypes.HANDLE
            kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
            kernel.SetInformationJobObject.argtypes = (
                wintypes.HANDLE,
                ctypes.c_int,
                ctypes.c_void_p,
                wintypes.DWORD,
            )
            self._kernel = kernel
            self._handle = kernel.CreateJobObjectW(None, None)
            self._limit(_KILL_ON_CLOSE | _BREAKAWAY_OK)
            kernel.AssignProcessToJobObject(self._handle, kernel.GetCurrentProcess())

        def release(self) -> None:
            """Let processes that the server has left running survive, as without a tap."""
            self._limit(_BREAKAWAY_OK)

        def _limit(self, flags: int) -> None:
            limits = _ExtendedLimits()
            limits.basic.flags = flags
            self._kernel.SetInformationJobObject(
                self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
            )

    class TappedServer:
        """The server: a child of this process, in its job, with pipes for its three streams."""

        def __init__(
            self, command: Sequence[str], environment: Environment, prepare: Callable[[int], None]
        ) -> None:
            """Start it; `OSError` if it cannot be started. `prepare` is called with its id."""
            variables = environment.variables
            self.was_signalled = False
            self._job = _Job()
            # Ctrl+C reaches the server as well, which handles it.
            found = shutil.which(command[0], path=variables.get("PATH")) or command[0]
            self._process = subprocess.Popen(
                [found, *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=variables,
                bufsize=0,
            )
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGBREAK, signal.SIG_IGN)
            streams = (self._process.stdin, self._process.stdout, self._process.stderr)
            self.stdin, self.stdout, self.stderr = (pipe.fileno() for pipe in streams if pipe)
            self.pid = self._process.pid
            prepare(self.pid)

        def wait(self) -> None:
            self._process.wait()

        @property
        def exit_code(self) -> int | None:
            return self._process.returncode

        @property
        def signal_name(self) -> str | None:
            return None

        def is_signalled_again(self) -> bool:
            return False

        def interrupt(self, reader: int, thread: int | None) -> None:
            """Do nothing: reads cannot be interrupted, and `relay` abandons one without data."""

        def waiting_bytes(self, _reader: int) -> int:
            """Unknown while a thread reads: any number."""
            return sys.maxsize

        @staticmethod
        def nonblocking_end(_source: int, _target: int) -> None:
            """Return None: there are none on Windows."""

        def end_alike(self) -> NoReturn:
            """End this process with the server's exit code."""
            self._job.release()
            code = self._process.returncode
            os._exit(code - (1 << 32) if code >= 1 << 31 else code)


def run_untapped(command: Sequence[str], _environment: Environment, why: str) -> NoReturn:
    """Report why the command cannot be started: a tap lacks nothing here that it would need."""
    os.write(2, f"{command[0]}: {why}\n".encode(errors="replace"))
    os._exit(_NOT_STARTED)

"""The server's process on POSIX systems: start, signals, waiting, and ending the same way."""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn
else:
    import _signal as signal  # `signal` wraps it in enumerations, which take 10 ms to import

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a terminal sends to all foreground processes, including the server."""
WAKE = signal.SIGURG
"""Interrupts a thread that is blocked in a read; harmless if sent by others."""
_SHELL = ("/bin/sh", "-c", 'exec "$@"', "sh")
"""Reports why a command cannot be started, with the usual exit code. Also runs scripts without a
shebang, as most clients would."""
_ALIASES = frozenset({"SIGCLD", "SIGIOT", "SIGPOLL", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"})
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
_SELF = "/proc/self/environ"
_POLLED = (stat.S_IFIFO, stat.S_IFSOCK)


class NonblockingEnd:
    """A non-blocking way to write to a pipe or socket.

    Inherited files stay blocking: other processes use them as well.
    """

    def __init__(
        self, number: int, write: Callable[[bytes | memoryview], int], close: Callable[[], None]
    ) -> None:
        """`number` is the descriptor; `write` raises `BlockingIOError` if there is no room."""
        self.number = number
        self.write = write
        self.close = close


class TappedServer:
    """The server: a child of this process, in the same group, with pipes for its three streams."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it; `OSError` if not even a shell can be started."""
        self.was_signalled = False
        """Whether a signal sent to this process was passed on to it."""
        self._exit: tuple[int | None, int | None] = (None, None)
        self._forwarded = {
            number
            for name in _FORWARDED
            if signal.getsignal(number := getattr(signal, name)) != signal.SIG_IGN
        }
        signal.signal(signal.SIGCHLD, _nothing)  # if ignored, exit codes would be lost
        signal.signal(WAKE, _nothing)
        self._awaited = {*self._forwarded, signal.SIGCHLD}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._awaited)
        stdin, self.stdin = os.pipe()
        self.stdout, stdout = os.pipe()
        self.stderr, stderr = os.pipe()
        self.pid = _spawn(command, environment, (stdin, stdout, stderr), mask)
        for end in (stdin, stdout, stderr):
            os.close(end)
        # Imported now, since Python may be removed before the end.
        import fcntl  # noqa: F401
        import resource  # noqa: F401
        import termios  # noqa: F401

    def wait(self) -> None:
        """Wait until it has ended, and forward signals meanwhile."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            self._forward(*self._next_signal())
        if os.WIFSIGNALED(status):
            self._exit = (None, os.WTERMSIG(status))
        else:
            self._exit = (os.WEXITSTATUS(status), None)

    @property
    def exit_code(self) -> int | None:
        return self._exit[0]

    @property
    def signal_name(self) -> str | None:
        number = self._exit[1]
        return None if number is None else _name_of(number)

    def is_signalled_again(self) -> bool:
        """Whether this process was signalled to end, after the server has ended."""
        return self.was_signalled or bool(signal.sigpending() & self._forwarded)

    def interrupt(self, reader: int, thread: int | None) -> None:
        """Make a thread stop reading a pipe of the server once it is empty."""
        os.set_blocking(reader, False)
        if thread is not None:
            signal.pthread_kill(thread, WAKE)

    def waiting_bytes(self, reader: int) -> int:
        """The number of unread bytes in a pipe."""
        import fcntl
        import termios

        count = fcntl.ioctl(reader, termios.FIONREAD, bytes(4))
        return int.from_bytes(count, sys.byteorder)

    @staticmethod
    def nonblocking_end(source: int, target: int) -> NonblockingEnd | None:
        """A non-blocking way to write to `target`; None if unavailable, or `source` has no poll."""
        if sys.platform != "linux":  # elsewhere a pipe cannot be reopened
            return None
        try:
            kind, read_kind = (stat.S_IFMT(os.fstat(number).st_mode) for number in (target, source))
            if read_kind not in _POLLED:
                return None
            if kind == stat.S_IFIFO:
                pipe = os.open(f"/proc/self/fd/{target}", os.O_WRONLY | os.O_NONBLOCK)
                return NonblockingEnd(
                    pipe, lambda data: os.write(pipe, data), lambda: os.close(pipe)
                )
            return _socket_end(target) if kind == stat.S_IFSOCK else None
        except OSError:  # the reader is gone, or there is no /proc
            return None

    def end_alike(self) -> NoReturn:
        """End this process with the server's exit code or signal."""
        code, number = self._exit
        if number is not None:
            _die_of(number)
            code = 128 + number  # the signal did not end this process
        os._exit(code or 0)

    def _next_signal(self) -> tuple[int, bool]:
        """The next signal, and whether the server has received it as well."""
        if sys.platform != "linux":  # no `sigwaitinfo`, which has the sender
            number = signal.sigwait(self._awaited)
            return number, number in _TERMINAL_SIGNALS and _is_in_foreground()
        found = signal.sigwaitinfo(self._awaited)
        return found.si_signo, found.si_signo in _TERMINAL_SIGNALS and found.si_code > 0

    def _forward(self, number: int, is_known: bool) -> None:
        if number == signal.SIGCHLD or is_known:
            return
        self.was_signalled = True
        os.kill(self.pid, number)  # not reaped yet, so the id is still its own


def _socket_end(target: int) -> NonblockingEnd | None:
    import _socket  # `socket` wraps it in enumerations, too

    end = _socket.socket(fileno=os.dup(target))
    if end.type != _socket.SOCK_STREAM:
        end.close()
        return None
    return NonblockingEnd(
        end.fileno(), lambda data: end.send(data, _socket.MSG_DONTWAIT), end.close
    )


def user_environment() -> dict[str, str]:
    """The environment set by the client, without the LC_CTYPE that Python adds by default."""
    environment = dict(os.environ)
    if environment.get("LC_CTYPE") in _COERCED and sys.platform == "linux":
        try:
            with open(_SELF, "rb") as own:  # noqa: PTH123  # pathlib takes long to import
                given = b"\0" + own.read()
        except OSError:
            return environment
        if b"\0LC_CTYPE=" not in given:
            del environment["LC_CTYPE"]
    return environment


def _name_of(number: int) -> str:
    names = (name for name in dir(signal) if name.startswith("SIG") and name not in _ALIASES)
    return next((name for name in names if getattr(signal, name) == number), f"signal {number}")


def _spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: Sequence[int],
    mask: set[signal.Signals] | set[int],
) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(streams)]
    # Python ignores these, which children would inherit.
    ignored = (signal.SIGPIPE, signal.SIGXFSZ)
    try:
        return os.posix_spawnp(
            command[0],
            list(command),
            environment,
            file_actions=actions,
            setsigmask=mask,
            setsigdef=ignored,
        )
    except OSError:
        return os.posix_spawn(
            _SHELL[0],
            ("sh", *_SHELL[1:], *command),
            environment,
            file_actions=actions,
            setsigmask=mask,
            setsigdef=ignored,
        )


def _is_in_foreground() -> bool:
    """Whether this process is in the foreground of a terminal, which sends Ctrl+C to all of it."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _die_of(number: int) -> None:
    """End by a signal, without a core dump."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _nothing(_number: int, _frame: object) -> None:
    """Handle a signal only by interrupting system calls."""

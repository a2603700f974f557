"""The server's process on POSIX systems: started, signalled, waited for, its end repeated."""

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
    import _signal as signal  # what `signal` wraps in enumerations, which take 10 ms to import

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal sends to all processes in its foreground: the server has got them as well."""
WAKE = signal.SIGURG
"""Interrupts a thread that waits in a read. Whoever else sends it changes nothing."""
_SHELL = ("/bin/sh", "-c", 'exec "$@"', "sh")
"""Says in the system's own words, and with its exit code, why a command cannot be started. It also
runs scripts without a first line, as most programs that start a server would."""
_SECOND_NAMES = frozenset(
    {"SIGCLD", "SIGIOT", "SIGPOLL", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"}
)
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
_SELF = "/proc/self/environ"
_POLLED = (stat.S_IFIFO, stat.S_IFSOCK)


class NonblockingEnd:
    """An end of a pipe or socket that takes as much as there is room for, and never waits.

    Files that were inherited stay as they are: others use them as well, and may rely on waiting.
    """

    def __init__(
        self, number: int, write: Callable[[bytes | memoryview], int], close: Callable[[], None]
    ) -> None:
        """`number` is that of the file; `write` raises `BlockingIOError` where there is no room."""
        self.number = number
        self.write = write
        self.close = close


class TappedServer:
    """The server: a child of this process, in the same group, with pipes for its three streams."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it; `OSError` when not even a shell can be started to say why not."""
        self.was_signalled = False
        """Whether it was passed a signal that a client sent to this process."""
        self._exit: tuple[int | None, int | None] = (None, None)
        self._forwarded = {
            number
            for name in _FORWARDED
            if signal.getsignal(number := getattr(signal, name)) != signal.SIG_IGN
        }
        signal.signal(signal.SIGCHLD, _nothing)  # who inherits that it is ignored learns no code
        signal.signal(WAKE, _nothing)
        self._awaited = {*self._forwarded, signal.SIGCHLD}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._awaited)
        stdin, self.stdin = os.pipe()
        self.stdout, stdout = os.pipe()
        self.stderr, stderr = os.pipe()
        self.pid = _spawn(command, environment, (stdin, stdout, stderr), mask)
        for end in (stdin, stdout, stderr):
            os.close(end)
        # At the end they may have been removed, and Python with them.
        import fcntl  # noqa: F401
        import resource  # noqa: F401
        import termios  # noqa: F401

    def wait(self) -> None:
        """Wait until it has ended, and pass on what signals come meanwhile."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            self._pass_on(*self._next_signal())
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
        """Whether somebody wants this process, too, to end, now that the server has."""
        return self.was_signalled or bool(signal.sigpending() & self._forwarded)

    def interrupt(self, reader: int, thread: int | None) -> None:
        """Have a thread that reads from a pipe of the server stop where no more bytes wait."""
        os.set_blocking(reader, False)
        if thread is not None:
            signal.pthread_kill(thread, WAKE)

    def waiting_bytes(self, reader: int) -> int:
        """How many bytes wait in a pipe."""
        import fcntl
        import termios

        count = fcntl.ioctl(reader, termios.FIONREAD, bytes(4))
        return int.from_bytes(count, sys.byteorder)

    @staticmethod
    def nonblocking_end(source: int, target: int) -> NonblockingEnd | None:
        """A way to write to `target` without waiting; None unless `source` can be polled, too."""
        if sys.platform != "linux":  # nowhere else is a pipe opened a second time
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
        except OSError:  # nobody reads any more, or there is no /proc
            return None

    def end_alike(self) -> NoReturn:
        """End this process as the server ended: by the same code or signal."""
        code, number = self._exit
        if number is not None:
            _die_of(number)
            code = 128 + number  # it ended a process there, and does not here
        os._exit(code or 0)

    def _next_signal(self) -> tuple[int, bool]:
        """The next signal, and whether the server has got it as well."""
        if sys.platform != "linux":  # nobody tells there where a signal comes from
            number = signal.sigwait(self._awaited)
            return number, number in _OF_TERMINAL and _is_in_foreground()
        found = signal.sigwaitinfo(self._awaited)
        return found.si_signo, found.si_signo in _OF_TERMINAL and found.si_code > 0

    def _pass_on(self, number: int, is_known: bool) -> None:
        if number == signal.SIGCHLD or is_known:
            return
        self.was_signalled = True
        os.kill(self.pid, number)  # it is not waited for yet, so the number is its own


def _socket_end(target: int) -> NonblockingEnd | None:
    import _socket  # what `socket` wraps in enumerations, too

    end = _socket.socket(fileno=os.dup(target))
    if end.type != _socket.SOCK_STREAM:
        end.close()
        return None
    return NonblockingEnd(
        end.fileno(), lambda data: end.send(data, _socket.MSG_DONTWAIT), end.close
    )


def user_environment() -> dict[str, str]:
    """The environment as the client made it: Python sets LC_CTYPE where no locale is set."""
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
    names = (name for name in dir(signal) if name.startswith("SIG") and name not in _SECOND_NAMES)
    return next((name for name in names if getattr(signal, name) == number), f"signal {number}")


def _spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: Sequence[int],
    mask: set[signal.Signals] | set[int],
) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(streams)]
    # Python ignores these two, and programs inherit that.
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
    """Whether this process is in the foreground of a terminal, where Ctrl+C reaches all."""
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
    """End by a signal, without a core dump of a program that has no fault."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _nothing(_number: int, _frame: object) -> None:
    """Have a signal interrupt what waits, and nothing else."""

"""The server's process on POSIX systems: start, signals, waiting, and ending the same way."""

from __future__ import annotations

import _thread
import errno
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from mcp_progress_monitor.tap.environment import Environment
else:
    import _signal as signal  # `signal` wraps it in enumerations, which take 10 ms to import

_KEPT = frozenset(
    getattr(signal, name)
    for name in (
        *("SIGKILL", "SIGSTOP"),  # cannot be handled
        *("SIGCHLD", "SIGURG"),  # have a meaning here
        *("SIGTSTP", "SIGTTIN", "SIGTTOU"),  # stop this process as well
    )
    if hasattr(signal, name)
)
"""Signals that are not forwarded to the server."""
_HARMLESS = frozenset((signal.SIGCONT, signal.SIGWINCH))
"""Signals that end no process that does not handle them."""
_OF_WRITES = frozenset((signal.SIGPIPE, signal.SIGXFSZ))
"""Signals that Python ignores. This process may cause them as well, and only Linux tells by whom a
signal was sent."""
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH)
"""Signals that a terminal sends to all foreground processes, including the server."""
WAKE = signal.SIGURG
"""Interrupts a thread that is blocked in a read; harmless if sent by others."""
_HELD_THREADS = 4
_HELD_FILES = 16
_NOT_STARTED = 127
_SHELL = ("/bin/sh", "-c", 'exec "$@"', "sh")
"""Reports why a command cannot be started, with the usual exit code. Also runs scripts without a
shebang, as most clients would."""
_ALIASES = frozenset({"SIGCLD", "SIGIOT", "SIGPOLL", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"})
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

    def __init__(
        self, command: Sequence[str], environment: Environment, prepare: Callable[[int], None]
    ) -> None:
        """Start it; `OSError` or `RuntimeError` if this process lacks what a tap needs.

        `prepare` is called with the id of its process, before that runs the command. If the command
        cannot be started, a shell reports why, in its place.
        """
        self.was_signalled = False
        """Whether a signal sent to this process was passed on to it."""
        self._exit: tuple[int | None, int | None] = (None, None)
        found = {each: signal.getsignal(each) for each in signal.valid_signals()}
        self._forwarded = {
            number
            for number, handler in found.items()
            if number not in _KEPT
            and (sys.platform == "linux" if number in _OF_WRITES else handler != signal.SIG_IGN)
        }
        self._awaited = {*self._forwarded, signal.SIGCHLD}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._awaited)
        ends: list[int] = []
        try:
            for _ in range(3):
                ends += os.pipe()
            streams = (ends[0], ends[3], ends[5])
            ignored = [each for each in (signal.SIGCHLD, WAKE) if found[each] == signal.SIG_IGN]
            for number in (signal.SIGCHLD, WAKE, *(self._forwarded & (_OF_WRITES | _HARMLESS))):
                signal.signal(number, _nothing)  # if ignored, exit codes would be lost
            self.pid = _spawn(_Start(command, environment, streams, mask, ignored), prepare)
        except BaseException:
            for number in (signal.SIGCHLD, WAKE):
                signal.signal(number, found[number])
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            for end in ends:
                os.close(end)
            raise
        self.stdin, self.stdout, self.stderr = ends[1], ends[2], ends[4]
        for end in streams:
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
        """Return whether this process was signalled to end, after the server has ended."""
        return self.was_signalled or bool(
            signal.sigpending() & (self._forwarded - _OF_WRITES - _HARMLESS)
        )

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
        number = found.si_signo
        if number in _OF_WRITES:
            return number, found.si_pid == os.getpid()
        return number, number in _TERMINAL_SIGNALS and found.si_code > 0

    def _forward(self, number: int, is_known: bool) -> None:
        if number == signal.SIGCHLD or is_known:
            return
        self.was_signalled |= number not in _HARMLESS
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


def _name_of(number: int) -> str:
    names = (name for name in dir(signal) if name.startswith("SIG") and name not in _ALIASES)
    return next((name for name in names if getattr(signal, name) == number), f"signal {number}")


class _Room:
    """Takes as many threads and files as a tap needs, to be sure that they can be had."""

    def __init__(self) -> None:
        self._gate = _thread.allocate_lock()
        self._ends: list[_thread.LockType] = []
        self._files: list[int] = []

    def __enter__(self) -> None:
        self._gate.acquire()
        try:
            for _ in range(_HELD_FILES):
                self._files.append(os.dup(0))
            for _ in range(_HELD_THREADS):
                end = _thread.allocate_lock()
                end.acquire()
                _thread.start_new_thread(self._hold, (end,))
                self._ends.append(end)
        except BaseException:
            self._release()
            raise

    def __exit__(self, *_error: object) -> None:
        self._release()

    def _hold(self, end: _thread.LockType) -> None:
        with self._gate:
            end.release()

    def _release(self) -> None:
        self._gate.release()
        for end in self._ends:
            end.acquire()
        for number in self._files:
            os.close(number)


class _Start:
    """A command, and everything that its process inherits."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Environment,
        streams: Sequence[int],
        mask: set[signal.Signals] | set[int],
        ignored: Sequence[int],
    ) -> None:
        """`ignored` are signals that the client ignores, and this process does not."""
        self.command = list(command)
        self.environment = environment
        self.streams = streams
        self.mask = mask
        self.ignored = ignored

    def replace_process(self) -> NoReturn:
        """Become the command."""
        for number, end in enumerate(self.streams):
            os.dup2(end, number)
        for number in _OF_WRITES:
            signal.signal(number, signal.SIG_DFL)
        for number in self.ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
        name = self.command[0]
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        for path in [name] if "/" in name else [f"{each or '.'}/{name}" for each in folders]:
            error = _execute(path, self.command, self.environment)
            if error == errno.ENOEXEC:
                _execute(_SHELL[0], [_SHELL[0], path, *self.command[1:]], self.environment)
        error = _execute(_SHELL[0], ["sh", *_SHELL[1:], *self.command], self.environment)
        os.write(2, f"{name}: {os.strerror(error)}\n".encode(errors="replace"))
        os._exit(_NOT_STARTED)


def _execute(path: str, command: list[str], environment: Environment) -> int:
    """Replace this process by a program; returns the error number if that fails."""
    if environment.is_plain:
        variables: Any = environment  # enough of a mapping
        try:
            os.execve(path, command, variables)  # noqa: S606  # there is nothing for a shell to do
        except OSError as error:
            return error.errno or 0
    import ctypes

    system = ctypes.CDLL(None, use_errno=True)

    def strings(words: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
        return (ctypes.c_char_p * (len(words) + 1))(*words, None)

    system.execve(
        os.fsencode(path), strings([*map(os.fsencode, command)]), strings(environment.entries)
    )
    return ctypes.get_errno()


def _spawn(start: _Start, prepare: Callable[[int], None]) -> int:
    """Start a process once `prepare` was called and it is sure that this one can be its tap.

    `posix_spawn` would make it ignore two signals of the system's library.
    """
    waits, go = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(go)
            if os.read(waits, 1):
                start.replace_process()
        finally:
            os._exit(_NOT_STARTED)
    os.close(waits)
    try:
        prepare(child)  # it may start a process, which must not happen while there are threads
        with _Room():
            _tell_to_start(go)
    except BaseException:
        os.close(go)
        os.waitpid(child, 0)
        raise
    os.close(go)
    return child


def _tell_to_start(go: int) -> None:
    try:
        os.write(go, b"!")
    except BrokenPipeError:  # it was killed, as a server would be: this process ends alike
        return


def run_untapped(command: Sequence[str], environment: Environment, why: str) -> NoReturn:
    """Become the server, as it would run without a tap."""
    text = f"mcp-progress-monitor tap: {why}. The server runs without being watched\n"
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        os.write(2, text.encode(errors="replace"))
    finally:  # there may be no standard error
        _Start(command, environment, (), mask, ()).replace_process()


def _is_in_foreground() -> bool:
    """True if this process is in the foreground of a terminal, which sends Ctrl+C to all of it."""
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
    # The system's library keeps some to itself, which `kill` can send.
    if number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _nothing(_number: int, _frame: object) -> None:
    """Handle a signal only by interrupting system calls."""

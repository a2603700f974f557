"""The command line in a process that was forked after all of it was imported.

A command of ours spends two thirds of a test importing itself. Here one process imports once and
forks as often as it is asked. What it forks becomes a child of whoever asked: it has a pid, an
environment, streams, a terminal and an exit code, as any program that `Popen` starts.

What such a command starts of ours is forked from it as well: see `forked_scripts`. So are the
commands that others start, such as the official client. Commands that are not forked, because they
are prepared otherwise, start servers as they do for users.
"""

import atexit
import ctypes
import functools
import gc
import importlib
import os
import pickle
import pkgutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, AnyStr, Final, NamedTuple, NoReturn

from tests.integration.forked_scripts import (
    PROGRAM,
    SCRIPTS,
    Script,
    be_alone,
    end_with,
    fork_scripts,
    import_official,
    import_scripts,
    run_script,
    start_scripts,
    take_environment,
    take_streams,
)

CAN_FORK: Final = sys.platform == "linux"
"""Elsewhere nobody adopts what another process has forked."""
_IMPORTED: Final = ("cli", "sessions", "exports", "recording", "catalogue", "store", "engine")
_IMPORTED_LATE: Final = ("anyio._backends._asyncio", "jsonschema", "sqlite3")
"""What most commands import of others while they run."""
_OF_TELEMETRY: Final = frozenset({"--otel", "otlp"})
"""Arguments of commands that import OpenTelemetry, which is imported once for the first of them."""
_SERVER: Final = "import sys; from tests.integration.forked import serve; sys.exit(serve())"
_PR_SET_CHILD_SUBREAPER: Final = 36
_CAPABILITIES_OF_64_BITS: Final = 0x20080522
_ABOVE_RIGHTS: Final = (1, 2)
"""What lets the superuser read, enter and write whatever its rights say (DAC_*, of Linux)."""
_standing_by: Final[list["_ForkServer"]] = []
"""The process that was forked for all kinds, where the tests themselves were forked."""
_turn: Final = threading.Lock()
"""One at a time asks: who adopts is a matter of the whole process."""


class _Command(NamedTuple):
    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    before: Callable[[], None] | None


class Forked(subprocess.Popen[AnyStr]):
    """`Popen` of the command line, given its arguments alone.

    A terminal that is its standard input becomes the one that controls it.
    """

    # What Popen calls once it has made the pipes: the one step that is another here.
    def _execute_child(self, args: Any, *others: Any) -> None:
        folder, environment, pipes = others[4], others[5], others[9:15]
        variables = dict(os.environ if environment is None else environment)
        command = _Command(args, str(folder), variables, before=others[1])
        self.pid = _fork_server(_COMMANDS).fork(command, (pipes[0], pipes[3], pipes[5]))
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def fork_servers() -> None:
    """From now on have a process that has them imported fork the scripts of ours that start here.

    Not this process itself: it has threads, and all that pytest and the tests have made.
    """
    if CAN_FORK:
        start_scripts(_ask_for)


def _ask_for(script: Script, streams: Sequence[int]) -> int:
    folder = str(Path(script.folder).absolute())
    is_server = script.module in SCRIPTS.values() and script.module != PROGRAM
    kind = _OFFICIAL if not script.module else _SCRIPTS if is_server else _COMMANDS
    return _fork_server(kind).fork(script._replace(folder=folder), streams)


class _ForkServer:
    """The process that forks, from the side of those who ask it."""

    def __init__(self, start: Callable[[socket.socket], Callable[[], object]]) -> None:
        self._link, theirs = socket.socketpair()
        with theirs:
            self._wait = start(theirs)

    def fork(self, asked: _Command | Script, streams: Sequence[int]) -> int:
        """Have it fork once, with these streams or, for -1, our own; the new process's pid."""
        inherited = [number if end == -1 else end for number, end in enumerate(streams)]
        message = pickle.dumps(asked)
        with _turn:
            _adopt(is_wanted=True)
            try:
                socket.send_fds(self._link, [len(message).to_bytes(4, "big")], inherited)
                self._link.sendall(message)
                pid = int.from_bytes(_received(self._link, 4), "big")
            finally:
                _adopt(is_wanted=False)
        if not pid:
            raise ChildProcessError("the process that forks commands has ended")
        return pid

    def close(self) -> None:
        """End it."""
        self._link.close()
        self._wait()


def _started(kind: int, link: socket.socket) -> Callable[[], object]:
    """Start an interpreter that imports what this kind needs; return what waits for its end."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(kind), str(link.fileno())],
        cwd=Path(__file__).parents[2],
        pass_fds=[link.fileno()],
    )
    return process.wait


def _adopt(*, is_wanted: bool) -> None:
    """Become the parent of what descendants leave behind, or be so no longer."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(is_wanted), 0, 0, 0):
        raise OSError("prctl")


@functools.cache
def _fork_server(kind: int) -> _ForkServer:
    if _standing_by:
        return _standing_by[0]
    server = _ForkServer(functools.partial(_started, kind))
    atexit.register(server.close)
    return server


def _received(link: socket.socket, size: int) -> bytes:
    """So many bytes; fewer at the end."""
    data = b""
    while len(data) < size and (piece := link.recv(size - len(data))):
        data += piece
    return data


def stand_by() -> None:
    """Fork the process that forks, for all kinds, from this one: it has imported everything."""
    _standing_by.append(_ForkServer(_forked))


def _forked(link: socket.socket) -> Callable[[], object]:
    pid = os.fork()
    if pid == 0:
        os.closerange(3, link.fileno())
        os._exit(_serve(link))
    return functools.partial(os.waitpid, pid, 0)


def serve() -> int:
    """Import, and then fork when asked, in an interpreter of its own."""
    _IMPORTS[int(sys.argv[1])]()
    gc.freeze()  # what the forked share stays shared
    return _serve(socket.socket(fileno=int(sys.argv[2])))


def _serve(link: socket.socket) -> int:
    """Fork when asked, until nobody is left to ask; in what was forked, be what was asked for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it comes to all that share a terminal
    with link:
        while True:
            header, streams, _, _ = socket.recv_fds(link, 4, 3)
            if not header:
                return 0
            asked = pickle.loads(  # noqa: S301  # from our own tests
                _received(link, int.from_bytes(header, "big"))
            )
            if isinstance(asked, _Command) and not _OF_TELEMETRY.isdisjoint(asked.arguments):
                importlib.import_module("mcp_progress_monitor.telemetry.sender")
            pid = _fork_away()
            if pid == 0:
                break
            link.sendall(pid.to_bytes(4, "big"))
            for stream in streams:
                os.close(stream)
    if isinstance(asked, Script):
        be_alone(streams)
        run_script(asked)
    return _be_the_command(asked, streams)


def _fork_away() -> int:
    """Fork a process that is another's child at once: its pid, and 0 in itself."""
    reader, writer = os.pipe()
    between = os.fork()
    if between == 0:
        between = os.getpid()
        child = os.fork()
        if child:
            os.write(writer, child.to_bytes(4, "big"))
            os._exit(0)
        while os.getppid() == between:
            time.sleep(0.000_5)
        child = 0
    else:
        os.waitpid(between, 0)
        child = int.from_bytes(os.read(reader, 4), "big")
    os.close(reader)
    os.close(writer)
    return child


def _be_the_command(asked: _Command, streams: Sequence[int]) -> NoReturn:
    import fcntl
    import termios

    for number, end in enumerate(streams):
        os.dup2(end, number)
        os.close(end)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.isatty(0):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if asked.before is not None:
        asked.before()
    os.chdir(asked.folder)
    take_environment(asked.environment)
    take_streams()
    fork_scripts()
    program = importlib.import_module("mcp_progress_monitor.__main__")
    sys.argv = [str(program.__file__), *asked.arguments]  # as of python -m
    end_with(int(program.main()))


def be_bound_by_rights() -> None:
    """From now on be refused what the rights of files refuse others, also as the superuser."""
    libc = ctypes.CDLL(None)
    version = struct.pack("=Ii", _CAPABILITIES_OF_64_BITS, 0)
    rights = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; and all for 32 more
    failed = libc.capget(version, rights)
    for place in (0, 1):
        rights[place] &= ~sum(1 << each for each in _ABOVE_RIGHTS)
    if failed or libc.capset(version, rights):
        raise OSError("rights do not bind this user")


def import_commands() -> None:
    """Import what commands import, and the servers that they start."""
    package = importlib.import_module("mcp_progress_monitor")
    prefixes = tuple(f"{package.__name__}.{name}" for name in _IMPORTED)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.startswith(prefixes) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in _IMPORTED_LATE:
        importlib.import_module(name)
    import_official()  # the sign-in of sessions has imported most of it
    import_scripts()


_COMMANDS, _SCRIPTS, _OFFICIAL = range(3)
_IMPORTS: Final = (import_commands, import_scripts, import_official)
"""What each kind of process that forks imports first."""

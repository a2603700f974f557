"""However the program ends, and however a server clings: a moment later no process is left."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.integration.commands import PROGRAM, ROOT
from tests.integration.processes import is_alive
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc who runs")

SERVERS: Final = ("", "stubborn", "child deep", "stubborn late", "stubborn breeds")
ENDS: Final = (
    "SIGINT",
    "SIGINT SIGINT",
    "SIGTERM",
    "SIGHUP",
    "SIGKILL",
    "SIGQUIT",
    "SIGSEGV",
    "SIGUSR1",
    "terminal",
    "reader",
)
WINDOW_ENDS: Final = ("SIGINT", "SIGTERM", "SIGTERM SIGINT", "SIGHUP", "SIGKILL", "terminal")


class Way(NamedTuple):
    """One way of ending: which program, how it ends, and the words of its server."""

    program: str
    end: str
    server: str


CALLS: Final = [Way("call", *rest) for rest in product(ENDS, SERVERS)]
WINDOWS: Final = [Way("window", *rest) for rest in product(WINDOW_ENDS, SERVERS)]
CODES: Final = {"SIGINT SIGINT": 5, "SIGTERM": 5, "SIGHUP": 5, "terminal": 5, "reader": 5}
"""The documented exit codes of a call that was ended; those of a window are 0, and 5 after two."""


class Ending:
    """A program with a server, which is ended in one way."""

    def __init__(self, way: Way, folder: Path) -> None:
        self._way = way
        self._file = folder / f"{way.program}-{way.end}-{way.server}".replace(" ", "-")
        server = (sys.executable, "-m", "tests.integration.clinging_server", str(self._file))
        arguments = ["--data-dir", str(folder / "data"), "--", *server, *way.server.split()]
        own = [] if way.program == "window" else ["call", "--json", "hold"]
        self._command = [*PROGRAM, *own, *arguments]
        self._terminal, ours = pty.openpty()
        reader, writer = os.pipe()
        self._reader = reader
        self._program = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
            stdin=ours,
            stdout=writer,
            stderr=ours,
            preexec_fn=_take_terminal,
        )
        os.close(ours)
        os.close(writer)

    def run(self) -> None:
        """Start, end, and see that nothing is left."""
        try:
            self._wait_for("ticks" if self._way.program == "call" else "listed")
            self._end()
            code = self._program.wait(PATIENCE_S)
            self._check_code(code)
            self._wait_for_nobody()
        finally:
            self._program.kill()
            self._program.wait()
            for pid in self._left():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._close("_terminal")
            self._close("_reader")

    def _end(self) -> None:
        if self._way.end in {"terminal", "reader"}:
            self._close(f"_{self._way.end}")
            return
        for name in self._way.end.split():
            self._program.send_signal(signal.Signals[name])
            time.sleep(0.1)  # two of a kind at once would be one

    def _check_code(self, code: int) -> None:
        if self._way.program == "call" and self._way.end in CODES:
            assert code == CODES[self._way.end], self._way
        if self._way.program == "window" and self._way.end in {"SIGTERM", "SIGHUP", "terminal"}:
            assert code == 0, self._way

    def _wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self._file.exists() or text not in self._file.read_text():
            assert self._program.poll() is None, self._way
            assert time.monotonic() < deadline, self._way
            time.sleep(0.02)

    def _wait_for_nobody(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while left := self._left():
            assert time.monotonic() < deadline, (self._way, left)
            time.sleep(0.05)

    def _left(self) -> list[int]:
        """Processes with the file in their command line: program, watchdog's wards, children."""
        sought, found = str(self._file).encode(), []
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if sought in line.read_bytes() and is_alive(int(line.parent.name)):
                    found.append(int(line.parent.name))
        return found

    def _close(self, name: str) -> None:
        descriptor = getattr(self, name)
        if descriptor >= 0:
            os.close(descriptor)
            setattr(self, name, -1)


def _take_terminal() -> None:
    """Be what a shell starts: the foreground of a terminal, which sees its end."""
    import fcntl
    import resource
    import termios

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # ignored by what a shell has in the background
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _end_in(ways: list[Way], folder: Path) -> None:
    for way in ways:
        Ending(way, folder).run()
    print(f"{len(ways)} ways of ending, no process left")  # noqa: T201


_SHORT: Final = [
    Way("call", "SIGTERM", "stubborn late"),
    Way("call", "terminal", "stubborn breeds"),
    Way("window", "SIGKILL", "stubborn late"),
    Way("window", "terminal", "stubborn"),
]


@pytest.mark.parametrize("way", _SHORT, ids="-".join)
def test_an_end_leaves_no_process(way: Way, tmp_path: Path) -> None:
    _end_in([way], tmp_path)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_no_way_of_ending_a_call_leaves_a_process(tmp_path: Path) -> None:
    _end_in(CALLS, tmp_path)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_no_way_of_ending_the_window_leaves_a_process(tmp_path: Path) -> None:
    _end_in(WINDOWS, tmp_path)

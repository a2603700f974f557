"""What it costs to paint the window, beside a bare one, and to answer on the command line.

Processor time counts: on a shared machine, seconds say how busy it is. What a command's server
costs does not count.
Everything runs from compiled modules, as it is installed: a checkout may be forbidden to write
them (`PYTHONDONTWRITEBYTECODE`), and compiling at each start costs as much as starting.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.benchmarks.figures import Figure, Size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BARE_WINDOW: Final = """
import sys, time
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
class Window(QMainWindow):
    def paintEvent(self, event):
        QTimer.singleShot(0, painted)
def painted():
    print(time.monotonic(), time.process_time(), flush=True)
    application.quit()
application = QApplication(sys.argv)
window = Window()
window.resize(1280, 800)
window.show()
application.exec()
"""
_BARE: Final = (sys.executable, "-c", _BARE_WINDOW)
_OURS: Final = (sys.executable, "-m", "tests.benchmarks.first_paint")
_OWN_TIME: Final = """
import resource, sys
from mcp_progress_monitor.__main__ import main
code = main()
used = resource.getrusage(resource.RUSAGE_SELF)
print(f"\\n{used.ru_utime + used.ru_stime}")
sys.exit(code)
"""
"""Runs a command and prints the processor time of its own process: servers' are not in it."""
_COMMANDS: Final = {
    "help": ("--help",),
    "servers_list": ("servers", "list"),
    "resume_list": ("resume", "--list"),
    "tools": ("tools", "--demo"),
    "call": ("call", "--demo", "burst", "--arg", "count=1"),
}
_DUES: Final = {
    "help": "<= 0.3",
    "servers_list": "<= 0.25",
    "resume_list": "<= 0.3",
    "tools": "<= 0.35",
}


def startup(size: Size) -> list[Figure]:
    """Process start to the painted window beside a bare one, in turn; and commands."""
    with tempfile.TemporaryDirectory(prefix="bench-startup-") as folder:
        environ = os.environ if size is Size.TINY else compiling(folder)
        data = str(pathlib.Path(folder) / "data")
        if size is not Size.TINY:
            _round(environ, data)  # compiles
        rounds = [_round(environ, data) for _ in range(size.pick(21, 5, 1))]
    bare = statistics.median(each.bare.used_s for each in rounds)
    ratio = statistics.median(each.ours.used_s / each.bare.used_s for each in rounds)
    loop = statistics.median(each.loop_s for each in rounds)
    commands = {
        name: statistics.median(each.commands[name] for each in rounds) for name in _COMMANDS
    }
    call = statistics.median(each.commands["call"] / each.loop_s for each in rounds)
    return [
        Figure("window", statistics.median(each.ours.elapsed_s for each in rounds), "s"),
        Figure("bare_window", statistics.median(each.bare.elapsed_s for each in rounds), "s"),
        Figure("bare_window_cpu", bare, "s of a core"),
        Figure("window_cpu_to_bare", ratio, "x", "<= 3.2"),
        Figure("import_anyio", loop, "s of a core"),
        *(
            Figure(name, seconds, "s of a core", _DUES.get(name, ""))
            for name, seconds in commands.items()
        ),
        Figure("call_to_import_anyio", call, "x", "<= 2"),
    ]


def compiling(folder: str) -> Mapping[str, str]:
    """An environment in which compiled modules are kept in `folder`."""
    forbidding = "PYTHONDONTWRITEBYTECODE"
    kept = {name: value for name, value in os.environ.items() if name != forbidding}
    return {**kept, "PYTHONPYCACHEPREFIX": folder}


class _Painted(NamedTuple):
    """Seconds from the start of a process to its painted window, and of a processor in it."""

    elapsed_s: float
    used_s: float


class _Round(NamedTuple):
    """Everything once; `loop_s` is what importing anyio costs."""

    bare: _Painted
    ours: _Painted
    loop_s: float
    commands: Mapping[str, float]


def _round(environ: Mapping[str, str], data: str) -> _Round:
    own = (sys.executable, "-c", _OWN_TIME)
    code = "import anyio, time; print(time.process_time())"
    with tempfile.TemporaryDirectory(prefix="bench-startup-") as fresh:
        ours = _painted((*_OURS, fresh), environ)
    return _Round(
        _painted(_BARE, environ),
        ours,
        float(_last_line((sys.executable, "-c", code), environ)),
        {
            name: float(_last_line((*own, *arguments, *_in(data, arguments)), environ))
            for name, arguments in _COMMANDS.items()
        },
    )


def _in(data: str, arguments: Sequence[str]) -> Sequence[str]:
    return () if "--help" in arguments else ("--data-dir", data)


def _painted(command: Sequence[str], environ: Mapping[str, str]) -> _Painted:
    """The two times that `command` prints; the first is of a clock that all processes share."""
    started = time.monotonic()
    painted, used = _last_line(command, environ).split()
    return _Painted(float(painted) - started, float(used))


def _last_line(command: Sequence[str], environ: Mapping[str, str]) -> bytes:
    done = subprocess.run(command, check=True, capture_output=True, timeout=120, env=dict(environ))
    return done.stdout.splitlines()[-1]

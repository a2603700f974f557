"""How long the window takes to be painted, beside a bare one, and the command line to answer.

Everything runs from compiled modules, as it is installed: a checkout may be forbidden to write
them (`PYTHONDONTWRITEBYTECODE`), and compiling at each start costs as much as starting.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Final

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
    print(time.monotonic(), flush=True)
    application.quit()
application = QApplication(sys.argv)
window = Window()
window.resize(1280, 800)
window.show()
application.exec()
"""
_BARE: Final = (sys.executable, "-c", _BARE_WINDOW)
_OURS: Final = (sys.executable, "-m", "tests.benchmarks.first_paint")
_HELP: Final = (sys.executable, "-m", "mcp_progress_monitor", "--help")


def startup(size: Size) -> list[Figure]:
    """Process start to the painted window beside a bare one, in turn; and ``--help``."""
    with tempfile.TemporaryDirectory(prefix="bench-startup-") as folder:
        environ = compiling(folder)
        if size is not Size.TINY:
            _round(environ)  # compiles
        rounds = [_round(environ) for _ in range(size.pick(21, 5, 1))]
    bare, ours, text = zip(*rounds, strict=True)
    ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
    return [
        Figure("window", statistics.median(ours), "s"),
        Figure("bare_window", statistics.median(bare), "s"),
        Figure("ratio_to_bare_window", ratio, "x", "<= 3"),
        Figure("help", statistics.median(text), "s", "<= 0.3"),
    ]


def compiling(folder: str) -> Mapping[str, str]:
    """An environment in which compiled modules are kept in `folder`."""
    forbidding = "PYTHONDONTWRITEBYTECODE"
    kept = {name: value for name, value in os.environ.items() if name != forbidding}
    return {**kept, "PYTHONPYCACHEPREFIX": folder}


def _round(environ: Mapping[str, str]) -> tuple[float, float, float]:
    """Seconds to a bare window and to ours, painted, and to the end of ``--help``."""
    return _painted(_BARE, environ), _painted(_OURS, environ), _ended(_HELP, environ)


def _painted(command: Sequence[str], environ: Mapping[str, str]) -> float:
    """Seconds until the moment that `command` prints; a clock that all processes share."""
    started = time.monotonic()
    return float(_run(command, environ).splitlines()[-1]) - started


def _ended(command: Sequence[str], environ: Mapping[str, str]) -> float:
    started = time.monotonic()
    _run(command, environ)
    return time.monotonic() - started


def _run(command: Sequence[str], environ: Mapping[str, str]) -> bytes:
    done = subprocess.run(command, check=True, capture_output=True, timeout=120, env=dict(environ))
    return done.stdout

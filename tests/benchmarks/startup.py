"""How long the window takes to be painted, beside a bare one, and the command line to answer."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from tests.benchmarks.figures import Figure, Size

_BARE_WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
application = QApplication(sys.argv)
window = QMainWindow()
window.resize(1280, 800)
window.show()
QTimer.singleShot(0, application.quit)
application.exec()
"""


def startup(size: Size) -> list[Figure]:
    """Process start to the painted window beside a bare one, in turn; and ``--help``."""
    rounds = size.pick(11, 3, 1)
    bare, ours, text = [], [], []
    for _ in range(rounds):
        bare.append(_timed([sys.executable, "-c", _BARE_WINDOW]))
        ours.append(_timed([sys.executable, "-m", "tests.benchmarks.first_paint"]))
        text.append(_timed([sys.executable, "-m", "app", "--help"]))
    ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
    return [
        Figure("window", statistics.median(ours), "s"),
        Figure("bare_window", statistics.median(bare), "s"),
        Figure("ratio_to_bare_window", ratio, "x", "<= 3"),
        Figure("help", statistics.median(text), "s", "<= 0.3"),
    ]


def _timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return time.perf_counter() - started

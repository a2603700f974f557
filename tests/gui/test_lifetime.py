"""When the life of a window's program beats, and what ends it."""

import os
import signal
import subprocess
import sys
import time

import anyio
import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from mcp_progress_monitor.gui.lifetime import Lifetime
from tests.integration.commands import ROOT
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class _Beats:
    """Counts beats, as somebody does who may be gone before the last of them."""

    def __init__(self, life: Lifetime) -> None:
        self.count = 0
        self.came = anyio.Event()
        life.beat.connect(self._on_beat)

    def _on_beat(self) -> None:
        self.count += 1
        self.came.set()


async def test_it_beats_until_somebody_quits_and_never_after(qapp: QApplication) -> None:
    owner, window = QObject(), QWidget()
    life = Lifetime(qapp, owner)
    beats = _Beats(life)
    async with anyio.create_task_group() as group:
        life.show(window)
        group.start_soon(life.last)
        with anyio.fail_after(PATIENCE_S):
            await beats.came.wait()
        life.quit()
    seen = beats.count
    await anyio.sleep(0.6)  # two beats and more
    assert beats.count == seen
    window.deleteLater()
    owner.deleteLater()


_PROGRAM = """
import sys
import anyio
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget
from mcp_progress_monitor.gui import lifetime
from mcp_progress_monitor.gui.aio import run_on_qt

lifetime._LAST_S = float(sys.argv[2])
application = QApplication([])
owner, window = QObject(), QWidget()
life = lifetime.Lifetime(application, owner)

async def main():
    life.show(window)
    async with anyio.create_task_group() as group:
        group.start_soon(life.last)
        await life.ready.wait()
        print("ready", flush=True)
    if sys.argv[1] == "slow":
        await anyio.sleep(600)
    return 0

sys.exit(run_on_qt(application, lambda: life.attended(main)))
"""


@pytest.mark.skipif(os.name != "posix", reason="no signals of this kind")
@pytest.mark.parametrize(
    ("kind", "last_s", "names", "code"),
    [
        ("idle", 600, ["SIGINT"], 0),
        ("idle", 600, ["SIGTERM"], 0),
        ("idle", 600, ["SIGHUP"], 0),
        ("slow", 0.1, ["SIGTERM"], 0),
        ("slow", 600, ["SIGTERM", "SIGINT"], 5),
    ],
)
def test_signals_end_the_program(kind: str, last_s: float, names: list[str], code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, kind, str(last_s)], cwd=ROOT, stdout=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
            for name in names:
                program.send_signal(signal.Signals[name])
                if len(names) > 1:
                    time.sleep(0.2)  # two of a kind at once are one
            assert program.wait(PATIENCE_S) == code
        finally:
            program.kill()

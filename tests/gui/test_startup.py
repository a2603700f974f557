"""The window by itself, before anything behind it is there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QLabel, QWidget

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.application import run as run_application
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.startup import WindowStartup
from mcp_progress_monitor.recording.settings import FOLDER
from tests.gui.programs import application, until, until_quit
from tests.gui.saved import running


class Painted(QObject):
    """Sees whether `window` is painted."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.is_painted = False
        window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.is_painted = self.is_painted or event.type() is QEvent.Type.Paint
        return False


def test_the_window_is_painted_before_the_program_behind_it_is_made(data_dir: Path) -> None:
    opening = WindowStartup(application(), WindowOptions(data_dir=data_dir))
    interrupt = signal.getsignal(signal.SIGINT)
    opening.show()
    painted = Painted(opening.window)

    opening.paint()

    assert painted.is_painted
    assert opening.models.followed.source is None
    assert signal.getsignal(signal.SIGINT) is interrupt
    opening.window.hide()
    opening.window.deleteLater()


async def test_a_program_takes_up_the_window_that_is_there(data_dir: Path) -> None:
    options = WindowOptions(data_dir=data_dir)
    opening = WindowStartup(application(), options)
    opening.show()
    before = opening.status.text
    async with until_quit(Program(application(), options, opening)) as program:
        assert program.window is opening.window
        assert opening.models.followed.source is program.engine
        assert opening.status.text.split(" · ")[:2] == before.split(" · ")[:2]


async def test_the_jobs_pane_that_was_left_in_front_shows_jobs_once_there_are_some(
    data_dir: Path,
) -> None:
    async with running(data_dir) as first:
        first.window.open_dock("job")
    async with running(data_dir) as program:
        assert program.window.late.job.is_made
        program.servers.start_demo()
        await until(lambda: bool(program.engine.jobs.ids()))
        job = program.engine.jobs.ids()[0]
        found = program.engine.jobs.snapshot(job)
        assert found is not None
        program.window.job_pane.show_job(job)
        texts = [label.text() for label in program.window.job_pane.header.findChildren(QLabel)]
        assert any(found.name in each for each in texts)


async def test_a_window_that_is_closed_before_the_program_is_made_ends_it(data_dir: Path) -> None:
    opening = WindowStartup(application(), WindowOptions(data_dir=data_dir))
    opening.show()
    opening.window.close_requested.emit()
    with anyio.fail_after(30):
        assert await run_application(opening) == 0
    assert not opening.window.isVisible()
    opening.window.deleteLater()


async def test_what_is_wrong_with_the_settings_of_recordings_is_reported_in_the_first_window(
    data_dir: Path,
) -> None:
    (data_dir / FOLDER).mkdir()
    (data_dir / FOLDER / "settings.json").write_text('{"is_on": 7}')
    options = WindowOptions(data_dir=data_dir)
    opening = WindowStartup(application(), options)
    opening.show()
    (reported,) = opening.window.notices.errors()
    assert isinstance(reported, ErrorDetails)
    assert "recording settings" in reported.what
    async with until_quit(Program(application(), options, opening)):
        pass


_FILL = """
import os, sys
from PySide6.QtGui import QGuiApplication, QImage, QLinearGradient, QPainter
from mcp_progress_monitor.gui.startup import fill_in_one_thread
application = QGuiApplication(sys.argv)
fill_in_one_thread()
before = len(os.listdir("/proc/self/task"))
image = QImage(500, 500, QImage.Format.Format_ARGB32_Premultiplied)
painter = QPainter(image)
painter.fillRect(image.rect(), QLinearGradient(0, 0, 500, 500))
painter.end()
print(len(os.listdir("/proc/self/task")) - before, "QT_NO_GUI_THREADPOOL" in os.environ)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_painting_starts_no_threads_and_servers_do_not_inherit_the_setting() -> None:
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    environ.pop("QT_NO_GUI_THREADPOOL", None)
    done = subprocess.run(
        [sys.executable, "-c", _FILL], check=True, capture_output=True, text=True, env=environ
    )
    assert done.stdout.split() == ["0", "False"]

"""Saving the lines of standard error."""

import threading
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QDockWidget, QFileDialog, QMainWindow
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.exports import options
from mcp_progress_monitor.exports.options import OutputFile
from mcp_progress_monitor.gui.aio import BackgroundTasks
from mcp_progress_monitor.gui.console.pane import StderrPane
from mcp_progress_monitor.gui.export_controller import StderrSaver
from mcp_progress_monitor.gui.panes import LazyPane
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.frames import Channel, Frame
from tests.patience import until


@pytest.fixture
def pane(qtbot: QtBot) -> LazyPane[StderrPane]:
    window = QMainWindow()
    qtbot.addWidget(window)
    appearance = Appearance(QPalette(), resource("icons"), window)
    dock = QDockWidget(window)
    window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    made = LazyPane(dock, lambda: StderrPane(appearance, window))
    made.pane().times.setChecked(False)
    made.pane().add_frames(
        [Frame(1, "a#1", Channel.STDERR, 1.7e9, 0.0, "\x1b[31mrot \u202e".encode())]
    )
    return made


class Reports:
    """The errors of tasks."""

    def __init__(self) -> None:
        self.errors: list[ErrorDetails] = []
        self.bugs: list[BaseException] = []

    def tasks(self) -> BackgroundTasks:
        return BackgroundTasks(self.errors.append, self.bugs.append)


async def test_what_is_shown_is_saved_without_colours_and_for_the_user_alone(
    pane: LazyPane[StderrPane], tmp_path: Path
) -> None:
    reported, path = Reports(), tmp_path / "out.txt"
    async with reported.tasks() as tasks:
        StderrSaver(pane, tasks).save(str(path))
        await until(path.exists)
    assert path.read_text(encoding="utf-8") == "a  rot \\u202e\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (reported.errors, reported.bugs) == ([], [])


async def test_what_is_shown_when_it_is_asked_for_is_saved_in_order_though_the_program_ends(
    pane: LazyPane[StderrPane], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    class Watched(OutputFile):
        def begin(self) -> None:
            threads.append(threading.current_thread())
            super().begin()

    monkeypatch.setattr(options, "OutputFile", Watched)
    reported, path = Reports(), tmp_path / "out.txt"
    async with reported.tasks() as tasks:
        saving = StderrSaver(pane, tasks)
        saving.save(str(path))
        pane.pane().add_frames([Frame(2, "a#1", Channel.STDERR, 1.7e9, 0.0, b"second")])
        saving.save(str(path))
        pane.pane().add_frames([Frame(3, "a#1", Channel.STDERR, 1.7e9, 0.0, b"third")])
    assert path.read_text(encoding="utf-8") == "a  rot \\u202e\na  second\n"
    assert len(threads) == 2
    assert threading.main_thread() not in threads
    assert (reported.errors, reported.bugs) == ([], [])


async def test_a_disk_that_refuses_is_reported(pane: LazyPane[StderrPane], tmp_path: Path) -> None:
    reported = Reports()
    async with reported.tasks() as tasks:
        saving = StderrSaver(pane, tasks)
        saving.save(str(tmp_path / "no such folder" / "out.txt"))
    (error,) = reported.errors
    assert "no such folder" in error.as_text()


def test_the_button_asks_for_a_name(qtbot: QtBot, pane: LazyPane[StderrPane]) -> None:
    saving = StderrSaver(pane, Reports().tasks())
    pane.pane().save.click()
    dialog = pane.dock.window().findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    assert dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave
    dialog.close()
    assert saving.parent() is pane.dock

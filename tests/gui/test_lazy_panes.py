"""Panes that are made when they are first wanted."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.panes import LazyPane
from mcp_progress_monitor.gui.server_log.model import ServerLogModel
from mcp_progress_monitor.protocol.facts import NotificationReceived, Side
from mcp_progress_monitor.protocol.messages import LOG_MESSAGE
from tests.gui.programs import until
from tests.gui.saved import running


class Making:
    """Counts what is made, and joined."""

    def __init__(self) -> None:
        self.made = self.joined = 0
        self.window = QMainWindow()

    def make(self) -> QLabel:
        self.made += 1
        return QLabel("here")

    def join(self) -> None:
        self.joined += 1


def late(qtbot: QtBot, making: Making) -> LazyPane[QLabel]:
    qtbot.addWidget(making.window)
    dock = QDockWidget(making.window)
    making.window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    return LazyPane(dock, making.make, 40)


def test_a_pane_is_made_once_and_joined_once(qtbot: QtBot) -> None:
    making = Making()
    pane = late(qtbot, making)
    pane.when_made(making.join)
    assert (pane.is_made, making.made, making.joined) == (False, 0, 0)
    assert pane.dock.widget().minimumHeight() == 40

    assert pane.pane() is pane.pane()
    pane.when_made(making.join)

    assert (pane.is_made, making.made, making.joined) == (True, 1, 2)
    assert pane.dock.widget().isAncestorOf(pane.pane())


async def test_every_pane_is_there_soon_after_the_window(data_dir: Path) -> None:
    async with running(data_dir) as program:
        late = program.window.late
        panes = (late.job, late.stderr, late.server_log, late.questions)
        await until(lambda: all(each.is_made for each in panes))
        assert not program.window.docks["questions"].isVisible()


async def test_a_pane_that_was_in_front_is_made_as_soon_as_it_is_seen(data_dir: Path) -> None:
    async with running(data_dir) as program:
        program.window.open_dock("stderr")
    async with running(data_dir) as program:
        assert program.window.late.stderr.is_made
        assert program.window.stderr_pane.isVisible()


async def test_a_pane_behind_another_catches_up_when_it_is_in_front(data_dir: Path) -> None:
    async with running(data_dir) as program:
        window = program.window
        pane = window.late.server_log.pane()
        window.docks["traffic"].raise_()
        await until(lambda: not window.late.server_log.is_seen)
        params = {"level": "info", "data": "said"}
        said = NotificationReceived(1, "db#1", 0.0, 1.7e9, Side.SERVER, LOG_MESSAGE, params, ())
        model = pane.shown.sourceModel()
        assert isinstance(model, ServerLogModel)
        model.add([said])
        assert pane.state.text() == "No log messages yet."
        window.docks["server_log"].raise_()
        await until(lambda: pane.state.text() == "1 message")

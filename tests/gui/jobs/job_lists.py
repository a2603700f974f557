"""What tests of the job list share: where to click, and what was heard."""

from typing import Protocol

from PySide6.QtCore import QPoint, Qt, SignalInstance
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Command, CommandActions
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import JOB_COMMANDS
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.theme import Appearance
from tests.gui import lone_commands


class HasCommands(Protocol):
    """A list or pane with commands on its rows."""

    @property
    def commands(self) -> CommandActions: ...


LEFT = Qt.MouseButton.LeftButton
PLAIN = Qt.KeyboardModifier.NoModifier
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def heard(signal: SignalInstance) -> list[object]:
    """Collect what a signal says."""
    said: list[object] = []
    signal.connect(
        lambda *arguments: said.append(arguments[0] if len(arguments) == 1 else arguments)
    )
    return said


def asked(room: HasCommands, command: Command) -> list[object]:
    """Carry out `command` of a room from now on by noting what it is to act on."""
    return lone_commands.asked(room.commands.commands, command)


def job_actions(appearance: Appearance, why_read_only: str = "") -> CommandActions:
    """The commands on jobs of a list that is not there."""
    return lone_commands.lone_actions(JOB_COMMANDS, appearance, why_read_only)


def place_of(pane: JobList, row: int, column: Column) -> QPoint:
    """Where the first button of a row is, or the middle of another cell."""
    index = pane.table.model().index(row, column)
    rect = pane.table.visualRect(index)
    middle = rect.center()
    return QPoint(rect.left() + 14, middle.y()) if column is Column.ACTIONS else middle


def click(qtbot: QtBot, pane: JobList, row: int, column: Column) -> None:
    place = place_of(pane, row, column)
    QTest.mouseMove(pane.table.viewport(), place)
    QTest.mouseClick(pane.table.viewport(), LEFT, PLAIN, place)

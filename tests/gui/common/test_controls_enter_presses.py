"""Return presses the button that has the focus, in panes and in dialogs with another default."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.controls import EnterPresses


class Board:
    """Two buttons, a switch and a field in a window, and what was pressed."""

    def __init__(self, window: QWidget, qtbot: QtBot) -> None:
        self.window = window
        self.push, self.tool = QPushButton("Push", window), QToolButton(window)
        self.switch, self.field = QCheckBox("Switch", window), QLineEdit(window)
        column = QVBoxLayout(window)
        for control in (self.push, self.tool, self.switch, self.field):
            column.addWidget(control)
        self.pressed: list[str] = []
        self.push.clicked.connect(lambda: self.pressed.append("push"))
        self.tool.clicked.connect(lambda: self.pressed.append("tool"))
        qtbot.addWidget(window)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)

    def press(self, control: QWidget, key: Qt.Key, modifier: Qt.KeyboardModifier) -> None:
        """Give a control the focus, then press a key there."""
        control.setFocus()
        QTest.keyClick(control, key, modifier)


@pytest.fixture(autouse=True)
def _owner(qapp: QApplication) -> Iterator[QObject]:
    owner = QObject()
    EnterPresses(qapp, owner)
    yield owner
    owner.deleteLater()


NONE = Qt.KeyboardModifier.NoModifier


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_a_button_of_a_pane_is_pressed(qtbot: QtBot, key: Qt.Key) -> None:
    board = Board(QWidget(), qtbot)
    board.press(board.push, key, NONE)
    board.press(board.tool, key, NONE)
    assert board.pressed == ["push", "tool"]


def test_with_a_modifier_or_held_down_it_is_not(qtbot: QtBot) -> None:
    board = Board(QWidget(), qtbot)
    board.press(board.push, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    held = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, NONE, "\r", True)
    QApplication.sendEvent(board.push, held)
    assert not board.pressed


def test_in_a_dialog_the_focus_comes_before_the_default_button(qtbot: QtBot) -> None:
    dialog = QDialog()
    board = Board(dialog, qtbot)
    board.push.setAutoDefault(False)
    default = QPushButton("Default", dialog)
    default.setDefault(True)
    default.show()
    default.clicked.connect(lambda: board.pressed.append("default"))
    board.press(board.push, Qt.Key.Key_Return, NONE)
    board.press(board.field, Qt.Key.Key_Return, NONE)
    board.press(board.switch, Qt.Key.Key_Return, NONE)
    assert board.pressed == ["push", "default", "default"]


def test_a_button_without_the_focus_is_no_longer_listened_to(qtbot: QtBot) -> None:
    board = Board(QWidget(), qtbot)
    board.push.setFocus()
    board.field.setFocus()
    QTest.keyClick(board.push, Qt.Key.Key_Return)
    assert not board.pressed

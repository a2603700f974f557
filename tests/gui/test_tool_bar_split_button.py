"""A button that acts, with a menu at its arrow."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QToolButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.tool_bar import SplitButton
from tests.gui.exposure import expose

LEFT = Qt.MouseButton.LeftButton
PLAIN = Qt.KeyboardModifier.NoModifier


def dressed(button: QToolButton) -> QToolButton:
    button.setText("Resume")
    button.setMenu(QMenu(button))
    menu = button.menu()
    assert menu is not None
    menu.addAction("Resume automatically")
    return button


@pytest.fixture
def button(qtbot: QtBot) -> QToolButton:
    made = dressed(SplitButton())
    return expose(qtbot, made, 120, 30)


def is_menu_open(button: QToolButton) -> bool:
    menu = button.menu()
    assert menu is not None
    is_open = menu.isVisible()
    menu.close()
    return is_open


def test_a_click_on_the_text_acts(qtbot: QtBot, button: QToolButton) -> None:
    with qtbot.waitSignal(button.clicked):
        QTest.mouseClick(button, LEFT, PLAIN, QPoint(60, 15))
    assert not is_menu_open(button)


@pytest.mark.parametrize(
    ("direction", "x"), [(Qt.LayoutDirection.LeftToRight, 112), (Qt.LayoutDirection.RightToLeft, 8)]
)
def test_a_click_on_the_arrow_opens_the_menu(
    qtbot: QtBot, button: QToolButton, direction: Qt.LayoutDirection, x: int
) -> None:
    button.setLayoutDirection(direction)
    with qtbot.assertNotEmitted(button.clicked):
        QTest.mouseClick(button, LEFT, PLAIN, QPoint(x, 15))
    assert is_menu_open(button)


def test_the_menu_is_reached_by_the_keyboard(button: QToolButton) -> None:
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Down)
    assert is_menu_open(button)


def test_it_takes_no_more_room_than_a_button_that_is_all_menu(
    qtbot: QtBot, button: QToolButton
) -> None:
    other = dressed(QToolButton())
    qtbot.addWidget(other)
    other.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    assert button.sizeHint() == other.sizeHint()

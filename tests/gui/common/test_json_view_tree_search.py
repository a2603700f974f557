"""The field over a message's tree goes through names and values, however large the message."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.json_view import JsonTree, TreeSearch
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource

_VALUE = {"name": "one", "list": [{"n": "two"}, {"n": "ONE"}], "once": 1}


class _Page(QWidget):
    """A tree under its search field."""

    def __init__(self) -> None:
        super().__init__()
        appearance = Appearance(QGuiApplication.palette(), resource("icons"))
        self.tree = JsonTree(self)
        self.search = TreeSearch(self.tree, appearance, self)
        column = QVBoxLayout(self)
        column.addWidget(self.search)
        column.addWidget(self.tree)

    def show_value(self, value: Any) -> None:
        self.tree.show_value(value)
        self.search.begin()

    @property
    def field(self) -> QLineEdit:
        field = self.search.findChild(QLineEdit)
        assert isinstance(field, QLineEdit)
        return field

    @property
    def count(self) -> str:
        label = self.search.findChild(QLabel)
        assert isinstance(label, QLabel)
        return label.text()

    @property
    def current(self) -> str:
        index = self.tree.currentIndex()
        return str(index.data()) + "=" + str(index.siblingAtColumn(1).data())


@pytest.fixture
def page(qtbot: QtBot) -> _Page:
    """A page that shows `_VALUE`."""
    made = _Page()
    qtbot.addWidget(made)
    made.show_value(_VALUE)
    made.show()
    qtbot.waitExposed(made)
    return made


def test_typing_goes_to_the_first_place_and_enter_round_all_of_them(page: _Page) -> None:
    QTest.keyClicks(page.field, "one")
    assert (page.current, page.count) == ('name="one"', "1 of 2")
    QTest.keyClick(page.field, Qt.Key.Key_Return)
    assert (page.current, page.count) == ('n="ONE"', "2 of 2")
    QTest.keyClick(page.field, Qt.Key.Key_Return)
    assert page.count == "1 of 2"
    QTest.keyClick(page.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert page.count == "2 of 2"


def test_f3_goes_on_from_the_tree_and_escape_goes_there(page: _Page) -> None:
    page.field.setText("on")
    page.field.setFocus()
    QTest.keyClick(page.field, Qt.Key.Key_Escape)
    assert page.tree.hasFocus()
    QTest.keyClick(page.tree, Qt.Key.Key_F3)
    assert page.count == "2 of 3"
    QTest.keyClick(page.tree, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert page.count == "1 of 3"
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(page.tree, Qt.Key.Key_F, keys)
    assert page.field.hasFocus()


def test_what_is_not_there_is_reported(page: _Page) -> None:
    page.field.setText("nowhere")
    assert page.count == "no matches"
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    around = page.search.findChildren(QToolButton, options=direct)
    assert [button.isEnabled() for button in around] == [False, False]
    page.field.clear()
    assert page.count == ""


def test_another_message_is_searched_for_the_same_words(page: _Page) -> None:
    page.field.setText("two")
    assert page.count == "1 of 1"
    page.show_value({"x": ["two", "two"]})
    assert (page.current, page.count) == ('[0]="two"', "1 of 2")


def test_a_place_far_down_is_reached_without_opening_all_before_it(
    page: _Page, qtbot: QtBot
) -> None:
    page.show_value({"list": [{"n": number} for number in range(100_000)]})
    page.field.setText("99123")
    assert page.search.is_searching
    qtbot.waitUntil(lambda: not page.search.is_searching)
    assert (page.current, page.count) == ("n=99123", "1 of 1")
    assert page.tree.visualRect(page.tree.currentIndex()).isValid()


def test_only_so_many_places_are_kept_and_that_is_reported(page: _Page, qtbot: QtBot) -> None:
    page.show_value(["x"] * 10_001)
    page.field.setText("x")
    qtbot.waitUntil(lambda: not page.search.is_searching)
    assert page.count == "1 of over 10,000"

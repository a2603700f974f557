"""The parts of searches: a field that keeps the cursor, buttons, keys."""

import pytest
from PySide6.QtCore import Qt, Slot
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.search import SearchField, search_button
from mcp_progress_monitor.gui.page_commands import STDERR_SEARCH


class _Page(QWidget):
    """A page with a field, and what its keys came to."""

    def __init__(self) -> None:
        super().__init__()
        self.field = SearchField("Search", "Search the page", "Enter goes on", self)
        self.other = search_button(STDERR_SEARCH.next.tip, self)
        column = QVBoxLayout(self)
        column.addWidget(self.field)
        column.addWidget(self.other)
        self.reported: list[str] = []
        self.field.next_requested.connect(self._on_next)
        self.field.previous_requested.connect(self._on_previous)
        self.field.left.connect(self._on_left)
        KeyAction(STDERR_SEARCH.next, self, self._on_next, self.other)

    @Slot()
    def _on_next(self) -> None:
        self.reported.append("next")

    @Slot()
    def _on_previous(self) -> None:
        self.reported.append("previous")

    @Slot()
    def _on_left(self) -> None:
        self.reported.append("left")


@pytest.fixture
def page(qtbot: QtBot) -> _Page:
    page = _Page()
    qtbot.addWidget(page)
    page.show()
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    return page


def test_enter_goes_on_shift_enter_back_and_escape_leaves(page: _Page) -> None:
    QTest.keyClicks(page.field, "ab")
    QTest.keyClick(page.field, Qt.Key.Key_Return)
    QTest.keyClick(page.field, Qt.Key.Key_Enter, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(page.field, Qt.Key.Key_Escape)
    assert page.reported == ["next", "previous", "left"]
    assert page.field.text() == "ab"


def test_who_comes_to_the_field_writes_over_what_is_there(page: _Page) -> None:
    page.field.setText("old")
    page.other.setFocus()
    page.field.enter()
    assert page.field.hasFocus()
    QTest.keyClicks(page.field, "new")
    assert page.field.text() == "new"


def test_keys_work_wherever_the_cursor_is(page: _Page) -> None:
    page.other.setFocus()
    QTest.keyClick(page.other, Qt.Key.Key_F3)
    assert page.reported == ["next"]


def test_parts_have_names_for_those_who_do_not_see_them(page: _Page) -> None:
    assert page.field.accessibleName() == "Search the page"
    assert page.other.accessibleName() == "Go to the next match"

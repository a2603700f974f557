"""Searching the lines of standard error."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.console.lines import LINES
from mcp_progress_monitor.gui.console.pane import StderrPane
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.frames import Channel, Frame


def _frames(*lines: str, start: int = 0) -> list[Frame]:
    return [
        Frame(number, "a#1", Channel.STDERR, 1.7e9, 0.0, line.encode())
        for number, line in enumerate(lines, start)
    ]


@pytest.fixture
def pane(qtbot: QtBot, appearance: Appearance) -> StderrPane:
    pane = StderrPane(appearance)
    qtbot.addWidget(pane)
    pane.resize(700, 200)
    pane.show()
    pane.add_frames(_frames("Error: one", "fine", "error: two, error", "fine again", "ERROR 3"))
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    return pane


def test_every_place_is_counted_and_one_goes_round_through_them(
    qtbot: QtBot, pane: StderrPane
) -> None:
    search = pane.search
    QTest.keyClicks(search.field, "error")
    qtbot.waitUntil(lambda: search.count.text() == "1 of 4")
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    assert search.count.text() == "2 of 4"
    assert pane.text.textCursor().block().text().endswith("error: two, error")
    for _ in range(3):
        QTest.keyClick(search.field, Qt.Key.Key_F3)
    assert search.count.text() == "1 of 4"
    QTest.keyClick(search.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert search.count.text() == "4 of 4"


def test_places_in_sight_are_marked(qtbot: QtBot, pane: StderrPane) -> None:
    pane.search.field.setText("error")
    qtbot.waitUntil(lambda: len(pane.text.extraSelections()) == 4)
    pane.search.field.clear()
    assert pane.text.extraSelections() == []


def test_capital_letters_count_when_asked(qtbot: QtBot, pane: StderrPane) -> None:
    pane.search.case.setChecked(True)
    pane.search.field.setText("error")
    qtbot.waitUntil(lambda: pane.search.count.text() == "1 of 2")


def test_a_regular_expression_finds_and_a_bad_one_is_reported(
    qtbot: QtBot, pane: StderrPane
) -> None:
    pane.search.pattern.setChecked(True)
    pane.search.field.setText(r"error.*\d$")
    qtbot.waitUntil(lambda: pane.search.count.text() == "1 of 1")
    pane.search.field.setText("(")
    assert "missing" in pane.search.count.text()
    pane.search.pattern.setChecked(False)
    qtbot.waitUntil(lambda: pane.search.count.text() == "no matches")


def test_lines_that_come_later_are_searched_as_well(qtbot: QtBot, pane: StderrPane) -> None:
    pane.search.field.setText("late")
    qtbot.waitUntil(lambda: pane.search.count.text() == "no matches")
    pane.add_frames(_frames("too late", start=5))
    qtbot.waitUntil(lambda: pane.search.count.text() == "1 of 1")


def test_places_in_lines_that_are_gone_are_left_out(qtbot: QtBot, pane: StderrPane) -> None:
    pane.search.field.setText("error")
    qtbot.waitUntil(lambda: pane.search.count.text() == "1 of 4")
    pane.add_frames(_frames(*["fine"] * (LINES - 3), start=5))
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    QTest.keyClick(pane.search.field, Qt.Key.Key_F3)
    qtbot.waitUntil(lambda: pane.search.count.text().endswith("of 3"))


def test_the_key_leads_to_the_field_and_escape_back(qtbot: QtBot, pane: StderrPane) -> None:
    pane.activateWindow()
    pane.text.setFocus()
    QTest.keyClick(pane.text, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(pane.search.field.hasFocus)
    QTest.keyClick(pane.search.field, Qt.Key.Key_Escape)
    qtbot.waitUntil(pane.text.hasFocus)


def test_the_next_place_is_the_next_one_also_when_the_oldest_lines_are_gone(
    qtbot: QtBot, pane: StderrPane
) -> None:
    pane.add_frames(_frames(*(f"error {number}" for number in range(20)), start=5))
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    search = pane.search
    search.field.setText("error")
    qtbot.waitUntil(lambda: search.count.text().endswith(" of 24"))
    while search.count.text() != "10 of 24":
        QTest.keyClick(search.field, Qt.Key.Key_F3)
    assert pane.text.textCursor().block().text().endswith("error 5")
    flood = [f"line {number}" for number in range(LINES - 18)]
    pane.add_frames(_frames(*flood, start=25))  # as far as "error 1" all is gone
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    QTest.keyClick(search.field, Qt.Key.Key_F3)
    assert pane.text.textCursor().block().text().endswith("error 6")
    pane.add_frames(_frames(*("more" for _ in range(10)), start=LINES + 7))  # "error 11" as well
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    QTest.keyClick(search.field, Qt.Key.Key_F3)
    assert pane.text.textCursor().block().text().endswith("error 12")

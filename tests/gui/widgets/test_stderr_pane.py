"""Lines of standard error reach the widget in slices, while it is seen, and never too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

from app.protocol.frame import Channel, Frame
from app.widgets.stderr_pane import LINES, SLICE, StderrPane

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def _frames(count: int, start: int = 0) -> list[Frame]:
    return [
        Frame(number, "local-db#1", Channel.STDERR, 1.7e9, 0.0, b"line %d." % number)
        for number in range(start, start + count)
    ]


@pytest.fixture
def pane(qtbot: QtBot) -> StderrPane:
    pane = StderrPane()
    qtbot.addWidget(pane)
    pane.resize(600, 200)
    return pane


def _written(pane: StderrPane) -> list[str]:
    return [line.rpartition("  ")[2] for line in pane.text.toPlainText().splitlines()]


def test_lines_are_shown_with_the_name_of_their_server(pane: StderrPane, qtbot: QtBot) -> None:
    pane.show()
    pane.add_frames(_frames(2))
    qtbot.waitUntil(lambda: _written(pane) == ["line 0.", "line 1."])
    assert "local-db  line 0." in pane.text.toPlainText()


def test_a_flood_reaches_the_widget_in_slices(pane: StderrPane, qtbot: QtBot) -> None:
    grown: list[int] = []
    pane.text.blockCountChanged.connect(grown.append)
    pane.show()
    pane.add_frames(_frames(5 * SLICE))
    assert pane.unwritten == 5 * SLICE
    qtbot.waitUntil(lambda: not pane.unwritten)
    steps = [after - before for before, after in zip([0, *grown], grown, strict=False)]
    assert max(steps) <= SLICE
    assert _written(pane) == [f"line {number}." for number in range(5 * SLICE)]


def test_only_the_newest_lines_are_kept_and_none_between_is_missing(
    pane: StderrPane, qtbot: QtBot
) -> None:
    pane.show()
    pane.add_frames(_frames(3))
    qtbot.waitUntil(lambda: not pane.unwritten)
    pane.add_frames(_frames(LINES + 500, 3))
    assert pane.unwritten == LINES
    qtbot.waitUntil(lambda: not pane.unwritten)
    assert _written(pane) == [f"line {number}." for number in range(503, LINES + 503)]


def test_a_hidden_pane_writes_nothing_until_it_is_seen(pane: StderrPane, qtbot: QtBot) -> None:
    pane.add_frames(_frames(10))
    qtbot.wait(60)  # nothing is to happen: there is no event to wait for
    assert pane.text.toPlainText() == ""
    pane.show()
    qtbot.waitUntil(lambda: len(_written(pane)) == 10)


def test_a_pane_behind_another_tab_writes_when_it_comes_to_the_front(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    docks = [QDockWidget(name, window) for name in ("Log", "stderr")]
    pane = StderrPane()
    docks[1].setWidget(pane)
    for dock in docks:
        window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    window.tabifyDockWidget(*docks)
    docks[0].raise_()
    window.show()
    qtbot.waitExposed(window)
    pane.add_frames(_frames(10))
    qtbot.wait(60)  # idem
    assert pane.unwritten == 10
    docks[1].raise_()
    qtbot.waitUntil(lambda: len(_written(pane)) == 10)


def test_the_end_is_followed_only_while_it_is_in_sight(pane: StderrPane, qtbot: QtBot) -> None:
    pane.show()
    bar = pane.text.verticalScrollBar()
    pane.add_frames(_frames(100))
    qtbot.waitUntil(lambda: not pane.unwritten)
    assert bar.value() == bar.maximum()
    bar.setValue(20)
    pane.add_frames(_frames(100, 100))
    qtbot.waitUntil(lambda: not pane.unwritten)
    assert bar.value() == 20

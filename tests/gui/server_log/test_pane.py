"""The pane of servers' log messages: levels as text and colour, and the newest in sight."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.server_log.model import ServerLogModel
from mcp_progress_monitor.gui.server_log.pane import ServerLogPane, level_tone
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.protocol.facts import NotificationReceived, Side
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS
from tests.gui.exposure import expose


def message(number: int, level: Any, data: str = "said") -> NotificationReceived:
    params = {"level": level, "data": data}
    method = "notifications/message"
    return NotificationReceived(number, "db#1", 0.0, 1.7e9, Side.SERVER, method, params, ())


@pytest.fixture
def model() -> ServerLogModel:
    return ServerLogModel()


@pytest.fixture
def pane(qtbot: QtBot, model: ServerLogModel, appearance: Appearance) -> ServerLogPane:
    made = ServerLogPane(model, appearance)
    model.setParent(made)
    return expose(qtbot, made, 700, 200)


def test_an_empty_pane_says_why(pane: ServerLogPane) -> None:
    assert pane.state.text() == "No log messages yet."


def test_a_level_hides_what_is_below_it_and_says_how_many(
    pane: ServerLogPane, model: ServerLogModel
) -> None:
    model.add([message(number, level) for number, level in enumerate(LOG_LEVELS)])
    assert pane.state.text() == "8 messages"
    pane.least.setCurrentIndex(LOG_LEVELS.index("error"))
    assert pane.shown.rowCount() == 4
    assert pane.state.text() == "8 messages, 4 below this level are hidden"


def test_a_chosen_message_stays_in_sight(pane: ServerLogPane, model: ServerLogModel) -> None:
    model.add([message(number, "info") for number in range(50)])
    pane.table.selectRow(49)
    model.add([message(number, "info") for number in range(50, 90)])
    chosen = pane.table.visualRect(pane.shown.index(49, 0))
    assert pane.table.viewport().rect().contains(chosen.center())


def test_the_keyboard_begins_in_sight(pane: ServerLogPane, model: ServerLogModel) -> None:
    model.add([message(number, "info") for number in range(50)])
    pane.activateWindow()
    pane.table.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(pane.table, Qt.Key.Key_Down)
    assert pane.table.currentIndex().row() > 30


def test_the_log_follows_the_newest_message_until_the_user_scrolls_up(
    pane: ServerLogPane, model: ServerLogModel
) -> None:
    bar = pane.table.verticalScrollBar()
    model.add([message(number, "info") for number in range(100)])
    assert bar.value() == bar.maximum() > 0
    bar.setValue(3)
    model.add([message(100, "info")])
    assert bar.value() == 3


def test_a_pane_behind_another_does_nothing_and_shows_the_newest_in_front(
    pane: ServerLogPane, model: ServerLogModel
) -> None:
    bar = pane.table.verticalScrollBar()
    model.add([message(number, "info") for number in range(100)])
    before = bar.value()
    pane.set_watched(False)
    model.add([message(number, "info") for number in range(100, 200)])
    assert (pane.state.text(), bar.value()) == ("100 messages", before)
    pane.set_watched(True)
    assert pane.state.text() == "200 messages"
    assert bar.value() == bar.maximum() > before


def test_a_pane_behind_another_keeps_the_place_that_the_user_looks_at(
    pane: ServerLogPane, model: ServerLogModel
) -> None:
    bar = pane.table.verticalScrollBar()
    model.add([message(number, "info") for number in range(100)])
    bar.setValue(3)
    pane.set_watched(False)
    model.add([message(100, "info")])
    pane.set_watched(True)
    assert bar.value() == 3


def test_enter_shows_the_message_in_traffic(pane: ServerLogPane, model: ServerLogModel) -> None:
    model.add([message(41, "info")])
    followed: list[object] = []
    pane.frame_followed.connect(followed.append)
    pane.table.activated.emit(pane.shown.index(0, 4))
    assert followed == [41]


def test_levels_have_tones_from_quiet_to_bad() -> None:
    tones = [level_tone(rank) for rank in range(len(LOG_LEVELS) + 1)]
    assert tones[:4] == [Tone.MUTED, Tone.TEXT, Tone.ACCENT, Tone.WARNING]
    assert set(tones[4:8]) == {Tone.BAD}
    assert tones[8] is Tone.WARNING


def test_a_message_is_painted_in_the_tone_of_its_level(
    pane: ServerLogPane, model: ServerLogModel, appearance: Appearance
) -> None:
    model.add([message(1, "error")])
    option = QStyleOptionViewItem()
    delegate = pane.table.itemDelegate()
    assert isinstance(delegate, QStyledItemDelegate)
    delegate.initStyleOption(option, pane.shown.index(0, 4))
    assert option.palette.color(QPalette.ColorRole.Text) == appearance.colour(Tone.BAD)

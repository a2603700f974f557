"""Folded rows in the view and the pane: keys, mouse, jumps, copies, exports, counts."""

import json

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.followed import JobsFollowed
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.commands import COPY_JSON, JUMP_NEXT, UNFOLD
from mcp_progress_monitor.gui.traffic.pane import TrafficPane
from tests.gui.exposure import expose
from tests.gui.traffic.tape import TapedTraffic
from tests.gui.traffic.test_folds import frames_of, rows


class Folded:
    """A pane with three requests, of which one has five ticks in two rows, and another between."""

    def __init__(self, qtbot: QtBot, appearance: Appearance) -> None:
        self.model = TapedTraffic()
        self.pane = TrafficPane(self.model, JobsFollowed(), appearance, Commands())
        self.model.setParent(self.pane)
        self.pane.restore({})
        self.model.append(frames_of("aaaxaa"))
        expose(qtbot, self.pane, 900, 500)
        self.view = self.pane.view

    def choose(self, row: int) -> None:
        self.view.choose(row)
        self.view.setFocus()

    @property
    def status(self) -> str:
        return self.pane.bar._status.text()  # noqa: SLF001


@pytest.fixture
def folded(qtbot: QtBot, appearance: Appearance) -> Folded:
    return Folded(qtbot, appearance)


def test_ticks_are_folded_at_first_and_the_choice_is_remembered(folded: Folded) -> None:
    assert rows(folded.model) == [[4, 5, 6], [7], [8, 9]]
    assert folded.status == "9 messages in 6 rows"
    folded.pane.bar.kinds.set_folded(is_folded=False)
    assert folded.status == "9 rows"
    state = json.loads(json.dumps(folded.pane.state()))
    folded.pane.restore({})
    assert folded.model.is_folded
    folded.pane.restore(state)
    assert not folded.model.is_folded


def test_space_unfolds_a_row_and_folds_it_from_any_of_its_ticks(folded: Folded) -> None:
    folded.choose(3)
    QTest.keyClick(folded.view, Qt.Key.Key_Space)
    assert rows(folded.model)[:3] == [[4], [5], [6]]
    folded.choose(5)
    QTest.keyClick(folded.view, Qt.Key.Key_Space)
    assert rows(folded.model) == [[4, 5, 6], [7], [8, 9]]
    assert folded.view.currentIndex().row() == 3
    folded.choose(0)
    QTest.keyClick(folded.view, Qt.Key.Key_Space)
    assert folded.pane.notice == "This message is not folded."


def test_a_click_on_the_sign_unfolds(folded: Folded) -> None:
    place = folded.view.visualRect(folded.model.index(3, TrafficColumn.SUMMARY))
    at = QPoint(place.left() + 6, place.center().y())
    QTest.mouseClick(folded.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert rows(folded.model)[:3] == [[4], [5], [6]]
    at.setX(place.left() + 80)
    QTest.mouseClick(folded.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert rows(folded.model)[:3] == [[4], [5], [6]]


def test_the_menu_says_what_it_does_with_the_ticks(folded: Folded) -> None:
    actions = folded.pane.controller.actions
    for is_open, text in ((False, "Unfold these ticks"), (True, "Fold these ticks")):
        folded.view.set_open(3, is_open=is_open)
        folded.choose(3)
        folded.pane.controller.show_menu(QPoint(5, 5))
        assert actions[UNFOLD].text().replace("&", "") == text
        folded.pane.controller._menu.close()  # noqa: SLF001


def test_jumps_and_numbers_lead_into_folds(folded: Folded) -> None:
    folded.choose(0)
    folded.pane.controller.actions[JUMP_NEXT].trigger()
    assert folded.view.currentIndex().row() == 3
    assert rows(folded.model)[0] == [4, 5, 6]
    folded.pane.controller.actions[JUMP_NEXT].trigger()
    assert rows(folded.model)[:3] == [[4], [5], [6]]
    folded.pane.follow_frame(9)
    assert folded.pane.notice == ""
    assert folded.model.timeline.number(folded.pane.details.place or 0) == 9


def test_a_folded_row_is_copied_and_exported_with_all_it_holds(folded: Folded) -> None:
    folded.choose(3)
    folded.pane.controller.actions[COPY_JSON].trigger()
    copied = QGuiApplication.clipboard().text()
    assert copied.count("notifications/progress") == 3
    assert folded.pane.wanted_for_export().text == "(number >= 4 and number <= 6)"
    folded.choose(4)
    assert folded.pane.wanted_for_export().text == ""


def test_new_messages_are_counted_when_they_are_folded(folded: Folded) -> None:
    folded.choose(0)
    folded.model.append(frames_of("aaxa", first=10))
    assert folded.view.jump.text() == "Jump to newest, 4 new"
    assert folded.status == "13 messages in 8 rows"

"""The table stays quick with any number of rows, and shows what was put on them."""

from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.theme import ACTIVE, SELECTED, UNDER_MOUSE, Appearance
from mcp_progress_monitor.gui.traffic import view as view_module
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.delegate import RowLook, TrafficDelegate
from mcp_progress_monitor.gui.traffic.model import TrafficNotes
from mcp_progress_monitor.gui.traffic.view import TrafficView
from tests.gui.exposure import expose
from tests.gui.traffic.frames import ticks
from tests.gui.traffic.tape import TapedTraffic


class CountingTraffic(TapedTraffic):
    """Counts how often a cell is asked whether it can be selected."""

    asked = 0

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        """As ever."""
        self.asked += 1
        return super().flags(index)


@pytest.fixture
def model() -> CountingTraffic:
    return CountingTraffic()


@pytest.fixture
def view(qtbot: QtBot, model: CountingTraffic, appearance: Appearance) -> TrafficView:
    made = TrafficView(model, appearance)
    return expose(qtbot, made, 900, 300)


def test_selecting_all_rows_does_not_visit_them(view: TrafficView, model: CountingTraffic) -> None:
    model.append(ticks(0, 3_000))
    view.grab()
    model.asked = 0
    view.selectAll()
    view.grab()
    assert view.selected_count() == 3_000
    assert model.asked < 1_000


def test_another_font_gives_all_rows_another_height_and_visits_none(
    view: TrafficView, model: CountingTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 3_000))
    view.choose(1_500)
    visited: list[int] = []
    view.verticalHeader().sectionResized.connect(visited.append)
    before = view.rowHeight(2_999)
    font = QFont(view.font())
    font.setPointSize(2 * font.pointSize())
    view.setFont(font)
    assert view.rowHeight(0) == view.rowHeight(2_999) > before
    assert visited == []
    assert view.verticalHeader().isHidden()
    shown = view.visualRect(model.index(1_500, 0))
    assert shown.height() == view.rowHeight(0)
    assert view.currentIndex().row() == 1_500


@pytest.mark.parametrize("count", [3, 60])
def test_rows_are_followed_after_another_font(
    view: TrafficView, model: CountingTraffic, qtbot: QtBot, count: int
) -> None:
    model.append(ticks(0, 100))
    font = QFont(view.font())
    font.setPointSize(font.pointSize() + 2)
    view.setFont(font)
    qtbot.waitUntil(lambda: last_in_sight(view) >= 98)
    for first in range(100, 100 + 3 * count, count):
        model.append(ticks(first, count))
        qtbot.waitUntil(lambda: last_in_sight(view) >= model.rowCount() - 2)
    assert view.is_following


def test_a_users_mark_and_note_are_painted_and_reported_in_the_tip(
    view: TrafficView, model: CountingTraffic
) -> None:
    model.append(ticks(0, 3))
    notes = TrafficNotes()
    model.set_notes(notes)
    images = [view.grab().toImage()]
    notes.toggle([1])
    images.append(view.grab().toImage())
    notes.set_note(1, "look here")
    images.append(view.grab().toImage())
    assert images[0] != images[1] != images[2]
    delegate = view.itemDelegate()
    assert isinstance(delegate, TrafficDelegate)
    tip = delegate.tip(model.index(1, TrafficColumn.SUMMARY), 1_000)
    assert tip == "Note: look here"


def test_the_row_pressed_is_selected_though_its_details_move_the_rows(
    view: TrafficView, model: CountingTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 100))
    qtbot.waitUntil(lambda: last_in_sight(view) >= 98)
    bar = view.verticalScrollBar()
    view.place_chosen.connect(lambda _place: bar.setValue(bar.value() - 1))
    pressed = view.visualRect(model.index(95, TrafficColumn.SUMMARY)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=pressed)
    assert view.currentIndex().row() == 95
    assert view.selected_rows() == [95]


def test_traffic_with_rows_already_is_shown_at_its_end(
    model: CountingTraffic, appearance: Appearance, qtbot: QtBot
) -> None:
    model.append(ticks(0, 3_000))
    made = TrafficView(model, appearance)
    expose(qtbot, made, 900, 300)
    qtbot.waitUntil(lambda: made.rowAt(made.viewport().height() - 1) >= 2_998)
    assert made.rowHeight(0) == delegate_height(made)


def delegate_height(view: TrafficView) -> int:
    delegate = view.itemDelegate()
    assert isinstance(delegate, TrafficDelegate)
    return delegate.row_height()


def last_in_sight(view: TrafficView) -> int:
    """The row at the lower edge; the last of all where the edge is below it."""
    row = view.rowAt(view.viewport().height() - 1)
    return row if row >= 0 else view.model().rowCount() - 1


def test_in_a_flood_the_newest_rows_are_shown_twice_a_second(
    view: TrafficView, model: CountingTraffic, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_module, "_FLOOD_MS", 60_000)
    model.append(ticks(0, 600))
    qtbot.waitUntil(lambda: last_in_sight(view) == 599)
    model.append(ticks(600, 600))
    model.append(ticks(1_200, 600))
    QTest.qWait(30)
    assert last_in_sight(view) <= 600
    monkeypatch.setattr(view_module, "_FLOOD_MS", 0)
    model.append(ticks(1_800, 3))
    assert last_in_sight(view) == 1_802


def test_the_row_under_the_mouse_is_tinted_and_only_two_rows_are_painted_for_it(
    qtbot: QtBot,
    view: TrafficView,
    model: CountingTraffic,
    monkeypatch: pytest.MonkeyPatch,
    appearance: Appearance,
) -> None:
    model.append(ticks(0, 8))
    painted: list[tuple[int, str]] = []
    paint = TrafficDelegate.paint_row

    def watched(self: Any, painter: Any, place: Any, row: int, look: RowLook) -> None:
        painted.append((row, look.ground.name()))
        paint(self, painter, place, row, look)

    monkeypatch.setattr(TrafficDelegate, "paint_row", watched)
    plain, hovered = (appearance.row_ground(state).name() for state in (0, UNDER_MOUSE))
    height = view.rowHeight(0)
    QTest.mouseMove(view.viewport(), QPoint(50, height // 2))
    qtbot.waitUntil(lambda: (0, hovered) in painted)
    QApplication.processEvents()
    painted.clear()
    QTest.mouseMove(view.viewport(), QPoint(50, 4 * height + height // 2))
    QApplication.processEvents()
    assert painted == [(0, plain), (4, hovered)]
    painted.clear()
    QTest.mouseMove(view.viewport(), QPoint(250, 4 * height + 2))  # along the same row
    QApplication.processEvents()
    assert {row for row, _ground in painted} <= {4}


def test_a_row_is_selected_more_strongly_where_the_keyboard_acts_on_it(
    view: TrafficView, model: CountingTraffic, appearance: Appearance
) -> None:
    model.append(ticks(0, 5))
    view.choose(2)
    view.activateWindow()
    for has_focus, state in ((True, SELECTED | ACTIVE), (False, SELECTED)):
        view.setFocus() if has_focus else view.clearFocus()
        QApplication.processEvents()
        y = view.rowViewportPosition(2) + 2
        ground = view.viewport().grab().toImage().pixelColor(view.viewport().width() - 2, y)
        assert ground.name() == appearance.row_ground(state).name()

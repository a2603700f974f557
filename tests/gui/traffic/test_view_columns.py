"""Which columns give way first, and that what the user set never does."""

import json

import pytest
from PySide6.QtWidgets import QMenu, QTableWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.labels import ServerTitle
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.delegate import TrafficDelegate
from mcp_progress_monitor.gui.traffic.view import FIRST, TrafficView, fitted
from tests.gui.exposure import expose
from tests.gui.traffic.frames import ticks
from tests.gui.traffic.tape import TapedTraffic


@pytest.fixture
def view(qtbot: QtBot, appearance: Appearance) -> TrafficView:
    made = TrafficView(TapedTraffic(), appearance)
    return expose(qtbot, made, 700, 200)


def _width(characters: int) -> int:
    return 10 * characters


def test_what_is_left_over_goes_to_the_summary() -> None:
    whole = sum(map(_width, FIRST.values())) - _width(FIRST[TrafficColumn.NUMBER])
    widths = fitted(whole + 300, _width, {}, (), ())
    assert widths[TrafficColumn.SUMMARY] == _width(FIRST[TrafficColumn.SUMMARY]) + 300
    assert sum(widths.values()) == whole + 300


@pytest.mark.parametrize("room", range(450, 1_600, 50))
def test_the_columns_fit_into_every_usual_room(room: int) -> None:
    assert sum(fitted(room, _width, {}, (), ()).values()) == room


def test_the_arrow_of_the_direction_and_the_token_stay_longest() -> None:
    widths = fitted(500, _width, {}, (), ())
    assert widths[TrafficColumn.DIRECTION] == _width(2)
    assert widths[TrafficColumn.KEY] == _width(9)
    assert widths[TrafficColumn.SIZE] == 0


def test_what_the_user_set_does_not_give_way() -> None:
    own = {TrafficColumn.METHOD: 333}
    widths = fitted(500, _width, own, {TrafficColumn.KIND}, {TrafficColumn.SIZE})
    assert widths[TrafficColumn.METHOD] == 333
    assert widths[TrafficColumn.KIND] == 0
    assert widths[TrafficColumn.SIZE] > 0


def _choose_in_menu(view: TrafficView, message: str) -> None:
    header = view.horizontalHeader()
    header.customContextMenuRequested.emit(header.rect().center())
    menu = view.findChildren(QMenu)[-1]
    next(each for each in menu.actions() if message in each.text()).trigger()
    menu.close()


def test_a_column_that_gave_way_can_be_had_back_and_is_remembered(
    view: TrafficView, qtbot: QtBot, appearance: Appearance
) -> None:
    assert view.isColumnHidden(TrafficColumn.SIZE)
    _choose_in_menu(view, "Size")
    assert not view.isColumnHidden(TrafficColumn.SIZE)
    _choose_in_menu(view, "Kind")
    other = TrafficView(TapedTraffic(), appearance)
    qtbot.addWidget(other)
    other.resize(700, 200)
    other.columns.restore(json.loads(json.dumps(view.columns.state())))
    assert not other.isColumnHidden(TrafficColumn.SIZE)
    assert other.isColumnHidden(TrafficColumn.KIND)


def test_columns_come_back_when_there_is_room_again(view: TrafficView) -> None:
    view.resize(1_600, 200)
    hidden = [column for column in TrafficColumn if view.isColumnHidden(column)]
    assert hidden == [TrafficColumn.NUMBER]


def test_the_numbers_are_shown_to_those_who_choose_them(view: TrafficView) -> None:
    view.resize(1_600, 200)
    _choose_in_menu(view, "No.")
    assert not view.isColumnHidden(TrafficColumn.NUMBER)
    _choose_in_menu(view, "No.")
    assert view.isColumnHidden(TrafficColumn.NUMBER)


def test_the_order_of_an_earlier_version_is_kept(
    qtbot: QtBot, appearance: Appearance, view: TrafficView
) -> None:
    earlier = QTableWidget(0, len(TrafficColumn) - 1)
    qtbot.addWidget(earlier)
    earlier.horizontalHeader().moveSection(TrafficColumn.SUMMARY, 0)
    header = earlier.horizontalHeader().saveState().toBase64().toStdString()
    view.columns.restore({"header": header})
    view.resize(1_600, 200)
    _choose_in_menu(view, "No.")
    titles = view.horizontalHeader()
    assert titles.visualIndex(TrafficColumn.SUMMARY) == 0
    assert titles.visualIndex(TrafficColumn.NUMBER) == TrafficColumn.NUMBER
    assert titles.length() <= view.viewport().width()


def test_the_columns_can_be_fitted_again(view: TrafficView) -> None:
    view.setColumnWidth(TrafficColumn.METHOD, 2_000)
    assert view.horizontalHeader().length() > view.viewport().width()
    _choose_in_menu(view, "Fit")
    assert view.horizontalHeader().length() <= view.viewport().width()


def test_nonsense_is_left_out(view: TrafficView) -> None:
    view.columns.restore({"header": 7, "widths": {"NO": 3, "KEY": "x"}, "hidden": 1, "shown": [0]})
    assert view.horizontalHeader().length() <= view.viewport().width()


def test_the_server_is_as_wide_as_the_longest_that_is_shown(view: TrafficView) -> None:
    view.resize(1_400, 200)
    model = view.model()
    assert isinstance(model, TapedTraffic)
    model.append(ticks(0, 1))
    before = view.columnWidth(TrafficColumn.SERVER)
    name = model.text(0, TrafficColumn.SERVER)
    model.titles.set_titles({name: ServerTitle("orders (Claude Code)", "run by Claude Code")})
    assert view.columnWidth(TrafficColumn.SERVER) > before
    delegate = view.itemDelegate()
    assert isinstance(delegate, TrafficDelegate)
    server = model.index(0, TrafficColumn.SERVER)
    assert "orders" not in delegate.tip(server, view.columnWidth(TrafficColumn.SERVER))
    assert "orders (Claude Code)" in delegate.tip(server, before)


def test_a_long_server_does_not_take_all_room() -> None:
    widths = fitted(2_000, _width, {}, (), (), 300)
    assert widths[TrafficColumn.SERVER] == _width(24)


def test_in_a_wide_window_tokens_and_methods_are_whole_before_the_summary_has_it_all() -> None:
    widths = fitted(3_000, _width, {}, (), ())
    assert widths[TrafficColumn.KEY] == _width(24)
    assert widths[TrafficColumn.METHOD] == _width(28)
    assert sum(widths.values()) == 3_000
    own = {TrafficColumn.KEY: 77}
    assert fitted(3_000, _width, own, (), ())[TrafficColumn.KEY] == 77

"""The Traffic pane: follows, stands still, searches, shows one message in full, copies."""

import json
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QTabWidget,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.common.json_view import JsonTree
from mcp_progress_monitor.gui.common.raw_view import RawView
from mcp_progress_monitor.gui.common.row_painting import CellCache
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.traffic import view
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.delegate import TrafficDelegate, elided_middle
from mcp_progress_monitor.gui.traffic.pane import TrafficPane
from mcp_progress_monitor.gui.traffic.view import TrafficView
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.frames import Channel, FrameKind
from mcp_progress_monitor.protocol.jsonrpc import Elided
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import heard
from tests.gui.traffic.frames import frame, progress, ticks
from tests.gui.traffic.tape import TapedTraffic
from tests.gui.traffic.test_related_jobs import Jobs

_CALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "export", "arguments": {"html": "<b>bold</b>"}},
}


@pytest.fixture
def model(qtbot: QtBot) -> TapedTraffic:
    """Traffic of at most 1,600 frames."""
    return TapedTraffic(capacity=1_600)


def _made(model: TapedTraffic) -> TrafficPane:
    appearance = Appearance(QGuiApplication.palette(), resource("icons"))
    return TrafficPane(model, Jobs(), appearance, Commands())


@pytest.fixture
def pane(qtbot: QtBot, model: TapedTraffic) -> TrafficPane:
    """The pane on its own, 900 by 600."""
    return expose(qtbot, _made(model), 900, 600)


def _top(view: TrafficView) -> int:
    return view.rowAt(0)


def _is_last_in_sight(view: TrafficView) -> bool:
    rect = view.visualRect(view.model().index(view.model().rowCount() - 1, 0))
    return view.viewport().rect().contains(rect.center())


def _button(pane: TrafficPane, message: str) -> QAbstractButton:
    return next(each for each in pane.findChildren(QAbstractButton) if message in each.text())


def _tabs(pane: TrafficPane) -> QTabWidget:
    tabs = pane.findChild(QTabWidget)
    assert isinstance(tabs, QTabWidget)
    return tabs


def _raw(pane: TrafficPane) -> RawView:
    page = _tabs(pane).widget(1)
    assert page is not None
    view = page.findChild(RawView)
    assert isinstance(view, RawView)
    return view


def _kinds_menu(pane: TrafficPane) -> QMenu:
    menu = next(b for b in pane.findChildren(QToolButton) if b.text() == "Kinds").menu()
    assert isinstance(menu, QMenu)
    return menu


def test_the_view_follows_the_newest_row(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    qtbot.wait(400)
    model.append(ticks(0, 300))
    assert _is_last_in_sight(pane.view)  # at once after a pause
    for first in range(300, 3_000, 300):
        model.append(ticks(first, 300))
        qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))


def test_a_row_that_is_chosen_stays_in_sight(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 300))
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))
    pressed = pane.view.visualRect(model.index(299, TrafficColumn.SUMMARY)).center()
    QTest.mouseClick(pane.view.viewport(), Qt.MouseButton.LeftButton, pos=pressed)
    assert not pane.view.is_following
    model.append(ticks(300, 300))
    qtbot.wait(50)
    assert pane.view.selected_rows() == [299]
    assert pane.view.viewport().rect().contains(pane.view.visualRect(model.index(299, 0)).center())
    assert "300 new" in pane.view.jump.text()


def test_a_chosen_row_stays_in_sight_when_it_is_pressed_again(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 300))
    QTest.keyClick(pane.view, Qt.Key.Key_End)
    assert pane.view.is_following
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))
    pressed = pane.view.visualRect(model.index(299, TrafficColumn.SUMMARY)).center()
    QTest.mouseClick(pane.view.viewport(), Qt.MouseButton.LeftButton, pos=pressed)
    model.append(ticks(300, 300))
    qtbot.wait(50)
    assert pane.view.viewport().rect().contains(pane.view.visualRect(model.index(299, 0)).center())


def test_going_down_to_the_last_row_does_not_follow(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 300))
    pane.view.choose(298)
    QTest.keyClick(pane.view, Qt.Key.Key_Down)
    assert pane.view.currentIndex().row() == 299
    assert not pane.view.is_following


def test_tab_into_traffic_chooses_no_row_and_goes_on_following(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    pane.activateWindow()
    model.append(ticks(0, 300))
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))
    before = pane.view.grab().toImage()
    pane.view.setFocus(Qt.FocusReason.TabFocusReason)
    assert not pane.view.currentIndex().isValid()
    assert pane.view.is_following
    assert pane.view.grab().toImage() != before  # the focus is seen
    model.append(ticks(300, 10))
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))


@pytest.mark.parametrize("key", [Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp])
def test_the_keyboard_begins_at_the_newest_row_in_sight(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot, key: Qt.Key
) -> None:
    model.append(ticks(0, 300))
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))
    pane.view.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(pane.view, key)
    assert pane.view.currentIndex().row() == 299
    assert not pane.view.is_following


def test_another_filter_with_a_chosen_row_goes_on_following(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 300))
    pane.view.choose(290)
    pane.view.follow()
    pane.set_filter(TrafficFilter("progress > 1"))
    qtbot.waitUntil(lambda: model.rowCount() == 298)
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))
    assert pane.view.currentIndex().isValid()
    assert pane.view.is_following


def test_tab_goes_from_the_table_to_the_details(pane: TrafficPane, model: TapedTraffic) -> None:
    later = QLineEdit(pane.parentWidget() or pane)
    later.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    model.append(ticks(0, 3))
    pane.view.choose(1)
    following = pane.view.nextInFocusChain()
    while following and not following.focusPolicy() & Qt.FocusPolicy.TabFocus:
        following = following.nextInFocusChain()
    assert following is not None
    assert pane.details.isAncestorOf(following)


def test_rows_of_a_flood_are_painted_a_few_at_a_time_before_they_are_shown(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted: list[bool] = []
    of = CellCache.of

    def counted(*arguments: Any) -> tuple[QPixmap, bool]:
        image, is_new = of(*arguments)
        painted.append(is_new)
        return image, is_new

    monkeypatch.setattr(CellCache, "of", counted)
    monkeypatch.setattr(view, "_PAUSE_MS", 3_600_000)  # however long painting takes
    model.append(ticks(0, 300))
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))
    painted.clear()
    pane.view.grab()
    in_sight = len(painted)
    painted.clear()
    model.append(ticks(300, 300))
    assert not _is_last_in_sight(pane.view)
    pane.view.grab()
    assert sum(painted) <= 1  # of what is seen meanwhile only the row cut off at the bottom is new
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))
    assert 4 < in_sight - 2 <= sum(painted) <= in_sight + 2
    painted.clear()
    pane.view.grab()
    assert sum(painted) <= 1  # of the row that is cut off at the top


def test_a_user_who_scrolls_up_while_rows_are_prepared_is_not_taken_to_the_end(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 300))
    model.append(ticks(300, 300))
    pane.view.verticalScrollBar().setValue(10)
    qtbot.wait(50)
    assert pane.view.verticalScrollBar().value() == 10


def test_scrolling_up_stops_following_and_the_button_counts_new_rows(
    pane: TrafficPane, model: TapedTraffic
) -> None:
    model.append(ticks(0, 500))
    pane.view.verticalScrollBar().setValue(100)
    model.append(ticks(500, 1_000))
    model.append(ticks(1_500, 4))
    jump = _button(pane, "Jump to newest")
    assert jump.isVisible()
    assert "1,004 new" in jump.text()
    jump.click()
    assert _is_last_in_sight(pane.view)
    assert not jump.isVisible()


def test_a_view_that_was_scrolled_up_keeps_its_place_while_old_rows_go(
    pane: TrafficPane, model: TapedTraffic
) -> None:
    model.append(ticks(0, 1_000))
    model.append(ticks(1_000, 600))
    pane.view.verticalScrollBar().setValue(1_200)
    before = model.frame(_top(pane.view))
    model.append(ticks(1_600, 500))
    assert model.timeline.dropped == 1_000
    assert model.frame(_top(pane.view)) == before


def test_the_end_key_follows_again(pane: TrafficPane, model: TapedTraffic, qtbot: QtBot) -> None:
    model.append(ticks(0, 500))
    QTest.keyClick(pane.view, Qt.Key.Key_Home)
    model.append(ticks(500, 500))
    assert not _is_last_in_sight(pane.view)
    QTest.keyClick(pane.view, Qt.Key.Key_End)
    model.append(ticks(1_000, 500))
    qtbot.waitUntil(lambda: _is_last_in_sight(pane.view))


def test_pause_stops_the_view_and_says_what_waits(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 10))
    _button(pane, "Pause").click()
    model.append(ticks(10, 1_204))
    assert model.rowCount() == 10
    qtbot.waitUntil(
        lambda: any("paused, 1,204 waiting" in each.text() for each in pane.findChildren(QLabel))
    )
    _button(pane, "Pause").click()
    assert model.rowCount() == 1_214


def test_cleared_rows_can_be_shown_again(pane: TrafficPane, model: TapedTraffic) -> None:
    model.append(ticks(0, 10))
    _button(pane, "Clear view").click()
    assert model.rowCount() == 0
    _button(pane, "Show cleared").click()
    assert model.rowCount() == 10
    assert not _button(pane, "Show cleared").isVisible()


def test_typing_searches_and_control_f_gets_there(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append([*ticks(0, 20), frame(20, b"Listening on PORT 80")])
    pane.view.setFocus()
    QTest.keyClick(pane.view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = pane.findChild(QLineEdit)
    assert isinstance(field, QLineEdit)
    with qtbot.waitSignal(pane.filter_changed) as changed:
        QTest.keyClicks(field, "port listening")
    assert changed.args == [TrafficFilter("port listening")]
    qtbot.waitUntil(lambda: not model.unsearched)
    assert [model.frame(row) for row in range(model.rowCount())] == [
        frame(20, b"Listening on PORT 80")
    ]


def test_the_chosen_row_stays_chosen_under_another_filter(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append([*ticks(0, 20), frame(20, b"needle"), *ticks(21, 20)])
    pane.view.choose(20)
    pane.set_filter(TrafficFilter("needle"))
    qtbot.waitUntil(lambda: not model.unsearched)
    assert pane.view.currentIndex().row() == 0
    pane.set_filter(TrafficFilter())
    assert pane.view.currentIndex().row() == 20


def test_kinds_and_directions_can_be_left_out(pane: TrafficPane, model: TapedTraffic) -> None:
    model.append([progress(0), frame(1, _CALL, Channel.SENT), frame(2, b"line", Channel.STDERR)])
    actions = {action.text(): action for action in _kinds_menu(pane).actions()}
    actions["Progress"].trigger()
    assert [model.kind(row) for row in range(model.rowCount())] == [
        FrameKind.REQUEST,
        FrameKind.STDERR,
    ]
    actions["Standard error"].trigger()
    assert model.rowCount() == 1
    actions["Show all"].trigger()
    assert model.rowCount() == 3


def test_the_chosen_message_is_shown_as_tree_and_as_exact_bytes(
    pane: TrafficPane, model: TapedTraffic
) -> None:
    one = frame(1, _CALL, Channel.SENT)
    model.append([one])
    pane.view.choose(0)
    tree = pane.details.findChild(JsonTree)
    assert isinstance(tree, JsonTree)
    assert tree.model().index(2, 1).data() == '"tools/call"'
    raw = _raw(pane)
    assert raw.text == one.raw.decode()


def test_garbage_shows_its_bytes(pane: TrafficPane, model: TapedTraffic) -> None:
    model.append([frame(1, b"oops \xff\x1b")])
    pane.view.choose(0)
    assert _tabs(pane).currentIndex() == 1
    assert _raw(pane).text == r"oops \xff\x1b"
    assert any("not JSON" in each.text() for each in pane.details.findChildren(QLabel))


def test_a_large_message_shows_its_first_page_at_once_and_is_read_in_slices(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    raw = b'{"jsonrpc":"2.0","id":7,"result":{"text":"' + b"x" * 8_000_000 + b'"}}'
    model.append([frame(100, raw)])
    pane.view.choose(0)
    assert pane.details.message is None
    view = _raw(pane)
    assert view.text.startswith('{"jsonrpc"')
    assert len(view.text) < 100_000
    qtbot.waitUntil(lambda: pane.details.message is not None)
    _tabs(pane).setCurrentIndex(1)
    next(b for b in view.findChildren(QPushButton) if b.text() == "Show more").click()
    assert view.text == "x" * len(view.text)
    next(b for b in view.findChildren(QPushButton) if b.text() == "Show previous").click()
    assert view.text.startswith('{"jsonrpc"')


def test_a_long_value_is_shown_whole_with_its_lines(pane: TrafficPane, model: TapedTraffic) -> None:
    text = "line\n" * 3_000
    model.append([frame(1, {"jsonrpc": "2.0", "id": 1, "result": {"text": text}})])
    pane.view.choose(0)
    tree = pane.details.findChild(JsonTree)
    assert isinstance(tree, JsonTree)
    tree.value_opened.emit(text)
    assert _tabs(pane).tabText(_tabs(pane).currentIndex()) == "Value"
    shown = _tabs(pane).currentWidget()
    assert isinstance(shown, RawView)
    assert shown.text == text
    tree.value_opened.emit(Elided(9))
    assert _tabs(pane).currentIndex() == 1


def test_a_message_leads_to_its_job(pane: TrafficPane, model: TapedTraffic) -> None:
    model.append([progress(51)])
    pane.view.choose(0)
    opened = heard(pane.controller.job_wanted)
    _button(pane, "Job: export").click()
    assert opened == [2]


def test_the_details_stay_when_their_row_is_gone(pane: TrafficPane, model: TapedTraffic) -> None:
    chosen = frame(0, b"chosen")
    model.append([chosen])
    pane.view.choose(0)
    model.append(ticks(1, 5_000))
    assert pane.details.frame == chosen
    assert not pane.view.currentIndex().isValid()


def test_rows_are_copied_as_lines_json_and_bytes(pane: TrafficPane, model: TapedTraffic) -> None:
    model.append([frame(1, _CALL, Channel.SENT), frame(2, b"\xff")])
    pane.view.selectAll()
    QTest.keyClick(pane.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 2
    assert "tools/call" in lines[0]
    actions = {action.text(): action for action in pane.view.actions()}
    actions["Copy raw bytes"].trigger()
    data = QGuiApplication.clipboard().mimeData().data("application/octet-stream")
    assert bytes(data.data()).endswith(b"\n\xff")
    actions["Copy as JSON"].trigger()
    assert json.dumps(_CALL, indent=2) in QGuiApplication.clipboard().text()


def test_too_many_rows_are_copied_in_part_and_that_is_reported(
    pane: TrafficPane, model: TapedTraffic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.gui.traffic.view.COPIED_AT_MOST", 3)
    model.append(ticks(0, 10))
    pane.view.selectAll()
    next(a for a in pane.view.actions() if a.text() == "Copy as line").trigger()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 3
    assert any("of 10 rows" in each.text() for each in pane.findChildren(QLabel))


def test_a_frame_is_followed_even_if_a_filter_hides_it(
    pane: TrafficPane, model: TapedTraffic
) -> None:
    model.append(ticks(0, 100))
    pane.set_filter(TrafficFilter("nothing"))
    pane.follow_frame(42)
    assert pane.details.frame is not None
    assert pane.details.frame.number == 42
    pane.follow_frame(4_242)
    assert any("no longer in Traffic" in each.text() for each in pane.findChildren(QLabel))


def test_columns_are_chosen_in_the_headers_menu(pane: TrafficPane, model: TapedTraffic) -> None:
    header = pane.view.horizontalHeader()
    header.customContextMenuRequested.emit(QPoint(5, 5))
    menu = pane.view.findChildren(QMenu)[-1]
    next(a for a in menu.actions() if a.text() == "Server").trigger()
    assert pane.view.isColumnHidden(3)
    menu.close()


def test_the_look_is_remembered(pane: TrafficPane, model: TapedTraffic, qtbot: QtBot) -> None:
    pane.view.setColumnWidth(3, 222)
    state = json.loads(json.dumps(pane.state()))
    other = TrafficPane(
        model, Jobs(), Appearance(QGuiApplication.palette(), resource("icons")), Commands()
    )
    qtbot.addWidget(other)
    other.restore(state)
    assert other.view.columnWidth(3) == 222
    other.restore({"header": 7, "sizes": ["x"]})


def test_every_control_has_a_name_a_tip_and_a_place_in_the_tab_order(pane: TrafficPane) -> None:
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    for control in pane.bar.findChildren(QToolButton, options=direct):
        assert control.accessibleName()
        assert control.toolTip()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert pane.view.accessibleName()


def test_the_view_paints_every_kind_of_row_selected_or_not(
    pane: TrafficPane, model: TapedTraffic
) -> None:
    kinds = [
        frame(1, _CALL, Channel.SENT),
        frame(2, b"\xff"),
        frame(3, "日本語 ".encode() * 200, Channel.STDERR),
        frame(4, {"event": "opened"}, Channel.EVENT),
    ]
    model.append(kinds)
    pane.view.selectRow(2)
    image = pane.view.viewport().grab().toImage()
    row = pane.view.visualRect(model.index(2, 0))  # as high as the fonts of this machine
    heights = range(row.top(), row.bottom())
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in heights}
    assert len(colours) > 2


def _tip(view: TrafficView, row: int, column: TrafficColumn, width: int = 1_000) -> str:
    delegate = view.itemDelegate()
    assert isinstance(delegate, TrafficDelegate)
    return delegate.tip(view.model().index(row, column), width)


def test_a_message_that_breaks_a_rule_is_marked_in_its_row_and_reported_in_the_details(
    pane: TrafficPane, model: TapedTraffic
) -> None:
    model.append(ticks(0, 2))
    before = pane.view.grab().toImage()
    model.break_rules({1: "Progress did not increase: 1 after 1"})
    pane.view.viewport().update()
    assert pane.view.grab().toImage() != before
    assert _tip(pane.view, 0, TrafficColumn.SUMMARY) == ""
    assert _tip(pane.view, 1, TrafficColumn.TIME).startswith("Finding: Progress did not")
    pane.view.choose(1)
    (reported,) = [each for each in pane.details.findChildren(QLabel) if "Finding" in each.text()]
    assert reported.text() == "Finding: Progress did not increase: 1 after 1"
    assert reported.isVisible()
    pane.view.choose(0)
    assert not reported.isVisible()


def test_the_menu_of_kinds_shows_only_what_breaks_a_rule(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot
) -> None:
    model.append(ticks(0, 10))
    model.break_rules({3: "late"})
    menu = _kinds_menu(pane)
    only = next(each for each in menu.actions() if "with findings" in each.text())
    only.trigger()
    qtbot.waitUntil(lambda: model.rowCount() == 1)
    assert _button(pane, "Kinds").text() == "Kinds •"
    next(each for each in menu.actions() if "all" in each.text()).trigger()
    assert model.rowCount() == 10
    assert not only.isChecked()


def test_a_cut_cell_tells_the_whole_of_it(pane: TrafficPane, model: TapedTraffic) -> None:
    model.append(ticks(0, 1))
    assert _tip(pane.view, 0, TrafficColumn.METHOD) == "notifications/progress"
    assert _tip(pane.view, 0, TrafficColumn.METHOD, 40) == "progress\nnotifications/progress"
    assert _tip(pane.view, 0, TrafficColumn.KIND) == ""
    assert _tip(pane.view, 0, TrafficColumn.DIRECTION, 20) == "← received"


@pytest.mark.parametrize(("width", "height"), [(1_080, 240), (700, 240), (500, 240)])
def test_all_columns_fit_beside_the_details_and_the_summary_is_in_sight(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot, width: int, height: int
) -> None:
    model.append(ticks(0, 100))
    pane.resize(width, height)
    pane.view.choose(50)
    view = pane.view
    qtbot.waitUntil(lambda: view.horizontalHeader().length() <= view.viewport().width())
    assert not view.isColumnHidden(TrafficColumn.SUMMARY)
    assert not view.isColumnHidden(TrafficColumn.KEY)
    assert view.columnWidth(TrafficColumn.SUMMARY) > view.columnWidth(TrafficColumn.KEY)


@pytest.mark.parametrize(("width", "height"), [(1_080, 230), (700, 400)])
def test_a_low_pane_shows_the_selected_row_and_its_details_without_scrolling(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot, width: int, height: int
) -> None:
    pane.resize(width, height)
    model.append(ticks(0, 100))
    pane.follow_frame(51)
    pane.add_notice("PROG-3: Progress did not increase. " * 9)
    qtbot.waitUntil(lambda: pane.details.isVisible())
    view = pane.view
    needed = max(pane.heightForWidth(width), pane.minimumSizeHint().height())
    assert needed <= height, "else the dock scrolls"
    assert view.viewport().rect().intersects(view.visualRect(view.currentIndex()))


def test_the_table_has_more_room_than_the_details_at_first(
    pane: TrafficPane, model: TapedTraffic
) -> None:
    model.append(ticks(0, 100))
    pane.resize(1_080, 240)
    pane.view.choose(50)
    assert pane.view.width() > 1.4 * pane.details.width()


@pytest.mark.parametrize("width", [560, 700, 900, 1280])
def test_the_row_count_is_never_cut(
    pane: TrafficPane, model: TapedTraffic, qtbot: QtBot, width: int
) -> None:
    pane.resize(width, 600)
    model.append(ticks(0, 1_300))
    _button(pane, "Clear").click()
    model.append(ticks(1_300, 1_234))
    pane.view.choose(3)
    model.append(ticks(2_600, 20))
    _button(pane, "Pause").click()
    model.append(ticks(2_700, 9))
    rows = f"{model.rowCount():,} rows"
    qtbot.wait(20)
    shown = next(each for each in pane.bar.findChildren(QLabel) if "row" in each.text())
    assert shown.text().startswith(rows)
    assert (
        shown.fontMetrics().horizontalAdvance(shown.text())
        <= shown.visibleRegion().boundingRect().width()
    )


def test_the_button_to_the_newest_row_covers_no_row(pane: TrafficPane, model: TapedTraffic) -> None:
    model.append(ticks(0, 100))
    pane.view.choose(50)
    assert pane.view.jump.isVisible()
    assert pane.view.jump.parentWidget() is pane.bar
    assert pane.rect().contains(pane.view.jump.mapTo(pane, pane.view.jump.rect().bottomRight()))


@pytest.mark.parametrize(
    ("text", "room", "head", "cut"),
    [
        ("notifications/progress", 12, 0, "…ns/progress"),
        ("prog-1795197768735-10", 9, 3, "pro…35-10"),
        ("prog-1795197768735-10", 3, 3, ""),
    ],
)
def test_texts_that_differ_at_their_end_keep_it(text: str, room: int, head: int, cut: str) -> None:
    assert elided_middle(text, room, head) == cut

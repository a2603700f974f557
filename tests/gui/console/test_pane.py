"""Lines of standard error reach the widget in slices, while it is seen, and never too many."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDockWidget, QMainWindow
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.labels import ServerTitle, ServerTitles
from mcp_progress_monitor.gui.console.lines import LINES
from mcp_progress_monitor.gui.console.pane import StderrPane
from mcp_progress_monitor.gui.console.view import SLICE
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.frames import Channel, Frame


def _frames(count: int, start: int = 0) -> list[Frame]:
    return [
        Frame(number, "local-db#1", Channel.STDERR, 1.7e9, 0.0, b"line %d." % number)
        for number in range(start, start + count)
    ]


def _life(number: int, connection: str, **fields: object) -> Frame:
    raw = json.dumps(fields, separators=(",", ":")).encode()
    return Frame(number, connection, Channel.EVENT, 1.7e9, 0.0, raw)


def _line(number: int, text: bytes, connection: str = "local-db#1") -> Frame:
    return Frame(number, connection, Channel.STDERR, 1.7e9, 0.0, text)


@pytest.fixture
def pane(qtbot: QtBot, appearance: Appearance) -> StderrPane:
    pane = StderrPane(appearance)
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
    assert pane.text.unwritten == 5 * SLICE
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    steps = [after - before for before, after in zip([0, *grown], grown, strict=False)]
    assert max(steps) <= SLICE
    assert _written(pane) == [f"line {number}." for number in range(5 * SLICE)]


def test_long_lines_reach_the_widget_a_few_at_a_time(pane: StderrPane, qtbot: QtBot) -> None:
    grown: list[int] = []
    pane.text.grown.connect(lambda: grown.append(pane.text.line_count))
    pane.show()
    pane.add_frames([_line(number, b"x" * 8000) for number in range(100)])
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    steps = [after - before for before, after in zip([0, *grown], grown, strict=False)]
    assert max(steps) <= 5
    assert pane.text.line_count == 100


def test_only_the_newest_lines_are_kept_and_none_between_is_missing(
    pane: StderrPane, qtbot: QtBot
) -> None:
    pane.show()
    pane.add_frames(_frames(3))
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    pane.add_frames(_frames(LINES + 500, 3))
    assert pane.text.unwritten == LINES
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    assert _written(pane) == [f"line {number}." for number in range(503, LINES + 503)]


def test_a_hidden_pane_writes_nothing_until_it_is_seen(pane: StderrPane, qtbot: QtBot) -> None:
    pane.add_frames(_frames(10))
    qtbot.wait(60)  # nothing is to happen: there is no event to wait for
    assert pane.text.toPlainText() == ""
    pane.show()
    qtbot.waitUntil(lambda: len(_written(pane)) == 10)


def test_a_pane_behind_another_tab_writes_when_it_comes_to_the_front(
    qtbot: QtBot, appearance: Appearance
) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    docks = [QDockWidget(name, window) for name in ("Log", "stderr")]
    pane = StderrPane(appearance)
    docks[1].setWidget(pane)
    for dock in docks:
        window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    window.tabifyDockWidget(*docks)
    docks[0].raise_()
    window.show()
    qtbot.waitExposed(window)
    pane.add_frames(_frames(10))
    qtbot.wait(60)  # idem
    assert pane.text.unwritten == 10
    docks[1].raise_()
    qtbot.waitUntil(lambda: len(_written(pane)) == 10)


def test_the_end_is_followed_only_while_it_is_in_sight(pane: StderrPane, qtbot: QtBot) -> None:
    pane.show()
    bar = pane.text.verticalScrollBar()
    pane.add_frames(_frames(100))
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    assert bar.value() == bar.maximum()
    bar.setValue(20)
    pane.add_frames(_frames(100, 100))
    qtbot.waitUntil(lambda: not pane.text.unwritten)
    assert bar.value() == 20


def _wait(qtbot: QtBot, pane: StderrPane) -> None:
    pane.show()
    qtbot.waitUntil(lambda: not pane.text.unwritten)


@pytest.fixture
def two(qtbot: QtBot, pane: StderrPane) -> StderrPane:
    """Lines of two servers, the first of them connected twice."""
    pane.add_frames(
        [
            _life(1, "a#1", event="opened", command="run", pid=7),
            _line(2, b"one of a", "a#1"),
            _life(3, "b#1", event="opened", command="run", pid=8),
            _line(4, b"one of b", "b#1"),
            _life(5, "a#1", event="closed", reason="It crashed", exit_code=1),
            _life(6, "a#2", event="opened", command="run", pid=9),
            _line(7, b"two of a", "a#2"),
        ]
    )
    _wait(qtbot, pane)
    return pane


def test_the_end_stays_in_sight_when_a_line_is_wider_than_the_pane_or_the_pane_gets_lower(
    pane: StderrPane, qtbot: QtBot
) -> None:
    pane.show()
    wide = [_line(number, b"word " * 99) for number in range(SLICE)]
    for frames in (wide, _frames(SLICE, SLICE)):
        pane.add_frames(frames)
        qtbot.waitUntil(lambda: not pane.text.unwritten)
        qtbot.waitUntil(lambda: pane.text.horizontalScrollBar().maximum() > 0)
        qtbot.waitUntil(lambda: pane.text.is_at_end)
    pane.resize(600, 120)
    qtbot.waitUntil(lambda: pane.text.is_at_end)
    assert pane.text.lines_in_sight()[1] == 2 * SLICE - 1


def test_connections_are_kept_apart_by_lines_that_tell_of_begin_and_end(two: StderrPane) -> None:
    two.choose_server("a")
    two.times.setChecked(False)
    lines = two.plain_text()().splitlines()
    assert lines[1] == "one of a"
    assert lines[0].startswith("— started at ")
    assert lines[2].endswith("exit code 1: It crashed —")
    assert lines[3].startswith("— restarted at ")
    assert lines[3].endswith("connection 2, pid 9 —")
    assert lines[4] == "two of a"


def test_one_server_is_chosen_and_all_can_be_had_again(qtbot: QtBot, two: StderrPane) -> None:
    choice = two.server_choice
    assert [choice.itemText(at) for at in range(choice.count())] == ["All servers", "a", "b"]
    choice.setCurrentIndex(2)
    choice.activated.emit(2)
    _wait(qtbot, two)
    assert "of a" not in two.text.toPlainText()
    assert _written(two)[-1] == "one of b"
    two.add_frames([_line(8, b"more of a", "a#2"), _line(9, b"more of b", "b#1")])
    _wait(qtbot, two)
    assert _written(two)[-1] == "more of b"
    assert "of a" not in two.text.toPlainText()
    two.choose_server(None)
    _wait(qtbot, two)
    assert [line for line in _written(two) if " of " in line][-2:] == ["more of a", "more of b"]


def test_what_was_cleared_can_be_shown_again(qtbot: QtBot, two: StderrPane) -> None:
    before = two.text.toPlainText()
    two.clear_button.click()
    assert (two.text.toPlainText(), two.clear_button.text()) == ("", "Show all")
    two.add_frames([_line(8, b"later", "a#2")])
    _wait(qtbot, two)
    assert _written(two) == ["later"]
    two.clear_button.click()
    _wait(qtbot, two)
    assert two.text.toPlainText().startswith(before)


def test_colours_of_the_server_are_used_and_sequences_are_not_shown(
    qtbot: QtBot, pane: StderrPane
) -> None:
    pane.times.setChecked(False)
    pane.add_frames([_line(1, b"\x1b[31mTraceback:"), _line(2, b"in main\x1b[0m\x1b[K done")])
    _wait(qtbot, pane)
    assert _written(pane) == ["Traceback:", "in main done"]
    formats = [
        (each.start, each.format.foreground().color())
        for at in range(2)
        for each in pane.text.document().findBlockByNumber(at).textFormats()
    ]
    (_, muted), (_, red), (_, again_muted), (_, again_red), (_, plain) = formats
    assert (red, muted) == (again_red, again_muted)
    assert red.red() > red.green() + 50
    assert plain not in (red, muted)


def test_enter_and_double_click_ask_for_the_frame_of_a_line(qtbot: QtBot, two: StderrPane) -> None:
    two.text.setTextCursor(two.text.cursor_to(two.text.first + 3, 0, 0))
    with qtbot.waitSignal(two.frame_opened) as signal:
        QTest.keyClick(two.text, Qt.Key.Key_Return)
    assert signal.args == [4]
    place = two.text.cursorRect(two.text.cursor_to(two.text.first + 1, 2, 2)).center()
    with qtbot.waitSignal(two.frame_opened) as signal:
        QTest.mouseDClick(two.text.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert signal.args == [2]


def test_the_button_leads_back_to_the_newest_line_and_counts_what_came(
    qtbot: QtBot, pane: StderrPane
) -> None:
    pane.add_frames(_frames(100))
    _wait(qtbot, pane)
    assert pane.jump.isHidden()
    pane.text.verticalScrollBar().setValue(10)
    pane.add_frames(_frames(7, 100))
    _wait(qtbot, pane)
    assert (pane.jump.isHidden(), pane.jump.text()) == (False, "7 new")
    pane.jump.click()
    assert pane.jump.isHidden()
    assert pane.text.is_at_end


def test_lines_in_sight_stay_where_they_are_when_the_oldest_go(
    qtbot: QtBot, pane: StderrPane
) -> None:
    pane.add_frames(_frames(LINES))
    _wait(qtbot, pane)
    pane.text.verticalScrollBar().setValue(5000)
    top = pane.text.firstVisibleBlock().text()
    pane.add_frames(_frames(300, LINES))
    _wait(qtbot, pane)
    assert pane.text.firstVisibleBlock().text() == top
    assert pane.text.number_of(0) == 300
    assert pane.state_label.text() == "300 older dropped"


def test_choices_are_remembered(pane: StderrPane, qtbot: QtBot, appearance: Appearance) -> None:
    pane.choose_server("a")
    pane.times.setChecked(False)
    pane.search.case.setChecked(True)
    other = StderrPane(appearance)
    qtbot.addWidget(other)
    other.restore(json.loads(json.dumps(pane.state())))
    assert other.state() == pane.state()
    assert other.server == "a"
    other.restore({"server": 7, "times": None})
    assert other.server is None


def test_a_replay_that_begins_again_leaves_nothing(qtbot: QtBot, two: StderrPane) -> None:
    two.clear()
    assert (two.text.toPlainText(), two.plain_text()()) == ("", "")
    assert two.server_choice.count() == 1
    two.add_frames([_line(1, b"anew", "a#1")])
    _wait(qtbot, two)
    assert _written(two) == ["anew"]


def test_a_watched_server_is_called_as_in_traffic(qtbot: QtBot, appearance: Appearance) -> None:
    titles = ServerTitles()
    pane = StderrPane(appearance, titles=titles)
    qtbot.addWidget(pane)
    pane.show()
    pane.add_frames(_frames(1))
    qtbot.waitUntil(lambda: "local-db  line 0." in pane.text.toPlainText())
    titles.set_titles({"local-db": ServerTitle("db (Agent)", "local-db: run by Agent")})
    qtbot.waitUntil(lambda: "db (Agent)  line 0." in pane.text.toPlainText())
    assert pane.server_choice.itemText(1) == "db (Agent)"
    assert "db (Agent)  line 0." in pane.plain_text()()

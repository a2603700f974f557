"""The bar over Traffic says what is wrong with a filter, and keeps the last good one in force."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMenu, QToolButton, QTreeWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.filtering.completion import Completion, complete
from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.filtering.language import parse
from mcp_progress_monitor.gui.common.filter_field import FilterField
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.traffic.filter_bar import TrafficFilterBar
from mcp_progress_monitor.gui.traffic.filter_help import EXAMPLES, FilterHelp
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.frames import Channel, FrameKind
from mcp_progress_monitor.recording.timeline import Timeline
from tests.gui.exposure import expose

_BAD = "token === 7"


def _complete(text: str, cursor: int) -> Completion:
    return complete(text, cursor, Timeline())


@pytest.fixture
def bar(qtbot: QtBot) -> TrafficFilterBar:
    """The bar on its own, as wide as a small window."""
    made = TrafficFilterBar(_complete, Appearance(QGuiApplication.palette(), resource("icons")))
    expose(qtbot, made, 700, 60)
    made.activateWindow()
    made.focus_search()
    return made


def _field(bar: TrafficFilterBar) -> FilterField:
    field = bar.findChild(FilterField)
    assert isinstance(field, FilterField)
    return field


def test_typing_filters_after_a_pause(bar: TrafficFilterBar, qtbot: QtBot) -> None:
    with qtbot.waitSignal(bar.filter_changed) as changed:
        QTest.keyClicks(_field(bar), "token == 7")
        assert bar.filter().text == ""
    assert changed.args == [TrafficFilter("token == 7")]


def test_enter_filters_at_once(bar: TrafficFilterBar, qtbot: QtBot) -> None:
    QTest.keyClicks(_field(bar), "timeout")
    with qtbot.waitSignal(bar.filter_changed, timeout=0):
        QTest.keyClick(_field(bar), Qt.Key.Key_Return)
    assert bar.filter().text == "timeout"
    assert list(bar.recent.texts) == ["timeout"]


def test_a_mistake_is_reported_in_place_and_the_last_good_filter_stays(
    bar: TrafficFilterBar, qtbot: QtBot
) -> None:
    bar.set_filter(TrafficFilter("token == 7"))
    with qtbot.assertNotEmitted(bar.filter_changed):
        _field(bar).setText(_BAD)
        QTest.keyClick(_field(bar), Qt.Key.Key_Return)
    assert bar.filter() == TrafficFilter("token == 7")
    assert "at character 9" in bar.mistake
    assert _field(bar).mistake == (8, 1)
    (label,) = [each for each in bar.findChildren(QLabel) if each.text() == bar.mistake]
    assert label.isVisible()
    assert label.textFormat() is Qt.TextFormat.PlainText
    _field(bar).setText("token == 8")
    QTest.keyClick(_field(bar), Qt.Key.Key_Return)
    assert bar.mistake == ""
    assert bar.filter().text == "token == 8"
    assert list(bar.recent.texts) == ["token == 8", "token == 7"]


def test_what_is_only_unfinished_is_no_mistake_while_suggestions_are_in_sight(
    bar: TrafficFilterBar, qtbot: QtBot
) -> None:
    QTest.keyClicks(_field(bar), "kind == ")
    assert _field(bar).popup.isVisible()
    qtbot.wait(200)
    assert bar.mistake == ""
    QTest.keyClick(_field(bar), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: bar.mistake != "")
    assert "Unexpected end" in bar.mistake


def test_kinds_are_chosen_while_the_text_is_mistaken(bar: TrafficFilterBar, qtbot: QtBot) -> None:
    bar.set_filter(TrafficFilter("token == 7"))
    _field(bar).setText(_BAD)
    menu = bar.findChild(QMenu)
    assert isinstance(menu, QMenu)
    menus = bar.findChildren(QMenu)
    action = next(a for m in menus for a in m.actions() if a.text() == "Progress")
    with qtbot.waitSignal(bar.filter_changed, timeout=0):
        action.trigger()
    assert bar.filter() == TrafficFilter(
        "token == 7", kinds=frozenset(FrameKind) - {FrameKind.PROGRESS}
    )
    assert _field(bar).text() == _BAD


def test_a_filter_is_shown_in_all_controls(bar: TrafficFilterBar) -> None:
    wanted = TrafficFilter(
        "x", frozenset({Channel.SENT}), frozenset(FrameKind), irregular_only=True
    )
    bar.set_filter(wanted)
    assert bar.filter() == wanted
    assert _field(bar).text() == "x"
    assert any(button.text() == "Kinds •" for button in bar.findChildren(QToolButton))


def test_a_term_narrows_the_filter_in_force(bar: TrafficFilterBar) -> None:
    bar.set_filter(TrafficFilter("token == 7 or token == 8"))
    bar.add_term("dir == sent")
    bar.add_term("size > 10", is_excluded=True)
    parsed = parse(bar.filter().text)
    assert parsed == parse("(token == 7 or token == 8) and dir == sent and not size > 10")
    assert bar.recent.texts[0] == bar.filter().text


def test_a_recent_filter_is_used_again(bar: TrafficFilterBar) -> None:
    bar.set_filter(TrafficFilter("one"))
    bar.set_filter(TrafficFilter("two"))
    bar.recent.chosen.emit("one")
    assert bar.filter().text == "one"
    assert list(bar.recent.texts) == ["one", "two"]


def test_fields_and_operators_are_suggested(bar: TrafficFilterBar) -> None:
    QTest.keyClicks(_field(bar), "tok")
    QTest.keyClick(_field(bar), Qt.Key.Key_Tab)
    assert _field(bar).text() == "token "
    model = _field(bar).popup.model()
    assert "==" in [model.index(row, 0).data() for row in range(model.rowCount())]


def test_help_lists_examples_that_work_and_uses_one(bar: TrafficFilterBar) -> None:
    for text, _meaning in EXAMPLES:
        assert parse(text) is not None
    QTest.keyClick(_field(bar), Qt.Key.Key_F1)
    window = bar.findChild(FilterHelp)
    assert isinstance(window, FilterHelp)
    assert window.isVisible()
    assert not window.isModal()
    tree = window.findChild(QTreeWidget)
    assert isinstance(tree, QTreeWidget)
    titles = [tree.topLevelItem(at) for at in range(tree.topLevelItemCount())]
    assert [title.text(0).split()[0] for title in titles if title] == [
        "Examples",
        "Fields",
        "Operators",
    ]
    examples, fields = titles[0], titles[1]
    assert examples is not None
    assert fields is not None
    tree.itemActivated.emit(fields.child(0), 0)
    assert bar.filter().text == ""
    tree.itemActivated.emit(examples.child(2), 0)
    assert bar.filter().text == EXAMPLES[2][0]


@pytest.mark.parametrize("is_dark", [False, True])
def test_words_about_a_mistake_can_be_read_in_light_and_dark(qtbot: QtBot, is_dark: bool) -> None:
    light, dark = QColor("#fdfdfd"), QColor("#1d1f21")
    base, text = (dark, light) if is_dark else (light, dark)
    palette = QPalette(base)
    palette.setColor(QPalette.ColorRole.Base, base)
    palette.setColor(QPalette.ColorRole.Text, text)
    appearance = Appearance(palette, resource("icons"))
    bar = TrafficFilterBar(_complete, appearance)
    qtbot.addWidget(bar)
    bar.set_filter(TrafficFilter(_BAD))
    (label,) = [each for each in bar.findChildren(QLabel) if each.text() == bar.mistake]
    colour = label.palette().color(QPalette.ColorRole.WindowText)
    assert abs(colour.lightnessF() - base.lightnessF()) > 0.3
    assert colour.red() > colour.green() + 60
    ground = _field(bar).palette().color(QPalette.ColorRole.Base)
    assert abs(ground.lightnessF() - base.lightnessF()) < 0.25
    assert ground != base


def test_every_control_has_a_name_a_tip_and_a_place_in_the_tab_order(bar: TrafficFilterBar) -> None:
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    controls = [_field(bar), *bar.findChildren(QToolButton, options=direct)]
    assert len(controls) == 7
    for control in controls:
        assert control.accessibleName()
        assert control.toolTip()
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_in_a_narrow_bar_the_field_has_the_room_of_the_text(bar: TrafficFilterBar) -> None:
    pause = next(each for each in bar.findChildren(QToolButton) if each.text() == "Pause")
    wide = _width(bar, 1_000, pause)
    assert _width(bar, 700, pause) < wide
    assert _field(bar).width() > 250
    assert _width(bar, 1_000, pause) == wide


def _width(bar: TrafficFilterBar, of_bar: int, button: QToolButton) -> int:
    bar.resize(of_bar, 60)
    QGuiApplication.processEvents()
    return button.width()

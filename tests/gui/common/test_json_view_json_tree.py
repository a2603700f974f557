"""The tree of a message opens its first levels, and its values can be copied and searched for."""

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.json_view import FilterRequest, JsonTree
from mcp_progress_monitor.protocol.jsonrpc import Elided

_MESSAGE = {"params": {"name": 'say "hi"', "list": [{"n": 2**70}], "big": Elided(9)}}


@pytest.fixture
def tree(qtbot: QtBot) -> JsonTree:
    """A tree of `_MESSAGE`."""
    made = JsonTree()
    qtbot.addWidget(made)
    made.show_value(_MESSAGE)
    made.show()
    return made


def _stand_on(tree: JsonTree, *rows: int) -> QModelIndex:
    index = QModelIndex()
    for row in rows:
        index = tree.model().index(row, 0, index)
    tree.setCurrentIndex(index)
    return index


def _do(tree: JsonTree, message: str) -> None:
    next(action for action in tree.actions() if action.text() == message).trigger()


def test_the_first_levels_are_open(tree: JsonTree) -> None:
    assert tree.isExpanded(tree.model().index(0, 0))
    assert _stand_on(tree, 0, 1, 0, 0).data() == "n"


def test_values_are_copied_whole(tree: JsonTree) -> None:
    _stand_on(tree, 0, 0)
    QTest.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == 'say "hi"'
    _stand_on(tree, 0, 1, 0, 0)
    _do(tree, "Copy value")
    assert QGuiApplication.clipboard().text() == str(2**70)
    _do(tree, "Copy path")
    assert QGuiApplication.clipboard().text() == "params.list[0].n"


def test_a_value_is_searched_for_as_it_stands_in_the_bytes(tree: JsonTree, qtbot: QtBot) -> None:
    for rows, text in (((0, 0), r"say \"hi\""), ((0, 1), "list"), ((0, 2), "big")):
        _stand_on(tree, *rows)
        with qtbot.waitSignal(tree.search_requested) as asked:
            _do(tree, "Search Traffic for this value")
        assert asked.args == [text]


def test_enter_opens_a_value_whole(tree: JsonTree, qtbot: QtBot) -> None:
    _stand_on(tree, 0, 0)
    with qtbot.waitSignal(tree.value_opened) as opened:
        QTest.keyClick(tree, Qt.Key.Key_Return)
    assert opened.args == ['say "hi"']


def test_nothing_happens_where_nothing_is_chosen(qtbot: QtBot) -> None:
    tree = JsonTree()
    qtbot.addWidget(tree)
    with qtbot.assertNotEmitted(tree.search_requested):
        for action in tree.actions():
            action.trigger()


def test_traffic_can_be_filtered_by_a_plain_value(tree: JsonTree, qtbot: QtBot) -> None:
    tree.offer_filters()
    _stand_on(tree, 0, 1, 0, 0)
    with qtbot.waitSignal(tree.filter_requested) as asked:
        QTest.keyClick(tree, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    keys = ("params", "list", 0, "n")
    assert asked.args == [FilterRequest(keys, 2**70, is_excluded=False)]
    with qtbot.waitSignal(tree.filter_requested) as asked:
        _do(tree, "Exclude this value")
    assert asked.args == [FilterRequest(keys, 2**70, is_excluded=True)]


def test_no_filter_compares_objects_arrays_and_what_was_left_out(tree: JsonTree) -> None:
    tree.offer_filters()
    for rows in ((0,), (0, 1), (0, 2)):
        _stand_on(tree, *rows)
        offered = [action for action in tree.actions() if "this value" in action.text()]
        assert [action.isEnabled() for action in offered[:2]] == [False, False]

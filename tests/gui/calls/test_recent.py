"""Recent servers and calls at the side."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.calls.memory import CallMemory
from mcp_progress_monitor.gui.calls.recent import Recent, RecentList, RecentServers, recent_entries
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.theme import Appearance
from tests.gui.exposure import expose

CALL = Recent("shop", "tools/call", "export", {"batches": 60})


def calls(*made: Recent) -> object:
    memory = CallMemory()
    for each in made:
        memory.remember(*each)
    return memory.state()


def test_the_newest_servers_and_calls_come_first_without_those_that_are_gone() -> None:
    older = CALL._replace(arguments={"batches": 1})
    gone = CALL._replace(server="gone")
    found = recent_entries(["gone", "shop", "db"], calls(older, gone, CALL), {"db", "shop"})
    assert found == [Recent("shop"), Recent("db"), CALL, older]


def test_only_a_few_are_offered() -> None:
    names = [f"s{at}" for at in range(9)]
    many = calls(*(Recent("s0", "tools/call", f"t{at}", {}) for at in range(9)))
    found = recent_entries(names, many, names)
    assert [each.title for each in found] == ["s0", "s1", "s2", "t8", "t7", "t6", "t5", "t4"]


def test_broken_state_is_left_out() -> None:
    assert recent_entries([], [["shop"], 7, "x"], {"shop"}) == []


def test_servers_are_remembered_newest_first(tmp_path: Path) -> None:
    preferences = Preferences(tmp_path)
    names = RecentServers(preferences)
    names.add(["db"])
    names.add(["shop"])
    names.add(["db"])
    assert RecentServers(preferences).names() == ["db", "shop"]
    preferences.keep_json("recent-servers", {"names": ["db", 7]})
    assert names.names() == ["db"]


@pytest.fixture
def shown(qtbot: QtBot, appearance: Appearance) -> RecentList:
    made = RecentList(appearance)
    assert made.isHidden()
    made.show_entries([Recent("shop"), CALL])
    return expose(qtbot, made, 200, 200)


def test_a_click_or_return_goes_on_with_a_row(qtbot: QtBot, shown: RecentList) -> None:
    view = shown.view
    place = view.visualRect(view.model().index(0, 0)).center()
    with qtbot.waitSignal(shown.chosen) as emitted:
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert emitted.args == [Recent("shop")]
    view.setCurrentIndex(view.model().index(1, 0))
    with qtbot.waitSignal(shown.chosen) as emitted:
        QTest.keyClick(view, Qt.Key.Key_Return)
    assert emitted.args == [CALL]
    assert not shown.grab().isNull()
    shown.show_entries([])
    assert shown.isHidden()


def test_a_row_says_what_it_does(shown: RecentList) -> None:
    model = shown.view.model()
    spoken = [model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(2)]
    assert spoken == ["Connect “shop”", "Connect “shop” and open this call\nbatches=60"]

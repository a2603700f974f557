"""The focus goes round the panes by F6, and to each of them by a key of its own."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.panes import GO_TO, kept_name
from tests.gui.windows import window_on

SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(qtbot: QtBot, data_dir: Path) -> MainWindow:
    return window_on(qtbot, data_dir)


def f6(window: MainWindow, *, is_back: bool = False) -> None:
    modifiers = SHIFT if is_back else Qt.KeyboardModifier.NoModifier
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_F6, modifiers)


def pane(window: MainWindow) -> QWidget:
    """The pane that the focus is in."""
    focused = window.focusWidget()
    (found,) = (each for each in window.panes() if each is focused or each.isAncestorOf(focused))
    return found


def test_f6_goes_round_what_is_seen_and_shift_f6_back(window: MainWindow) -> None:
    start = pane(window)
    assert start is window.middle.page
    there = []
    while start not in there:
        f6(window)
        there.append(pane(window))
        assert len(there) < 20
    names = [window.docks["traffic"], window.tool_bar, window.job_filters, window.servers, start]
    assert there == names
    back = []
    while start not in back:
        f6(window, is_back=True)
        back.append(pane(window))
    assert back == [*reversed(there[:-1]), start]


def test_a_pane_has_the_focus_again_where_it_had_it(window: MainWindow) -> None:
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_3, Qt.KeyboardModifier.AltModifier)
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = window.focusWidget()
    assert window.traffic_pane.bar.isAncestorOf(field)
    f6(window)
    assert pane(window) is window.tool_bar
    f6(window, is_back=True)
    assert window.focusWidget() is field


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (Qt.Key.Key_3, "traffic"),
        (Qt.Key.Key_5, "findings"),
        (Qt.Key.Key_6, "stderr"),
        (Qt.Key.Key_7, "server_log"),
    ],
)
def test_a_pane_at_the_bottom_has_a_key(
    qtbot: QtBot, window: MainWindow, key: Qt.Key, name: str
) -> None:
    QTest.keyClick(window.focusWidget(), key, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: pane(window) is window.docks[name])
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_1, Qt.KeyboardModifier.AltModifier)
    assert window.focusWidget() is window.job_list.table
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_2, Qt.KeyboardModifier.AltModifier)
    assert window.focusWidget() is window.servers.view


def test_every_pane_has_a_key(window: MainWindow) -> None:
    ids = {command.id for command in GO_TO if command.keys}
    docks = window.docks.keys() - {"side"}
    assert {f"go.{kept_name(name)}" for name in docks} <= ids
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_9, Qt.KeyboardModifier.AltModifier)
    assert pane(window) is window.docks["timeline"]

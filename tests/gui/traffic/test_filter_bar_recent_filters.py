"""The filters used last can be used again."""

from typing import Any

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.traffic.filter_bar import MOST, RecentFilters


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    """What the widget under test is placed on."""
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def recent(parent: QWidget) -> RecentFilters:
    """A menu without filters."""
    return RecentFilters(parent)


def _shown(recent: RecentFilters) -> list[str]:
    menu = recent.menu()
    assert isinstance(menu, QMenu)
    return [action.text() for action in menu.actions() if not action.isSeparator()][1:]


def test_the_last_one_is_first_and_each_is_there_once(recent: RecentFilters) -> None:
    assert _shown(recent) == ["No recent filters"]
    for text in ("a", "b", " a ", ""):
        recent.add(text)
    assert list(recent.texts) == ["a", "b"]
    assert _shown(recent) == ["a", "b"]


def test_only_the_last_twenty_are_kept(recent: RecentFilters) -> None:
    for number in range(MOST + 5):
        recent.add(f"n{number}")
    assert len(recent.texts) == MOST == 20
    assert recent.texts[0] == "n24"
    assert recent.texts[-1] == "n5"


def test_one_is_used_again_as_it_was_written(recent: RecentFilters, qtbot: QtBot) -> None:
    text = 'text contains "a & b\u202e"' + " or x" * 50
    recent.add(text)
    assert "&&" in _shown(recent)[0]
    assert r"\u202e" in _shown(recent)[0]
    menu = recent.menu()
    assert isinstance(menu, QMenu)
    with qtbot.waitSignal(recent.chosen) as chosen:
        next(action for action in menu.actions() if action.data()).trigger()
    assert chosen.args == [text]


def _keep(recent: RecentFilters) -> QAction:
    menu = recent.menu()
    assert isinstance(menu, QMenu)
    return menu.actions()[0]


def test_the_filter_in_use_can_be_kept_above_the_recent_ones(
    recent: RecentFilters, qtbot: QtBot
) -> None:
    assert not _keep(recent).isEnabled()
    for text in ("a", "b", "c"):
        recent.add(text)
    with qtbot.assertNotEmitted(recent.chosen):
        for text in ("a", "c"):
            recent.show_current(text)
            assert not _keep(recent).isChecked()
            _keep(recent).trigger()
            assert _keep(recent).isChecked()
    assert list(recent.kept) == ["a", "c"]
    assert _shown(recent) == ["a", "c", "b"]
    _keep(recent).trigger()
    assert _shown(recent) == ["a", "c", "b"]  # a is kept, the others were used last
    assert list(recent.kept) == ["a"]


def test_kept_filters_are_never_pushed_out_and_are_remembered(recent: RecentFilters) -> None:
    recent.show_current("not method == ping")
    _keep(recent).trigger()
    for number in range(MOST + 5):
        recent.add(f"n{number}")
    assert _shown(recent)[0] == "not method == ping"
    recent.restore(list(recent.texts), [*recent.kept, 7, recent.kept[0]])
    assert list(recent.kept) == ["not method == ping"]


@pytest.mark.parametrize(
    ("kept", "texts"),
    [
        (["b", "a"], ["b", "a"]),
        ([7, "a", None, "x" * 5_000], ["a"]),
        ("no list", []),
        (None, []),
        ([str(number) for number in range(30)], [str(number) for number in range(20)]),
    ],
)
def test_what_was_remembered_is_taken_up(
    recent: RecentFilters, kept: Any, texts: list[str]
) -> None:
    recent.add("from before")
    recent.restore(kept)
    assert list(recent.texts) == texts

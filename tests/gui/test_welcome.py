"""The first thing a new user sees: four choices, each by mouse and by keyboard."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import CommandActions
from mcp_progress_monitor.gui.common.controls import EnterPresses
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.welcome import Welcome
from mcp_progress_monitor.gui.window_commands import (
    ADD_COMMAND,
    ADD_URL,
    DEMO,
    IMPORT,
    WATCH,
    WINDOW_COMMANDS,
)
from tests.gui.exposure import expose
from tests.gui.lone_commands import asked, lone_actions

_CHOICES = {"demo": DEMO, "command": ADD_COMMAND, "url": ADD_URL, "imports": IMPORT}


@pytest.fixture
def do(qapp: QApplication, appearance: Appearance) -> CommandActions:
    assert qapp is not None
    return lone_actions(WINDOW_COMMANDS, appearance)


@pytest.mark.parametrize("choice", _CHOICES)
def test_each_choice_tells_the_shell(
    appearance: Appearance, do: CommandActions, qtbot: QtBot, choice: str
) -> None:
    welcome = Welcome(appearance, do)
    qtbot.addWidget(welcome)
    button = getattr(welcome, choice)
    said = asked(do.commands, _CHOICES[choice])
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert len(said) == 2


def test_each_choice_says_what_it_does(
    appearance: Appearance, do: CommandActions, qtbot: QtBot
) -> None:
    welcome = Welcome(appearance, do)
    qtbot.addWidget(welcome)
    for choice in _CHOICES:
        button = getattr(welcome, choice)
        assert button.accessibleName()
        assert button.description() == button.accessibleDescription() != ""


def test_programs_that_were_found_are_named_with_their_number(
    appearance: Appearance, do: CommandActions, qtbot: QtBot
) -> None:
    welcome = Welcome(appearance, do)
    qtbot.addWidget(welcome)
    before = welcome.imports.description()
    welcome.show_found([])
    assert welcome.imports.description() == before
    welcome.show_found(["VS Code", "VS Code", "Zed"])
    assert welcome.imports.description() == "Found 3 files of VS Code, Zed."


def test_watching_is_offered_where_a_client_is(
    appearance: Appearance, do: CommandActions, qtbot: QtBot
) -> None:
    welcome = Welcome(appearance, do)
    qtbot.addWidget(welcome)
    welcome.show()
    assert not welcome.watch.isVisible()
    welcome.offer_to_watch(["Zed"])
    assert welcome.watch.isVisible()
    assert welcome.watch.accessibleName() == "Watch the servers of Zed…"
    welcome.offer_to_watch(["Zed", "Claude Code", "Zed"])
    assert welcome.watch.accessibleName() == "Watch the servers of Claude Code and others…"
    said = asked(do.commands, WATCH)
    QTest.mouseClick(welcome.watch, Qt.MouseButton.LeftButton)
    assert len(said) == 1
    welcome.offer_to_watch([])
    assert not welcome.watch.isVisible()


def test_a_small_window_can_still_be_small(
    appearance: Appearance, do: CommandActions, qtbot: QtBot
) -> None:
    welcome = Welcome(appearance, do)
    qtbot.addWidget(welcome)
    assert welcome.minimumSizeHint().height() < 200


def test_in_a_low_window_the_choices_do_without_their_sentences(
    appearance: Appearance, do: CommandActions, qtbot: QtBot
) -> None:
    welcome = Welcome(appearance, do)
    qtbot.addWidget(welcome)
    welcome.resize(700, 500)
    welcome.show()
    assert welcome.demo.description()
    welcome.resize(700, 200)
    qtbot.waitUntil(lambda: not welcome.demo.description())
    assert welcome.demo.toolTip().startswith("Run ten calls")
    welcome.resize(700, 500)
    qtbot.waitUntil(lambda: bool(welcome.demo.description()))


def test_in_a_narrow_window_nobody_scrolls_to_the_right(
    appearance: Appearance, do: CommandActions, qtbot: QtBot
) -> None:
    welcome = Welcome(appearance, do)
    expose(qtbot, welcome, 380, 120)
    area = welcome.findChild(QScrollArea)
    assert isinstance(area, QScrollArea)
    qtbot.waitUntil(lambda: area.horizontalScrollBar().maximum() == 0)
    welcome.resize(900, 500)
    sentence = welcome.imports.fontMetrics().horizontalAdvance(welcome.imports.description())
    qtbot.waitUntil(lambda: welcome.imports.width() > sentence)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_enter_and_space_choose(
    appearance: Appearance, do: CommandActions, qtbot: QtBot, qapp: QApplication, key: Qt.Key
) -> None:
    welcome = Welcome(appearance, do)
    EnterPresses(qapp, welcome)
    qtbot.addWidget(welcome)
    welcome.show()
    welcome.activateWindow()
    welcome.demo.setFocus()
    qtbot.waitUntil(welcome.demo.hasFocus)
    said = asked(do.commands, DEMO)
    QTest.keyClick(welcome.demo, key)
    assert len(said) == 1

"""The empty state's three choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.widgets.welcome import Welcome

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from app.widgets.appearance import Appearance


def test_each_choice_asks_the_shell(qtbot: QtBot, appearance: Appearance) -> None:
    welcome = Welcome(appearance)
    qtbot.addWidget(welcome)
    with qtbot.waitSignal(welcome.demo_requested):
        welcome.demo.click()
    with qtbot.waitSignal(welcome.server_add_requested):
        welcome.command.click()
    with qtbot.waitSignal(welcome.config_open_requested):
        welcome.config.click()


def test_each_choice_says_what_it_does_to_a_screen_reader(
    qtbot: QtBot, appearance: Appearance
) -> None:
    welcome = Welcome(appearance)
    qtbot.addWidget(welcome)
    for choice in (welcome.demo, welcome.command, welcome.config):
        assert "&" not in choice.accessibleName()
        assert choice.accessibleDescription().endswith(".")

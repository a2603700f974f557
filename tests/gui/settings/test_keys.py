"""The page of the keys: found by words, changed by pressing, nothing lost by accident."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.commands import CANCEL
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.settings.dialog import SettingsDialog, SettingsPage
from mcp_progress_monitor.gui.settings.keys import KeysPage
from mcp_progress_monitor.gui.theme import Appearance
from tests.gui.exposure import expose
from tests.gui.windows import window_on

CONTROL = Qt.KeyboardModifier.ControlModifier
ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def window(qtbot: QtBot, data_dir: Path) -> MainWindow:
    return window_on(qtbot, data_dir)


@pytest.fixture
def dialog(qtbot: QtBot, window: MainWindow, appearance: Appearance) -> SettingsDialog:
    pages = [
        SettingsPage("keys", "Keys", "edit", lambda on: KeysPage(window.shortcuts, appearance, on))
    ]
    made = SettingsDialog(pages, appearance)
    expose(qtbot, made)
    made.activateWindow()
    return made


@pytest.fixture
def page(dialog: SettingsDialog) -> KeysPage:
    made = dialog.page("keys")
    assert isinstance(made, KeysPage)
    return made


def press(page: KeysPage, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
    page.edit.setFocus()
    QTest.keyClick(page.edit, key, modifiers)


def test_every_command_is_listed_with_its_key_and_place(page: KeysPage) -> None:
    row = page.item("jobs.cancel")
    assert [row.text(column) for column in range(3)] == ["Cancel", "Ctrl+.", "Anywhere"]
    assert page.item("servers.restart").text(2) == "Servers"


def test_commands_are_found_by_name_section_and_key(page: KeysPage) -> None:
    page.search.setText("jobs can")
    assert not page.item("jobs.cancel").isHidden()
    assert page.item("servers.restart").isHidden()
    assert page.command() is not None
    page.search.setText("f5")
    assert not page.item("servers.restart").isHidden()
    assert page.item("jobs.cancel").isHidden()


def test_keys_of_closed_windows_and_fixed_ones_are_listed(page: KeysPage) -> None:
    row = page.item("call.send")
    assert [row.text(column) for column in range(3)] == [
        "Send the call",
        "Ctrl+Enter, Ctrl+Return",
        "New call",
    ]
    assert page.item("replay.play").text(2) == "Anywhere"
    page.search.setText("copying")
    (fixed,) = page.tree.findItems("Copying", Qt.MatchFlag.MatchRecursive)
    assert not fixed.isHidden()
    page.tree.setCurrentItem(fixed)
    assert page.command() is None
    assert not page.edit.isEnabled()


def test_a_pressed_key_is_the_new_one_at_once(window: MainWindow, page: KeysPage) -> None:
    page.choose("jobs.cancel")
    press(page, Qt.Key.Key_9, CONTROL | ALT)
    assert window.job_list.commands[CANCEL].shortcut().toString() == "Ctrl+Alt+9"
    assert page.item("jobs.cancel").text(1) == "Ctrl+Alt+9"
    assert (
        page.item("jobs.cancel").font(1).bold() or page.item("jobs.cancel").font(1).weight() > 500
    )
    page.reset.click()
    assert page.item("jobs.cancel").text(1) == "Ctrl+."
    assert not page.reset.isEnabled()


def test_a_key_of_another_command_is_taken_only_when_that_is_wanted(page: KeysPage) -> None:
    page.choose("jobs.cancel")
    press(page, Qt.Key.Key_R, CONTROL)
    assert page.item("jobs.cancel").text(1) == "Ctrl+."
    assert "Jobs: Resume" in page.message.text()
    assert page.assign.isVisible()
    page.assign.click()
    assert page.item("jobs.cancel").text(1) == "Ctrl+R"
    assert page.item("jobs.resume").text(1) == ""
    page.reset_all.click()
    assert page.item("jobs.resume").text(1) == "Ctrl+R"


def test_a_key_that_controls_need_is_refused(page: KeysPage) -> None:
    page.choose("jobs.cancel")
    press(page, Qt.Key.Key_V, CONTROL)
    assert page.item("jobs.cancel").text(1) == "Ctrl+."
    assert "pasting text" in page.message.text()
    assert not page.assign.isVisible()


def test_no_key_takes_the_key_away(window: MainWindow, page: KeysPage) -> None:
    page.choose("jobs.cancel")
    page.clear.click()
    assert window.job_list.commands[CANCEL].shortcut().isEmpty()


def test_escape_closes_the_dialog_also_from_the_field_of_the_key(
    dialog: SettingsDialog, page: KeysPage
) -> None:
    page.choose("jobs.cancel")
    press(page, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    assert not dialog.isVisible()
    assert page.item("jobs.cancel").text(1) == "Ctrl+."


def test_tab_leaves_the_field_of_the_key(page: KeysPage) -> None:
    page.choose("jobs.cancel")
    press(page, Qt.Key.Key_Tab, Qt.KeyboardModifier.NoModifier)
    assert not page.edit.hasFocus()
    assert page.item("jobs.cancel").text(1) == "Ctrl+."


def test_enter_on_a_command_leads_to_the_field(page: KeysPage) -> None:
    page.choose("jobs.cancel")
    page.tree.setFocus()
    QTest.keyClick(page.tree, Qt.Key.Key_Return)
    assert page.edit.hasFocus() or page.edit.isAncestorOf(page.edit.window().focusWidget())

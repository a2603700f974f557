"""Commands and their keys: the user's own are taken up, kept, and never leave two with one key."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QWidget

from mcp_progress_monitor.gui.common.commands import button_tip
from mcp_progress_monitor.gui.help.manual import ManualWindow
from mcp_progress_monitor.gui.jobs.commands import (
    AUTOMATIC,
    CANCEL,
    JOB_COMMANDS,
    RESUME,
    ROW_BUTTONS,
)
from mcp_progress_monitor.gui.panes import GO_TO
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.settings.keys import KeysPage
from mcp_progress_monitor.gui.shortcuts import SECTIONS, native
from mcp_progress_monitor.gui.window_commands import NEW_CALL, WINDOW_COMMANDS
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.jobs.job_lists import heard
from tests.gui.windows import window_on
from tests.job_stand_ins import job, resumable

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from mcp_progress_monitor.gui.main_window import MainWindow
    from mcp_progress_monitor.gui.shortcuts import Command


@pytest.fixture
def window(qtbot: QtBot, data_dir: Path) -> MainWindow:
    return window_on(qtbot, data_dir)


def command(window: MainWindow, name: str) -> Command:
    return next(each for each in window.shortcuts.commands() if each.name == name)


def keys(*texts: str) -> list[QKeySequence]:
    return [QKeySequence(text) for text in texts]


def test_every_section_has_commands_and_no_two_have_one_name(window: MainWindow) -> None:
    for late in window.late.steps():
        late()
    commands = window.shortcuts.commands()
    assert {each.section for each in commands} == set(SECTIONS.values())
    names = [each.name for each in commands]
    assert len(names) == len(set(names))
    assert all(each.title and "&" not in each.title for each in commands)


def test_no_default_key_means_two_things_in_one_place(window: MainWindow) -> None:
    for late in window.late.steps():
        late()
    clashes = window.shortcuts.clashes()
    assert {name: [each.name for each in others] for name, others in clashes.items()} == {}


def test_a_key_of_the_users_own_works_and_the_default_does_not(window: MainWindow) -> None:
    called = heard(window.do[NEW_CALL].triggered)
    window.shortcuts.set_keys(command(window, "window.call"), keys("Ctrl+J"))
    window.job_list.table.setFocus()
    control = Qt.KeyboardModifier.ControlModifier
    QTest.keyClick(window.job_list.table, Qt.Key.Key_N, control)
    assert called == []
    QTest.keyClick(window.job_list.table, Qt.Key.Key_J, control)
    assert len(called) == 1
    assert window.do[NEW_CALL].toolTip().endswith("(Ctrl+J)")


def test_keys_are_kept_and_taken_up_by_the_next_window(
    qtbot: QtBot, window: MainWindow, data_dir: Path
) -> None:
    window.shortcuts.set_keys(command(window, "window.call"), keys("Ctrl+Alt+9"))
    window.shortcuts.set_keys(command(window, "jobs.cancel"), [])
    Preferences(data_dir).save()
    again = window_on(qtbot, data_dir)
    assert native(command(again, "window.call").keys) == "Ctrl+Alt+9"
    assert command(again, "jobs.cancel").keys == []
    assert again.job_list.commands[CANCEL].toolTip() == "Cancel the selected jobs"
    assert not command(again, "jobs.resume").is_changed


def test_a_late_pane_takes_up_its_keys_when_it_is_made(
    qtbot: QtBot, window: MainWindow, data_dir: Path
) -> None:
    window.late.findings.pane()
    window.shortcuts.set_keys(command(window, "findings.job"), keys("Ctrl+Alt+8"))
    again = window_on(qtbot, data_dir)
    assert again.findings_pane.action("job").shortcut() == QKeySequence("Ctrl+Alt+8")


def test_what_takes_a_key_leaves_none_to_the_other(window: MainWindow) -> None:
    resume, cancel = command(window, "jobs.resume"), command(window, "jobs.cancel")
    (other,) = window.shortcuts.conflict(resume, QKeySequence("Ctrl+.")).commands
    assert other.name == "jobs.cancel"
    window.shortcuts.set_keys(resume, keys("Ctrl+."))
    assert (native(resume.keys), native(cancel.keys)) == ("Ctrl+.", "")
    assert window.shortcuts.clashes() == {}
    window.shortcuts.reset([cancel])
    assert (native(resume.keys), native(cancel.keys)) == ("", "Ctrl+.")
    window.shortcuts.reset(window.shortcuts.commands())
    assert not any(each.is_changed for each in window.shortcuts.commands())
    assert Preferences(window.data_dir).json_of("keys") == {}


@pytest.mark.parametrize("key", ["Ctrl+C", "Tab", "Esc"])
def test_keys_that_controls_need_are_refused(window: MainWindow, key: str) -> None:
    window.late.stderr.pane()
    conflict = window.shortcuts.conflict(command(window, "jobs.cancel"), QKeySequence(key))
    assert conflict.fixed


def test_keys_of_two_lists_do_not_meet(window: MainWindow) -> None:
    token, edit = command(window, "jobs.token"), command(window, "servers.edit")
    assert not window.shortcuts.conflict(token, QKeySequence("F2")).commands
    assert not token.meets(edit)
    assert token.meets(command(window, "jobs.cancel"))


def test_a_key_of_a_separate_window_is_taken_up_by_the_open_one_and_the_next(
    qtbot: QtBot, window: MainWindow, data_dir: Path
) -> None:
    control = Qt.KeyboardModifier.ControlModifier
    manual = ManualWindow(window)
    window.shortcuts.set_keys(command(window, "manual.find"), keys("Ctrl+L"))
    Preferences(data_dir).save()
    for each in (manual, ManualWindow(window_on(qtbot, data_dir))):
        each.show()
        each.activateWindow()
        qtbot.waitUntil(each.list.hasFocus)
        QTest.keyClick(each.list, Qt.Key.Key_F, control)
        assert not each.search.hasFocus()
        QTest.keyClick(each.list, Qt.Key.Key_L, control)
        assert each.search.hasFocus()
        each.close()


def test_keys_meet_only_within_their_window(window: MainWindow) -> None:
    shortcuts, send = window.shortcuts, command(window, "call.send")
    assert not shortcuts.conflict(send, QKeySequence("Ctrl+N")).commands
    (found,) = shortcuts.conflict(send, QKeySequence("Ctrl+F")).commands
    assert found.name == "call.find"
    (wide,) = shortcuts.conflict(command(window, "replay.play"), QKeySequence("F6")).commands
    assert wide.name == "window.next_pane"


def test_a_tip_says_the_new_key_of_a_pane(window: MainWindow) -> None:
    button = window.findings_pane.group_button
    assert button.toolTip().endswith("(Ctrl+Shift+G)")
    window.shortcuts.set_keys(command(window, "findings.group"), keys("Ctrl+Alt+G"))
    assert button.toolTip().endswith("(Ctrl+Alt+G)")


def test_unreadable_keys_leave_the_defaults(qtbot: QtBot, data_dir: Path) -> None:
    kept = Preferences(data_dir)
    kept.keep_json("keys", {"window.call": 7, "no.such": ["Ctrl+1"]})
    kept.save()
    window = window_on(qtbot, data_dir)
    assert native(command(window, "window.call").keys) == "Ctrl+N"


def test_a_button_elsewhere_says_the_new_key_of_what_it_does(window: MainWindow) -> None:
    header = window.job_pane.header
    assert any("(Ctrl+.)" in tip for tip in _tips(header))
    window.shortcuts.set_keys(command(window, "jobs.cancel"), keys("Ctrl+Alt+7"))
    assert any("(Ctrl+Alt+7)" in tip for tip in _tips(header))
    assert not any("(Ctrl+.)" in tip for tip in _tips(header))


def _tips(widget: QWidget) -> list[str]:
    return [_tip_of(button) for button in _buttons(widget)]


@pytest.mark.parametrize("client", ["Cursor", "A <b>"])
def test_a_tip_of_a_watched_job_has_the_key_of_now(window: MainWindow, client: str) -> None:
    header = window.job_pane.header
    watched = resumable(2, can_resume=False, can_resume_here=True, watched_client=client)
    button = header.buttons[RESUME.id]
    header.show_job(job(id=1, state=JobState.RESUMABLE))
    assert button.toolTip().endswith("(Ctrl+R)")
    window.shortcuts.set_keys(command(window, "jobs.resume"), keys("Ctrl+J"))
    assert "(Ctrl+J)" in button.toolTip()
    header.show_job(watched)
    assert client in html.unescape(button.toolTip())
    assert ("(Ctrl+J)" in button.toolTip(), "Ctrl+R" in button.toolTip()) == (True, False)
    window.shortcuts.set_keys(command(window, "jobs.resume"), keys("Ctrl+K"))
    assert ("(Ctrl+K)" in button.toolTip(), "Ctrl+J" in button.toolTip()) == (True, False)
    window.shortcuts.set_keys(command(window, "jobs.resume"), [])
    assert "Ctrl" not in button.toolTip()
    header.show_job(job(id=1, state=JobState.RESUMABLE))
    assert "Ctrl" not in button.toolTip()


@pytest.mark.parametrize(
    ("name", "title", "before"),
    [
        ("jobs.cancel", "Cancel", "Ctrl+."),
        ("jobs.pick-up", "Follow task", "Ctrl+Alt+P"),
        ("jobs.reissue", "Re-issue", "Ctrl+Shift+R"),
    ],
)
def test_a_changed_key_never_comes_back_in_a_tip(
    window: MainWindow, name: str, title: str, before: str
) -> None:
    header = window.job_pane.header
    (tip,) = [_tip_of(each) for each in _buttons(header) if each.text() == title]
    assert tip.endswith(f"({before})")
    window.shortcuts.set_keys(command(window, name), keys("Ctrl+Alt+7"))
    shown = (JobState.RUNNING, None), (JobState.RESUMABLE, "Cursor"), (JobState.RUNNING, None)
    for number, (state, client) in enumerate(shown, 1):
        header.show_job(job(id=number, state=state, watched_client=client))
        header.show_job(job(id=number, state=JobState.LOST, watched_client=client))
        actions: list[QAction] = window.findChildren(QAction)
        tips = [*map(_tip_of, _buttons(window)), *map(_tip_of, actions)]
        assert not [tip for tip in tips if f"({before})" in tip]
        assert [tip for tip in tips if "(Ctrl+Alt+7)" in tip]


def _buttons(widget: QWidget) -> list[QAbstractButton]:
    return widget.findChildren(QAbstractButton)


def _tip_of(of: QAbstractButton | QAction) -> str:
    return html.unescape(of.toolTip())


_MODIFIERS = (
    *("Ctrl+Alt+", "Ctrl+Shift+", "Alt+Shift+", "Ctrl+Alt+Shift+"),
    *("Meta+Ctrl+", "Meta+Alt+", "Meta+Shift+", "Meta+Ctrl+Alt+", "Meta+Ctrl+Shift+"),
)
_NEW = [f"{modifiers}F{number}" for number in range(13, 36) for modifiers in _MODIFIERS]
_KEY_IN_TIP = re.compile(r"\(((?:Ctrl|Alt|Shift|Meta|F\d|Ins|Del)[^()\s]*)\)(?:</qt>)?$")


@pytest.fixture
def rekeyed(window: MainWindow) -> dict[str, str]:
    """Gives every command another key; returns these by name."""
    for late in window.late.steps():
        late()
    window.traffic_pane.make_details()
    window.job_list.table.selectAll()
    named = [each.name for each in window.shortcuts.commands()]
    keys = dict(zip(named, _NEW, strict=False))
    assert keys.keys() == set(named)
    Preferences(window.data_dir).keep_json("keys", {name: [key] for name, key in keys.items()})
    window.shortcuts.apply()
    return keys


def test_after_every_key_is_changed_each_place_has_the_new_one(
    window: MainWindow, rekeyed: dict[str, str]
) -> None:
    assert {each.name: native(each.keys) for each in window.shortcuts.commands()} == rekeyed
    header, attempts = window.job_pane.header, window.job_pane.attempts
    shown = resumable(2)
    header.show_job(shown)
    rooms = (window.job_list.commands, JOB_COMMANDS), (window.do, WINDOW_COMMANDS)
    for room, declared in (*rooms, (window.pane_focus.going, GO_TO)):
        for each in declared:
            action, key = room[each], rekeyed[each.id]
            assert native(action.shortcuts()) == key
            assert action.toolTip().endswith(f"({key})")
    for each in ROW_BUTTONS:
        tip = button_tip(window.job_list.table, each, shown)
        assert tip == f"{each.title} ({rekeyed[each.id]})"
    for name, button in header.buttons.items():
        assert button.toolTip().endswith(f"({rekeyed[name]})")
    assert attempts.automatic.toolTip().endswith(f"({rekeyed[AUTOMATIC.id]})")
    page = KeysPage(window.shortcuts, window.appearance, window)
    assert {name: page.item(name).text(1) for name in rekeyed} == rekeyed


@pytest.mark.usefixtures("rekeyed")
def test_after_every_key_is_changed_no_tip_says_an_old_one(
    window: MainWindow, rekeyed: dict[str, str]
) -> None:
    found: list[QWidget | QAction] = [*window.findChildren(QWidget), *window.findChildren(QAction)]
    said = {
        tip: match[1]
        for tip in (each.toolTip() for each in found)
        if (match := _KEY_IN_TIP.search(tip))
    }
    assert len(said) > 60
    old = {tip for tip, key in said.items() if key not in rekeyed.values()}
    assert old == {  # the letter in its text, and a key of the field that users cannot change
        "Copy the task's id (Alt+D)",
        "Show examples, fields and operators of filters (F1)",
    }

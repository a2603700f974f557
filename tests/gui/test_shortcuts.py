"""Commands and their keys: the user's own are taken up, kept, and never leave two with one key."""

import html
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.command_palette.controller import command_entries
from mcp_progress_monitor.gui.common.commands import CommandAction, button_tip, native
from mcp_progress_monitor.gui.every_command import SECTIONS
from mcp_progress_monitor.gui.findings.commands import JOB
from mcp_progress_monitor.gui.help.manual import ManualWindow
from mcp_progress_monitor.gui.jobs.commands import CANCEL, RESUME, ROW_BUTTONS
from mcp_progress_monitor.gui.jobs.row import JobRow
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.settings.keys import KeysPage
from mcp_progress_monitor.gui.window_commands import NEW_CALL
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.architecture.source import ROOT
from tests.gui.every_window import EveryWindow
from tests.gui.jobs.job_lists import heard
from tests.gui.windows import window_on
from tests.job_stand_ins import job, resumable
from texts import texts_of


@pytest.fixture
def window(qtbot: QtBot, data_dir: Path) -> MainWindow:
    return window_on(qtbot, data_dir)


COMMANDS = {each.id: each for section in SECTIONS.values() for each in section.commands}


def keys(*texts: str) -> list[QKeySequence]:
    return [QKeySequence(text) for text in texts]


def test_every_section_has_commands_and_no_two_have_one_id() -> None:
    for name, section in SECTIONS.items():
        assert section.commands
        assert {each.section for each in section.commands} == {name}
    assert len(COMMANDS) == sum(len(section.commands) for section in SECTIONS.values())
    assert all(each.title and "&" not in each.title for each in COMMANDS.values())


def test_no_default_key_means_two_things_in_one_place(window: MainWindow) -> None:
    assert window.shortcuts.clashes() == {}


def test_a_key_of_the_users_own_works_and_the_default_does_not(window: MainWindow) -> None:
    called = heard(window.do[NEW_CALL].triggered)
    window.shortcuts.set_keys(COMMANDS["window.call"], keys("Ctrl+J"))
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
    window.shortcuts.set_keys(COMMANDS["window.call"], keys("Ctrl+Alt+9"))
    window.shortcuts.set_keys(COMMANDS["jobs.cancel"], [])
    Preferences(data_dir).save()
    again = window_on(qtbot, data_dir)
    assert native(again.do[NEW_CALL].shortcuts()) == "Ctrl+Alt+9"
    assert again.job_list.commands[CANCEL].shortcuts() == []
    assert again.job_list.commands[CANCEL].toolTip() == "Cancel the selected jobs"
    assert not again.shortcuts.is_changed(RESUME)


def test_a_late_pane_takes_up_its_keys_when_it_is_made(
    qtbot: QtBot, window: MainWindow, data_dir: Path
) -> None:
    window.late.findings.pane()
    window.shortcuts.set_keys(COMMANDS["findings.job"], keys("Ctrl+Alt+8"))
    again = window_on(qtbot, data_dir)
    assert again.findings_pane.commands[JOB].shortcut() == QKeySequence("Ctrl+Alt+8")


def test_what_takes_a_key_leaves_none_to_the_other(window: MainWindow) -> None:
    resume, cancel = window.job_list.commands.some((RESUME, CANCEL))
    assert window.shortcuts.conflict(RESUME, QKeySequence("Ctrl+.")).commands == (CANCEL,)
    window.shortcuts.set_keys(RESUME, keys("Ctrl+."))
    assert (native(resume.shortcuts()), native(cancel.shortcuts())) == ("Ctrl+.", "")
    assert window.shortcuts.clashes() == {}
    window.shortcuts.reset([CANCEL])
    assert (native(resume.shortcuts()), native(cancel.shortcuts())) == ("", "Ctrl+.")
    window.shortcuts.reset(COMMANDS.values())
    assert not any(map(window.shortcuts.is_changed, COMMANDS.values()))
    assert Preferences(window.data_dir).json_of("keys") == {}


@pytest.mark.parametrize("key", ["Ctrl+C", "Tab", "Esc"])
def test_keys_that_controls_need_are_refused(window: MainWindow, key: str) -> None:
    window.late.stderr.pane()
    conflict = window.shortcuts.conflict(COMMANDS["jobs.cancel"], QKeySequence(key))
    assert conflict.fixed


def test_keys_of_two_lists_do_not_meet(window: MainWindow) -> None:
    token, edit = COMMANDS["jobs.token"], COMMANDS["servers.edit"]
    assert not window.shortcuts.conflict(token, QKeySequence("F2")).commands
    assert not window.shortcuts.meets(token, edit)
    assert window.shortcuts.meets(token, CANCEL)


def test_a_key_of_a_separate_window_is_taken_up_by_the_open_one_and_the_next(
    qtbot: QtBot, window: MainWindow, data_dir: Path
) -> None:
    control = Qt.KeyboardModifier.ControlModifier
    manual = ManualWindow(window)
    window.shortcuts.set_keys(COMMANDS["manual.find"], keys("Ctrl+L"))
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
    shortcuts, send = window.shortcuts, COMMANDS["call.send"]
    assert not shortcuts.conflict(send, QKeySequence("Ctrl+N")).commands
    (found,) = shortcuts.conflict(send, QKeySequence("Ctrl+F")).commands
    assert found.id == "call.find"
    (wide,) = shortcuts.conflict(COMMANDS["replay.play"], QKeySequence("F6")).commands
    assert wide.id == "window.next_pane"


def test_a_tip_says_the_new_key_of_a_pane(window: MainWindow) -> None:
    button = window.findings_pane.group_button
    assert button.toolTip().endswith("(Ctrl+Shift+G)")
    window.shortcuts.set_keys(COMMANDS["findings.group"], keys("Ctrl+Alt+G"))
    assert button.toolTip().endswith("(Ctrl+Alt+G)")


def test_unreadable_keys_leave_the_defaults(qtbot: QtBot, data_dir: Path) -> None:
    kept = Preferences(data_dir)
    kept.keep_json("keys", {"window.call": 7, "no.such": ["Ctrl+1"]})
    kept.save()
    window = window_on(qtbot, data_dir)
    assert native(window.do[NEW_CALL].shortcuts()) == "Ctrl+N"


def test_a_button_elsewhere_says_the_new_key_of_what_it_does(window: MainWindow) -> None:
    header = window.job_pane.header
    assert any("(Ctrl+.)" in tip for tip in _tips(header))
    window.shortcuts.set_keys(COMMANDS["jobs.cancel"], keys("Ctrl+Alt+7"))
    assert any("(Ctrl+Alt+7)" in tip for tip in _tips(header))
    assert not any("(Ctrl+.)" in tip for tip in _tips(header))


def _tips(widget: QWidget) -> list[str]:
    return [_tip_of(button) for button in _buttons(widget)]


@pytest.mark.parametrize("client", ["Cursor", "A <b>"])
def test_a_tip_of_a_watched_job_has_the_key_of_now(window: MainWindow, client: str) -> None:
    header = window.job_pane.header
    watched = resumable(2, can_resume=False, can_resume_here=True, watched_client=client)
    button = header.buttons[RESUME.id]
    header.show_row(JobRow(job(id=1, state=JobState.RESUMABLE), None))
    assert button.toolTip().endswith("(Ctrl+R)")
    window.shortcuts.set_keys(COMMANDS["jobs.resume"], keys("Ctrl+J"))
    assert "(Ctrl+J)" in button.toolTip()
    header.show_row(JobRow(watched, None))
    assert client in html.unescape(button.toolTip())
    assert ("(Ctrl+J)" in button.toolTip(), "Ctrl+R" in button.toolTip()) == (True, False)
    window.shortcuts.set_keys(COMMANDS["jobs.resume"], keys("Ctrl+K"))
    assert ("(Ctrl+K)" in button.toolTip(), "Ctrl+J" in button.toolTip()) == (True, False)
    window.shortcuts.set_keys(COMMANDS["jobs.resume"], [])
    assert "Ctrl" not in button.toolTip()
    header.show_row(JobRow(job(id=1, state=JobState.RESUMABLE), None))
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
    buttons = _buttons(window.job_pane)
    (tip,) = [_tip_of(each) for each in buttons if each.text() == title]
    assert tip.endswith(f"({before})")
    window.shortcuts.set_keys(COMMANDS[name], keys("Ctrl+Alt+7"))
    shown = (JobState.RUNNING, None), (JobState.RESUMABLE, "Cursor"), (JobState.RUNNING, None)
    for number, (state, client) in enumerate(shown, 1):
        header.show_row(JobRow(job(id=number, state=state, watched_client=client), None))
        header.show_row(JobRow(job(id=number, state=JobState.LOST, watched_client=client), None))
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
_KEY_WITH_MODIFIER = re.compile(r"\b(?:(?:Ctrl|Alt|Shift|Meta)\+)+(?:\w+|[^\s\w])")
_KEY_IN_TIP = re.compile(r"\(((?:Ctrl|Alt|Shift|Meta|F\d|Ins|Del)[^()\s]*)\)(?:</qt>)?$")


REKEYED = {
    name: f"{modifiers}F{number}"
    for name, (number, modifiers) in zip(
        COMMANDS, itertools.product(range(13, 36), _MODIFIERS), strict=False
    )
}
"""Another key for every command."""


@pytest.fixture(scope="module")
def rekeyed(
    qapp: QApplication, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[tuple[str, QWidget]]]:
    """Every window of the program, after every command was given another key."""
    folder = tmp_path_factory.mktemp("every")
    kept = Preferences(folder)
    kept.keep_json("keys", {name: [key] for name, key in REKEYED.items()})
    kept.save()
    every = EveryWindow("x", folder)
    windows = list(every.all())
    main = windows[0][1]
    assert isinstance(main, MainWindow)
    main.shortcuts.set_keys(CANCEL, keys(REKEYED[CANCEL.id]))  # handed on to every window
    yield windows
    for widget in every.kept:
        widget.deleteLater()
    every.deleteLater()
    qapp.processEvents()


def test_after_every_key_is_changed_each_action_and_its_tip_have_the_new_one(
    rekeyed: list[tuple[str, QWidget]],
) -> None:
    seen = set()
    for _name, window in rekeyed:
        for action in window.findChildren(CommandAction):
            key = REKEYED[action.command.id]
            seen.add(action.command.id)
            assert native(action.shortcuts()) == key
            assert action.tip().endswith(f"({key})") or not action.isEnabled()
    assert seen == set(COMMANDS)


def test_after_every_key_is_changed_no_tip_says_an_old_one(
    rekeyed: list[tuple[str, QWidget]],
) -> None:
    parts: list[QWidget | QAction] = []
    for _name, window in rekeyed:
        parts += [window, *window.findChildren(QWidget), *window.findChildren(QAction)]
    tips = {part.toolTip() for part in parts}
    said = {tip: match[1] for tip in tips if (match := _KEY_IN_TIP.search(tip))}
    assert len(said) > 120
    old = {tip for tip, key in said.items() if key not in REKEYED.values()}
    assert old == {  # the letter in its text, and keys of controls that users cannot change
        "Copy the task's id (Alt+D)",
        "Show examples, fields and operators of filters (F1)",
    }


def test_after_every_key_is_changed_lists_and_menus_have_the_new_ones(
    rekeyed: list[tuple[str, QWidget]],
) -> None:
    main = rekeyed[0][1]
    assert isinstance(main, MainWindow)
    for each in ROW_BUTTONS:
        tip = button_tip(main.job_list.table, each, resumable(2))
        assert tip == f"{each.title} ({REKEYED[each.id]})"
    page = KeysPage(main.shortcuts, main.appearance, main)
    assert {name: page.item(name).text(1) for name in REKEYED} == REKEYED
    entries = {each.id: each.key for each in command_entries(main, main.shortcuts)}
    assert entries
    assert entries.items() <= {f"command/{name}": key for name, key in REKEYED.items()}.items()
    menus: list[QMenu] = main.findChildren(QMenu)
    in_menus = {
        each.command.id: native(each.shortcuts())
        for menu in menus
        for each in menu.actions()
        if isinstance(each, CommandAction)
    }
    assert {"jobs.cancel", "window.quit", "window.notifications"} <= in_menus.keys()
    assert in_menus.items() <= REKEYED.items()
    bar = main.tool_bar.findChildren(QAbstractButton)
    tips = {_tip_of(each).rpartition(" ")[2] for each in bar}
    assert {f"({REKEYED[name]})" for name in ("window.call", "jobs.cancel", "jobs.resume")} <= tips


def test_no_text_has_a_key_that_users_can_change() -> None:
    said = {
        key
        for path in (ROOT / "app/mcp_progress_monitor/gui").rglob("*.py")
        for _line, text in texts_of(path)
        for key in _KEY_WITH_MODIFIER.findall(text)
    }
    assert said == {"Alt+D", "Ctrl+wheel", "Ctrl+Space"}  # of controls: these stay as they are

"""A command is declared once: another one in the lists of the room is there in every place."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Command, Takes, button_tip, carries_out
from mcp_progress_monitor.gui.every_command import SECTIONS
from mcp_progress_monitor.gui.jobs import commands as declared
from mcp_progress_monitor.gui.jobs import header, job_list
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import JOB_COMMANDS, JOB_MENU, ROW_BUTTONS
from mcp_progress_monitor.gui.jobs.row import JobRow
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.settings.keys import KeysPage
from tests.gui.jobs.job_lists import LEFT, PLAIN, place_of
from tests.gui.windows import window_on
from tests.job_stand_ins import job

ADDED = Command(
    "jobs.added",
    "Adde&d…",
    "Do something new",
    icon="cancel",
    keys=("Ctrl+Alt+F12",),
    where=Qt.ShortcutContext.WindowShortcut,
    takes=Takes.MANY,
    one_tip="Do something new with this job",
    live_only=True,
)


class Carrier:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.noted: list[object] = []

    @carries_out(ADDED)
    def note(self, jobs: tuple[int, ...]) -> None:
        self.noted.append(jobs)


@pytest.fixture
def window(qtbot: QtBot, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> MainWindow:
    monkeypatch.setattr(job_list, "JOB_COMMANDS", (*JOB_COMMANDS, ADDED))
    monkeypatch.setattr(job_list, "JOB_MENU", (*JOB_MENU, (ADDED,)))
    for module in (job_list, declared):
        monkeypatch.setattr(module, "ROW_BUTTONS", (ADDED, *ROW_BUTTONS))
    monkeypatch.setattr(header, "_BUTTONS", (ADDED,))
    jobs = SECTIONS["jobs"]
    monkeypatch.setitem(SECTIONS, "jobs", jobs._replace(commands=(*jobs.commands, ADDED)))
    return window_on(qtbot, data_dir)


def test_an_added_command_is_offered_and_carried_out_in_every_place(window: MainWindow) -> None:
    carrier, pane = Carrier(), window.job_list
    window.commands.join(carrier)
    pane.select(1)
    action = pane.commands[ADDED]
    assert action.toolTip() == "Do something new (Ctrl+Alt+F12)"
    assert not action.icon().isNull()
    pane.table.customContextMenuRequested.emit(place_of(pane, 0, Column.JOB))
    (menu,) = (each for each in pane.findChildren(QMenu) if each.isVisible())
    assert action in menu.actions()
    menu.close()
    action.trigger()
    QTest.mouseClick(pane.table.viewport(), LEFT, PLAIN, place_of(pane, 1, Column.ACTIONS))
    assert button_tip(pane.table, ADDED, job()) == "Added (Ctrl+Alt+F12)"
    window.job_pane.header.show_row(JobRow(job(id=3), None))
    button = window.job_pane.header.buttons[ADDED.id]
    assert button.toolTip() == "Do something new with this job (Ctrl+Alt+F12)"
    button.click()
    assert carrier.noted == [(1,), (2,), (3,)]
    page = KeysPage(window.shortcuts, window.appearance, window)
    assert page.item(ADDED.id).text(1) == "Ctrl+Alt+F12"
    page.search.setText("jobs added")
    assert not page.item(ADDED.id).isHidden()

"""Panes of a recording: nothing is offered that would ask something of a server."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QToolButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import (
    CANCEL,
    COPY_TOKEN,
    FOLLOW,
    JOB_COMMANDS,
    OPEN,
    RESUME,
)
from mcp_progress_monitor.gui.jobs.filter_model import JobFilter
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.jobs.pane import JobPane
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.model import ServersModel
from mcp_progress_monitor.gui.servers.server_list import ServerList
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import CONTROL, LEFT, PLAIN, asked, job_actions, place_of
from tests.job_stand_ins import FakeJobs, job, resumable
from tests.server_stand_ins import FakeServers, server

WHY = "Not available in a recording"
CHANGING = [command for command in JOB_COMMANDS if command.live_only]


@pytest.fixture
def source() -> FakeJobs:
    return FakeJobs(job(id=1), resumable(2))


@pytest.fixture
def jobs(qtbot: QtBot, source: FakeJobs, appearance: Appearance) -> JobList:
    model = JobsModel()
    model.set_source(source)
    made = JobList(model, JobFilter(model, model), appearance, Commands(WHY))
    model.setParent(made)
    return expose(qtbot, made, 1200, 300)


def test_what_changes_jobs_is_disabled_and_says_why(jobs: JobList) -> None:
    jobs.table.selectAll()
    for command in CHANGING:
        assert not jobs.commands[command].isEnabled()
        assert jobs.commands[command].toolTip() == WHY
    assert jobs.commands[OPEN].isEnabled()
    assert jobs.commands[FOLLOW].isEnabled()
    assert jobs.commands[COPY_TOKEN].isEnabled()


@pytest.mark.parametrize("key", [Qt.Key.Key_R, Qt.Key.Key_Period])
def test_keys_ask_for_nothing(jobs: JobList, key: Qt.Key) -> None:
    said = asked(jobs, RESUME), asked(jobs, CANCEL)
    jobs.table.selectAll()
    QTest.keyClick(jobs.table, key, CONTROL)
    assert said == ([], [])


def test_rows_have_no_buttons(jobs: JobList) -> None:
    said = asked(jobs, RESUME), asked(jobs, CANCEL)
    for row in (0, 1):
        QTest.mouseClick(jobs.table.viewport(), LEFT, PLAIN, place_of(jobs, row, Column.ACTIONS))
    assert said == ([], [])


def test_the_menu_of_a_row_holds_only_what_can_work(jobs: JobList) -> None:
    jobs.select(1)
    jobs.table.customContextMenuRequested.emit(place_of(jobs, 0, Column.JOB))
    (menu,) = (menu for menu in jobs.findChildren(QMenu) if menu.isVisible())
    offered = [action for action in menu.actions() if not action.isSeparator()]
    assert [jobs.commands[each] in offered for each in CHANGING] == [False] * len(CHANGING)
    assert jobs.commands[OPEN] in offered
    menu.close()


def test_the_head_of_a_job_offers_nothing_that_asks_a_server(
    qtbot: QtBot, source: FakeJobs, appearance: Appearance
) -> None:
    pane = JobPane(appearance, job_actions(appearance, WHY))
    pane.set_source(source)
    expose(qtbot, pane)
    for number in (1, 2):
        pane.show_job(number)
        pane.tabs.setCurrentWidget(pane.attempts)
        offered = {b.text() for b in pane.header.findChildren(QToolButton) if b.isVisible()}
        assert offered.isdisjoint({"Cancel", "Resume", "Re-issue"})
        assert not pane.attempts.automatic.isEnabled()
        assert pane.attempts.automatic.toolTip() == WHY


def test_servers_can_only_be_looked_at(qtbot: QtBot, appearance: Appearance) -> None:
    model = ServersModel()
    model.set_source(FakeServers(server("db", state=ServerState.CLOSED), server("up")))
    pane = ServerList(model, appearance, Commands(WHY))
    model.setParent(pane)
    expose(qtbot, pane)
    said = asked(pane, on_servers.CONNECT), asked(pane, on_servers.REMOVE)
    opened = asked(pane, on_servers.OPEN)
    pane.view.setCurrentIndex(pane.shown.index(0, 0))
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Delete):
        QTest.keyClick(pane.view, key)
    pane.view.doubleClicked.emit(pane.shown.index(0, 0))
    pane.view.customContextMenuRequested.emit(pane.view.visualRect(pane.shown.index(0, 0)).center())
    (menu,) = (menu for menu in pane.findChildren(QMenu) if menu.isVisible())
    texts = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert texts == ["&Open", "Show &jobs", "Show in Tr&affic", "Show fi&ndings", "Co&py details"]
    menu.close()
    assert opened == ["db", "db"]
    assert said == ([], [])

"""The lists at the side follow each other."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.calls.recent import Recent, RecentList
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.jobs.filter_model import GroupsModel
from mcp_progress_monitor.gui.jobs.filters import JobFilters
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.servers.model import ServersModel
from mcp_progress_monitor.gui.servers.server_list import ServerList
from mcp_progress_monitor.gui.side import Side
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.exposure import expose
from tests.job_stand_ins import FakeJobs, job
from tests.server_stand_ins import FakeServers, server


class Lists:
    """A side with two lists below the servers."""

    def __init__(self, qtbot: QtBot, appearance: Appearance, servers: int) -> None:
        self.owner = QWidget()
        self.jobs = JobsModel(self.owner)
        self.jobs.set_source(FakeJobs())
        self.filters = JobFilters(GroupsModel(self.jobs, self.jobs), appearance)
        model = ServersModel(self.owner)
        model.set_source(FakeServers(*(server(f"s{at}") for at in range(servers))))
        self.servers = ServerList(model, appearance, Commands())
        self.first, self.second = RecentList(appearance), RecentList(appearance)
        lists = (self.first, self.second)
        self.side = Side(self.filters, self.servers, lists, self.owner)
        in_column(self.side, of=self.owner, margins=0)
        expose(qtbot, self.owner, 190, 700)

    @property
    def last_server(self) -> int:
        view = self.servers.view
        last = view.visualRect(view.model().index(view.model().rowCount() - 1, 0))
        return view.viewport().mapTo(self.side, last.bottomLeft()).y()


@pytest.fixture
def lists(qtbot: QtBot, appearance: Appearance) -> Lists:
    return Lists(qtbot, appearance, 2)


def test_a_list_follows_the_last_server_directly(qtbot: QtBot, lists: Lists) -> None:
    assert lists.servers.geometry().bottom() > 690
    lists.second.show_entries([Recent("a"), Recent("b")])
    qtbot.waitUntil(lambda: 0 < lists.second.y() - lists.last_server < 30)
    lists.first.show_entries([Recent("a")])
    qtbot.waitUntil(lambda: 0 < lists.first.y() - lists.last_server < 30)
    qtbot.waitUntil(lambda: lists.first.height() == lists.first.wanted_height())
    qtbot.waitUntil(lambda: lists.second.geometry().bottom() > 690)
    lists.first.show_entries([])
    lists.second.show_entries([])
    qtbot.waitUntil(lambda: lists.servers.geometry().bottom() > 690)


def test_groups_that_come_move_the_servers_down(qtbot: QtBot, lists: Lists) -> None:
    before = lists.servers.y()
    lists.jobs.set_source(FakeJobs(job(id=1), job(id=2, state=JobState.DONE)))
    qtbot.waitUntil(lambda: lists.servers.y() >= before)
    view = lists.filters.view
    qtbot.waitUntil(lambda: view.height() >= view.sizeHint().height())


def test_many_servers_leave_room_for_the_list_and_keep_half(
    qtbot: QtBot, appearance: Appearance
) -> None:
    lists = Lists(qtbot, appearance, 40)
    lists.first.show_entries([Recent(f"r{at}") for at in range(40)])
    room = lists.side.height() - lists.filters.height()
    qtbot.waitUntil(lambda: abs(lists.servers.height() - room // 2) < 20)
    assert lists.first.height() > room // 3

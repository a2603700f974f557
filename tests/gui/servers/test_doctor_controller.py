"""The doctor opens where it is asked for, and follows the server."""

from typing import cast

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.servers import Servers
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.feed import Feed
from mcp_progress_monitor.gui.notice_bar import NoticeBar
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.doctor_controller import DoctorController
from mcp_progress_monitor.gui.servers.model import ServersModel
from mcp_progress_monitor.gui.servers.server_list import ServerList
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.snapshots.doctor import DoctorReport
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.doctor_stand_ins import CRASHED
from tests.gui.jobs.job_lists import asked
from tests.server_stand_ins import FakeServers, server

ERROR = ErrorDetails("It ended", "crawler")


class FakeDoctor(FakeServers):
    """Has a report for each server that a test put in."""

    def __init__(self) -> None:
        failed = server("crawler", state=ServerState.FAILED, error=ERROR)
        super().__init__(failed, server("files"))
        self.reports = {"crawler": CRASHED}

    def doctor(self, name: str) -> DoctorReport:
        if name not in self.reports:
            raise UserError(ErrorDetails("Server not found", name))
        return self.reports[name]

    def snapshots(self) -> list[ServerSnapshot]:
        return self.servers()

    def now(self) -> float:
        return 0.0


class Window(QWidget):
    """The parts of the main window that are joined."""

    def __init__(self, source: FakeDoctor, appearance: Appearance) -> None:
        super().__init__()
        self.appearance = appearance
        self.commands = Commands()
        self.model = ServersModel(self)
        self.model.set_source(source)
        self.servers = ServerList(self.model, appearance, self.commands, self)
        self.notices = NoticeBar(self)


@pytest.fixture
def doctor() -> FakeDoctor:
    return FakeDoctor()


@pytest.fixture
def feed(qtbot: QtBot) -> Feed:
    return Feed()


@pytest.fixture
def window(qtbot: QtBot, doctor: FakeDoctor) -> Window:
    made = Window(doctor, Appearance(QPalette(), resource("icons")))
    qtbot.addWidget(made)
    return made


@pytest.fixture
def doctoring(window: Window, doctor: FakeDoctor, feed: Feed) -> DoctorController:
    servers, look = cast("Servers", doctor), window.appearance
    made = DoctorController(window.servers, window.notices, servers, doctor.now, feed, look)
    window.commands.join(made)
    return made


def test_the_list_opens_it_and_changes_are_shown(
    window: Window, doctoring: DoctorController, doctor: FakeDoctor, feed: Feed
) -> None:
    window.commands.run(on_servers.DOCTOR, "crawler")
    pane = doctoring.pane
    assert pane is not None
    assert (pane.isVisible(), pane.server) == (True, "crawler")
    doctor.reports["crawler"] = CRASHED._replace(state=ServerState.CONNECTING)
    feed.servers_changed.emit(frozenset({"crawler"}))
    assert pane.head.text() == "crawler — Connecting"
    pane.close()


def test_a_server_that_is_removed_closes_it(
    doctoring: DoctorController, doctor: FakeDoctor, feed: Feed
) -> None:
    doctoring.open("crawler")
    del doctor.reports["crawler"]
    feed.servers_changed.emit(frozenset({"crawler"}))
    assert doctoring.pane is not None
    assert doctoring.pane.isHidden()


def test_an_unknown_server_opens_nothing(doctoring: DoctorController) -> None:
    doctoring.open("nobody")
    assert doctoring.pane is not None
    assert doctoring.pane.isHidden()


def test_a_notice_offers_it_for_the_error_of_a_server_only(
    window: Window, doctoring: DoctorController
) -> None:
    notices = window.notices
    button = next(b for b in notices.findChildren(QPushButton) if "doctor" in b.text())
    notices.show_error(ErrorDetails("The disk is full"))
    assert button.isHidden()
    notices.show_error(ERROR)
    assert not button.isHidden()
    button.click()
    assert doctoring.pane is not None
    assert doctoring.pane.server == "crawler"
    doctoring.pane.close()


def test_its_buttons_request_what_those_of_the_server_list_do(
    window: Window, doctoring: DoctorController
) -> None:
    doctoring.open("crawler")
    pane = doctoring.pane
    assert pane is not None
    for button, command in (
        (pane.go, on_servers.CONNECT),
        (pane.edit, on_servers.EDIT),
        (pane.stderr, on_servers.STDERR),
        (pane.traffic, on_servers.TRAFFIC),
    ):
        said = asked(window.servers, command)
        button.click()
        assert said == ["crawler"]
    pane.close()

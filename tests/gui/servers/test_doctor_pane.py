"""The doctor's window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Command, Commands
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.doctor_pane import DoctorPane
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.doctor_stand_ins import CRASHED, NOT_FOUND, REFUSED
from tests.gui.exposure import expose


@pytest.fixture
def pane(qtbot: QtBot, appearance: Appearance) -> DoctorPane:
    pane = DoctorPane(appearance, Commands())
    expose(qtbot, pane)
    pane.show_report(CRASHED, 0.0)
    return pane


def test_it_tells_what_happened_and_shows_the_evidence(pane: DoctorPane) -> None:
    assert pane.windowTitle() == "Connection doctor: crawler"
    assert pane.sentence.text() == "The server exited while it was being connected"
    shown = pane.page.toPlainText()
    assert shown.startswith("What to try\nA Python module is missing: httpx\n")
    assert "/usr/bin/python" in shown


def test_tab_goes_through_it_as_it_is_read(pane: DoctorPane) -> None:
    stops = [pane.page, pane.go, pane.edit, pane.stderr, pane.traffic, pane.copy]
    stops[0].setFocus()
    way = []
    for _ in stops:
        way.append(pane.focusWidget())
        QTest.keyClick(pane.focusWidget(), Qt.Key.Key_Tab)
    assert way == stops


def test_nothing_of_a_server_is_markup(pane: DoctorPane) -> None:
    pane.show_report(REFUSED, 0.0)
    assert "<script>alert(1)</script>" in pane.page.toPlainText()
    assert pane.sentence.textFormat() is Qt.TextFormat.PlainText


@pytest.mark.parametrize(
    ("state", "command", "text"),
    [
        (ServerState.FAILED, on_servers.CONNECT, "&Connect"),
        (ServerState.CONNECTED, on_servers.RESTART, "&Restart"),
        (ServerState.WAITING, on_servers.CONNECT, "&Connect"),
    ],
)
def test_the_first_button_does_what_the_state_needs(
    pane: DoctorPane, state: ServerState, command: Command, text: str
) -> None:
    pane.show_report(CRASHED._replace(state=state), 0.0)
    assert pane.go.text() == text
    said = carried_out(pane, command)
    pane.go.click()
    assert said == ["crawler"]


def carried_out(pane: DoctorPane, command: Command) -> list[object]:
    """Note what `command` is to act on."""
    said: list[object] = []
    pane.on_servers.carry_out(command, said.append)
    return said


def test_each_command_names_the_server(qtbot: QtBot, pane: DoctorPane) -> None:
    said = carried_out(pane, on_servers.EDIT), carried_out(pane, on_servers.STDERR)
    pane.edit.click()
    pane.stderr.click()
    assert said == (["crawler"], ["crawler"])
    with qtbot.waitSignal(pane.traffic_requested) as asked:
        pane.traffic.click()
    assert asked.args == ["crawler"]


def test_a_server_by_url_has_no_stderr_to_show(pane: DoctorPane) -> None:
    pane.show_report(REFUSED, 0.0)
    assert not pane.stderr.isEnabled()


def test_the_report_is_copied_as_text(pane: DoctorPane) -> None:
    pane.copy.click()
    message = QGuiApplication.clipboard().text()
    assert message.startswith("crawler: Failed\n")
    assert "No module named 'httpx'" in message


def test_the_place_that_is_read_stays_while_the_same_server_changes(pane: DoctorPane) -> None:
    pane.resize(500, 260)
    bar = pane.page.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    place = bar.value()
    assert place > 0
    pane.show_report(CRASHED._replace(restarts=3), 1.0)
    assert "Restarted 3 times" in pane.page.toPlainText()
    assert bar.value() == place
    pane.show_report(NOT_FOUND, 1.0)
    assert bar.value() == 0


def test_escape_closes_it_and_it_says_so(qtbot: QtBot, pane: DoctorPane) -> None:
    pane.activateWindow()
    pane.page.setFocus()
    with qtbot.waitSignal(pane.closed):
        QTest.keyClick(pane.page, Qt.Key.Key_Escape)
    assert pane.isHidden()

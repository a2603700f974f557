"""The status bar says how much is recorded, and clearly when nothing is any more."""

from typing import Any

import pytest
from PySide6.QtGui import QPalette
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.snapshots.servers import ServerState, SignIn
from tests.gui.traffic.frames import ticks
from tests.gui.traffic.tape import TapedTraffic
from tests.server_stand_ins import FakeServers, server


class FakeRecorder:
    """A recorder whose state a test sets."""

    def __init__(self) -> None:
        self.error: ErrorDetails | None = None
        self.is_recording = True
        self.size = 340_000_000
        self.count = 1_299_999


class Recorded(FakeServers):
    """Servers with a recorder."""

    def __init__(self) -> None:
        super().__init__(server("a", state=ServerState.CONNECTED, connection="a#1"), server("b"))
        self.recorder = FakeRecorder()


@pytest.fixture
def appearance(qtbot: QtBot) -> Appearance:
    return Appearance(QPalette(), resource("icons"))


def _bar(qtbot: QtBot, source: Any, appearance: Appearance, traffic: TapedTraffic) -> StatusBar:
    bar = StatusBar(getattr(source, "recorder", None), source, traffic.timeline, appearance)
    qtbot.addWidget(bar)
    bar.show()
    return bar


def test_connections_rate_and_what_is_recorded_are_reported(
    qtbot: QtBot, appearance: Appearance
) -> None:
    bar = _bar(qtbot, Recorded(), appearance, TapedTraffic())
    bar.count_frames(30)
    assert bar.text == "1 of 2 connected · 30 msg/s · 1.2 M recorded (340.0 MB)"
    assert bar.warning == ""


def test_a_recording_that_stopped_is_reported_with_the_reason(
    qtbot: QtBot, appearance: Appearance
) -> None:
    source = Recorded()
    bar = _bar(qtbot, source, appearance, TapedTraffic())
    source.recorder.error = ErrorDetails("The disk is <full>", "/data", "Make room")
    source.recorder.is_recording = False
    bar.refresh()
    assert bar.warning == "Not recorded"
    assert "1.2 M recorded" in bar.text
    label = next(each for each in bar.children() if each.property("text") == "Not recorded")
    assert "The disk is &lt;full&gt;" in label.property("toolTip")
    assert "Make room" in label.property("accessibleDescription")


def test_a_recording_that_was_never_wanted_is_reported_as_such(
    qtbot: QtBot, appearance: Appearance
) -> None:
    source, traffic = Recorded(), TapedTraffic()
    source.recorder.is_recording = False
    traffic.append(ticks(0, 12))
    bar = _bar(qtbot, source, appearance, traffic)
    assert bar.warning == "Not recorded"
    assert bar.text.endswith(" · 12 messages")


def test_a_source_without_a_recorder_has_its_messages_counted_and_says_nothing_of_recording(
    qtbot: QtBot, appearance: Appearance
) -> None:
    traffic = TapedTraffic(capacity=10)
    traffic.append(ticks(0, 12))
    traffic.append(ticks(12, 3))
    bar = _bar(qtbot, FakeServers(), appearance, traffic)
    assert bar.text == "0 connected · 0 msg/s · 15 messages · the oldest 12 were dropped"
    assert bar.warning == ""


def test_messages_that_left_memory_for_the_recording_are_reported_as_such(
    qtbot: QtBot, appearance: Appearance
) -> None:
    traffic = TapedTraffic(capacity=10)
    traffic.append(ticks(0, 12))
    traffic.append(ticks(12, 3))
    traffic.timeline.closed = traffic.timeline.first
    bar = _bar(qtbot, Recorded(), appearance, traffic)
    assert bar.text.endswith(" · the oldest 12 are only in the recording")


def test_servers_that_are_connected_or_wait_are_counted(
    qtbot: QtBot, appearance: Appearance
) -> None:
    source = FakeServers(
        server("a", state=ServerState.CONNECTED),
        server("b", state=ServerState.WAITING),
        server("c", state=ServerState.WAITING),
        server("d", state=ServerState.CONNECTING, sign_in=SignIn("d", "https://x")),
    )
    bar = _bar(qtbot, source, appearance, TapedTraffic())
    wanted = "1 of 4 connected · 1 connecting · 2 restarting · 1 need sign-in · 0 msg/s"
    assert bar.text.startswith(wanted)
    del source.held[1:]
    bar.refresh()
    assert bar.text.startswith("1 of 1 connected · 0 msg/s")

"""Servers of other clients: grouped by client, seen to end, and never acted on."""

from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.watching import Watching
from mcp_progress_monitor.gui.common.commands import Command, Commands
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.watched import WATCHED, WatchedList, WatchedModel
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from mcp_progress_monitor.snapshots.watched import Gaps, TapEnd, WatchedSnapshot
from tests.gui.jobs.job_lists import asked

ENDED = TapEnd("The server was killed", None, "SIGKILL", "server")


def watched(name: str, client: str = "Claude Code", pid: int = 1) -> WatchedSnapshot:
    definition = StdioDefinition(name=name, command="uvx")
    server = ServerSnapshot(
        f"{name}@{pid}", definition, connection=f"{name}@{pid}#1", state=ServerState.CONNECTED
    )
    path = Path(f"/data/recordings/live/x-p{pid}-{name}.mcprec")
    return WatchedSnapshot(server, name, client, "2.1", pid, "stdio", path, 1_795_190_467.0)


class Source:
    def __init__(self, *servers: WatchedSnapshot) -> None:
        self.servers = {server.name: server for server in servers}
        self.asked: list[str] = []

    def names(self) -> tuple[str, ...]:
        return tuple(self.servers)

    def snapshot(self, name: str) -> WatchedSnapshot:
        self.asked.append(name)
        return self.servers[name]

    def put(self, server: WatchedSnapshot) -> frozenset[str]:
        self.servers[server.name] = server
        return frozenset({server.name})


def shown(model: WatchedModel) -> list[str]:
    return [model.index(row).data() for row in range(model.rowCount())]


@pytest.fixture
def source() -> Source:
    return Source(watched("db"), watched("crawler", "Cursor", 2), watched("notes", pid=3))


@pytest.fixture
def model(source: Source, qapp: object) -> WatchedModel:  # Qt has to be there
    model = WatchedModel()
    fatal = QAbstractItemModelTester.FailureReportingMode.Fatal
    QAbstractItemModelTester(model, fatal, model)
    model.set_source(cast("Watching", source))
    return model


@pytest.fixture
def view(model: WatchedModel, appearance: Appearance, qtbot: QtBot) -> WatchedList:
    view = WatchedList(model, appearance, Commands())
    qtbot.addWidget(view)
    return view


def choose(view: WatchedList, model: WatchedModel, name: str) -> None:
    row = model.row_of(name)
    assert row is not None
    view.view.setCurrentIndex(model.index(row))


def test_servers_stand_below_their_client(model: WatchedModel) -> None:
    assert shown(model) == ["Claude Code", "db", "notes", "Cursor", "crawler"]
    heading, server = model.index(0), model.index(1)
    assert not heading.flags() & Qt.ItemFlag.ItemIsSelectable
    assert server.data(WATCHED).client == "Claude Code"
    text = server.data(Qt.ItemDataRole.AccessibleTextRole)
    assert text == "db, Live · stdio"


def test_a_change_costs_its_own_row_alone(source: Source, model: WatchedModel) -> None:
    source.asked.clear()
    changes: list[int] = []
    model.dataChanged.connect(lambda first, _last: changes.append(first.row()))
    model.apply(source.put(watched("notes", pid=3)._replace(end=ENDED)))
    assert (source.asked, changes) == (["notes@3"], [2])
    model.apply(frozenset({"a server of our own"}))
    assert (source.asked, changes) == (["notes@3"], [2])


def test_a_client_that_names_itself_moves_its_servers(source: Source, model: WatchedModel) -> None:
    model.apply(source.put(watched("notes", "Zed", 3)))
    assert shown(model) == ["Claude Code", "db", "Cursor", "crawler", "Zed", "notes"]


def test_how_a_session_ended_is_shown(source: Source, model: WatchedModel) -> None:
    ended = watched("db")._replace(end=ENDED, gaps=Gaps(3, 70, "the queue was full"))
    model.apply(source.put(ended))
    text = model.index(1).data(Qt.ItemDataRole.AccessibleTextRole)
    assert text == ("db, Ended: signal SIGKILL, the server ended first · 3 messages not recorded")


def test_the_list_is_there_while_there_is_something_in_it(
    appearance: Appearance, qtbot: QtBot
) -> None:
    source, model = Source(), WatchedModel()
    view = WatchedList(model, appearance, Commands())
    qtbot.addWidget(view)
    model.set_source(cast("Watching", source))
    assert view.isHidden()
    model.apply(source.put(watched("db")))
    assert not view.isHidden()
    del source.servers["db@1"]
    model.apply(frozenset({"db@1"}))
    assert view.isHidden()


@pytest.mark.parametrize(
    "command", [on_servers.WATCHED_TRAFFIC, on_servers.WATCHED_JOBS, on_servers.WATCHED_RECORDING]
)
def test_its_messages_jobs_and_recording_are_asked_for(
    view: WatchedList, model: WatchedModel, command: Command
) -> None:
    choose(view, model, "crawler@2")
    said = asked(view, command)
    view.commands[command].trigger()
    assert said == ["crawler@2"]


def test_its_details_are_copied(view: WatchedList, model: WatchedModel) -> None:
    choose(view, model, "crawler@2")
    view.commands[on_servers.WATCHED_COPY].trigger()
    assert "Run by Cursor 2.1" in QGuiApplication.clipboard().text()


def test_no_call_can_be_made_on_it(view: WatchedList, model: WatchedModel) -> None:
    choose(view, model, "db@1")
    call = view.commands[on_servers.WATCHED_CALL]
    assert not call.isEnabled()
    assert call.toolTip() == "Claude Code runs this server; it is only watched here"


def test_only_what_has_ended_is_removed(
    view: WatchedList, model: WatchedModel, source: Source
) -> None:
    choose(view, model, "db@1")
    assert not view.commands[on_servers.WATCHED_DISMISS].isEnabled()
    model.apply(source.put(watched("notes", pid=3)._replace(end=ENDED)))
    said: list[object] = []
    commands = view.commands.commands
    commands.carry_out(on_servers.WATCHED_DISMISS, lambda: said.append("dismissed"))
    view.commands[on_servers.WATCHED_DISMISS].trigger()
    assert said == ["dismissed"]


def test_what_is_chosen_stays_chosen(
    view: WatchedList, model: WatchedModel, source: Source
) -> None:
    choose(view, model, "crawler@2")
    model.apply(source.put(watched("more", pid=9)))
    current = view.current()
    assert current is not None
    assert current.name == "crawler@2"


def test_rows_are_painted_in_both_states(
    view: WatchedList, model: WatchedModel, source: Source, qtbot: QtBot
) -> None:
    view.resize(200, 300)
    view.show()
    qtbot.waitExposed(view)
    live = view.grab().toImage()
    model.apply(source.put(watched("db")._replace(end=ENDED)))
    assert view.grab().toImage() != live

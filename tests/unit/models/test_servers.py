"""Servers as rows."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from app.models.servers import ABOUT, SERVER, STORY, ServersModel, about, story
from app.problem import Problem
from app.sessions.snapshot import ServerSnapshot, ServerState
from tests.server_stand_ins import FakeServers, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture
def source() -> FakeServers:
    return FakeServers(server("a"), server("b"), server("c"))


@pytest.fixture
def model(source: FakeServers) -> Iterator[ServersModel]:
    made = ServersModel()
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    made.set_source(source)
    yield made
    made.deleteLater()


def names(model: ServersModel) -> list[Any]:
    return [model.index(row).data() for row in range(model.rowCount())]


def test_rows_follow_servers_that_come_go_and_change(
    model: ServersModel, source: FakeServers
) -> None:
    remembered = QPersistentModelIndex(model.index(2))
    changed = dataclasses.replace(source.held[2], state=ServerState.FAILED)
    source.held = [source.held[0], changed, server("d")]
    model.apply(frozenset({"b", "c", "d"}))
    assert names(model) == ["a", "c", "d"]
    assert remembered.row() == 1
    assert remembered.data(SERVER).state is ServerState.FAILED


def test_a_server_that_was_not_named_keeps_its_picture(
    model: ServersModel, source: FakeServers
) -> None:
    before = model.index(0).data(SERVER)
    source.held[0] = dataclasses.replace(before, state=ServerState.FAILED)
    model.apply(frozenset({"b"}))
    assert model.index(0).data(SERVER) is before


def test_a_connected_server_says_tools_revision_and_transport() -> None:
    connected = server("a", state=ServerState.CONNECTED, revision="2025-11-25")
    assert about(connected) == "0 tools · 2025-11-25 · stdio"


def test_a_problem_is_said_in_words() -> None:
    failed = server(
        "a", state=ServerState.FAILED, problem=Problem("Not found", "npx", "Install it")
    )
    assert about(failed) == "Not found"
    assert story(failed) == "a: Failed\nrun-a --fast\nNot found (npx)\nInstall it"


def test_a_row_is_read_with_its_state(model: ServersModel) -> None:
    spoken = model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "a, Not connected, stdio · Not connected"


@pytest.mark.parametrize("state", list(ServerState))
def test_hostile_words_are_made_visible_in_every_state(state: ServerState) -> None:
    hostile: ServerSnapshot = server("a\u202eb", state=state, revision="x\x00\n")
    assert "\u202e" not in about(hostile) + story(hostile)
    assert "\x00" not in about(hostile)


def test_ticks_for_unknown_tokens_are_said_first(
    model: ServersModel, source: FakeServers, qtbot: QtBot
) -> None:
    source.held[1] = server("b", state=ServerState.CONNECTED, connection="b#1")
    model.apply(frozenset({"b"}))
    source.stray["b#1"] = 5
    with qtbot.waitSignal(model.dataChanged):
        model.count_again()
    index = model.index(1)
    assert index.data(ABOUT) == "5 ticks for unknown tokens · 0 tools · stdio"
    assert index.data(STORY).endswith("\n5 ticks for unknown tokens")
    assert "5 ticks" in index.data(Qt.ItemDataRole.AccessibleTextRole)
    with qtbot.assertNotEmitted(model.dataChanged):
        model.count_again()


def test_a_problem_does_not_hide_ticks_for_unknown_tokens() -> None:
    failed = server("a", state=ServerState.FAILED, problem=Problem("Not found"))
    assert story(failed, 1).endswith("Not found\n1 tick for unknown tokens")

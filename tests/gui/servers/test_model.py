"""Servers as rows."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.servers.model import ABOUT, ROW, SERVER, STORY, ServersModel
from mcp_progress_monitor.snapshots.servers import Retry, ServerSnapshot, ServerState
from tests.server_stand_ins import FakeServers, server


@pytest.fixture
def source() -> FakeServers:
    return FakeServers(server("a"), server("b"), server("c"))


@pytest.fixture
def model(source: FakeServers) -> Iterator[ServersModel]:
    made = ServersModel()
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    made.set_source(source, source.unattached_ticks)
    yield made
    made.deleteLater()


def names(model: ServersModel) -> list[Any]:
    return [model.index(row).data() for row in range(model.rowCount())]


def test_rows_follow_servers_that_come_go_and_change(
    model: ServersModel, source: FakeServers
) -> None:
    remembered = QPersistentModelIndex(model.index(2))
    changed = source.held[2]._replace(state=ServerState.FAILED)
    source.held = [source.held[0], changed, server("d")]
    model.apply(frozenset({"b", "c", "d"}))
    assert names(model) == ["a", "c", "d"]
    assert remembered.row() == 1
    assert remembered.data(SERVER).state is ServerState.FAILED


def test_a_server_that_is_connected_after_others_says_that_it_waits(
    model: ServersModel, source: FakeServers
) -> None:
    failed = server("b", state=ServerState.FAILED, error=ErrorDetails("It is broken"))
    source.held[1:] = [failed, server("c", state=ServerState.CONNECTING)]
    model.apply(frozenset({"b", "c"}))
    model.set_turns(frozenset("abc"))
    waiting = "Waiting to connect · stdio"
    found = [model.index(row).data(ABOUT) for row in range(3)]
    assert found == [waiting, waiting, "Connecting · stdio"]
    assert model.index(0).data(Qt.ItemDataRole.AccessibleTextRole) == f"a, {waiting}"
    assert model.index(0).data(STORY).startswith("a: Waiting to connect\n")
    model.set_turns(frozenset())
    found = [model.index(row).data(ABOUT) for row in range(2)]
    assert found == ["Not connected · stdio", "Failed: It is broken"]


def test_a_server_that_was_not_named_keeps_its_snapshot(
    model: ServersModel, source: FakeServers
) -> None:
    before = model.index(0).data(SERVER)
    source.held[0] = before._replace(state=ServerState.FAILED)
    model.apply(frozenset({"b"}))
    assert model.index(0).data(SERVER) is before


def test_a_row_is_read_with_its_state(model: ServersModel) -> None:
    spoken = model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "a, Not connected · stdio"


def test_ticks_for_unknown_tokens_are_reported_first(
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


def saved(name: str, **changes: Any) -> CatalogueEntry:
    return CatalogueEntry(server(name).definition, **changes)


def test_saved_servers_come_first_in_their_order_and_disabled_ones_have_rows(
    model: ServersModel,
) -> None:
    model.set_catalogue({"c": saved("c"), "x": saved("x", is_disabled=True), "a": saved("a")})
    assert names(model) == ["c", "x", "a", "b"]
    row = model.index(1).data(ROW)
    assert (row.is_there, row.is_disabled, model.has_catalogue) == (False, True, True)
    assert model.index(1).data(ABOUT) == "Disabled · stdio"
    assert [model.place(at) for at in range(4)] == [(0, 3), (1, 3), (2, 3), (0, 1)]


def test_a_connected_row_is_read_as_such(model: ServersModel, source: FakeServers) -> None:
    source.held[0] = server("a", state=ServerState.CONNECTED)
    model.apply(frozenset({"a"}))
    spoken = model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "a, Connected, 0 tools · stdio"


def test_a_server_that_is_moved_takes_its_selection_along(model: ServersModel) -> None:
    remembered = QPersistentModelIndex(model.index(0))
    model.set_catalogue({name: saved(name) for name in ("b", "c", "a")})
    assert names(model) == ["b", "c", "a"]
    assert (remembered.row(), remembered.data()) == (2, "a")


def test_a_server_that_leaves_the_catalogue_stays_while_the_source_has_it(
    model: ServersModel,
) -> None:
    model.set_catalogue({"b": saved("b"), "x": saved("x")})
    model.set_catalogue({})
    assert names(model) == ["a", "b", "c"]
    assert model.index(1).data(ROW).entry is None


class OneByOne(FakeServers):
    """A source that notes which servers it was asked for."""

    def __init__(self, *servers: ServerSnapshot) -> None:
        super().__init__(*servers)
        self.asked: list[str] = []

    def snapshot(self, name: str) -> ServerSnapshot:
        self.asked.append(name)
        return super().snapshot(name)


def test_a_change_of_one_server_makes_only_its_snapshot(qtbot: QtBot) -> None:
    source, model = OneByOne(*(server(f"s{at}") for at in range(50))), ServersModel()
    model.set_source(source)
    source.asked.clear()
    with qtbot.waitSignals([model.dataChanged]):
        model.apply(frozenset({"s7"}))
    source.held.append(server("new"))
    model.apply(frozenset({"new"}))
    assert source.asked == ["s7", "new"]
    assert names(model)[-1] == "new"
    model.deleteLater()


class Waiting(FakeServers):
    """A source whose clock a test sets."""

    at = 100.0

    def now(self) -> float:
        return self.at


def test_what_counts_down_is_reported_again_each_second_and_nothing_else(qtbot: QtBot) -> None:
    retry = Retry(2, 5, 104.0)
    source = Waiting(server("a"), server("b", state=ServerState.WAITING, retry=retry))
    model = ServersModel()
    model.set_source(source, now=source.now)
    assert model.index(1).data(ABOUT) == "Restarting in 4 s (2 of 5) · stdio"
    source.at = 101.5
    with qtbot.waitSignal(model.dataChanged) as signal:
        pass
    assert [index.row() for index in signal.args[:2]] == [1, 1]
    assert model.index(1).data(ABOUT).startswith("Restarting in 3 s")
    source.held[1] = server("b")
    model.apply(frozenset({"b"}))
    with qtbot.assertNotEmitted(model.dataChanged, wait=1200):
        pass
    model.deleteLater()

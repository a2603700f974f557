"""Commands that apply to servers in each state."""

from typing import Any

import pytest

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.gui.common.commands import Command
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.gui.servers.commands import SERVER_COMMANDS
from mcp_progress_monitor.gui.servers.model import ServerRow, Standing
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.server_stand_ins import server

SAVING = Standing(has_catalogue=True)


def row(state: ServerState = ServerState.IDLE, **entry: Any) -> ServerRow:
    made = server("a", state=state)
    kept = CatalogueEntry(made.definition, **entry) if entry else None
    return ServerRow(made, kept, standing=SAVING)


def offered(*rows: ServerRow) -> set[Command]:
    return {command for command in SERVER_COMMANDS if command.of(rows)}


@pytest.mark.parametrize(
    ("state", "can_do"),
    [
        (ServerState.IDLE, {commands.CONNECT, commands.REMOVE}),
        (ServerState.CONNECTED, {commands.DISCONNECT, commands.RESTART}),
        (ServerState.CLOSING, {commands.DISCONNECT}),
        (ServerState.WAITING, {commands.CONNECT, commands.DISCONNECT, commands.REMOVE}),
    ],
)
def test_a_servers_state_decides_its_actions(state: ServerState, can_do: set[Command]) -> None:
    asked = {commands.CONNECT, commands.DISCONNECT, commands.RESTART, commands.REMOVE}
    assert offered(row(state)) & asked == can_do


def test_a_disabled_server_can_be_enabled_and_not_connected() -> None:
    found = offered(row(is_disabled=True)._replace(is_there=False))
    assert commands.ENABLE in found
    assert found.isdisjoint(
        {commands.CONNECT, commands.DISABLE, commands.AT_START, commands.DOCTOR, commands.KEEP}
    )


def test_a_server_that_waits_for_its_turn_can_be_reported_not_to() -> None:
    waiting = row()._replace(has_turn=True)
    assert commands.DISCONNECT in offered(waiting)
    assert commands.CONNECT in offered(waiting)


def test_without_a_catalogue_nothing_is_kept_or_edited() -> None:
    kept = {commands.KEEP, commands.EDIT, commands.CLONE}
    assert offered(row()._replace(standing=Standing())).isdisjoint(kept)
    assert kept <= offered(row())


def test_signing_out_is_offered_where_one_signs_in() -> None:
    url = "https://example.com/mcp"
    with_sign_in = HttpDefinition(name="a", url=url, auth="oauth")
    found = [
        offered(ServerRow(ServerSnapshot("a", definition), standing=SAVING))
        for definition in (with_sign_in, HttpDefinition(name="a", url=url))
    ]
    assert [commands.SIGN_OUT in each for each in found] == [True, False]
    assert commands.SIGN_OUT not in offered(row())


def test_several_servers_are_offered_what_one_of_them_can() -> None:
    states = (ServerState.IDLE, ServerState.CONNECTED)
    found = offered(*map(row, states))
    assert found == {commands.CONNECT, commands.DISCONNECT, commands.RESTART, commands.COPY}

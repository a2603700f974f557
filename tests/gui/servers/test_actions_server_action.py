"""What can be done with servers as they are now."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.gui.servers.actions import ServerAction, can, can_all
from mcp_progress_monitor.gui.servers.model import ServerRow
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.server_stand_ins import server


def row(state: ServerState = ServerState.IDLE, **entry: Any) -> ServerRow:
    made = server("a", state=state)
    return ServerRow(made, CatalogueEntry(made.definition, **entry) if entry else None)


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (ServerState.IDLE, {ServerAction.CONNECT, ServerAction.REMOVE}),
        (ServerState.CONNECTED, {ServerAction.DISCONNECT, ServerAction.RESTART}),
        (ServerState.CLOSING, {ServerAction.DISCONNECT}),
        (ServerState.WAITING, {ServerAction.CONNECT, ServerAction.DISCONNECT, ServerAction.REMOVE}),
    ],
)
def test_a_servers_state_decides_its_actions(
    state: ServerState, offered: set[ServerAction]
) -> None:
    asked = {
        ServerAction.CONNECT,
        ServerAction.DISCONNECT,
        ServerAction.RESTART,
        ServerAction.REMOVE,
    }
    assert can(row(state), has_catalogue=True) & asked == offered


def test_a_disabled_server_can_be_enabled_and_not_connected() -> None:
    found = can(row(is_disabled=True)._replace(is_there=False), has_catalogue=True)
    assert ServerAction.ENABLE in found
    assert found.isdisjoint(
        {
            ServerAction.CONNECT,
            ServerAction.DISABLE,
            ServerAction.AT_START,
            ServerAction.DOCTOR,
            ServerAction.KEEP,
        }
    )


def test_a_server_that_waits_for_its_turn_can_be_reported_not_to() -> None:
    waiting = row()._replace(has_turn=True)
    assert ServerAction.DISCONNECT in can(waiting, has_catalogue=True)
    assert ServerAction.CONNECT in can(waiting, has_catalogue=True)


def test_without_a_catalogue_nothing_is_kept_or_edited() -> None:
    kept = {ServerAction.KEEP, ServerAction.EDIT, ServerAction.CLONE}
    assert can(row(), has_catalogue=False).isdisjoint(kept)
    assert kept <= can(row(), has_catalogue=True)


def test_signing_out_is_offered_where_one_signs_in() -> None:
    url = "https://example.com/mcp"
    with_sign_in = HttpDefinition(name="a", url=url, auth="oauth")
    found = [
        can(ServerRow(ServerSnapshot("a", definition), None), has_catalogue=True)
        for definition in (with_sign_in, HttpDefinition(name="a", url=url))
    ]
    assert [ServerAction.SIGN_OUT in offered for offered in found] == [True, False]
    assert ServerAction.SIGN_OUT not in can(row(), has_catalogue=True)


def test_several_servers_are_offered_what_one_of_them_can() -> None:
    states = (ServerState.IDLE, ServerState.CONNECTED)
    found = can_all([can(row(state), has_catalogue=True) for state in states])
    assert found == {
        ServerAction.CONNECT,
        ServerAction.DISCONNECT,
        ServerAction.RESTART,
        ServerAction.COPY,
    }

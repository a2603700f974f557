"""What can be done with servers as they are now."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_progress_monitor.catalogue.entry import CatalogueEntry
from mcp_progress_monitor.models.server_wishes import Wish, can, can_all
from mcp_progress_monitor.models.servers import ServerRow
from mcp_progress_monitor.sessions.definitions import HttpDefinition
from mcp_progress_monitor.sessions.snapshot import ServerSnapshot, ServerState
from tests.server_stand_ins import server


def row(state: ServerState = ServerState.IDLE, **entry: Any) -> ServerRow:
    made = server("a", state=state)
    return ServerRow(made, CatalogueEntry(made.definition, **entry) if entry else None)


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (ServerState.IDLE, {Wish.CONNECT, Wish.REMOVE}),
        (ServerState.CONNECTED, {Wish.DISCONNECT, Wish.RESTART}),
        (ServerState.CLOSING, {Wish.DISCONNECT}),
        (ServerState.WAITING, {Wish.CONNECT, Wish.DISCONNECT, Wish.REMOVE}),
    ],
)
def test_what_a_state_offers(state: ServerState, offered: set[Wish]) -> None:
    asked = {Wish.CONNECT, Wish.DISCONNECT, Wish.RESTART, Wish.REMOVE}
    assert can(row(state), has_catalogue=True) & asked == offered


def test_a_disabled_server_can_be_enabled_and_not_connected() -> None:
    found = can(row(is_disabled=True)._replace(is_there=False), has_catalogue=True)
    assert Wish.ENABLE in found
    assert found.isdisjoint({Wish.CONNECT, Wish.DISABLE, Wish.AT_START, Wish.DOCTOR, Wish.KEEP})


def test_a_server_that_waits_for_its_turn_can_be_told_not_to() -> None:
    waiting = row()._replace(has_turn=True)
    assert Wish.DISCONNECT in can(waiting, has_catalogue=True)
    assert Wish.CONNECT in can(waiting, has_catalogue=True)


def test_without_a_catalogue_nothing_is_kept_or_edited() -> None:
    kept = {Wish.KEEP, Wish.EDIT, Wish.CLONE}
    assert can(row(), has_catalogue=False).isdisjoint(kept)
    assert kept <= can(row(), has_catalogue=True)


def test_signing_out_is_offered_where_one_signs_in() -> None:
    url = "https://example.com/mcp"
    with_sign_in = HttpDefinition(name="a", url=url, auth="oauth")
    found = [
        can(ServerRow(ServerSnapshot("a", definition), None), has_catalogue=True)
        for definition in (with_sign_in, HttpDefinition(name="a", url=url))
    ]
    assert [Wish.SIGN_OUT in offered for offered in found] == [True, False]
    assert Wish.SIGN_OUT not in can(row(), has_catalogue=True)


def test_several_servers_are_offered_what_one_of_them_can() -> None:
    states = (ServerState.IDLE, ServerState.CONNECTED)
    found = can_all([can(row(state), has_catalogue=True) for state in states])
    assert found == {Wish.CONNECT, Wish.DISCONNECT, Wish.RESTART, Wish.COPY}

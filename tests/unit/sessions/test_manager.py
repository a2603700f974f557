"""Servers by name."""

from __future__ import annotations

import pytest

from app.problem import ProblemError
from app.protocol.eras import ClientIdentity
from app.protocol.framing import FrameNumbers
from app.protocol.tokens import TokenSource
from app.sessions.clock import Clock
from app.sessions.definitions import StdioDefinition
from app.sessions.manager import Manager
from app.sessions.snapshot import ServerState
from tests.unit.sessions.playbook import Log


def manager() -> tuple[Manager, list[str]]:
    changed: list[str] = []
    made = Manager(
        ClientIdentity({}, {}),
        FrameNumbers(),
        TokenSource(0),
        Clock(),
        Log().take,
        changed.append,
    )
    return made, changed


def server(name: str) -> StdioDefinition:
    return StdioDefinition(name=name, command="c")


def test_servers_keep_their_order_and_get_names_of_their_own() -> None:
    servers, changed = manager()
    names = [servers.add(server(name)) for name in ("b", "a", "b")]
    assert names == servers.names() == changed == ["b", "a", "b-2"]
    assert servers.snapshot("b-2").definition.name == "b-2"


def test_a_new_server_is_not_connected() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    assert servers.snapshot("a").state is ServerState.IDLE
    with pytest.raises(ProblemError, match="not connected"):
        servers.connection("a")


def test_an_unknown_name_is_answered_with_one_like_it() -> None:
    servers, _ = manager()
    servers.add(server("weather"))
    with pytest.raises(ProblemError, match="Did you mean weather"):
        servers.snapshot("wether")
    with pytest.raises(ProblemError, match="Servers: weather"):
        servers.snapshot("zzz")


def test_a_removed_server_is_gone() -> None:
    servers, changed = manager()
    servers.add(server("a"))
    servers.remove("a")
    assert servers.names() == []
    assert changed == ["a", "a"]


async def test_a_server_that_is_coming_up_cannot_be_removed() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    servers.begin("a")
    with pytest.raises(ProblemError, match="Disconnect it first"):
        servers.remove("a")


async def test_an_unknown_connection_is_nobodys() -> None:
    servers, _ = manager()
    servers.add(server("a"))
    servers.begin("a")
    assert servers.connection_of("a#1") is None

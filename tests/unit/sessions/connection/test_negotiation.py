"""Openings as conversations: what is asked, what the server says, what is agreed."""

from typing import Any

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Agreement, ClientIdentity
from mcp_progress_monitor.protocol.messages import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.connection.negotiation import (
    Negotiation,
    ReopenError,
    opening_of,
)
from mcp_progress_monitor.snapshots.definitions import Era
from tests.unit.sessions.playbook import (
    INITIALIZED,
    Message,
    PlayedServer,
    Script,
    by_method,
    connection_to,
    error,
    result,
)

CLIENT = ClientIdentity({"name": "us", "version": "1"}, {})
DISCOVERED: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}


async def negotiate(server: PlayedServer, era: Era = "auto") -> tuple[Agreement, Connection]:
    connection = connection_to(server)
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        try:
            agreement = await Negotiation(
                connection, CLIENT, opening_of(connection, CLIENT, era)
            ).run()
        except (UserError, ReopenError, anyio.ClosedResourceError) as error:
            failure = error
        await written(server, connection)
        connection.end("enough")
    if failure is not None:
        raise failure
    return agreement, connection


async def written(server: PlayedServer, connection: Connection) -> None:
    """Wait until what was posted so far is written, unless the server has ended."""
    connection.outbox.post(b'{"method":"marker"}')
    while connection.is_open and "marker" not in server.methods:
        await anyio.lowlevel.checkpoint()
    server.sent[:] = [message for message in server.sent if message["method"] != "marker"]


async def agreed(script: Script, era: Era = "auto") -> tuple[str, list[str]]:
    """The agreed revision, and the methods of all that was sent."""
    server = PlayedServer(script)
    agreement, _ = await negotiate(server, era)
    return agreement.revision, server.methods


async def refusal(script: Script, era: Era = "auto") -> str:
    with pytest.raises(UserError) as caught:
        await negotiate(PlayedServer(script), era)
    return caught.value.details.as_text()


async def test_a_server_of_the_new_era_is_asked_once() -> None:
    script = by_method(discover=DISCOVERED)
    assert await agreed(script) == ("2026-07-28", ["server/discover"])


async def test_all_requests_of_the_new_era_are_stamped() -> None:
    server = PlayedServer(by_method(discover=DISCOVERED))
    _, connection = await negotiate(server)
    assert connection.outbox.peer.stamps.keys() == {VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY}
    assert server.sent[0]["params"]["_meta"][VERSION_KEY] == "2026-07-28"


async def test_requests_of_the_handshake_era_are_not_stamped() -> None:
    _, connection = await negotiate(PlayedServer(by_method(initialize=INITIALIZED)), "handshake")
    assert connection.outbox.peer.stamps == {}


async def test_an_error_to_the_first_question_leads_to_the_handshake() -> None:
    script = by_method(discover=-32601, initialize=INITIALIZED)
    methods = ["server/discover", "initialize", "notifications/initialized"]
    assert await agreed(script) == ("2025-11-25", methods)


async def test_silence_to_the_first_question_leads_to_the_handshake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(eras, "DISCOVER_LIMIT_S", 0.02)
    script = by_method(initialize=INITIALIZED)
    assert (await agreed(script))[0] == "2025-11-25"


@pytest.mark.parametrize("revision", eras.HANDSHAKE_REVISIONS)
async def test_an_older_counter_offer_is_accepted(revision: str) -> None:
    answer = INITIALIZED | {"protocolVersion": revision}
    script = by_method(discover=-32601, initialize=answer)
    assert (await agreed(script))[0] == revision


async def test_an_error_that_lists_versions_leads_to_the_newest_of_ours() -> None:
    def script(message: Message) -> list[Message]:
        if message["method"] == "server/discover":
            return [error(message, -32022, data={"supported": ["1999-01-01", "2025-06-18"]})]
        if message["method"] == "initialize":
            return [result(message, INITIALIZED | {"protocolVersion": "2025-06-18"})]
        return []

    revision, methods = await agreed(script)
    assert revision == "2025-06-18"
    assert methods[:2] == ["server/discover", "initialize"]


async def test_a_fixed_handshake_asks_nothing_else() -> None:
    script = by_method(discover=DISCOVERED, initialize=INITIALIZED)
    methods = ["initialize", "notifications/initialized"]
    assert await agreed(script, "handshake") == ("2025-11-25", methods)


async def test_a_fixed_new_era_never_falls_back() -> None:
    script = by_method(discover=-32601, initialize=INITIALIZED)
    assert "server/discover" in await refusal(script, "per-request")


async def test_versions_without_one_of_ours_are_named_beside_ours() -> None:
    answer = INITIALIZED | {"protocolVersion": "1999-01-01"}
    text = await refusal(by_method(discover=-32601, initialize=answer))
    assert "1999-01-01" in text
    for revision in eras.REVISIONS:
        assert revision in text


async def test_a_refused_handshake_gives_the_servers_text() -> None:
    def script(message: Message) -> list[Message]:
        return [error(message, -32000, "not on a Friday")] if "id" in message else []

    assert "not on a Friday" in await refusal(script, "handshake")


def ending_at(method: str, server: list[PlayedServer]) -> Script:
    def script(message: Message) -> list[Message]:
        if message["method"] == method:
            server[0].end(1)
        return []

    return script


async def test_ending_over_the_first_question_is_reported_apart() -> None:
    servers: list[PlayedServer] = []
    servers.append(PlayedServer(ending_at("server/discover", servers)))
    with pytest.raises(ReopenError):
        await negotiate(servers[0])


async def test_ending_over_it_in_a_fixed_era_is_a_plain_end() -> None:
    servers: list[PlayedServer] = []
    servers.append(PlayedServer(ending_at("server/discover", servers)))
    with pytest.raises(anyio.ClosedResourceError):
        await negotiate(servers[0], "per-request")


async def test_ending_over_the_handshake_is_a_plain_end() -> None:
    servers: list[PlayedServer] = []
    servers.append(PlayedServer(ending_at("initialize", servers)))
    with pytest.raises(anyio.ClosedResourceError):
        await negotiate(servers[0], "handshake")


async def test_the_cancel_of_an_opening_is_never_sent() -> None:
    server = PlayedServer(by_method())
    connection = connection_to(server)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        async with anyio.create_task_group() as opening:
            handshake = opening_of(connection, CLIENT, "handshake")
            opening.start_soon(Negotiation(connection, CLIENT, handshake).run)
            while not server.methods:
                await anyio.lowlevel.checkpoint()
            opening.cancel_scope.cancel()
        await written(server, connection)
        connection.end("enough")
    assert server.methods == ["initialize"]

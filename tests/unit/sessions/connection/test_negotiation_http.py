"""Openings over HTTP: what refusals of `server/discover` mean, by their status."""

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.eras import ClientIdentity, Era
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.connection.negotiation import Negotiation, opening_of
from mcp_progress_monitor.snapshots.definitions import Era as EraChoice
from tests.unit.sessions.http.scripted import Asked, Out, Script, connected, event, reply
from tests.unit.sessions.playbook import INITIALIZED

CLIENT = ClientIdentity({"name": "us", "version": "1"}, {})


def negotiation(connection: Connection, era: EraChoice) -> Negotiation:
    return Negotiation(connection, CLIENT, opening_of(connection, CLIENT, era))


DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {}}


def older(status: str, body: bytes = b"") -> Script:
    """A server of the handshake era that refuses all else like this."""

    async def script(asked: Asked, out: Out) -> None:
        method = (asked.message or {}).get("method")
        if method == "initialize":
            await out.json(reply(asked, INITIALIZED))
        elif method == "notifications/initialized" or asked.method != "POST":
            await out.nothing()
        else:
            await out.body(status, "application/json", body)

    return script


NO_SESSION = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}'


@pytest.mark.parametrize(
    "script",
    [
        older("400 Bad Request"),
        older("400 Bad Request", NO_SESSION),
        older("400 Bad Request", NO_SESSION.replace(b"null", b'"server-error"')),
        older("404 Not Found"),
        older("405 Method Not Allowed"),
        older("422 Unprocessable", b'{"detail":"?"}'),
        older("500 Oops"),
        older("202 Accepted"),
    ],
)
async def test_a_server_that_does_not_know_the_question_is_asked_for_a_handshake(
    script: Script,
) -> None:
    async with connected(script) as line:
        agreement = await negotiation(line.connection, "auto").run()
        assert agreement.era is Era.HANDSHAKE
        assert not line.connection.outbox.closes_streams


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "429 Too", "503 Busy"])
async def test_a_refusal_that_has_nothing_to_do_with_the_question_is_the_end(status: str) -> None:
    async with connected(older(status)) as line:
        with pytest.raises(UserError) as caught:
            await negotiation(line.connection, "auto").run()
    assert status[:3] in caught.value.details.what
    assert len(line.web.asked) == 1


async def test_a_fixed_new_era_never_falls_back() -> None:
    async with connected(older("400 Bad Request")) as line:
        with pytest.raises(UserError) as caught:
            await negotiation(line.connection, "per-request").run()
    assert "400" in caught.value.details.what


async def test_in_the_new_era_requests_are_cancelled_by_closing_their_streams() -> None:
    async def script(asked: Asked, out: Out) -> None:
        await out.json(reply(asked, DISCOVERED))

    async with connected(script) as line:
        agreement = await negotiation(line.connection, "auto").run()
        assert agreement.era is Era.PER_REQUEST
        assert line.connection.outbox.closes_streams
    headers = line.web.asked[0].headers
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert headers["mcp-method"] == "server/discover"


@pytest.mark.parametrize("era", ["auto", "handshake"])
async def test_the_older_transport_opens_with_the_handshake(era: EraChoice) -> None:
    stream: list[Out] = []

    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "GET":
            stream.append(out)
            await out.events("event: endpoint\ndata: /post\n\n")
            await out.until_closed()
            return
        await out.nothing()
        if "id" in asked.message:
            await stream[0].say(
                event(reply(asked, {**INITIALIZED, "protocolVersion": "2024-11-05"}))
            )

    async with connected(script, transport="sse") as line:
        agreement = await negotiation(line.connection, era).run()
        assert agreement.revision == "2024-11-05"
        await line.web.until(lambda: len(line.web.asked) == 3)
    methods = [asked.message["method"] for asked in line.web.asked_with("POST")]
    assert methods == ["initialize", "notifications/initialized"]


async def test_a_server_that_is_not_there_ends_the_opening_with_why() -> None:
    async with connected(older("400")) as line:
        await line.web.stop()
        with pytest.raises(UserError) as caught:
            await negotiation(line.connection, "auto").run()
    assert "refused the connection" in caught.value.details.what


async def test_an_opening_that_breaks_off_says_what_to_do_about_that() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.drop()

    async with connected(script) as line:
        with pytest.raises(UserError, match="without a response") as failure:
            await negotiation(line.connection, "handshake").run()
    assert "run twice" not in failure.value.details.hint
    assert "an MCP server is running there" in failure.value.details.hint

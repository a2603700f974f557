"""HTTP+SSE of 2024-11-05."""

import anyio
import pytest

from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from tests.unit.sessions.http.scripted import Asked, Line, Out, Script, connected, event, reply


class Older:
    """A server of 2024-11-05 that tells `endpoint` as the place to post to."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.stream: Out | None = None
        self.is_over = anyio.Event()

    async def script(self, asked: Asked, out: Out) -> None:
        if asked.method == "GET":
            self.stream = out
            await out.events(f"event: endpoint\ndata: {self.endpoint}\n\n")
            await self.is_over.wait()
            await out.drop()
        elif self.stream is not None:
            await out.body("202 Accepted", "text/plain", b"Accepted")
            await self.stream.say(event(reply(asked)))


async def ended(line: Line) -> str:
    with anyio.fail_after(5):
        await line.connection.over()
    return line.connection.reason


async def test_messages_go_where_the_stream_says_and_replies_come_on_it() -> None:
    server = Older("/messages?session=7")
    async with connected(server.script, transport="sse") as line:
        exchange = await line.over(line.ask())
        second = await line.over(line.ask())
    assert (exchange.end, second.end) == (ExchangeEnd.ANSWERED, ExchangeEnd.ANSWERED)
    assert [asked.path for asked in line.web.asked] == [
        "/mcp",
        "/messages?session=7",
        "/messages?session=7",
    ]


@pytest.mark.parametrize("endpoint", ["https://evil.test/x", "//evil.test/x", "http://[", ""])
async def test_only_its_own_origin_is_posted_to(endpoint: str) -> None:
    server = Older(endpoint)
    if not endpoint:
        server.endpoint = "http://127.0.0.1:1/other"
    async with connected(server.script, transport="sse") as line:
        reason = await ended(line)
    assert "another origin" in reason
    assert not line.web.asked_with("POST")


@pytest.mark.parametrize("endpoint", ["/\x1b[31m", "/" + "a" * 100_000])
async def test_a_place_that_is_no_url_is_called_that(endpoint: str) -> None:
    async with connected(Older(endpoint).script, transport="sse") as line:
        reason = await ended(line)
    assert "not a valid URL" in reason
    assert "\x1b" not in reason
    assert len(reason) < 500
    assert not line.web.asked_with("POST")


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found"])
async def test_a_message_refused_where_the_server_wants_it_is_not_for_another_url(
    status: str,
) -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "POST":
            await out.body(status, "text/plain", b"no such session")
        else:
            await server.script(asked, out)

    server = Older("/messages")
    async with connected(script, transport="sse") as line:
        exchange = await line.over(line.ask())
    assert status in exchange.reason
    assert "ended the session. Reconnect." in exchange.reason
    assert "--transport" not in exchange.reason


async def test_the_end_of_the_stream_is_that_of_the_connection() -> None:
    server = Older("/m")
    async with connected(server.script, transport="sse") as line:
        await line.over(line.ask())
        server.is_over.set()
        assert "event stream ended" in await ended(line)


def saying(status: str, kind: str) -> Script:
    async def script(_asked: Asked, out: Out) -> None:
        await out.body(status, kind, b"no")

    return script


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (saying("405 Method Not Allowed", "text/plain"), "405"),
        (saying("200 OK", "text/html"), "not an MCP message"),
        (saying("302 Found", "text/html"), "302"),
    ],
)
async def test_a_server_without_the_stream_is_not_connected(script: Script, expected: str) -> None:
    async with connected(script, transport="sse") as line:
        exchange = line.ask()
        assert expected in await ended(line)
        assert exchange.end is ExchangeEnd.LOST


async def test_who_signs_in_elsewhere_is_not_reported() -> None:
    async with connected(Older("http://me:s3cret@evil.test/x").script, transport="sse") as line:
        reason = await ended(line)
    assert "http://evil.test/x" in reason


class Fallback(Older):
    """A server of 2024-11-05 to which messages are posted at the place of the stream at first."""

    def __init__(self, status: str, endpoint: str = "/messages") -> None:
        super().__init__(endpoint)
        self.status = status

    async def script(self, asked: Asked, out: Out) -> None:
        if asked.method == "POST" and asked.path == "/mcp":
            await out.body(self.status, "text/plain", b"no")
        else:
            await super().script(asked, out)


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
async def test_a_refused_initialize_goes_on_as_the_older_transport(status: str) -> None:
    async with connected(Fallback(status).script) as line:
        exchange = await line.over(line.ask("initialize"))
        second = await line.over(line.ask())
        (reported,) = line.events("transport_changed")
    assert (exchange.end, second.end) == (ExchangeEnd.ANSWERED, ExchangeEnd.ANSWERED)
    assert reported["transport"] == "sse"
    assert reported["reason"].startswith(f"The server answered {status}; trying HTTP+SSE")
    assert [f"{asked.method} {asked.path}" for asked in line.web.asked] == [
        "POST /mcp",
        "GET /mcp",
        "POST /messages",
        "POST /messages",
    ]


@pytest.mark.parametrize(
    ("method", "status", "endpoint"),
    [
        ("tools/call", "405 Method Not Allowed", "/messages"),
        ("initialize", "403 Forbidden", "/messages"),
        ("initialize", "405 Method Not Allowed", "https://evil.test/x"),
    ],
)
async def test_other_replies_do_not_fall_back_to_legacy_sse(
    method: str, status: str, endpoint: str
) -> None:
    async with connected(Fallback(status, endpoint).script) as line:
        exchange = await line.over(line.ask(method))
        assert exchange.loss is not None
        assert status in exchange.loss.details.what
        assert line.connection.is_open
    assert not line.events("transport_changed")


async def test_a_server_that_is_no_older_one_either_is_reported_by_its_first_answer() -> None:
    async def script(asked: Asked, out: Out) -> None:
        await out.body("404 Not Found", "text/plain", b"no")

    async with connected(script) as line:
        exchange = await line.over(line.ask("initialize"))
        assert exchange.loss is not None
        assert "404 Not Found" in exchange.loss.details.what
        assert [asked.method for asked in line.web.asked] == ["POST", "GET"]

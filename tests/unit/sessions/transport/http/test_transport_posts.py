"""Messages posted, and what comes of them."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from mcp_progress_monitor.protocol.eras import PER_REQUEST, as_object
from mcp_progress_monitor.protocol.facts import JsonObject
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.sessions.connection.connection import Connection, Upkeep
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.transport.http import transport
from tests.unit.sessions.http.scripted import Asked, Out, Script, connected, event, progress, reply


def answering(status: str, kind: str, body: bytes, **headers: str) -> Script:
    """A server that says the same to everything."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def script(_asked: Asked, out: Out) -> None:
        await out.body(status, kind, body, named)

    return script


async def in_json(asked: Asked, out: Out) -> None:
    await out.json(reply(asked))


async def test_a_reply_in_json_is_a_frame_between_the_events_of_its_exchange() -> None:
    async with connected(in_json) as line:
        exchange = await line.over(line.ask())
        await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    kinds = [frame.channel for frame in line.log.frames]
    assert kinds[1] is Channel.SENT
    first = [frame.raw[:30] for frame in line.log.frames[2:7]]
    assert [raw.split(b'"')[3] if raw.startswith(b'{"event') else raw[:9] for raw in first] == [
        b"http_request",
        b"http_response",
        b"http_events",
        b'{"jsonrpc',
        b"http_ended",
    ]
    numbers = [frame.number for frame in line.log.frames]
    assert numbers == sorted(numbers)
    assert line.events("http_request")[0]["message"] == line.log.frames[1].number


async def test_a_reply_on_an_event_stream_comes_after_its_progress() -> None:
    async def script(asked: Asked, out: Out) -> None:
        await out.events(*(event(progress("t", n)) for n in (1, 2)), event(reply(asked)))
        await out.drop()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    received = [f.raw for f in line.log.frames if f.channel is Channel.RECEIVED]
    assert exchange.end is ExchangeEnd.ANSWERED
    assert [b'"progress":' in raw.replace(b" ", b"") for raw in received] == [True, True, False]
    (reported,) = line.events("http_events")
    assert reported["events"] == [{"before": "data: ", "after": "\n\n", "count": 3}]


async def test_a_batch_is_cut_into_its_messages() -> None:
    async def script(asked: Asked, out: Out) -> None:
        await out.json([progress("t", 1), progress("t", 2), reply(asked)])

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    parts = [frame.part for frame in line.log.frames if frame.part is not None]
    assert exchange.end is ExchangeEnd.ANSWERED
    assert [(part.index, part.count) for part in parts] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (answering("200 OK", "text/html", b"<h1>It works!</h1>"), "not an MCP message"),
        (answering("401 Unauthorized", "text/plain", b"", WWW_Authenticate="Bearer"), "Bearer"),
        (answering("403 Forbidden", "text/plain", b"not you"), "not you"),
        (answering("404 Not Found", "text/plain", b""), "often at /mcp"),
        (answering("405 Method Not Allowed", "text/plain", b""), "transport sse"),
        (answering("415 Unsupported Media Type", "text/plain", b""), "does not accept JSON"),
        (answering("503 Service Unavailable", "text/plain", b""), "overloaded"),
        (answering("500 Oops", "application/json", b'{"error": "x"}'), "check its log"),
        (
            answering("302 Found", "text/plain", b"", Location="https://elsewhere.test/"),
            "elsewhere",
        ),
    ],
)
async def test_what_is_no_reply_ends_the_request_with_a_message(
    script: Script, expected: str
) -> None:
    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.GIVEN_UP
    assert expected in exchange.reason
    (ended,) = line.events("call_ended")
    assert (ended["outcome"], ended["text"]) == ("failed", exchange.reason)
    assert exchange.request == ended["request"]


async def test_a_body_that_is_no_message_is_recorded() -> None:
    page = b"<h1>" + b"x" * 100_000
    async with connected(answering("200 OK", "text/html", page)) as line:
        await line.over(line.ask())
    (reported,) = line.events("http_body")
    assert reported["text"] == page[: 64 * 1024].decode()
    assert (reported["bytes"], reported["is_cut"]) == (len(page), True)


@pytest.mark.parametrize("begin", [b"", b"<p>overloaded"])
async def test_an_http_error_is_reported_although_its_body_never_ends(
    begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "REFUSAL_S", 0.05)

    async def script(_asked: Asked, out: Out) -> None:
        await out.head("503 Busy", {"Content-Type": "text/html"})
        await out.raw(begin or b"<")
        await out.until_closed()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
        assert line.connection.is_open
    assert exchange.end is ExchangeEnd.GIVEN_UP
    assert "The server answered 503" in exchange.reason
    assert "Status: 503 Busy" in exchange.reason
    assert begin.decode() in exchange.reason
    assert [reported["reason"][:8] for reported in line.events("http_ended")] == ["too slow"]


async def test_an_error_with_our_id_is_the_answer_whatever_its_status() -> None:
    async def script(asked: Asked, out: Out) -> None:
        error = {"code": -32601, "message": "unknown"}
        body = {"jsonrpc": "2.0", "id": asked.message["id"], "error": error}
        await out.json(body, "404 Not Found")

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    assert exchange.reply is not None
    assert exchange.reply.error == {"code": -32601, "message": "unknown"}


def busy(times: int, after: str) -> tuple[Script, Callable[[], int]]:
    """A server that is too busy so often."""
    count = 0

    async def script(asked: Asked, out: Out) -> None:
        nonlocal count
        count += 1
        if count > times:
            await out.json(reply(asked))
        else:
            await out.body("429 Too Many", "text/plain", b"later", {"Retry-After": after})

    return script, lambda: count


async def test_a_server_that_asks_for_a_pause_is_asked_again() -> None:
    script, count = busy(2, "0")
    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert (exchange.end, count()) == (ExchangeEnd.ANSWERED, 3)
    assert [reported["attempt"] for reported in line.events("stream_broken")] == [1, 2]
    assert [reported["retry_s"] for reported in line.events("stream_broken")] == [0, 0]
    assert len(line.events("stream_resumed")) == 2


@pytest.mark.parametrize(("times", "after", "asked"), [(9, "0", 4), (9, "61", 1), (9, "soon", 1)])
async def test_a_busy_server_is_given_up_after_a_limit(times: int, after: str, asked: int) -> None:
    script, count = busy(times, after)
    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert (exchange.end, count()) == (ExchangeEnd.GIVEN_UP, asked)
    assert "429" in exchange.reason


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda out: out.drop(), "without a response"),
        (lambda out: out.raw(b"SSH-2.0-OpenSSH\r\n\r\n"), "not valid HTTP"),
        (
            lambda out: out.body(
                "200 OK", "application/json", b"\x1f\x8bxx", {"Content-Encoding": "gzip"}
            ),
            "compressed content",
        ),
    ],
)
async def test_an_answer_that_breaks_off_loses_the_request(
    answer: Callable[[Out], Awaitable[None]], text: str
) -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await answer(out)

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.LOST
    assert text in exchange.reason
    assert "re-issued" in exchange.reason


async def test_a_length_that_lies_loses_the_request() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.head("200 OK", {"Content-Type": "application/json", "Content-Length": "1000"})
        await out.raw(b'{"jsonrpc":')
        await out.drop()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.LOST
    (ended,) = line.events("http_ended")
    assert ended["reason"].startswith("broken: ")
    assert ended["bytes"] == 11


async def test_redirections_within_the_origin_are_followed_with_the_method() -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.path == "/mcp":
            await out.head("307 Temporary", {"Location": "/mcp/", "Content-Length": "0"})
        else:
            await out.json(reply(asked))

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    assert [(asked.method, asked.path) for asked in line.web.asked] == [
        ("POST", "/mcp"),
        ("POST", "/mcp/"),
    ]


async def test_redirections_that_go_round_come_to_an_end() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.head("308 Permanent", {"Location": "/mcp", "Content-Length": "0"})

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.GIVEN_UP
    assert "repeatedly" in exchange.reason
    assert len(line.web.asked) == 5


async def test_who_signs_in_is_not_reported_of_a_redirection() -> None:
    to = "http://me:s3cret@example.invalid/mcp"
    async with connected(answering("307 Temporary", "text/plain", b"", Location=to)) as line:
        exchange = await line.over(line.ask())
    assert "It redirects to http://example.invalid/mcp\n" in exchange.reason
    assert not any(b"s3cret" in frame.raw for frame in line.log.frames)


async def test_a_session_may_have_any_name() -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "DELETE":
            await out.nothing("200 OK")
        else:
            await out.json(reply(asked), Mcp_Session_Id="\u00e9\u4e2d")

    async with connected(script) as line:
        await line.over(line.ask("initialize"))
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    assert {asked.headers.get("mcp-session-id") for asked in line.web.asked[1:]} == {"\u00e9\u4e2d"}


async def test_a_session_that_the_server_forgot_ends_the_connection() -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.message["method"] == "initialize":
            await out.json(reply(asked), Mcp_Session_Id="s1")
        else:
            await out.json({"jsonrpc": "2.0", "id": None, "error": {}}, "404 Not Found")

    async with connected(script) as line:
        await line.over(line.ask("initialize"))
        exchange = await line.over(line.ask())
        with anyio.fail_after(5):
            await line.connection.over()
    assert exchange.end is ExchangeEnd.LOST
    assert line.connection.reason == "The server no longer knows the session"
    assert line.web.asked[-1].headers["mcp-session-id"] == "s1"
    assert "DELETE" not in [asked.method for asked in line.web.asked]


async def test_a_server_that_is_gone_ends_the_connection_after_its_requests_were_reported() -> None:
    async with connected(in_json) as line:
        await line.over(line.ask())
        await line.web.stop()
        exchange = await line.over(line.ask())
        with anyio.fail_after(5):
            await line.connection.over()
    assert exchange.end is ExchangeEnd.LOST
    assert "refused the connection" in line.connection.reason
    assert line.connection.failure is not None
    ended = [fact for fact in line.log.frames if fact.raw.startswith(b'{"event":"c')]
    assert [frame.raw.split(b'"')[3] for frame in ended] == [b"call_ended", b"closed"]


async def test_a_notification_is_delivered_before_what_comes_after_it() -> None:
    async def script(asked: Asked, out: Out) -> None:
        if "id" in asked.message:
            await out.json(reply(asked))
        else:
            await anyio.sleep(0.05)
            await out.nothing()

    async with connected(script) as line:
        line.connection.outbox.post(
            b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
        )
        await line.over(line.ask())
    assert ["id" in asked.message for asked in line.web.asked] == [False, True]


async def test_a_request_of_2026_is_cancelled_by_closing_its_stream() -> None:
    closed = anyio.Event()

    async def script(_asked: Asked, out: Out) -> None:
        await out.events(event(progress("t", 1)))
        await out.until_closed()
        closed.set()

    async with connected(script) as line:
        line.connection.agreed(PER_REQUEST)
        exchange = line.ask()
        await line.web.until(lambda: line.web.asked)
        line.connection.outbox.send_cancel(exchange, "enough")
        with anyio.fail_after(5):
            await closed.wait()
    assert line.web.asked_with("POST") == line.web.asked[:1]
    (reported,) = line.events("stream_closed")
    assert (reported["request"], reported["reason"]) == (exchange.request, "enough")
    assert line.events("http_ended")[0]["reason"] == "closed by this client"


async def test_a_request_is_not_sent_again_once_it_was_given_up() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.body("503 Busy", "text/plain", b"", {"Retry-After": "1"})

    async with connected(script) as line:
        exchange = line.ask()
        await line.web.until(lambda: line.web.asked)
        line.connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)
        await anyio.sleep(1.2)
    assert len(line.web.asked) == 1


class Refusing:
    """A server of 2026-07-28 that wants the header of an argument, and lists it if `is_listed`."""

    def __init__(self, *, is_listed: bool = True, is_content: bool = True) -> None:
        self.listed: list[str] = []
        self._is_listed = is_listed
        self._is_content = is_content
        self._schema: JsonObject | None = None

    def attach(self, connection: Connection) -> None:
        connection.agreed(PER_REQUEST)
        connection._upkeep = Upkeep(self._schema_of, self._relist, str)  # noqa: SLF001

    def _schema_of(self, _name: str) -> JsonObject | None:
        return self._schema

    async def _relist(self) -> None:
        self.listed.append("again")
        if self._is_listed:
            self._schema = {"properties": {"a": {"type": "string", "x-mcp-header": "Region"}}}

    async def __call__(self, asked: Asked, out: Out) -> None:
        if self._is_content and asked.headers.get("mcp-param-region") == "north":
            await out.json(reply(asked))
            return
        error = {"code": -32020, "message": "Mcp-Param-Region is missing"}
        reported = {"jsonrpc": "2.0", "id": asked.message["id"], "error": error}
        await out.json(reported, "400 Bad Request")


CALL: JsonObject = {"name": "weather", "arguments": {"a": "north"}}


async def test_a_call_whose_headers_are_refused_is_made_again_with_those_that_are_listed() -> None:
    server = Refusing()
    async with connected(server) as line:
        server.attach(line.connection)
        exchange = await line.over(line.ask(**CALL))
        again = await line.over(line.ask(**CALL))
    assert (exchange.end, again.end) == (ExchangeEnd.ANSWERED, ExchangeEnd.ANSWERED)
    assert exchange.reply is not None
    assert exchange.reply.error is None
    assert server.listed == ["again"]
    (reported,) = line.events("request_repeated")
    assert reported == {
        "event": "request_repeated",
        "request": exchange.request,
        "reason": "400 Bad Request, header mismatch",
        "headers": ["Mcp-Param-Region"],
    }
    (refusal,) = line.events("http_body")
    assert "Mcp-Param-Region is missing" in refusal["text"]
    assert [asked.message["id"] for asked in line.web.asked] == [1, 1, 2]
    replies = [frame for frame in line.log.frames if frame.channel is Channel.RECEIVED]
    assert len(replies) == 2


@pytest.mark.parametrize(("is_listed", "posts"), [(False, 1), (True, 2)])
async def test_a_call_whose_headers_stay_refused_ends_with_the_servers_error(
    is_listed: bool, posts: int
) -> None:
    server = Refusing(is_listed=is_listed, is_content=False)
    async with connected(server) as line:
        server.attach(line.connection)
        exchange = await line.over(line.ask(**CALL))
    assert exchange.reply is not None
    assert as_object(exchange.reply.error)["message"] == "Mcp-Param-Region is missing"
    assert (len(line.web.asked), server.listed) == (posts, ["again"])
    assert len(line.events("request_repeated")) == posts - 1


async def test_a_call_given_up_while_the_tools_are_listed_is_not_made_again() -> None:
    server = Refusing()
    async with connected(server) as line:
        server.attach(line.connection)
        exchange = line.ask(**CALL)

        async def give_up() -> None:
            line.connection.outbox.send_cancel(exchange, "enough")
            await anyio.sleep_forever()

        line.connection._upkeep = Upkeep(server._schema_of, give_up, str)  # noqa: SLF001
        await line.until_reported("http_ended")
    assert len(line.web.asked) == 1


@pytest.mark.parametrize("method", ["prompts/get", "tools/list"])
async def test_nothing_else_is_made_again_for_its_headers(method: str) -> None:
    server = Refusing()
    async with connected(server) as line:
        server.attach(line.connection)
        exchange = await line.over(line.ask(method, name="x"))
    assert exchange.end is ExchangeEnd.ANSWERED
    assert (len(line.web.asked), server.listed) == (1, [])

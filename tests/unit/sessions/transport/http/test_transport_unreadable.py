"""Servers that break every rule of HTTP: each request ends with a clear error; nothing is left."""

import gzip
import json
from collections.abc import Callable

import anyio
import pytest

from mcp_progress_monitor.protocol.eras import PER_REQUEST
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.transport.http import streams
from tests.unit.sessions.http.scripted import (
    PATIENCE_S,
    Asked,
    Line,
    Out,
    Script,
    connected,
    event,
    progress,
    reply,
)

JSON = "Content-Type: application/json\r\n"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_FIRST_DELAY_S", 0.0)
    monkeypatch.setattr(streams, "_SHORTEST_IN_VAIN_S", 0.0)


def plainly(answer: str | bytes) -> Script:
    """A server that says this to every POST, then closes the connection."""
    raw = answer if isinstance(answer, bytes) else answer.replace("\n", "\r\n").encode()

    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "POST":
            await out.raw(raw)
            await out.drop()
        else:
            await out.nothing("405 No")

    return script


def said(head: str, body: Callable[[Asked], bytes]) -> Script:
    """A server that answers with these headers and the body that `body` makes, and its length."""

    async def script(asked: Asked, out: Out) -> None:
        content = body(asked) if asked.method == "POST" else b""
        lines = f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(content)}\r\n\r\n"
        await out.raw(lines.encode("latin-1") + content)

    return script


def in_json(asked: Asked) -> bytes:
    return json.dumps(reply(asked)).encode()


def in_events(asked: Asked) -> bytes:
    return event(reply(asked)).encode()


def check_nothing_is_open(line: Line) -> None:
    begun = sorted(reported["exchange"] for reported in line.events("http_request"))
    assert begun == sorted(reported["exchange"] for reported in line.events("http_ended"))
    assert line.events("failed") == []


CUT = gzip.compress(b'{"jsonrpc": "2.0", "id": 1, "result": {"a": "' + b"x" * 200 + b'"}}')[:-14]
CHUNKED = "HTTP/1.1 200 OK\n" + JSON.replace("\r", "") + "Transfer-Encoding: chunked\n\n"


@pytest.mark.parametrize(
    ("script", "end", "message"),
    [
        (plainly("SSH-2.0-OpenSSH_9\n"), ExchangeEnd.LOST, "without a response"),
        (plainly(b"\0\0\x12\4\0\0\0\0\0" + bytes(18)), ExchangeEnd.LOST, "is not valid HTTP"),
        (
            plainly("HTTP/1.1 200 OK\nContent-Length: -5\n\n{}"),
            ExchangeEnd.LOST,
            "bad Content-Length",
        ),
        (
            plainly("HTTP/1.1 000 Zero\nContent-Length: 0\n\n"),
            ExchangeEnd.LOST,
            "is not valid HTTP",
        ),
        (
            plainly("HTTP/1.1 101 Go\nUpgrade: x\nConnection: Upgrade\n\nhi"),
            ExchangeEnd.LOST,
            "is not valid HTTP",
        ),
        (
            plainly("HTTP/1.1 200 OK\nX: a\0b\nContent-Length: 0\n\n"),
            ExchangeEnd.LOST,
            "illegal header",
        ),
        (plainly("HTTP/1.1 200 OK\nX: " + "y" * (1 << 20)), ExchangeEnd.LOST, "buffer too long"),
        (plainly("HTTP/1.1 200 OK\n" + "X: y\n" * 100_000), ExchangeEnd.LOST, "buffer too long"),
        (plainly(CHUNKED + "5\n{}xxxxxxx\n0\n\n"), ExchangeEnd.LOST, "is not valid HTTP"),
        (plainly(CHUNKED + "-5\n{}\n0\n\n"), ExchangeEnd.LOST, "illegal chunk header"),
        (
            plainly(CHUNKED + "FFFFFFFFFFFFFFFFFFFF\n{}"),
            ExchangeEnd.LOST,
            "ended in the middle of the response",
        ),
        (
            said(f"{JSON}Content-Encoding: gzip\r\n", in_json),
            ExchangeEnd.LOST,
            "compressed content",
        ),
        (
            said(f"{JSON}Content-Encoding: gzip\r\n", lambda _: CUT),
            ExchangeEnd.GIVEN_UP,
            "not JSON",
        ),
        (
            said(
                JSON, lambda asked: json.dumps(progress("t", 1)).encode() + b"\n" + in_json(asked)
            ),
            ExchangeEnd.GIVEN_UP,
            "not JSON",
        ),
        (
            said(JSON, lambda asked: json.dumps(reply(asked)).encode("utf-16")),
            ExchangeEnd.GIVEN_UP,
            "looks like binary data or UTF-16",
        ),
        (
            said(
                "Content-Type: text/event-stream; charset=utf-16\r\n",
                lambda asked: event(reply(asked)).encode("utf-16"),
            ),
            ExchangeEnd.LOST,
            "its encoding is utf-16, but event streams are read as UTF-8",
        ),
        (
            said("Content-Type: text/event-stream\r\n", lambda _: b""),
            ExchangeEnd.LOST,
            "closed the stream",
        ),
        (
            said(
                "Content-Type: text/event-stream\r\n",
                lambda asked: event(progress("t", 1)).encode() + in_events(asked)[:-1],
            ),
            ExchangeEnd.LOST,
            "its last event was dropped because no blank line follows it",
        ),
        (
            said("Content-Type: text/event-stream\r\n", lambda asked: b" " + in_json(asked)),
            ExchangeEnd.LOST,
            'looks like JSON, but events must start with "data:"',
        ),
        (
            said("Content-Type: text/event-stream\r\n", lambda _: b": only a comment\n"),
            ExchangeEnd.LOST,
            "\nthe server closed the stream\n",
        ),
    ],
)
async def test_what_is_no_answer_ends_the_request_with_a_message(
    script: Script, end: ExchangeEnd, message: str
) -> None:
    async with connected(script) as line:
        exchange = await line.over(line.ask())
        assert (exchange.end, exchange.reply) == (end, None)
        assert message in exchange.reason
    check_nothing_is_open(line)


@pytest.mark.parametrize(
    "script",
    [
        said(' Content-Type: Application/JSON ; ; charset="ut;f-8" ;x\r\n'.lstrip(), in_json),
        said("Content-Type: application/vnd.api+json\r\n", in_json),
        said("Content-Type: TEXT/Event-Stream;x\r\n", in_events),
        said(f"{JSON}Content-Encoding: aardvark\r\n", in_json),
        said(JSON, lambda asked: b"\xef\xbb\xbf" + in_json(asked)),
        said(f"{JSON}X: \xff\xe9\r\nMcp-Session-Id: \xff \t x\r\n", in_json),
        said(f"{JSON}Mcp-Session-Id: {'s' * 90_000}\r\n", in_json),
        said(f"{JSON}{'X: y' * 5000}\r\n", in_json),
    ],
)
async def test_what_is_odd_but_can_be_read_is_an_answer(script: Script) -> None:
    async with connected(script) as line:
        exchange = await line.over(line.ask("initialize"))
        assert exchange.end is ExchangeEnd.ANSWERED
        exchange = await line.over(line.ask())
        assert exchange.end is ExchangeEnd.ANSWERED
    check_nothing_is_open(line)


async def test_answers_of_no_meaning_before_the_answer_are_passed_over() -> None:
    async def script(asked: Asked, out: Out) -> None:
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        await out.raw(hints * 500)
        await out.json(reply(asked))

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    check_nothing_is_open(line)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_reset_within_a_character_loses_the_request_and_keeps_what_came(kind: str) -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.method != "POST":
            await out.nothing("405 No")
            return
        await out.head("200 OK", {"Content-Type": kind, "Content-Length": "1000"})
        await out.raw('data: {"a":"é'.encode()[:-1])
        await heard.wait()
        await out.reset()

    heard = anyio.Event()
    async with connected(script) as line:
        exchange = line.ask()
        await line.until_reported("http_response")
        heard.set()
        await line.over(exchange)
        assert exchange.end is ExchangeEnd.LOST
        assert "\nthe connection was lost\n" in exchange.reason
    check_nothing_is_open(line)


async def test_a_second_answer_to_one_request_is_seen_and_changes_nothing() -> None:
    async def script(asked: Asked, out: Out) -> None:
        await out.events(event(reply(asked, {"n": 1})), event(reply(asked, {"n": 2})))
        await out.drop()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
        await line.until_reported("http_ended")
    assert exchange.reply is not None
    assert exchange.reply.result == {"n": 1}
    assert sum(b'"n": 2' in frame.raw for frame in line.log.frames) == 1
    check_nothing_is_open(line)


async def test_a_session_that_ends_takes_all_its_jobs_with_it_and_each_is_reported() -> None:
    running = 0
    all_run = anyio.Event()

    async def script(asked: Asked, out: Out) -> None:
        nonlocal running
        if asked.method == "POST" and asked.message["method"] == "initialize":
            await out.json(reply(asked), Mcp_Session_Id="s1")
        elif asked.method == "POST" and asked.message["params"].get("name") == "runs":
            await out.events(event(progress("t", 1)))
            running += 1
            if running == 3:
                all_run.set()
            await out.until_closed()
        else:
            await out.body("404 Not Found", "text/plain", b"no such session")

    async with connected(script) as line:
        await line.over(line.ask("initialize"))
        jobs = [line.connection.outbox.ask("tools/call", {"name": "runs"}) for _ in range(3)]
        with anyio.fail_after(PATIENCE_S):
            await all_run.wait()
        last = await line.over(line.ask(name="more"))
        with anyio.fail_after(PATIENCE_S):
            await line.connection.over()
        assert [job.end for job in (*jobs, last)] == [ExchangeEnd.LOST] * 4
    assert "no longer knows the" in last.reason
    assert "no longer knows the" in line.connection.reason
    assert line.web.asked_with("DELETE") == []
    check_nothing_is_open(line)


async def test_a_server_that_keeps_its_session_is_left_all_the_same() -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "DELETE":
            await out.body("405 Method Not Allowed", "text/plain", b"never")
        else:
            await out.json(reply(asked), Mcp_Session_Id="s1")

    async with connected(script) as line:
        await line.over(line.ask("initialize"))
    assert len(line.web.asked_with("DELETE")) == 1
    check_nothing_is_open(line)


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("https://evil.example/mcp?token=abc", "https://evil.example/mcp?token=***"),
        ("http://[::1", "http://[::1"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("//user:pw@evil.example/", "//evil.example/"),
        ("http://127.0.0.1:1/", "http://127.0.0.1:1/"),
    ],
)
async def test_nobody_is_followed_to_another_place(location: str, text: str) -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.head("307 Go", {"Location": location, "Content-Length": "0"})

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert text in exchange.reason
    assert len(line.web.asked) == 1
    check_nothing_is_open(line)


@pytest.mark.parametrize("retry", ["1" + "0" * 18, "-5", "0", "soon"])
async def test_a_stream_is_taken_up_whatever_the_server_says_of_when(retry: str) -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "POST":
            await out.events(f"retry: {retry}\nid: 1\ndata:\n\n")
        else:
            await out.events(event({"jsonrpc": "2.0", "id": 1, "result": {}}))
        await out.drop()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    check_nothing_is_open(line)


@pytest.mark.parametrize("what", ["data:\n\n", event(progress("t", 1))])
async def test_a_server_with_nothing_new_to_say_is_asked_less_often_by_and_by(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_SHORTEST_IN_VAIN_S", 0.0001)

    async def script(asked: Asked, out: Out) -> None:
        if len(line.web.asked) > 35:
            await out.events(event({"jsonrpc": "2.0", "id": 1, "result": {}}))
        else:
            await out.events(f"retry: 0\nid: 1\n{what}")
        await out.drop()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    pauses = [reported["retry_s"] for reported in line.events("stream_broken")]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[1], pauses[-1]) == (0.0, 0.0001, 0.0004)


async def test_a_call_that_no_server_ends_is_left_by_whoever_made_it() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        for _ in range(10_000):
            await out.raw(b"HTTP/1.1 102 Processing\r\n\r\n")

    async with connected(script) as line:
        line.connection.agreed(PER_REQUEST)
        exchange = line.ask()
        await line.web.until(lambda: line.web.asked)
        line.connection.outbox.send_cancel(exchange, "enough")
        await line.until_reported("stream_closed")
        await line.until_reported("http_ended")
    check_nothing_is_open(line)

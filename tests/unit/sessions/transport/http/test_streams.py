"""Event streams that break, are taken up again, or cannot be."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.protocol.eras import PER_REQUEST
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.messages import INITIALIZED
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.transport.http import streams, transport
from tests.unit.sessions.http.scripted import Asked, Line, Out, connected, event, progress, reply


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No long waits between attempts."""
    monkeypatch.setattr(streams, "_FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(streams, "_LONGEST_DELAY_S", 0.05)


class Broken:
    """A server whose stream breaks after one event, and what it answers when it is taken up."""

    def __init__(self, again: Callable[[Broken, Asked, Out], Awaitable[None]]) -> None:
        self.first: Asked | None = None
        self.heads = ["id: a1\n"]
        self._again = again

    async def script(self, asked: Asked, out: Out) -> None:
        if asked.method == "POST" and asked.message.get("method") == "initialize":
            await out.json(reply(asked), Mcp_Session_Id="s")
        elif asked.method == "POST":
            self.first = asked
            await out.head("200 OK", {"Content-Type": "text/event-stream"})
            await out.say(*(head + event(progress("t", 1)) for head in self.heads))
            await out.drop()
        elif asked.method == "GET":
            await self._again(self, asked, out)
        else:
            await out.nothing("200 OK")

    @property
    def reply(self) -> dict[str, Any]:
        assert self.first is not None
        return reply(self.first)


async def the_reply(server: Broken, _asked: Asked, out: Out) -> None:
    await out.events(event(progress("t", 2), "a2"), event(server.reply, "a3"))
    await out.drop()


def statuses(*answers: str) -> Callable[[Broken, Asked, Out], Awaitable[None]]:
    """These answers in turn, then the reply."""
    left = list(answers)

    async def again(server: Broken, asked: Asked, out: Out) -> None:
        if left:
            await out.nothing(left.pop(0))
        else:
            await the_reply(server, asked, out)

    return again


def ticks(line: Line) -> list[int]:
    received = [json.loads(f.raw) for f in line.log.frames if f.channel is Channel.RECEIVED]
    return [each["params"]["progress"] for each in received if "params" in each]


async def test_a_broken_stream_is_taken_up_from_its_last_event() -> None:
    server = Broken(the_reply)
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    (asked,) = line.web.asked_with("GET")
    assert asked.headers["last-event-id"] == "a1"
    assert ticks(line) == [1, 2]
    (broken,), (resumed,) = line.events("stream_broken"), line.events("stream_resumed")
    assert broken["request"] == resumed["request"] == exchange.request
    assert (broken["last_event_id"], broken["attempt"]) == ("a1", 1)
    assert broken["retry_s"] == 0.01


async def test_the_server_says_when_to_come_back() -> None:
    server = Broken(the_reply)
    server.heads = ["retry: 70\nid: p\ndata:\n\nid: a1\n"]
    async with connected(server.script) as line:
        await line.over(line.ask())
    (broken,) = line.events("stream_broken")
    assert broken["retry_s"] == 0.07


async def test_a_temporary_http_error_is_retried() -> None:
    server = Broken(statuses("503 Busy", "502 Bad Gateway", "429 Too Many"))
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    assert [reported["attempt"] for reported in line.events("stream_broken")] == [1, 2, 3, 4]


@pytest.mark.parametrize("answer", ["400 No", "405 No", "404 No", "200 OK"])
async def test_a_server_that_refuses_to_go_on_loses_the_request(answer: str) -> None:
    server = Broken(statuses(answer))
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
        assert line.connection.is_open
    assert exchange.end is ExchangeEnd.LOST
    assert answer in exchange.reason
    assert "re-issued" in exchange.reason


async def test_a_session_that_is_unknown_when_a_stream_is_taken_up_is_over() -> None:
    server = Broken(statuses("404 Not Found"))
    async with connected(server.script) as line:
        await line.over(line.ask("initialize"))
        exchange = await line.over(line.ask())
        with anyio.fail_after(5):
            await line.connection.over()
    assert exchange.end is ExchangeEnd.LOST
    assert "no longer knows the session. The server answered 404 Not Found" in exchange.reason
    assert line.connection.reason == "The server no longer knows the session"


async def test_a_stream_without_ids_is_lost_with_its_request() -> None:
    server = Broken(the_reply)
    server.heads = [""]
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.LOST
    assert "no ids" in exchange.reason
    assert not line.web.asked_with("GET")


async def test_in_2026_a_broken_stream_is_lost_at_once() -> None:
    server = Broken(the_reply)
    async with connected(server.script) as line:
        line.connection.agreed(PER_REQUEST)
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.LOST
    assert "2026-07-28" in exchange.reason
    assert not line.web.asked_with("GET")


async def test_it_is_tried_only_as_often_as_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_MOST_ATTEMPTS", 3)
    server = Broken(statuses(*["503 Busy"] * 9))
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.LOST
    assert len(line.web.asked_with("GET")) == 3


async def test_it_is_not_taken_up_for_a_call_that_was_given_up() -> None:
    server = Broken(statuses(*["503 Busy"] * 1000))
    async with connected(server.script) as line:
        exchange = line.ask()
        await line.web.until(lambda: len(line.web.asked_with("GET")) > 2)
        line.connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)
        before = len(line.web.asked)
        await anyio.sleep(0.2)
        assert len(line.web.asked) <= before + 1


async def test_a_server_that_stays_away_is_gone_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_UNREACHABLE_S", 0.1)

    async def stop(_server: Broken, _asked: Asked, out: Out) -> None:
        await out.drop()

    server = Broken(stop)
    async with connected(server.script) as line:
        exchange = line.ask()
        await line.web.until(lambda: line.web.asked_with("GET"))
        await line.web.stop()
        await line.over(exchange)
        with anyio.fail_after(5):
            await line.connection.over()
    assert exchange.end is ExchangeEnd.LOST
    assert "\nthe server closed the stream\n" in exchange.reason
    assert "All attempts to resume it failed" in exchange.reason
    assert "refused" in line.connection.reason


async def test_a_message_that_is_too_large_closes_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "MOST_BYTES", 1_000_000)
    closed = anyio.Event()

    async def script(_asked: Asked, out: Out) -> None:
        try:
            await out.events("data: ")
            while True:
                await out.say("x" * 100_000)
        finally:
            closed.set()

    async with connected(script) as line:
        exchange = await line.over(line.ask())
        with anyio.fail_after(5):
            await closed.wait()
    assert exchange.end is ExchangeEnd.GIVEN_UP
    assert "larger than 1.0 MB (1." in exchange.reason
    assert line.events("http_ended")[0]["reason"].startswith("too large")


async def test_a_body_that_is_too_large_ends_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", 100_000)

    async def script(_asked: Asked, out: Out) -> None:
        await out.body("200 OK", "application/json", b"[" + b" " * 200_000 + b"]")

    async with connected(script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.GIVEN_UP
    assert "larger than 100.0 kB" in exchange.reason


async def test_comments_for_ever_cost_nothing_and_a_cancel_ends_them() -> None:
    async def script(_asked: Asked, out: Out) -> None:
        await out.events()
        while True:
            await out.say(": still here\n\n" * 500)

    async with connected(script) as line:
        line.connection.agreed(PER_REQUEST)
        exchange = line.ask()
        await line.web.until(lambda: line.web.asked)
        await anyio.sleep(0.2)
        line.connection.outbox.send_cancel(exchange, "enough")
        await line.until_reported("http_ended")
    assert line.events("http_ended")[0]["reason"] == "closed by this client"


@pytest.mark.parametrize("id_", ["\u00e9\u4e2d", "a b", "7 "])
async def test_an_id_may_be_any_text_that_a_header_can_hold(id_: str) -> None:
    server = Broken(the_reply)
    server.heads = [f"id: {id_}\n"]
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    (asked,) = line.web.asked_with("GET")
    assert asked.headers["last-event-id"] == id_.strip()


async def test_an_id_that_no_header_can_hold_loses_the_request() -> None:
    server = Broken(the_reply)
    server.heads = ["id: a\x0bb\n"]
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.LOST
    assert "not a valid header value" in exchange.reason
    assert line.web.asked_with("GET") == []


async def test_a_server_that_is_not_ready_is_asked_less_often_than_it_says() -> None:
    server = Broken(statuses("503 Busy", "503 Busy"))
    server.heads = ["retry: 0\nid: a1\n"]
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    assert [reported["retry_s"] for reported in line.events("stream_broken")] == [0.0, 0.02, 0.04]


async def test_a_stream_that_brings_nothing_is_not_asked_for_without_a_pause() -> None:
    async def in_vain(server: Broken, asked: Asked, out: Out) -> None:
        if asked.headers["last-event-id"] == "a3":
            await the_reply(server, asked, out)
        else:
            now = int(asked.headers["last-event-id"][1:])
            await out.events(f"id: a{now + 1}\ndata:\n\n")
            await out.drop()

    server = Broken(in_vain)
    server.heads = ["retry: 0\nid: a1\n"]
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED
    assert [reported["retry_s"] for reported in line.events("stream_broken")] == [0.0, 0.1, 0.1]


async def test_a_request_whose_stream_is_to_be_taken_up_elsewhere_is_lost_not_refused() -> None:
    async def elsewhere(_server: Broken, _asked: Asked, out: Out) -> None:
        await out.head("307 Temporary", {"Location": "http://example.invalid/"})
        await out.drop()

    async with connected(Broken(elsewhere).script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.LOST
    assert "example.invalid" in exchange.reason


# The stream for the server's own messages


class Talking:
    """A server with a stream of its own, `talk` each time it is asked for."""

    def __init__(self, talk: Callable[[int, Asked, Out], Awaitable[None]]) -> None:
        self.count = 0
        self._talk = talk

    async def script(self, asked: Asked, out: Out) -> None:
        if asked.method == "GET":
            self.count += 1
            await self._talk(self.count, asked, out)
        elif "id" in asked.message:
            await out.json(reply(asked))
        else:
            await out.nothing()


async def listening(server: Talking, count: int) -> AsyncIterator[Line]:
    async with connected(server.script) as line:
        line.connection.outbox.post(json.dumps({"jsonrpc": "2.0", "method": INITIALIZED}).encode())
        await line.web.until(lambda: len(line.web.asked_with("GET")) >= count)
        yield line


async def test_the_server_is_listened_to_again_from_where_it_stopped() -> None:
    async def talk(count: int, _asked: Asked, out: Out) -> None:
        await out.events(event({"jsonrpc": "2.0", "method": "notifications/x"}, f"e{count}"))
        if count < 3:
            await out.drop()
        else:
            await out.until_closed()

    async for line in listening(Talking(talk), 3):
        ids = [asked.headers.get("last-event-id") for asked in line.web.asked_with("GET")]
        assert ids == [None, "e1", "e2"]
        purposes = [reported["purpose"] for reported in line.events("http_request")]
        assert purposes == ["message", "listen", "resume", "resume"]


async def test_an_id_that_no_header_can_hold_does_not_end_the_listening() -> None:
    async def talk(count: int, _asked: Asked, out: Out) -> None:
        await out.events(f"id: {count}\x07 \ndata:\n\n" if count < 5 else ": ping\n\n")
        if count < 5:
            await out.drop()
        else:
            await out.until_closed()

    async for line in listening(Talking(talk), 5):
        ids = [asked.headers.get("last-event-id") for asked in line.web.asked_with("GET")]
        assert ids == [None] * 5
        assert line.connection.failure is None


async def test_a_server_without_such_a_stream_is_asked_once() -> None:
    async def talk(_count: int, _asked: Asked, out: Out) -> None:
        await out.nothing("405 Method Not Allowed")

    async for line in listening(Talking(talk), 1):
        await line.over(line.ask())
        await anyio.sleep(0.1)
        assert len(line.web.asked_with("GET")) == 1
        assert line.connection.is_open


async def test_a_server_that_cannot_be_listened_to_any_more_is_gone() -> None:
    async def talk(_count: int, _asked: Asked, out: Out) -> None:
        await out.events(": hello\n\n")
        await out.until_closed()

    async for line in listening(Talking(talk), 1):
        await line.web.stop()
        with anyio.fail_after(5):
            await line.connection.over()
        assert "refused" in line.connection.reason


async def test_a_reply_may_come_on_the_servers_own_stream() -> None:
    asked_for: list[Asked] = []
    is_asked = anyio.Event()

    async def talk(_count: int, _asked: Asked, out: Out) -> None:
        await out.events(": hello\n\n")
        await is_asked.wait()
        await out.say(event(reply(asked_for[0])))
        await out.until_closed()

    class Odd(Talking):
        async def script(self, asked: Asked, out: Out) -> None:
            if asked.method == "POST" and "id" in asked.message:
                asked_for.append(asked)
                await out.nothing()
                is_asked.set()
            else:
                await super().script(asked, out)

    async for line in listening(Odd(talk), 1):
        await line.until_reported("http_events")
        exchange = await line.over(line.ask())
        assert exchange.end is ExchangeEnd.ANSWERED


async def until_ended(line: Line, count: int) -> None:
    """Wait until so many responses came to their end."""
    with anyio.fail_after(5):
        while len(line.events("http_ended")) < count:
            line.log.more = anyio.Event()
            await line.log.more.wait()


async def test_replies_due_on_a_stream_that_is_closed_for_good_are_lost() -> None:
    is_asked = anyio.Event()

    async def talk(count: int, _asked: Asked, out: Out) -> None:
        if count > 1:
            await out.nothing("405 Method Not Allowed")
            return
        await out.events(": hello\n\n")
        await is_asked.wait()
        await out.drop()

    class Odd(Talking):
        async def script(self, asked: Asked, out: Out) -> None:
            if asked.method == "POST" and "id" in asked.message:
                await out.nothing()
            else:
                await super().script(asked, out)

    async for line in listening(Odd(talk), 1):
        await line.until_reported("http_events")
        exchange = line.ask()
        await until_ended(line, 2)  # those of our notification, and of the 202
        is_asked.set()
        await line.over(exchange)
        assert exchange.end is ExchangeEnd.LOST
        assert "closed that stream" in exchange.reason
        assert line.connection.is_open


class Elsewhere(Talking):
    """A server that answers requests with nothing: their replies come on its own stream."""

    def __init__(self, talk: Callable[[int, Asked, Out], Awaitable[None]]) -> None:
        super().__init__(talk)
        self.request: Asked | None = None
        self.is_asked = anyio.Event()

    async def script(self, asked: Asked, out: Out) -> None:
        if asked.method == "POST" and "id" in asked.message:
            self.request = asked
            await out.nothing()
            self.is_asked.set()
        else:
            await super().script(asked, out)


async def test_a_reply_may_come_on_the_servers_own_stream_that_is_just_opened_again() -> None:
    async def talk(count: int, _asked: Asked, out: Out) -> None:
        if count == 1:
            await out.events(": hello\n\n")
            await out.drop()
            return
        await server.is_asked.wait()
        assert server.request is not None
        await out.events(event(reply(server.request)))
        await out.until_closed()

    server = Elsewhere(talk)
    async for line in listening(server, 2):
        exchange = await line.over(line.ask())
        assert exchange.end is ExchangeEnd.ANSWERED


async def test_what_is_answered_with_nothing_is_refused_if_no_stream_opens() -> None:
    may_answer = anyio.Event()

    async def talk(_count: int, _asked: Asked, out: Out) -> None:
        await may_answer.wait()
        await out.nothing("405 Method Not Allowed")

    async for line in listening(Elsewhere(talk), 1):
        exchange = line.ask()
        await until_ended(line, 2)
        assert exchange.end is None
        may_answer.set()
        await line.over(exchange)
        assert "with an empty body" in exchange.reason
        assert line.connection.is_open


class Silent:
    """A server that replays what was missed, and then sends nothing more on a resumed stream.

    So does server-everything: its event store forgets which stream it replays.
    """

    def __init__(self, *, comments: bool = False) -> None:
        self.is_done = False
        self.server = Broken(self._again)
        self.left = 0
        self._has_comments = comments

    async def _again(self, server: Broken, _asked: Asked, out: Out) -> None:
        if self.is_done:
            await the_reply(server, _asked, out)
            return
        await out.events()
        if self._has_comments:
            with anyio.move_on_after(0.3):
                while True:
                    await out.say(": ping\r\n\r\n")
                    await anyio.sleep(0.01)
        await out.until_closed()
        self.left += 1


@pytest.mark.parametrize("comments", [False, True])
async def test_a_resumed_stream_that_stays_silent_is_taken_up_again(
    monkeypatch: pytest.MonkeyPatch, *, comments: bool
) -> None:
    monkeypatch.setattr(streams, "_FIRST_SILENCE_S", 0.05)
    silent = Silent(comments=comments)
    async with connected(silent.server.script) as line:
        exchange = line.ask()
        await line.web.until(lambda: len(line.web.asked_with("GET")) >= 2)
        silent.is_done = True
        await line.over(exchange)
        reported = line.events("stream_broken")
    assert exchange.end is ExchangeEnd.ANSWERED
    assert reported[1]["reason"] == "nothing received for 0.05 s"
    assert reported[2:] == [] or reported[2]["reason"] == "nothing received for 0.1 s"
    assert {asked.headers["last-event-id"] for asked in line.web.asked_with("GET")} == {"a1"}


async def test_a_silent_stream_is_never_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_FIRST_SILENCE_S", 0.01)
    monkeypatch.setattr(streams, "_LONGEST_SILENCE_S", 0.02)
    monkeypatch.setattr(streams, "_MOST_ATTEMPTS", 3)
    silent = Silent()
    async with connected(silent.server.script) as line:
        exchange = line.ask()
        await line.web.until(lambda: len(line.web.asked_with("GET")) >= 8)
        silent.is_done = True
        await line.over(exchange)
    assert exchange.end is ExchangeEnd.ANSWERED


async def test_the_user_has_a_silent_stream_taken_up_at_once() -> None:
    silent = Silent()
    async with connected(silent.server.script) as line:
        exchange = line.ask()
        assert not line.connection.reconnect_stream(exchange.request or 0)
        await line.until_reported("stream_resumed")
        silent.is_done = True
        assert line.connection.reconnect_stream(exchange.request or 0)
        await line.over(exchange)
        reported = line.events("stream_broken")
    assert exchange.end is ExchangeEnd.ANSWERED
    assert reported[1]["reason"] == "reconnect requested by the user"
    assert not line.connection.reconnect_stream(exchange.request or 0)


async def test_the_user_ends_the_wait_before_the_next_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_FIRST_DELAY_S", 60.0)
    monkeypatch.setattr(streams, "_LONGEST_DELAY_S", 60.0)
    server = Broken(the_reply)
    async with connected(server.script) as line:
        exchange = line.ask()
        await line.until_reported("stream_broken")
        assert line.connection.reconnect_stream(exchange.request or 0)
        await line.over(exchange)
    assert exchange.end is ExchangeEnd.ANSWERED


async def test_a_server_that_still_holds_the_stream_we_left_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_FIRST_SILENCE_S", 0.05)
    answers = iter(("silent", "409 Conflict", "reply"))

    async def again(server: Broken, asked: Asked, out: Out) -> None:
        answer = next(answers)
        if answer == "silent":
            await out.events()
            await out.until_closed()
        elif answer == "reply":
            await the_reply(server, asked, out)
        else:
            await out.nothing(answer)

    server = Broken(again)
    async with connected(server.script) as line:
        exchange = await line.over(line.ask())
    assert exchange.end is ExchangeEnd.ANSWERED

"""A connection: what it writes, reads, answers and lets go of."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence

import anyio
import pytest

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import ConnectionClosed, ConnectionOpened, RequestMade
from mcp_progress_monitor.protocol.frames import Channel, FactRun, Frame
from mcp_progress_monitor.sessions.connection import outbox
from mcp_progress_monitor.sessions.connection.connection import Connection, evidence
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, Limits
from tests.unit.sessions.playbook import (
    Log,
    Message,
    PlayedServer,
    by_method,
    connection_to,
    error,
    result,
)


def silence(_message: Message) -> list[Message]:
    return []


@contextlib.asynccontextmanager
async def opened(server: PlayedServer, log: Log | None = None) -> AsyncIterator[Connection]:
    connection = connection_to(server, log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        yield connection
        connection.end("enough")


async def test_a_request_is_answered_with_the_replys_bytes() -> None:
    server = PlayedServer(by_method(list={"tools": []}))
    async with opened(server) as connection:
        asked = connection.outbox.ask("tools/list", {"cursor": "x"})
        assert await asked.wait(Limits(), connection.now) is ExchangeEnd.ANSWERED
        assert asked.reply is not None
        assert asked.reply.result == {"tools": []}
        assert b'"tools"' in asked.raw
    assert server.sent[0]["params"] == {"cursor": "x"}
    assert connection.outbox.waiting_count == 0


async def test_requests_are_written_in_the_order_they_were_made() -> None:
    server = PlayedServer(silence)
    async with opened(server) as connection:
        for number in range(50):
            connection.outbox.ask(f"m/{number}", {})
        await server.until_sent("m/49")
    assert server.methods == [f"m/{number}" for number in range(50)]
    assert [message["id"] for message in server.sent] == list(range(1, 51))


async def test_a_frame_is_published_before_its_bytes_are_written() -> None:
    log = Log()
    made_first: list[bool] = []

    def script(_message: Message) -> list[Message]:
        made_first.append(any(isinstance(fact, RequestMade) for fact in log.facts))
        return []

    server = PlayedServer(script)
    async with opened(server, log) as connection:
        connection.outbox.ask("tools/call", {})
        await server.until_sent("tools/call")
    assert made_first == [True]


async def test_a_ping_is_answered_and_other_requests_are_refused() -> None:
    server = PlayedServer(silence)
    async with opened(server):
        server.say({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        server.say({"jsonrpc": "2.0", "id": 0, "method": "sampling/createMessage", "params": {}})
        await server.until_count(2)
    assert server.sent[0] == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert server.sent[1]["id"] == 0
    assert server.sent[1]["error"]["code"] == -32601


async def test_a_server_that_asks_without_reading_is_no_longer_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "_MOMENT_S", 0.0)
    server = PlayedServer(silence)
    log = Log()
    async with opened(server, log):
        server.stop_reading()
        for number in range(5000):
            server.say({"jsonrpc": "2.0", "id": number, "method": "ping"})
        for _turn in range(3000):
            await anyio.lowlevel.checkpoint()
        received = [frame for frame in log.frames if frame.channel is Channel.RECEIVED]
        assert 500 < len(received) < 2000
        server.read_on()
        await server.until_count(5000)


async def test_the_end_of_the_connection_loses_what_waits_and_tells_why() -> None:
    server, log = PlayedServer(silence), Log()
    async with opened(server, log) as connection:
        asked = connection.outbox.ask("tools/call", {})
        await server.until_sent("tools/call")
        server.end(exit_code=9)
        assert await asked.wait(Limits(), connection.now) is ExchangeEnd.LOST
        await connection.over()
        with pytest.raises(anyio.ClosedResourceError):
            connection.outbox.ask("tools/call", {})
        connection.outbox.post(b"{}")
    closed = log.facts[-1]
    assert isinstance(closed, ConnectionClosed)
    assert (closed.reason, closed.exit_code) == ("The server exited", 9)
    assert not closed.is_wanted
    assert server.is_released
    assert connection.outbox.waiting_count == connection.outbox.peer.pending_count == 0


async def test_what_was_never_sent_is_reported_so_at_the_end() -> None:
    server = PlayedServer(silence)
    async with opened(server) as connection:
        server.stop_reading()
        sent, unsent = (connection.outbox.ask("tools/call", {}) for _ in range(2))
        await anyio.wait_all_tasks_blocked()
        server.end(exit_code=9)
        assert await unsent.wait(Limits(), connection.now) is ExchangeEnd.LOST
        assert unsent.reason.startswith("The server exited before this was sent")
        assert sent.request is not None
        assert sent.reason == ""


async def test_the_reason_we_had_for_the_end_is_the_one_told() -> None:
    server, log = PlayedServer(silence), Log()
    async with opened(server, log) as connection:
        connection.end("first")
        connection.end("second")
    closed = log.facts[-1]
    assert isinstance(closed, ConnectionClosed)
    assert closed.reason == "first"
    assert closed.is_wanted


async def test_cancelling_the_owner_ends_the_connection_politely() -> None:
    server, log = PlayedServer(silence), Log()
    connection = connection_to(server, log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        tasks.cancel_scope.cancel()
    assert server.is_closed
    assert server.is_released
    assert isinstance(log.facts[-1], ConnectionClosed)


async def test_a_transport_that_cannot_be_opened_is_an_error_for_who_waits() -> None:
    server, log = PlayedServer(silence, error=ErrorDetails("No such thing", "here")), Log()
    connection = connection_to(server, log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        with pytest.raises(UserError, match="No such thing"):
            await connection.opened()
    assert not any(isinstance(fact, ConnectionOpened) for fact in log.facts)
    assert b'"failed"' in log.frames[0].raw


async def test_a_cancel_names_the_request_and_the_reason() -> None:
    server = PlayedServer(silence)
    async with opened(server) as connection:
        asked = connection.outbox.ask("tools/call", {})
        await server.until_sent("tools/call")
        connection.outbox.send_cancel(asked, "why not")
        cancelled = await server.until_sent("notifications/cancelled")
        assert asked.end is None
    assert cancelled["params"] == {"requestId": asked.outgoing.id, "reason": "why not"}


async def test_a_reply_after_the_cancel_still_ends_the_exchange() -> None:
    def script(message: Message) -> list[Message]:
        if message["method"] == "notifications/cancelled":
            return [error({"id": message["params"]["requestId"]}, -1)]
        return []

    server = PlayedServer(script)
    async with opened(server) as connection:
        asked = connection.outbox.ask("tools/call", {})
        await server.until_sent("tools/call")
        connection.outbox.send_cancel(asked, "")
        assert await asked.over(5) is ExchangeEnd.ANSWERED


async def test_a_request_cancelled_before_it_was_written_is_never_sent() -> None:
    server = PlayedServer(silence)
    async with opened(server) as connection:
        server.stop_reading()
        connection.outbox.ask("m/first", {})
        await anyio.sleep(0.01)
        asked = connection.outbox.ask("m/second", {}, token="t")
        connection.outbox.send_cancel(asked, "")
        again = connection.outbox.ask("m/third", {}, token="t")
        server.read_on()
        await server.until_sent("m/third")
        assert asked.end is ExchangeEnd.CANCELLED
        assert again.end is None
    assert server.methods == ["m/first", "m/third"]


async def test_a_reply_to_what_was_given_up_changes_nothing() -> None:
    server = PlayedServer(silence)
    async with opened(server) as connection:
        asked = connection.outbox.ask("tools/call", {})
        request = await server.until_sent("tools/call")
        connection.outbox.give_up(asked, ExchangeEnd.IDLE_TIMEOUT)
        server.say(result(request, {}))
        await connection_is_idle(server)
        assert asked.end is ExchangeEnd.IDLE_TIMEOUT
        assert asked.reply is None


async def connection_is_idle(server: PlayedServer) -> None:
    """Wait until all that was said has been read: a ping is answered in its turn."""
    server.say({"jsonrpc": "2.0", "id": "idle?", "method": "ping"})
    await server.until_count(len(server.sent) + 1)


async def test_progress_is_a_sign_of_life_of_its_own_request_alone() -> None:
    server = PlayedServer(silence)
    async with opened(server) as connection:
        one = connection.outbox.ask("tools/call", {}, token="one")
        two = connection.outbox.ask("tools/call", {}, token="two")
        while two.request is None:
            await anyio.lowlevel.checkpoint()
        for asked in (one, two):
            asked.clock.set_limits(Limits(idle_s=100))
        server.at = connection.now() + 1000
        params = {"progressToken": "one", "progress": 1}
        server.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await connection_is_idle(server)
        assert one.clock.read(server.at).idle_left_s == 100
        assert two.clock.read(server.at).idle_left_s == 0


async def test_the_first_lines_that_are_no_messages_are_kept_to_be_quoted() -> None:
    server = PlayedServer(silence)
    async with opened(server) as connection:
        for number in range(8):
            server.say(f"line {number} {'x' * 500}".encode())
        await connection_is_idle(server)
    assert len(connection.outbox.invalid_lines) == 5
    assert connection.outbox.invalid_lines[0].startswith(b"line 0")
    assert max(map(len, connection.outbox.invalid_lines)) == 200


async def test_the_last_lines_of_stderr_are_kept() -> None:
    server = PlayedServer(silence)
    for number in range(30):
        server.complain(f"line {number}".encode())
    async with opened(server) as connection:
        await connection_is_idle(server)
    assert list(connection.stderr_tail) == [f"line {number}" for number in range(10, 30)]


async def test_what_is_quoted_of_stderr_is_bounded_and_without_colours() -> None:
    server, log = PlayedServer(silence), Log()
    lines = [
        b"\x1b[1;31mError\x1b(B\x1b[m\x1b[K: no \x1b]8;;http://x\x1b\\key\x1b]8;;\x07",
        b"x" * 60_000,
    ]
    for line in lines:
        server.complain(line)
    async with opened(server, log) as connection:
        await connection_is_idle(server)
    first, second = connection.stderr_tail
    assert first == "Error: no key"
    assert len(second) < 10_000
    assert [f.raw for f in log.frames if f.channel is Channel.STDERR] == lines
    connection.outbox.invalid_lines.append(b"\x1b[2J")
    assert len(evidence(connection)) < 2000
    assert "\x1b" not in evidence(connection)


@pytest.mark.announces_log("ended by a defect")
@pytest.mark.announces_log("met a defect as well")
async def test_a_defect_of_ours_ends_the_connection_and_nothing_else() -> None:
    class Broken(Log):
        def take(self, frames: object, facts: object) -> None:
            if self.frames:
                raise ZeroDivisionError
            super().take(frames, facts)  # type: ignore[arg-type]

    server = PlayedServer(silence)
    async with opened(server, Broken()) as connection:
        asked = connection.outbox.ask("tools/call", {})
        assert await asked.over(5) is ExchangeEnd.LOST
        await connection.over()
    assert connection.error is not None
    assert server.is_released


@pytest.mark.announces_log("met a defect at its end")
async def test_a_transport_that_fails_at_its_end_lets_go_of_who_waits() -> None:
    class Failing(PlayedServer):
        async def release(self) -> None:
            await super().release()
            raise ZeroDivisionError

    async with opened(Failing(silence), Log()) as connection:
        asked = connection.outbox.ask("tools/call", {})
        connection.end("enough")
        assert await asked.over(5) is ExchangeEnd.LOST
        await connection.over()
    assert connection.reason == "enough"


@pytest.mark.announces_log("ended by a defect")
async def test_a_message_whose_reading_meets_a_defect_of_ours_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = Conversation.read_parts

    def fail(
        conversation: Conversation, frames: Sequence[Frame]
    ) -> Iterator[tuple[Sequence[Frame], FactRun]]:
        if frames[0].raw == b"{}":
            raise ZeroDivisionError
        return read(conversation, frames)

    monkeypatch.setattr(Conversation, "read_parts", fail)
    server, log = PlayedServer(silence), Log()
    async with opened(server, log) as connection:
        server.say(b"{}")
        await connection.over()
    (kept,) = [frame for frame in log.frames if frame.raw == b"{}"]
    assert kept.number not in {fact.number for fact in log.facts}


async def test_the_server_is_read_only_as_fast_as_there_is_room() -> None:
    server, log, room = PlayedServer(silence), Log(), anyio.Event()
    connection = connection_to(server, log, room.wait)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        server.say(b"1")
        server.say(b"2")
        await anyio.wait_all_tasks_blocked()
        assert [frame.raw for frame in log.frames[1:]] == [b"1"]
        room.set()
        await anyio.wait_all_tasks_blocked()
        assert [frame.raw for frame in log.frames[1:]] == [b"1", b"2"]
        connection.end("enough")

"""Requests and replies: nothing grows, nothing is sent that must not be."""

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import NotificationReceived
from mcp_progress_monitor.protocol.frames import FrameRun
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.peer import AUTO, TokenSource
from mcp_progress_monitor.sessions.connection import outbox as outbox_module
from mcp_progress_monitor.sessions.connection.clocks import CallClock
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, Outbox, PendingRequest
from mcp_progress_monitor.sessions.transport.base import Loss
from mcp_progress_monitor.snapshots.limits import Limits


def _early() -> float:
    """The time at which everything is asked for."""
    return 0.5


class Desk:
    """Mail with a server that is played by hand, synchronously."""

    def __init__(self) -> None:
        self.conversation = Conversation("c#1")
        self.outbox = Outbox(self.conversation, TokenSource(0), Clock(monotonic=_early))
        self._framer = Framer("c#1", FrameNumbers())
        self._outgoing = self.outbox.outgoing(1)

    async def write(self) -> bytes:
        """Write the next message; its bytes."""
        (message,) = await anext(self._outgoing)
        frame = self._framer.sent(message.raw, 0.0, 1.0)
        if message.exchange is not None:
            self.outbox.sent(message.exchange, frame.number, 1.0)
        self.outbox.take(self.conversation.read([frame]), [frame])
        return message.raw

    def hear(self, raw: bytes, at: float = 2.0) -> None:
        frames = self._framer.received([raw], 0.0, at)
        self.outbox.take(self.conversation.read(frames), frames)

    def hear_run(self, *raws: bytes, at: float) -> None:
        run = self._framer.run(raws, 0.0, at)
        assert isinstance(run, FrameRun)
        self.outbox.take(self.conversation.read(run), run)

    def note(self, event: str, **fields: object) -> None:
        frames = [self._framer.event(event, 0.0, 3.0, **fields)]
        self.outbox.take(self.conversation.read(frames), frames)

    async def close(self) -> None:
        await self._outgoing.aclose()  # type: ignore[attr-defined]
        self.outbox.close()


async def test_thousands_of_calls_leave_nothing_behind() -> None:
    desk = Desk()
    for number in range(1, 4_001):
        exchange = desk.outbox.ask("tools/call", {"name": "t"}, token=AUTO)
        await desk.write()
        desk.hear(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number)
        assert exchange.end is ExchangeEnd.ANSWERED
    assert desk.outbox.waiting_count == desk.outbox.peer.pending_count == 0
    assert desk.conversation.open_requests == desk.conversation.open_tokens == 0
    await desk.close()


async def test_calls_that_are_given_up_leave_nothing_behind() -> None:
    desk = Desk()
    for _number in range(1000):
        exchange = desk.outbox.ask("tools/call", {"name": "t"}, token="same")
        await desk.write()
        desk.outbox.send_cancel(exchange, "enough")
        await desk.write()
        desk.outbox.give_up(exchange, ExchangeEnd.IDLE_TIMEOUT)
    assert desk.outbox.waiting_count == desk.outbox.peer.pending_count == 0
    assert desk.conversation.open_requests == desk.conversation.open_tokens == 0
    await desk.close()


async def test_initialize_is_never_cancelled() -> None:
    desk = Desk()
    opening = desk.outbox.ask("initialize", {})
    await desk.write()
    desk.outbox.send_cancel(opening, "impatience")
    desk.outbox.post(b'{"next":1}')
    assert await desk.write() == b'{"next":1}'
    await desk.close()


async def test_what_was_answered_is_not_cancelled() -> None:
    desk = Desk()
    exchange = desk.outbox.ask("tools/call", {})
    await desk.write()
    desk.hear(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    desk.outbox.send_cancel(exchange, "too late")
    desk.outbox.post(b"{}")
    assert await desk.write() == b"{}"
    await desk.close()


async def test_a_reply_in_a_batch_is_the_batchs_own_slice() -> None:
    desk = Desk()
    exchanges = [desk.outbox.ask("tools/call", {}) for _number in range(2)]
    for _number in range(2):
        await desk.write()
    desk.hear(b'[{"jsonrpc":"2.0","id":2,"result":{"n":2}}, {"jsonrpc":"2.0","id":1,"result":{}}]')
    assert [exchange.raw for exchange in exchanges] == [
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":2,"result":{"n":2}}',
    ]
    await desk.close()


async def test_progress_of_a_string_and_of_a_number_are_two_tokens() -> None:
    desk = Desk()
    text, number = (desk.outbox.ask("tools/call", {}, token=token) for token in ("7", 7))
    for _number in range(2):
        await desk.write()
    for asked in (text, number):
        asked.clock.set_limits(Limits(idle_s=100))
    assert [asked.clock.read(50.0).idle_left_s for asked in (text, number)] == [51.0, 51.0]
    desk.hear(
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":7,"progress":1}}'
    )
    assert [asked.clock.read(50.0).idle_left_s for asked in (text, number)] == [51.0, 52.0]
    await desk.close()


async def test_notifications_are_passed_on_to_those_who_watch_their_method() -> None:
    desk, method = Desk(), "notifications/tools/list_changed"
    heard: list[str] = []

    def watch(fact: NotificationReceived) -> None:
        heard.append(fact.method)

    desk.outbox.watch([method, "notifications/progress"], watch)
    desk.hear(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    desk.hear(b'{"jsonrpc":"2.0","method":"notifications/message"}')
    desk.hear(
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":7,"progress":1}}'
    )
    desk.outbox.unwatch([method], watch)
    desk.hear(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    assert heard == [method]
    await desk.close()


async def test_closing_loses_what_waits_written_or_not() -> None:
    desk = Desk()
    exchanges: list[PendingRequest] = [desk.outbox.ask("tools/call", {}) for _number in range(2)]
    await desk.write()
    await desk.close()
    assert [exchange.end for exchange in exchanges] == [ExchangeEnd.LOST, ExchangeEnd.LOST]
    with anyio.fail_after(1):
        await desk.outbox.room()


async def test_whatever_names_a_task_is_a_sign_of_life_of_the_call_that_waits_for_it() -> None:
    desk, clock = Desk(), CallClock(0.5, Limits(idle_s=100))
    desk.outbox.task_clocks["T"] = clock
    related = b'"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T"}}'
    heard = [
        b'"method":"notifications/tasks/status","params":{"taskId":"T","status":"working"}',
        b'"method":"notifications/message","params":{"level":"info","data":1,' + related + b"}",
        b'"id":1,"method":"elicitation/create","params":{' + related + b"}",
    ]
    for at, message in enumerate(heard, 10):
        desk.hear(b'{"jsonrpc":"2.0",' + message + b"}", float(at))
        assert clock.read(50.0).idle_left_s == 50.0 + at
    desk.hear(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"taskId":"U"}}', 40.0)
    assert clock.read(50.0).idle_left_s == 62.0
    assert desk.outbox.clocks() == [clock]
    await desk.close()


async def test_the_clocks_of_a_connection_are_those_of_all_that_waits() -> None:
    desk = Desk()
    written, unwritten = (desk.outbox.ask("tools/call", {}) for _number in range(2))
    shared = desk.outbox.ask("tools/call", {}, clock=written.clock)
    await desk.write()
    assert set(desk.outbox.clocks()) == {written.clock, unwritten.clock}
    assert shared.clock is written.clock
    await desk.close()


async def test_a_listening_stream_does_not_await_a_reply() -> None:
    desk = Desk()
    for method in ("subscriptions/listen", "tools/list", "tools/call"):
        desk.outbox.ask(method, {})
    for _number in range(2):
        await desk.write()
    assert (desk.outbox.waiting_count, desk.outbox.due_count) == (3, 2)
    await desk.close()


async def test_a_request_that_is_lost_alone_ends_with_a_message_and_frees_its_token() -> None:
    desk = Desk()
    for outcome, end in (("lost", ExchangeEnd.LOST), ("failed", ExchangeEnd.GIVEN_UP)):
        exchange = desk.outbox.ask("tools/call", {"name": "t"}, token="mine")
        await desk.write()
        assert exchange.request is not None
        assert desk.outbox.is_due(exchange.request)
        loss = Loss(outcome, ErrorDetails("The stream broke", "there", "Issue it again."))
        desk.note("call_ended", request=exchange.request, outcome=outcome, text="it broke")
        desk.outbox.lose(exchange.request, loss)
        assert (exchange.end, exchange.loss) == (end, loss)
        assert exchange.reason == "The stream broke (there)\nIssue it again."
        assert not desk.outbox.is_due(exchange.request)
        assert not desk.outbox.peer.is_token_in_use("mine")
        desk.outbox.lose(exchange.request, loss)  # of no use, and no harm
    await desk.close()


async def test_what_was_cancelled_is_no_longer_due() -> None:
    desk = Desk()
    exchange = desk.outbox.ask("tools/call", {})
    await desk.write()
    assert exchange.request is not None
    desk.outbox.send_cancel(exchange, "enough")
    assert not desk.outbox.is_due(exchange.request)
    await desk.close()


async def test_where_streams_are_closed_a_cancel_is_no_message() -> None:
    desk = Desk()
    desk.outbox.closes_streams = True
    exchange = desk.outbox.ask("tools/call", {})
    await desk.write()
    desk.outbox.send_cancel(exchange, "enough")
    (message,) = await anext(desk._outgoing)  # noqa: SLF001  # its own
    assert (message.raw, message.closes, message.reason) == (b"", exchange.request, "enough")
    await desk.close()


async def test_replies_that_wait_are_written_together_and_requests_alone() -> None:
    desk = Desk()
    outbox = desk.outbox
    for _ in range(5):
        outbox.post(b"reply")
    cancelled, kept = (outbox.ask("tools/call", {}) for _ in range(2))
    outbox.post(b"x" * 2**20)
    outbox.post(b"after a long one")
    outbox.give_up(cancelled, ExchangeEnd.CANCELLED)
    outgoing, written = outbox.outgoing(4), []
    while outbox.queued_count:
        written.append([message.raw[:16] for message in await anext(outgoing)])
    request = kept.outgoing.raw[:16]
    assert written == [4 * [b"reply"], [b"reply"], [request], [16 * b"x"], [b"after a long one"]]
    await outgoing.aclose()  # type: ignore[attr-defined]
    await desk.close()


async def test_what_waits_is_written_before_more_is_read() -> None:
    desk = Desk()
    for _ in range(150):
        desk.outbox.post(b"reply")

    async def write() -> None:
        async for _messages in desk.outbox.outgoing(4):
            pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await desk.outbox.room()
        assert 0 < desk.outbox.queued_count <= 100
        tasks.cancel_scope.cancel()
    await desk.close()


async def test_a_server_that_does_not_read_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox_module, "_MOMENT_S", 0.0)
    desk = Desk()
    for _ in range(150):
        desk.outbox.post(b"reply")
    await desk.outbox.room()
    monkeypatch.undo()
    with anyio.fail_after(0.1):
        await desk.outbox.room()
    await desk.close()


async def test_a_run_of_ticks_is_a_sign_of_life_of_those_calls_alone() -> None:
    desk, limits = Desk(), Limits(idle_s=10.0)
    clocks = [CallClock(0.5, limits) for _ in range(3)]
    for number, clock in enumerate(clocks):
        desk.outbox.ask("tools/call", {"name": "t"}, token=f"t{number}", clock=clock)
        await desk.write()
    method = b'"jsonrpc":"2.0","method":"notifications/progress"'
    params = b'"params":{"progressToken":"t%d","progress":%d}'
    runs = [[n % 2 for n in range(20)], [1, 2] * 5, [1, 2] * 5]
    found = []
    for at, run in zip((8.0, 8.01, 8.03), runs, strict=True):
        desk.hear_run(*[b"{%b,%b}" % (method, params % (n, 1)) for n in run], at=at)
        found.append([round(clock.read(9.0).idle_left_s or 0.0, 3) for clock in clocks])
    assert found == [[9.0, 9.0, 2.0], [9.0, 9.01, 9.01], [9.0, 9.03, 9.03]]
    await desk.close()


async def test_a_reply_among_the_lines_of_a_run_is_taken() -> None:
    desk = Desk()
    exchange = desk.outbox.ask("tools/call", {"name": "t"})
    await desk.write()
    desk.hear_run(*[b"{}"] * 9, b'{"jsonrpc":"2.0","id":1,"result":{}}', at=3.0)
    assert exchange.end is ExchangeEnd.ANSWERED
    await desk.close()

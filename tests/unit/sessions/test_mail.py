"""Requests and replies: nothing grows, nothing is sent that must not be."""

from __future__ import annotations

import anyio

from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.runs import FrameRun
from mcp_progress_monitor.protocol.tokens import AUTO, TokenSource
from mcp_progress_monitor.sessions.call_clock import CallClock
from mcp_progress_monitor.sessions.clock import Clock
from mcp_progress_monitor.sessions.exchange import End, Exchange
from mcp_progress_monitor.sessions.limits import Limits
from mcp_progress_monitor.sessions.mail import Mail
from mcp_progress_monitor.sessions.transport import Loss


def _early() -> float:
    """The time at which everything is asked for."""
    return 0.5


class Desk:
    """Mail with a server that is played by hand, synchronously."""

    def __init__(self) -> None:
        self.conversation = Conversation("c#1")
        self.mail = Mail(self.conversation, TokenSource(0), Clock(monotonic=_early))
        self._framer = Framer("c#1", FrameNumbers())
        self._letters = self.mail.letters()

    async def write(self) -> bytes:
        """Write the next letter; its bytes."""
        letter = await anext(self._letters)
        frame = self._framer.sent(letter.raw, 0.0, 1.0)
        if letter.exchange is not None:
            self.mail.sent(letter.exchange, frame.number, 1.0)
        self.mail.take(self.conversation.read([frame]), [frame])
        return letter.raw

    def hear(self, raw: bytes, at: float = 2.0) -> None:
        frames = self._framer.received([raw], 0.0, at)
        self.mail.take(self.conversation.read(frames), frames)

    def hear_run(self, *raws: bytes, at: float) -> None:
        run = self._framer.run(raws, 0.0, at)
        assert isinstance(run, FrameRun)
        self.mail.take(self.conversation.read_run(run), run)

    def note(self, event: str, **fields: object) -> None:
        frames = [self._framer.event(event, 0.0, 3.0, **fields)]
        self.mail.take(self.conversation.read(frames), frames)

    async def close(self) -> None:
        await self._letters.aclose()  # type: ignore[attr-defined]
        self.mail.close()


async def test_thousands_of_calls_leave_nothing_behind() -> None:
    desk = Desk()
    for number in range(1, 4_001):
        exchange = desk.mail.ask("tools/call", {"name": "t"}, token=AUTO)
        await desk.write()
        desk.hear(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number)
        assert exchange.end is End.ANSWERED
    assert desk.mail.waiting_count == desk.mail.peer.pending_count == 0
    assert desk.conversation.open_requests == desk.conversation.open_tokens == 0
    await desk.close()


async def test_calls_that_are_given_up_leave_nothing_behind() -> None:
    desk = Desk()
    for _number in range(1000):
        exchange = desk.mail.ask("tools/call", {"name": "t"}, token="same")
        await desk.write()
        desk.mail.cancel(exchange, "enough")
        await desk.write()
        desk.mail.give_up(exchange, End.IDLE_TIMEOUT)
    assert desk.mail.waiting_count == desk.mail.peer.pending_count == 0
    assert desk.conversation.open_requests == desk.conversation.open_tokens == 0
    await desk.close()


async def test_initialize_is_never_cancelled() -> None:
    desk = Desk()
    opening = desk.mail.ask("initialize", {})
    await desk.write()
    desk.mail.cancel(opening, "impatience")
    desk.mail.post(b'{"next":1}')
    assert await desk.write() == b'{"next":1}'
    await desk.close()


async def test_what_was_answered_is_not_cancelled() -> None:
    desk = Desk()
    exchange = desk.mail.ask("tools/call", {})
    await desk.write()
    desk.hear(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    desk.mail.cancel(exchange, "too late")
    desk.mail.post(b"{}")
    assert await desk.write() == b"{}"
    await desk.close()


async def test_a_reply_in_a_batch_is_the_batchs_own_slice() -> None:
    desk = Desk()
    exchanges = [desk.mail.ask("tools/call", {}) for _number in range(2)]
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
    text, number = (desk.mail.ask("tools/call", {}, token=token) for token in ("7", 7))
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


async def test_other_notifications_are_passed_on_by_method_and_progress_is_not() -> None:
    desk = Desk()
    heard: list[str] = []
    desk.mail.on_notification = heard.append
    desk.hear(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    desk.hear(
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":7,"progress":1}}'
    )
    assert heard == ["notifications/tools/list_changed"]
    await desk.close()


async def test_closing_loses_what_waits_written_or_not() -> None:
    desk = Desk()
    exchanges: list[Exchange] = [desk.mail.ask("tools/call", {}) for _number in range(2)]
    await desk.write()
    await desk.close()
    assert [exchange.end for exchange in exchanges] == [End.LOST, End.LOST]
    with anyio.fail_after(1):
        await desk.mail.room()


async def test_whatever_names_a_task_is_a_sign_of_life_of_the_call_that_waits_for_it() -> None:
    desk, clock = Desk(), CallClock(0.5, Limits(idle_s=100))
    desk.mail.task_clocks["T"] = clock
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
    assert desk.mail.clocks() == [clock]
    await desk.close()


async def test_the_clocks_of_a_connection_are_those_of_all_that_waits() -> None:
    desk = Desk()
    written, unwritten = (desk.mail.ask("tools/call", {}) for _number in range(2))
    shared = desk.mail.ask("tools/call", {}, clock=written.clock)
    await desk.write()
    assert set(desk.mail.clocks()) == {written.clock, unwritten.clock}
    assert shared.clock is written.clock
    await desk.close()


async def test_what_listens_for_news_waits_for_no_reply_that_is_due() -> None:
    desk = Desk()
    for method in ("subscriptions/listen", "tools/list", "tools/call"):
        desk.mail.ask(method, {})
    for _number in range(2):
        await desk.write()
    assert (desk.mail.waiting_count, desk.mail.due_count) == (3, 2)
    await desk.close()


async def test_a_request_that_is_lost_alone_ends_with_words_and_frees_its_token() -> None:
    desk = Desk()
    for outcome, end in (("lost", End.LOST), ("failed", End.GIVEN_UP)):
        exchange = desk.mail.ask("tools/call", {"name": "t"}, token="mine")
        await desk.write()
        assert exchange.request is not None
        assert desk.mail.is_due(exchange.request)
        loss = Loss(outcome, Problem("The stream broke", "there", "Issue it again."))
        desk.note("call_ended", request=exchange.request, outcome=outcome, text="it broke")
        desk.mail.lose(exchange.request, loss)
        assert (exchange.end, exchange.loss) == (end, loss)
        assert exchange.words == "The stream broke (there)\nIssue it again."
        assert not desk.mail.is_due(exchange.request)
        assert not desk.mail.peer.is_token_in_use("mine")
        desk.mail.lose(exchange.request, loss)  # of no use, and no harm
    await desk.close()


async def test_what_was_cancelled_is_no_longer_due() -> None:
    desk = Desk()
    exchange = desk.mail.ask("tools/call", {})
    await desk.write()
    assert exchange.request is not None
    desk.mail.cancel(exchange, "enough")
    assert not desk.mail.is_due(exchange.request)
    await desk.close()


async def test_where_streams_are_closed_a_cancel_is_no_message() -> None:
    desk = Desk()
    desk.mail.closes_streams = True
    exchange = desk.mail.ask("tools/call", {})
    await desk.write()
    desk.mail.cancel(exchange, "enough")
    letter = await anext(desk._letters)  # noqa: SLF001  # its own
    assert (letter.raw, letter.closes, letter.reason) == (b"", exchange.request, "enough")
    await desk.close()


async def test_a_run_of_ticks_is_a_sign_of_life_of_those_calls_alone() -> None:
    desk, limits = Desk(), Limits(idle_s=10.0)
    clocks = [CallClock(0.5, limits) for _ in range(3)]
    for number, clock in enumerate(clocks):
        desk.mail.ask("tools/call", {"name": "t"}, token=f"t{number}", clock=clock)
        await desk.write()
    method = b'"jsonrpc":"2.0","method":"notifications/progress"'
    params = b'"params":{"progressToken":"t%d","progress":%d}'
    desk.hear_run(*[b"{%b,%b}" % (method, params % (n % 2, n)) for n in range(20)], at=8.0)
    assert [clock.read(9.0).idle_left_s for clock in clocks] == [9.0, 9.0, 2.0]
    await desk.close()


async def test_a_reply_among_the_lines_of_a_run_is_taken() -> None:
    desk = Desk()
    exchange = desk.mail.ask("tools/call", {"name": "t"})
    await desk.write()
    desk.hear_run(*[b"{}"] * 9, b'{"jsonrpc":"2.0","id":1,"result":{}}', at=3.0)
    assert exchange.end is End.ANSWERED
    await desk.close()

"""Waiting for a reply: limits, and who is notified of the end."""

import anyio
import pytest

from mcp_progress_monitor.protocol.facts import RequestAnswered, RequestStanding, Side
from mcp_progress_monitor.protocol.peer import Outgoing
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, Limits, PendingRequest


class Time:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def exchange() -> PendingRequest:
    return PendingRequest(Outgoing(1, None, b"{}"), "tools/call", 100.0)


REPLY = RequestAnswered(
    2, "c#1", 0.0, 0.0, Side.SERVER, 1, 1, RequestStanding.ACTIVE, {}, None, None, 2, ()
)


async def test_an_answered_exchange_has_its_reply_and_bytes() -> None:
    asked = exchange()
    asked.answer(REPLY, b"raw")
    assert await asked.wait(Limits(), Time()) is ExchangeEnd.ANSWERED
    assert (asked.reply, asked.raw) == (REPLY, b"raw")


async def test_the_first_end_stays() -> None:
    asked = exchange()
    asked.stop(ExchangeEnd.LOST)
    asked.answer(REPLY, b"raw")
    assert asked.end is ExchangeEnd.LOST
    assert asked.reply is None


async def test_everyone_who_waits_is_reported() -> None:
    asked = exchange()
    ends: list[ExchangeEnd | None] = []

    async def wait() -> None:
        ends.append(await asked.wait(Limits(idle_s=60), Time()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        tasks.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        asked.answer(REPLY, b"")
    assert ends == [ExchangeEnd.ANSWERED, ExchangeEnd.ANSWERED]


@pytest.mark.parametrize(
    ("limits", "end"),
    [
        (Limits(idle_s=5), ExchangeEnd.IDLE_TIMEOUT),
        (Limits(total_s=5), ExchangeEnd.TOTAL_TIMEOUT),
        (Limits(idle_s=5, total_s=4), ExchangeEnd.TOTAL_TIMEOUT),
        (Limits(idle_s=4, total_s=5), ExchangeEnd.IDLE_TIMEOUT),
    ],
)
async def test_the_limit_that_is_reached_first_ends_it(limits: Limits, end: ExchangeEnd) -> None:
    time = Time()
    time.now += 5
    assert await exchange().wait(limits, time) is end


async def test_a_sign_of_life_moves_the_idle_limit_and_not_the_total_one() -> None:
    time, asked = Time(), exchange()
    time.now = 109.0
    asked.clock.touch(108.0)
    asked.answer(REPLY, b"")
    assert await asked.wait(Limits(idle_s=5), time) is ExchangeEnd.ANSWERED
    late = exchange()
    late.clock.touch(108.0)
    assert await late.wait(Limits(idle_s=5, total_s=9), time) is ExchangeEnd.TOTAL_TIMEOUT


async def test_a_sign_of_life_while_waiting_is_noticed() -> None:
    time, asked = Time(), exchange()

    async def live() -> None:
        time.now = 100.2
        asked.clock.touch(100.2)
        await anyio.sleep(0.1)
        asked.answer(REPLY, b"")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live)
        assert await asked.wait(Limits(idle_s=0.05), time) is ExchangeEnd.ANSWERED


async def test_requests_of_one_call_share_its_clock() -> None:
    time, first = Time(), exchange()
    first.clock.set_limits(Limits(total_s=10))
    further = PendingRequest(first.outgoing, "tools/call", 108.0, first.clock)
    time.now = 110.0
    assert await further.wait(None, time) is ExchangeEnd.TOTAL_TIMEOUT


async def test_without_limits_of_its_own_a_wait_is_by_those_of_the_clock() -> None:
    time, asked = Time(), exchange()
    asked.clock.set_limits(Limits(idle_s=3))
    time.now = 103.0
    assert await asked.wait(None, time) is ExchangeEnd.IDLE_TIMEOUT


async def test_looking_whether_it_is_over_ends_nothing() -> None:
    asked = exchange()
    assert await asked.over(0.01) is None
    assert asked.end is None
    asked.stop(ExchangeEnd.CANCELLED)
    assert await asked.over() is ExchangeEnd.CANCELLED

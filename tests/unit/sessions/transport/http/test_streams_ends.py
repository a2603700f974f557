"""What is reported when a stream has ended and nothing more is expected of it."""

from collections.abc import Mapping

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, PendingRequest
from mcp_progress_monitor.sessions.transport.http import streams
from tests.unit.sessions.http import scripted
from tests.unit.sessions.http.scripted import Asked, Out, connected, event, progress


async def ended_with(*messages: Mapping[str, object]) -> PendingRequest:
    """A call whose stream brings these messages, then ends."""

    async def script(_asked: Asked, out: Out) -> None:
        await out.events(*map(event, messages))
        await out.drop()

    async with connected(script) as line:
        return await line.over(line.ask())


async def test_a_reply_with_another_id_is_reported_where_the_stream_ends() -> None:
    tick, stray = progress("t", 1), {"jsonrpc": "2.0", "id": "1", "result": {}}
    exchange = await ended_with(tick, stray)
    assert exchange.end is ExchangeEnd.LOST
    assert "the server closed the stream; it contained a reply to another" in exchange.reason
    assert "the wrong id" not in (await ended_with(stray, tick)).reason


async def test_time_that_is_counted_from_zero_does_not_hide_that_a_server_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(streams, "_MOST_ATTEMPTS", 8)
    monkeypatch.setattr(scripted, "Clock", lambda: Clock(lambda: 0.0))

    async def script(asked: Asked, out: Out) -> None:
        if asked.method == "POST":
            await out.events(event(progress("t", 1), "a1"))
        await out.drop()

    async with connected(script) as line:
        exchange = line.ask()
        await line.until_reported("stream_broken")
        await line.web.stop()
        await line.over(exchange)
        with anyio.fail_after(5):
            await line.connection.over()
    assert "refused" in line.connection.reason

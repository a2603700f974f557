"""The story of a call that ran out of time."""

import anyio
import pytest

from mcp_progress_monitor.engine import requests
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, Limits
from tests.unit.sessions.playbook import PlayedServer, by_method, connection_to


async def story(
    limits: Limits, end: ExchangeEnd, *, is_read: bool = True, byte_s_ago: float | None = None
) -> str:
    """What is shown of a call on a server that said one line on stderr and nothing else.

    But for a part of a message, `byte_s_ago`.
    """
    server = PlayedServer(by_method())
    server.complain(b"disk is slow today")
    connection = connection_to(server)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        if not is_read:
            server.stop_reading()
            connection.outbox.ask("tools/list", {})
        exchange = connection.outbox.ask("tools/call", {})
        if is_read:
            await server.until_sent("tools/call")
        exchange.stop(end)
        exchange.clock.set_limits(limits)
        if byte_s_ago is not None:
            server.last_byte_at = connection.now() - byte_s_ago
        text = requests.timeout_report(exchange, connection, connection.now() - 14)
        connection.end("enough")
    return text


async def test_a_timeout_report_names_the_pending_request_and_its_last_tick() -> None:
    text = await story(Limits(idle_s=5), ExchangeEnd.IDLE_TIMEOUT)
    assert "Idle timeout of 5 s" in text
    assert "tools/call (id 1)" in text
    assert "Last byte from the server: none." in text
    assert "Last tick: 14 s ago." in text
    assert "The server's process 4711 is running; no other request is pending." in text
    assert "disk is slow today" in text


async def test_what_came_of_a_message_that_is_not_whole_counts_as_bytes() -> None:
    text = await story(Limits(idle_s=5), ExchangeEnd.IDLE_TIMEOUT, byte_s_ago=3)
    assert "Last byte from the server: 3 s ago." in text


async def test_it_tells_which_limit_was_reached() -> None:
    assert "Total timeout of 9 s" in await story(Limits(5, 9), ExchangeEnd.TOTAL_TIMEOUT)


@pytest.mark.parametrize("is_read", [True, False])
async def test_it_tells_when_the_request_was_never_written(is_read: bool) -> None:
    text = await story(Limits(idle_s=5), ExchangeEnd.IDLE_TIMEOUT, is_read=is_read)
    assert ("never sent" in text) is not is_read
    assert ("1 other request pending" in text) is not is_read
    assert ("The server is not reading its input: 2 messages wait." in text) is not is_read

"""Lists page by page: one limit for the whole list, whatever the server does."""

import contextlib
from collections.abc import AsyncIterator

import anyio
import pytest

from mcp_progress_monitor.sessions.connection import listing
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.connection.listing import read_pages
from tests.unit.sessions.playbook import Message, PlayedServer, connection_to, result

PAUSE_S = 0.05


@contextlib.asynccontextmanager
async def answering_late(items: int = 1, pages: int = 10**9) -> AsyncIterator[Connection]:
    """A server that answers each request after a pause, with another cursor."""
    server = PlayedServer(lambda _message: [])

    async def answer() -> None:
        done = 0
        while True:
            await anyio.sleep(PAUSE_S)
            for message in server.sent[done:]:
                done += 1
                if message["method"] == "things/list":
                    server.say(result(message, page(done)))

    def page(number: int) -> Message:
        more = {"nextCursor": str(number)} if number < pages else {}
        return {"things": [number] * items, **more}

    connection = connection_to(server)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        tasks.start_soon(answer)
        yield connection
        tasks.cancel_scope.cancel()


async def test_all_pages_of_a_list_share_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LIMIT_S", 10 * PAUSE_S)
    with anyio.fail_after(5):
        async with answering_late() as connection:
            pages = await read_pages(connection, "things/list", "things")
    assert 1 <= len(pages.results) <= 10
    assert pages.endless.startswith(f"only {len(pages.results)} page")
    assert pages.endless.endswith("came within 0.5 s, and more follows")


async def test_a_slow_list_that_ends_within_the_limit_is_whole() -> None:
    async with answering_late(pages=3) as connection:
        pages = await read_pages(connection, "things/list", "things")
    assert len(pages.results) == 3
    assert not pages.endless


async def test_no_more_pages_are_requested_of_a_list_with_too_many_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "MOST_ITEMS", 2000)
    async with answering_late(items=900) as connection:
        pages = await read_pages(connection, "things/list", "things")
    assert len(pages.results) == 3
    assert pages.endless == "more follows after 3 pages with 2,700 items"

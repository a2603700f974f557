"""The list of a server's tasks."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.tasks import TaskOffer, TaskWay
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.tasks import list_tasks
from tests.unit.sessions.playbook import Message, PlayedServer, connection_to, error, result
from tests.unit.sessions.task_play import CORE, EXTENDED, task_of

LISTED = TaskOffer(TaskWay.CORE, {"tasks": {"list": {}}})


@contextlib.asynccontextmanager
async def connected(server: PlayedServer) -> AsyncIterator[Connection]:
    connection = connection_to(server)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        yield connection
        connection.end("The test is over")
        await connection.over()
        tasks.cancel_scope.cancel()


def paged(*pages: Any) -> PlayedServer:
    """A server with these pages of tasks; each has the cursor that leads to the next."""

    def play(message: Message) -> list[Message]:
        number = int(message.get("params", {}).get("cursor", 0))
        more = {"nextCursor": str(number + 1)} if number + 1 < len(pages) else {}
        return [result(message, {"tasks": pages[number], **more})]

    return PlayedServer(play)


def task(name: str) -> Message:
    return task_of(CORE, taskId=name)


async def test_all_pages_are_read_and_what_is_no_task_is_left_out() -> None:
    server = paged([task("a"), 7, {"status": "working"}], [], [task("b"), task("a")])
    async with connected(server) as connection:
        found = await list_tasks(connection, LISTED)
    assert [view.id for view in found.items] == ["a", "b"]
    assert server.methods == ["tasks/list"] * 3
    assert "params" not in server.sent[0]


async def test_a_list_that_goes_on_in_circles_is_left() -> None:
    def play(message: Message) -> list[Message]:
        return [result(message, {"tasks": [task("a")], "nextCursor": "again"})]

    server = PlayedServer(play)
    async with connected(server) as connection:
        found = await list_tasks(connection, LISTED)
    assert [view.id for view in found.items] == ["a"]
    assert found.error is not None
    assert found.error.what == "The server's list of tasks does not end"
    assert found.error.detail == 'the cursor "again" was returned twice'
    assert len(server.sent) == 2


async def test_a_huge_page_is_read_whole() -> None:
    many = [task(f"{number} {'x' * 300}") for number in range(3000)]
    async with connected(paged(many)) as connection:
        assert len((await list_tasks(connection, LISTED)).items) == 3000


async def test_a_list_of_a_wrong_type_is_empty() -> None:
    async with connected(paged("none")) as connection:
        assert (await list_tasks(connection, LISTED)).items == ()


@pytest.mark.parametrize(
    ("offer", "text"),
    [
        (CORE, "does not support listing its tasks"),
        (EXTENDED, "Tasks of 2026-07-28 cannot be listed"),
    ],
)
async def test_what_is_not_offered_is_not_asked_for(offer: TaskOffer, text: str) -> None:
    server = paged([])
    async with connected(server) as connection:
        with pytest.raises(UserError, match=text):
            await list_tasks(connection, offer)
    assert server.sent == []


async def test_a_refused_list_is_reported_with_the_servers_message() -> None:
    server = PlayedServer(lambda message: [error(message, -32603, "not today")])
    async with connected(server) as connection:
        with pytest.raises(UserError, match=r"(?s)refused tasks/list .*not today"):
            await list_tasks(connection, LISTED)


async def test_a_list_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.listing.LIMIT_S", 0.05)
    server = PlayedServer(lambda _message: [])
    async with connected(server) as connection:
        with pytest.raises(UserError, match="did not answer tasks/list within"):
            await list_tasks(connection, LISTED)
        await server.until_sent("notifications/cancelled")


async def test_a_connection_that_ends_meanwhile_is_reported_as_such() -> None:
    server = PlayedServer(lambda _message: [])
    async with connected(server) as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(_end_when_asked, server)
        with pytest.raises(anyio.ClosedResourceError):
            await list_tasks(connection, LISTED)


async def _end_when_asked(server: PlayedServer) -> None:
    await server.until_sent("tasks/list")
    server.end()

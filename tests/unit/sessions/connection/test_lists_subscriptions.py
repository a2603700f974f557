"""What a server is asked to tell of by itself, in each era."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import Agreement
from mcp_progress_monitor.protocol.messages import LOG_LEVEL_KEY
from mcp_progress_monitor.sessions.connection.lists import Subscriptions
from mcp_progress_monitor.sessions.transport.base import Loss
from mcp_progress_monitor.snapshots.settings import ServerSettings
from tests.patience import until
from tests.unit.sessions.playbook import (
    Message,
    PlayedServer,
    Script,
    by_method,
    connection_to,
    result,
)

HANDSHAKE = {"logging": {}, "resources": {"subscribe": True}, "tools": {"listChanged": True}}
OBLIGING = by_method(setLevel={}, subscribe={}, unsubscribe={})


class Reader:
    """One connection whose server is kept informed."""

    def __init__(self, script: Script, revision: str, capabilities: dict[str, Any]) -> None:
        self.server = PlayedServer(script)
        self.connection = connection_to(self.server)
        self.settings = ServerSettings()
        agreement = Agreement(revision, {}, capabilities, None)
        self._changed = anyio.Event()
        self.count = 0
        self.notifications = Subscriptions(
            self.connection, agreement, lambda: self.settings, self._note
        )

    def _note(self) -> None:
        self.count += 1
        self._changed.set()

    def set_level(self, level: Any) -> None:
        self.settings = ServerSettings(log_level=level)
        self.notifications.update()

    async def has_error(self) -> str:
        with anyio.fail_after(5):
            while self.notifications.error is None:
                self._changed = anyio.Event()
                await self._changed.wait()
        return self.notifications.error.as_line()


@contextlib.asynccontextmanager
async def reading(
    script: Script = OBLIGING, revision: str = "2025-11-25", **capabilities: Any
) -> AsyncIterator[Reader]:
    reader = Reader(script, revision, capabilities or HANDSHAKE)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.connection.run)
        await reader.connection.opened()
        tasks.start_soon(reader.notifications.run)
        yield reader
        reader.connection.end("the test is over")
        await reader.connection.over()
        tasks.cancel_scope.cancel()


async def test_a_log_level_is_asked_for_when_it_is_set() -> None:
    async with reading() as reader:
        reader.set_level("warning")
        sent = await reader.server.until_sent("logging/setLevel")
        reader.set_level("warning")
        reader.set_level("debug")
        await reader.server.until_count(2)
    assert sent["params"] == {"level": "warning"}
    assert [message["params"]["level"] for message in reader.server.sent] == ["warning", "debug"]


async def test_a_server_without_logging_is_not_asked() -> None:
    async with reading(resources={"subscribe": True}) as reader:
        reader.set_level("warning")
        reader.notifications.subscribe("demo://a", is_wanted=True)
        await reader.server.until_sent("resources/subscribe")
    assert reader.server.methods == ["resources/subscribe"]


async def test_resources_are_subscribed_to_and_given_up() -> None:
    async with reading() as reader:
        reader.notifications.subscribe("demo://a", is_wanted=True)
        await reader.server.until_sent("resources/subscribe")
        reader.notifications.subscribe("demo://a", is_wanted=False)
        sent = await reader.server.until_sent("resources/unsubscribe")
    assert sent["params"] == {"uri": "demo://a"}
    assert reader.notifications.subscriptions == ()


async def test_what_the_server_refuses_is_reported() -> None:
    async with reading(by_method(setLevel=-32602)) as reader:
        reader.set_level("debug")
        text = await reader.has_error()
    assert text == "The server refused logging/setLevel (-32602): no"


async def test_updates_are_counted_by_resource() -> None:
    def chatty(message: Message) -> list[Message]:
        updates: list[Message] = [
            {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}
            for params in (
                {"uri": "demo://a"},
                {"uri": "demo://b"},
                {"uri": "demo://a"},
                {"uri": 7},
            )
        ]
        return [*updates, result(message, {})]

    async with reading(chatty) as reader:
        reader.notifications.subscribe("demo://a", is_wanted=True)
        with anyio.fail_after(5):
            while (
                len(reader.notifications.updates) < 2 or reader.notifications.updates[-1].number < 2
            ):
                reader._changed = anyio.Event()  # noqa: SLF001  # this test's own
                await reader._changed.wait()  # noqa: SLF001  # idem
    assert [(each.uri, each.number) for each in reader.notifications.updates] == [
        ("demo://b", 1),
        ("demo://a", 2),
    ]


async def test_a_flood_of_updates_is_counted_but_seldom_published() -> None:
    def flooding(message: Message) -> list[Message]:
        method = "notifications/resources/updated"
        return [
            *(
                {"jsonrpc": "2.0", "method": method, "params": {"uri": f"demo://{n}"}}
                for n in range(3000)
            ),
            result(message, {}),
        ]

    async with reading(flooding) as reader:
        before = reader.count
        reader.notifications.subscribe("demo://0", is_wanted=True)
        await until(
            lambda: [each.uri for each in reader.notifications.updates[-1:]] == ["demo://2999"]
        )
        assert reader.count - before < 100
    newest = reader.notifications.updates
    assert [each.uri for each in newest] == [f"demo://{n}" for n in range(2000, 3000)]


async def test_in_2026_one_request_listens_for_all_that_is_wanted() -> None:
    async with reading(
        by_method(), "2026-07-28", tools={"listChanged": True}, resources={"subscribe": True}
    ) as reader:
        first = await reader.server.until_sent("subscriptions/listen")
        reader.notifications.subscribe("demo://a", is_wanted=True)
        await reader.server.until_count(3)
    cancel, second = reader.server.sent[1:3]
    assert first["params"]["notifications"] == {"toolsListChanged": True}
    assert cancel["params"]["requestId"] == first["id"]
    assert second["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["demo://a"],
    }


async def test_in_2026_nothing_is_listened_for_that_is_not_offered() -> None:
    async with reading(by_method(), "2026-07-28", tools={}) as reader:
        reader.set_level("error")
        await anyio.wait_all_tasks_blocked()
        assert reader.connection.outbox.peer.stamps[LOG_LEVEL_KEY] == "error"
        reader.set_level(None)
        await anyio.wait_all_tasks_blocked()
        assert LOG_LEVEL_KEY not in reader.connection.outbox.peer.stamps
    assert reader.server.sent == []


async def test_a_server_that_refuses_to_be_listened_to_is_left_alone() -> None:
    async with reading(
        by_method(listen=-32601), "2026-07-28", tools={"listChanged": True}
    ) as reader:
        text = await reader.has_error()
    assert text == "The server refused subscriptions/listen (-32601): no"
    assert reader.server.methods == ["subscriptions/listen"]


async def test_a_subscription_that_the_server_ends_is_begun_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.lists._PAUSES_S", (0.0, 60.0))

    def ending(message: Message) -> list[Message]:
        params = {"requestId": message.get("id")}
        return [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}]

    async with reading(ending, "2026-07-28", tools={"listChanged": True}) as reader:
        await reader.server.until_count(2)
    assert reader.server.methods[:2] == ["subscriptions/listen"] * 2
    assert reader.notifications.error is None


async def test_a_server_whose_stream_alone_was_lost_is_listened_to_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.connection.lists._PAUSES_S", (0.0, 60.0))
    async with reading(by_method(), "2026-07-28", tools={"listChanged": True}) as reader:
        await reader.server.until_sent("subscriptions/listen")
        request = next(number for number in range(20) if reader.connection.is_due(number))
        reader.connection.lost(request, Loss("lost", ErrorDetails("The response ended", "here")))
        await reader.server.until_count(2)
    assert reader.server.methods[:2] == ["subscriptions/listen"] * 2
    assert reader.notifications.error is None


async def test_nothing_is_listened_for_once_the_connection_ends() -> None:
    async with reading(
        by_method(), "2026-07-28", tools={}, resources={"subscribe": True}
    ) as reader:
        await anyio.wait_all_tasks_blocked()
        reader.connection.end("enough")
        reader.notifications.subscribe("demo://a", is_wanted=True)
        await reader.connection.over()
        await anyio.wait_all_tasks_blocked()
    assert reader.server.sent == []

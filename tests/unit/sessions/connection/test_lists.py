"""Lists of tools, resources and prompts: pages, changes, and servers that get them wrong."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.protocol.offers import ALL_LISTS
from mcp_progress_monitor.sessions.connection import listing
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.connection.lists import ServerLists
from tests.unit.sessions.playbook import (
    Message,
    PlayedServer,
    Script,
    by_method,
    connection_to,
    error,
    result,
)

ALL: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


class Kept:
    """Lists that are kept, and when they change."""

    def __init__(
        self, server: PlayedServer, connection: Connection, found: Message, keeps: frozenset[str]
    ) -> None:
        self.server = server
        self.connection = connection
        self.lists = ServerLists(connection, found, self._note, keeps)
        self._count = 0
        self._changed = anyio.Event()

    def _note(self) -> None:
        self._count += 1
        self._changed.set()

    async def until_changed(self, count: int) -> None:
        with anyio.fail_after(5):
            while self._count < count:
                self._changed = anyio.Event()
                await self._changed.wait()


@contextlib.asynccontextmanager
async def kept(
    script: Script,
    capabilities: dict[str, Any] | None = None,
    *,
    closes_streams: bool = False,
    keeps: frozenset[str] = ALL_LISTS,
) -> AsyncIterator[Kept]:
    server = PlayedServer(script)
    connection = connection_to(server)
    connection.outbox.closes_streams = closes_streams
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        of = Kept(server, connection, capabilities or ALL, keeps)
        tasks.start_soon(of.lists.keep)
        yield of
        tasks.cancel_scope.cancel()


async def test_all_lists_that_the_server_has_are_read() -> None:
    def script(message: Message) -> list[Message]:
        content = {
            "tools/list": {"tools": [tool("a")]},
            "resources/list": {"resources": [{"uri": "x:1", "name": "r"}]},
            "prompts/list": {"prompts": [{"name": "p"}]},
        }
        return [result(message, content[message["method"]])]

    async with kept(script) as of:
        await of.until_changed(3)
        assert [tool.name for tool in of.lists.tools] == ["a"]
        assert [resource.uri for resource in of.lists.resources] == ["x:1"]
        assert [prompt.name for prompt in of.lists.prompts] == ["p"]
        assert of.lists.error is None


async def test_lists_that_the_server_does_not_have_are_not_asked_for() -> None:
    async with kept(by_method(list={"prompts": []}), {"prompts": {}}) as of:
        await of.until_changed(1)
        assert of.server.methods == ["prompts/list"]


async def test_pages_are_followed_to_the_last() -> None:
    def script(message: Message) -> list[Message]:
        page = int(message.get("params", {}).get("cursor", "0"))
        more = {"nextCursor": str(page + 1)} if page < 3 else {}
        return [result(message, {"tools": [tool(f"t{page}")], **more})]

    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert [tool.name for tool in of.lists.tools] == ["t0", "t1", "t2", "t3"]
        assert "params" not in of.server.sent[0]


@pytest.mark.parametrize("cursors", [["a", "a"], ["a", "b", "a"], ["", ""]])
async def test_pages_that_go_in_circles_are_left_and_reported_of(cursors: list[str]) -> None:
    given = iter(cursors)

    def script(message: Message) -> list[Message]:
        return [result(message, {"tools": [tool("t")], "nextCursor": next(given)})]

    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert len(of.lists.tools) == len(cursors)
        assert of.lists.error is not None
        assert "does not end" in of.lists.error.detail


async def test_pages_without_end_are_left_and_reported_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_PAGES", 10)

    def script(message: Message) -> list[Message]:
        return [result(message, {"tools": [], "nextCursor": str(message["id"])})]

    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert len(of.server.sent) == 10
        assert of.lists.error is not None


async def test_an_announced_change_is_fetched() -> None:
    def script(message: Message) -> list[Message]:
        return [result(message, {"tools": [tool(f"t{message['id']}")]})]

    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        of.server.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await of.until_changed(2)
        assert [tool.name for tool in of.lists.tools] == ["t2"]


async def test_a_server_that_announces_a_change_with_each_list_is_not_asked_all_the_time() -> None:
    def script(message: Message) -> list[Message]:
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        return [changed, result(message, {"tools": []})]

    async with kept(script, {"tools": {}}) as of:
        await anyio.sleep(0.3)
        assert len(of.server.sent) <= 3


async def test_a_refused_list_is_an_error_and_the_others_are_read() -> None:
    def script(message: Message) -> list[Message]:
        if message["method"] == "tools/list":
            return [error(message, -32603, "broken today")]
        return [result(message, {"prompts": [{"name": "p"}]})]

    async with kept(script, {"tools": {}, "prompts": {}}) as of:
        await of.until_changed(2)
        assert of.lists.error is not None
        assert of.lists.error.what == "The server refused tools/list (-32603)"
        assert of.lists.error.detail == "broken today"
        assert len(of.lists.prompts) == 1


async def test_an_error_is_gone_once_the_list_was_read() -> None:
    def script(message: Message) -> list[Message]:
        if message["id"] == 1:
            return [error(message, -32603)]
        return [result(message, {"tools": []})]

    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert of.lists.error is not None
        of.server.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await of.until_changed(2)
        assert of.lists.error is None


async def test_a_list_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LIMIT_S", 0.02)
    async with kept(by_method(), {"tools": {}}) as of:
        await of.until_changed(1)
        assert of.lists.error is not None
        assert "did not answer tools/list" in of.lists.error.what
        await of.server.until_sent("notifications/cancelled")


async def test_items_that_cannot_be_read_are_reported_and_cost_the_others_nothing() -> None:
    script = by_method(list={"tools": [tool("good"), {"description": "no name"}, 7]})
    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert [tool.name for tool in of.lists.tools] == ["good"]
        assert of.lists.error is not None
        assert "tools 2" in of.lists.error.detail


async def test_a_list_larger_than_a_megabyte_is_read_whole() -> None:
    long = {"description": "d" * 1000}
    script = by_method(list={"tools": [tool(f"t{n}") | long for n in range(1500)]})
    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert len(of.lists.tools) == 1500
        assert of.lists.error is None


@pytest.mark.parametrize("padding", [0, 1_200_000])
async def test_a_schema_nested_too_deep_costs_no_tool_its_name(padding: int) -> None:
    schema: dict[str, Any] = {"description": "d" * padding}
    for _ in range(300):
        schema = {"type": "object", "properties": {"a": schema}}
    script = by_method(list={"tools": [tool("a"), {"name": "deep", "inputSchema": schema}]})
    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert [tool.name for tool in of.lists.tools] == ["a", "deep"]
        assert of.lists.error is not None
        assert of.lists.error.detail.startswith('tools 2: "inputSchema" is a value of ')
        assert of.lists.error.detail.endswith("nested too deeply to decode")


async def test_a_large_list_that_is_broken_inside_is_an_error_and_no_defect() -> None:
    def script(message: Message) -> list[bytes]:
        long = tool("a") | {"description": "d" * 1_200_000}
        raw = json.dumps(result(message, {"tools": [long]})).encode()
        return [raw.replace(b'"type":', b'"type" ')]

    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        assert of.lists.error is not None
        assert of.lists.error.what == "The reply to tools/list cannot be read"


@pytest.mark.parametrize("has_headers", [True, False])
async def test_tools_whose_marks_for_headers_are_wrong_are_listed_and_reported_of(
    has_headers: bool,
) -> None:
    mark = {"x-mcp-header": "two words", "type": "string"}
    marked = {"name": "marked", "inputSchema": {"type": "object", "properties": {"a": mark}}}
    script = by_method(list={"tools": [tool("plain"), marked]})
    async with kept(script, {"tools": {}}, closes_streams=has_headers) as of:
        await of.until_changed(1)
        assert [found.name for found in of.lists.tools] == ["plain", "marked"]
        error = of.lists.error
    if not has_headers:  # nothing but 2026-07-28 over HTTP has headers of arguments
        assert error is None
        return
    assert error is not None
    assert error.detail.startswith('marked: "x-mcp-header" of "a" is "two words"')
    assert "called without the headers" in error.detail


async def test_tools_are_listed_again_once_for_all_who_ask_at_the_same_time() -> None:
    listed: list[str] = []

    def answer(message: Message) -> list[Message]:
        listed.append(message["method"])
        return [result(message, {"tools": [tool(f"t{len(listed)}")]})]

    async with kept(answer, {"tools": {}}) as of:
        await of.until_changed(1)
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(of.lists.reload_tools)
        assert [found.name for found in of.lists.tools] == ["t2"]
        await of.lists.reload_tools()
    assert listed == ["tools/list"] * 3


async def test_a_list_that_is_not_kept_is_read_only_when_it_is_asked_for() -> None:
    def script(message: Message) -> list[Message]:
        content = {
            "resources/templates/list": {
                "resourceTemplates": [{"uriTemplate": "x:{n}", "name": "t", "mimeType": "a/b"}, {}]
            },
            "tools/list": {"tools": [tool("a")]},
        }
        return [result(message, content[message["method"]])]

    async with kept(script, keeps=frozenset()) as of:
        await of.lists.load_tools()
        assert of.server.sent == []
        listed = await of.lists.read_now("resourceTemplates")
        (template,) = listed.items
        assert (template.uri_template, template.mime_type) == ("x:{n}", "a/b")
        assert listed.error is not None
        assert '"uriTemplate" is' in listed.error.detail
        assert of.lists.error is None
        await of.lists.reload_tools()
        assert [tool.name for tool in of.lists.tools] == ["a"]


async def test_nothing_is_listed_while_the_server_works_on_a_call() -> None:
    def script(message: Message) -> list[Message]:
        if message["method"] == "tools/call":
            return []
        return [result(message, {"tools": [tool("a")]})]

    async with kept(script, {"tools": {}}) as of:
        await of.until_changed(1)
        outbox = of.connection.outbox
        exchange = outbox.ask("tools/call", {"name": "a"})
        await of.server.until_sent("tools/call")
        of.server.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await anyio.sleep(0.3)  # longer than the pause before lists are read again
        assert of.server.methods == ["tools/list", "tools/call"]
        of.server.say(result({"id": exchange.outgoing.id}, {"content": []}))
        await of.until_changed(2)
        assert of.server.methods == ["tools/list", "tools/call", "tools/list"]


async def test_only_the_lists_that_are_wanted_are_read() -> None:
    script = by_method(list={"tools": [tool("a")]})
    async with kept(script, keeps=frozenset({"tools"})) as of:
        await of.lists.finished()
        assert of.server.methods == ["tools/list"]


async def test_who_waits_for_all_lists_waits_no_longer_than_for_the_last() -> None:
    async with kept(by_method(list=-32603)) as of:
        with anyio.fail_after(5):
            await of.lists.finished()
        assert len(of.server.methods) == 3

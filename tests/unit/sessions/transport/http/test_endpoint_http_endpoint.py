"""What the tasks of one HTTP connection share."""

import json
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.facts import JsonObject
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.sessions.transport.base import Loss
from mcp_progress_monitor.sessions.transport.http.endpoint import (
    HttpEndpoint,
    HttpMessage,
    read_http_message,
)
from mcp_progress_monitor.snapshots.definitions import HttpDefinition

SCHEMA = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
STAMP = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


class Line:
    """Requests that are due until they are lost."""

    def __init__(self, *due: int) -> None:
        self.due = set(due)
        self.losses: list[tuple[int, Loss]] = []

    def is_due(self, request: int) -> bool:
        return request in self.due

    def lost(self, request: int, loss: Loss) -> None:
        self.losses.append((request, loss))

    def tool_schema(self, name: str) -> JsonObject | None:
        return SCHEMA if name == "weather" else None

    async def list_tools(self) -> None:
        raise NotImplementedError


async def stays(_reason: str) -> bool:
    """There is no other transport to try."""
    return False


def site(*due: int, **fields: Any) -> tuple[HttpEndpoint, Line]:
    line = Line(*due)
    definition = HttpDefinition(name="s", url="http://me:pw@host/mcp", **fields)
    return HttpEndpoint(definition, Framer("s#1", FrameNumbers()), Clock(), [], line, stays), line


def letter(method: str, **params: Any) -> HttpMessage:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return read_http_message(json.dumps(message).encode(), 1)


async def events(of: HttpEndpoint, count: int) -> list[dict[str, Any]]:
    lists = [frames for _ in range(count) for frames in await of.inbound.next()]
    return [json.loads(frame.raw) for frames in lists for frame in frames]


def test_the_session_is_named_with_all_but_the_first_message() -> None:
    of, _ = site()
    of.session, of.revision = "abc", "2025-11-25"
    assert "Mcp-Session-Id" not in of.headers("*/*", letter("initialize"))
    assert of.headers("*/*", letter("ping"))["Mcp-Session-Id"] == "abc"
    assert of.headers("text/event-stream") == {
        "Accept": "text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
        "Mcp-Session-Id": "abc",
    }


def test_marked_arguments_go_with_calls_of_tools_that_were_listed() -> None:
    of, _ = site()
    arguments = {"region": "north"}
    known = letter("tools/call", name="weather", arguments=arguments, _meta=STAMP)
    unknown = letter("tools/call", name="other", arguments=arguments, _meta=STAMP)
    assert of.headers("*/*", known)["Mcp-Param-Region"] == "north"
    assert "Mcp-Param-Region" not in of.headers("*/*", unknown)


@pytest.mark.parametrize(
    ("agreed", "params", "expected"),
    [
        (None, {"_meta": STAMP}, True),
        ("2026-07-28", {}, True),
        ("2025-11-25", {}, False),
        (None, {}, False),
    ],
)
def test_a_message_is_of_the_era_that_it_is_stamped_with_or_that_was_agreed(
    agreed: str | None, params: dict[str, Any], expected: bool
) -> None:
    of, _ = site()
    of.revision = agreed
    assert of.is_per_request(letter("tools/list", **params)) is expected


def test_others_are_requests_that_are_open_and_due() -> None:
    of, line = site(1, 2)
    for request in (1, 2, 3):
        of.begin(request)
    assert of.others()
    assert of.others(1)
    of.end(2)
    assert not of.others(1)
    line.due.clear()
    assert not of.others()


async def test_a_lost_request_is_reported_before_who_waits_for_it_and_not_after_its_reply() -> None:
    of, line = site(1)
    loss = Loss("lost", ErrorDetails("It broke", "http://host"))
    of.lose(1, loss)
    of.lose(2, loss)
    assert line.losses == []
    (reported,) = await events(of, 2)
    assert (reported["event"], reported["request"], reported["outcome"]) == (
        "call_ended",
        1,
        "lost",
    )
    assert line.losses == [(1, loss)]


async def test_a_connection_fails_once_after_all_that_came_before() -> None:
    of, _ = site()
    of.inbound.record_event("one")
    of.session = "abc"
    of.forget()
    of.unreachable(ErrorDetails("Nothing listens there"))
    assert "Mcp-Session-Id" not in of.headers("*/*")
    assert of.failure is not None
    assert of.failure.what == "The server no longer knows the session"
    assert of.failure.where == "http://host/mcp"
    assert [reported["event"] for reported in await events(of, 1)] == ["one"]
    with pytest.raises(anyio.EndOfStream):
        await events(of, 1)


def test_an_older_server_is_known_by_its_definition() -> None:
    assert not site()[0].is_legacy_sse
    assert site(transport="sse")[0].is_legacy_sse

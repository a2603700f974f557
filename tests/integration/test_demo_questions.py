"""The questions and tasks of the demo servers over a real pipe, and with the official client."""

from __future__ import annotations

import itertools
import json
import sys
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import InputRequiredRoundsExceededError

from tests.integration.test_demo_servers import ROOT, Server, start
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.client import ClientRequestContext

__all__ = ["start"]  # a fixture

CORE = "2025-11-25"
PER_REQUEST = "2026-07-28"
STAMPS = {
    "io.modelcontextprotocol/protocolVersion": PER_REQUEST,
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    },
}
_NUMBERS = itertools.count(1)


class Host:
    """What the official client answers, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.logged: list[str] = []

    async def elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        self.asked.append(params.message)
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            return mcp_types.ElicitResult(action="accept")
        return mcp_types.ElicitResult(action="accept", content={"name": "Ann"})

    async def sample(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult:
        self.asked.append(f"{len(params.messages)} messages")
        text = mcp_types.TextContent(type="text", text="Hello")
        return mcp_types.CreateMessageResult(role="assistant", content=text, model="test-model")

    async def roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult:
        self.asked.append("roots")
        root = mcp_types.Root.model_validate({"uri": "file:///tmp"})
        return mcp_types.ListRootsResult(roots=[root])

    async def log(self, params: mcp_types.LoggingMessageNotificationParams) -> None:
        self.logged.append(params.level)


def _client(host: Host, version: str, *options: str) -> Client:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.servers", "--protocol-version", version, *options],
        cwd=ROOT,
    )
    return Client(
        parameters,
        mode="legacy" if version == CORE else "auto",
        elicitation_callback=host.elicit,
        sampling_callback=host.sample,
        list_roots_callback=host.roots,
        logging_callback=host.log,
    )


def _told(result: Any) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(result.content[1].text)
    return told


@pytest.mark.anyio
@pytest.mark.parametrize("version", [CORE, PER_REQUEST])
async def test_the_official_client_answers_every_kind_of_question(version: str) -> None:
    host = Host()
    with anyio.fail_after(PATIENCE_S):
        async with _client(host, version) as client:
            quick: dict[str, Any] = {"complete_after_s": 0}
            for tool, arguments in (
                ("ask_form", {"fields": "all"}),
                ("ask_url", quick),
                ("ask_sampling", {"content": "image"}),
                ("ask_roots", {}),
                ("ask_together", {"count": 4}),
                ("ask_rounds", {"rounds": 9}),
                ("ask_while_working", {"interval_s": 0, "questions": 2}),
            ):
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, tool
                assert all("result" in each["reply"] for each in _told(result)), tool
    assert len(host.asked) == 4 + 4 + 9 + 2


@pytest.mark.anyio
async def test_the_official_client_sends_a_state_back_as_it_was() -> None:
    host = Host()
    with anyio.fail_after(PATIENCE_S):
        async with _client(host, PER_REQUEST) as client:
            for state_is in ("awkward", "plain", "long"):
                result = await client.call_tool("ask_rounds", {"rounds": 2, "state_is": state_is})
                assert not result.is_error
            assert not (await client.call_tool("state_only", {"interval_s": 0})).is_error


@pytest.mark.anyio
async def test_the_official_client_gives_up_after_its_rounds() -> None:
    host = Host()
    with anyio.fail_after(PATIENCE_S):
        async with _client(host, PER_REQUEST) as client:
            with pytest.raises(InputRequiredRoundsExceededError):
                await client.call_tool("ask_rounds", {"rounds": 100})
    assert len(host.asked) >= 10


def _task_call(server: Server, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool of the extension and return its task."""
    params = {"name": tool, "arguments": arguments}
    task: dict[str, Any] = _reply(server, "tools/call", params)["result"]
    return task


def _reply(server: Server, method: str, params: dict[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": f"request-{next(_NUMBERS)}", "method": method}
    server.write(json.dumps({**message, "params": {**params, "_meta": STAMPS}}).encode() + b"\n")
    return server.reply()


def _state(server: Server, task_id: str) -> dict[str, Any]:
    state: dict[str, Any] = _reply(server, "tasks/get", {"taskId": task_id})["result"]
    return state


@pytest.mark.parametrize("end", ["killed", "closed"])
def test_a_task_outlives_its_process(start: type[Server], tmp_path: Path, end: str) -> None:
    options = ("--state-dir", str(tmp_path))
    server = start(*options)
    task_id = _task_call(server, "task_work", steps=200, interval_s=0.01)["taskId"]
    stood = ""
    while not stood.startswith("Step"):
        stood = _state(server, task_id)["statusMessage"]
    if end == "killed":
        server.kill()
    else:
        assert server.hang_up()[0] == 0
    server = start(*options)
    later = _state(server, task_id)
    assert later["status"] in {"working", "completed"}
    while (later := _state(server, task_id))["status"] == "working":
        step = int(later["statusMessage"].split()[1])
        assert step >= int(stood.split()[1])
    assert "all 200" in later["result"]["content"][0]["text"]


def test_a_server_without_tasks_answers_plainly(start: type[Server]) -> None:
    server = start("--profile", "no-tasks")
    assert _task_call(server, "task_required", steps=1, interval_s=0)["resultType"] == "complete"
    assert _reply(server, "tasks/get", {"taskId": "any"})["error"]["code"] == -32601


def test_a_server_can_leave_listeners_without_acknowledgement(start: type[Server]) -> None:
    server = start("--profile", "unacknowledged")
    params = {"notifications": {"toolsListChanged": True}, "_meta": STAMPS}
    listen = {"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params}
    server.write(json.dumps(listen).encode() + b"\n")
    assert "resultType" in _reply(server, "tools/list", {})["result"]
    code, rest, _ = server.hang_up()
    assert (code, b"acknowledged" in rest) == (0, False)


def test_a_running_task_does_not_hold_up_the_end(start: type[Server]) -> None:
    server = start()
    _task_call(server, "task_never_ends", interval_s=0.01, ignores_cancel=True)
    assert server.hang_up()[0] == 0

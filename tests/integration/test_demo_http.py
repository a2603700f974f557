"""The demo server over HTTP as a process, with the official client as the judge."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client
from mcp.client import streamable_http
from mcp.client.auth import OAuthClientProvider
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tests.integration.http_servers import http_server, self_signed
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND
from tests.servers.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
BACK = "http://127.0.0.1:3030/callback"


class Ticks(list[float]):
    """Takes progress from the official client."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.append(progress)


def _text(result: Any) -> str:
    (content,) = result.content
    assert isinstance(content.text, str)
    return content.text


async def _counted(client: Client, steps: int = 5, interval_s: float = 0.01) -> Ticks:
    ticks = Ticks()
    arguments = {"steps": steps, "interval_s": interval_s}
    result = await client.call_tool("known_total", arguments, progress_callback=ticks)
    assert _text(result) == f"Finished all {steps} steps."
    return ticks


@ERAS
@pytest.mark.parametrize("reply", ["sse", "json"])
async def test_the_official_client_lists_reads_and_calls(mode: Any, reply: str) -> None:
    async with http_server("--reply", reply) as server, Client(server.url, mode=mode) as client:
        tools = await client.list_tools()
        prompts = await client.list_prompts()
        resource = (await client.list_resources()).resources[0]
        read = await client.read_resource(resource.uri)
        result = await client.call_tool("known_total", {"steps": 2, "interval_s": 0})
        if reply == "sse":
            assert await _counted(client) == [1, 2, 3, 4, 5]
    assert {tool.name for tool in tools.tools} >= {tool.name for tool in TOOLS}
    assert prompts.prompts
    assert read.contents
    assert _text(result) == "Finished all 2 steps."


@ERAS
async def test_the_official_client_cancels(mode: Any) -> None:
    async with http_server() as server, Client(server.url, mode=mode) as client:
        ticks = Ticks()
        with anyio.move_on_after(PATIENCE_S) as scope:

            async def stop(progress: float, total: float | None, message: str | None) -> None:
                await ticks(progress, total, message)
                scope.cancel()

            await client.call_tool("known_total", {"steps": 10**6}, progress_callback=stop)
        assert scope.cancelled_caught
        assert ticks
        assert await _counted(client) == [1, 2, 3, 4, 5]


@ERAS
async def test_the_official_client_is_asked(mode: Any) -> None:
    asked = []

    async def sample(context: Any, params: Any) -> mcp_types.CreateMessageResult:
        asked.append(params)
        content = mcp_types.TextContent(type="text", text="Hello")
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="test")

    async with (
        http_server() as server,
        Client(server.url, mode=mode, sampling_callback=sample) as client,
    ):
        result = await client.call_tool("ask_sampling", {})
    assert len(asked) == 1
    assert not result.is_error


async def test_the_official_client_comes_back_to_a_stream_that_was_cut() -> None:
    options = ("--resumable", "--break-after", "3", "--retry", "20")
    async with http_server(*options) as server, Client(server.url, mode="legacy") as client:
        assert await _counted(client, 10) == list(range(1, 11))
        assert await _counted(client, 10) == list(range(1, 11))


async def test_a_call_goes_on_after_the_server_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The official client tries only twice to come back, which may be before the server has.
    monkeypatch.setattr(streamable_http, "MAX_RECONNECTION_ATTEMPTS", 1000)
    options = ("--resumable", "--retry", "100", "--state-dir", str(tmp_path))
    ticks, some = Ticks(), anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        await ticks(progress, total, message)
        if len(ticks) == 3:
            some.set()

    async with http_server(*options) as server, Client(server.url, mode="legacy") as client:
        async with anyio.create_task_group() as group:

            async def kill() -> None:
                await some.wait()
                server.kill()
                await server.restart()

            group.start_soon(kill)
            arguments = {"steps": 12, "interval_s": 0.1}
            result = await client.call_tool("known_total", arguments, progress_callback=hear)
        assert _text(result) == "Finished all 12 steps."
        assert await _counted(client) == [1, 2, 3, 4, 5]
    assert ticks == list(range(1, 13))


class Memory:
    """Keeps what the official client gets, and counts tokens."""

    def __init__(self) -> None:
        self.tokens: list[OAuthToken] = []
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens[-1] if self.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens.append(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Browser:
    """Goes where the official client sends the user, and brings back what is told there."""

    def __init__(self) -> None:
        self.visits = 0
        self._query: dict[str, list[str]] = {}

    async def go(self, address: str) -> None:
        self.visits += 1
        async with httpx2.AsyncClient() as web:
            answer = await web.get(address)
        assert answer.status_code == 302
        self._query = parse_qs(urlsplit(answer.headers["location"]).query)

    async def come_back(self) -> AuthorizationCodeResult:
        found = {name: values[0] for name, values in self._query.items()}
        return AuthorizationCodeResult(
            code=found.get("code", ""), state=found.get("state"), iss=found.get("iss")
        )


@asynccontextmanager
async def _signed_in(
    url: str, memory: Memory, browser: Browser, mode: Any
) -> AsyncIterator[Client]:
    metadata = OAuthClientMetadata(client_name="Test", redirect_uris=[AnyUrl(BACK)])
    auth = OAuthClientProvider(url, metadata, memory, browser.go, browser.come_back)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=PATIENCE_S) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode) as client,
    ):
        yield client


@ERAS
async def test_the_official_client_signs_in(mode: Any) -> None:
    memory, browser = Memory(), Browser()
    async with (
        http_server("--oauth") as server,
        _signed_in(server.url, memory, browser, mode) as client,
    ):
        assert await _counted(client) == [1, 2, 3, 4, 5]
    assert browser.visits == 1
    assert memory.client is not None


async def test_the_official_client_gets_another_token_when_one_runs_out() -> None:
    memory, browser = Memory(), Browser()
    async with (
        http_server("--oauth", "--token-lifetime", "2") as server,
        _signed_in(server.url, memory, browser, "2026-07-28") as client,
    ):
        await _counted(client)
        await anyio.sleep(2.1)  # what runs out does so by the clock alone
        await _counted(client)
    assert browser.visits == 1
    assert len(memory.tokens) > 1


async def test_a_bearer_token_opens_the_server() -> None:
    headers = {"Authorization": "Bearer secret"}
    async with (
        http_server("--bearer", "secret") as server,
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as web,
        Client(streamable_http_client(server.url, http_client=web)) as client,
    ):
        assert await _counted(client) == [1, 2, 3, 4, 5]


async def test_the_official_client_of_the_older_transport_gets_along() -> None:
    async with (
        http_server("--sse") as server,
        Client(sse_client(server.url), mode="legacy") as client,
    ):
        assert await _counted(client) == [1, 2, 3, 4, 5]


async def test_the_official_client_gets_along_when_encrypted(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=certificate)
    async with http_server("--tls", certificate, key) as server:
        assert server.url.startswith("https://")
        for mode in ("legacy", "2026-07-28"):
            async with (
                httpx2.AsyncClient(verify=context, timeout=PATIENCE_S) as web,
                Client(streamable_http_client(server.url, http_client=web), mode=mode) as client,
            ):
                assert await _counted(client) == [1, 2, 3, 4, 5]


def _ended(*options: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "--http", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_a_port_in_use_is_reported_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = _ended(str(port))
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"demo server: port {port} is in use")
    assert ended.stderr.count("\n") == 1


def test_a_certificate_that_is_none_is_reported_in_one_line(tmp_path: Path) -> None:
    ended = _ended("0", "--tls", str(tmp_path / "no.pem"), str(tmp_path / "no.key"))
    assert ended.returncode == 1
    assert ended.stderr.startswith("demo server: cannot serve https with")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_it_ends_at_once_and_quietly_whatever_is_open(number: int, code: int) -> None:
    async with http_server() as server:
        with socket.create_connection(("127.0.0.1", server.port)) as half_open:
            half_open.sendall(b"POST /mcp HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf")
            async with httpx2.AsyncClient(timeout=PATIENCE_S) as web:
                assert (await web.get(server.url)).status_code == 400
            server.process.send_signal(number)
            with anyio.fail_after(PATIENCE_S):
                stderr = await anyio.to_thread.run_sync(_rest_of_stderr, server.process)
    assert (server.process.returncode, stderr) == (code, "")


def _rest_of_stderr(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    rest = process.stderr.read()
    process.wait()
    return rest

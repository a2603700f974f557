"""Real clients use a server that needs a sign-in, through a tap that signs in."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.secrets.token_store import FILE_NAME
from mcp_progress_monitor.snapshots.definitions import OAuthClient
from mcp_progress_monitor.snapshots.servers import SignIn
from mcp_progress_monitor.tap_http.program import SignInOptions
from tests.integration.http_servers import http_server
from tests.unit.tap_http.tapped import Tapped, tapped

STEPS = {"steps": 3, "interval_s": 0.01}


class Browser:
    """A user who opens each page at once."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self._news, self._asked = anyio.create_memory_object_stream[str](100)
        self.options = SignInOptions(OAuthClient(), self._lines)

    def _lines(self, sign_in: SignIn) -> Sequence[str]:
        self.pages.append(sign_in.url)
        self._news.send_nowait(sign_in.url)
        return ["Sign in"]

    async def run(self) -> None:
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            async for url in self._asked:
                await browser.get(url)

    def close(self) -> None:
        self._news.close()
        self._asked.close()


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    browser = Browser()
    async with anyio.create_task_group() as group:
        group.start_soon(browser.run)
        try:
            yield browser
        finally:
            group.cancel_scope.cancel()
            browser.close()


async def called(tap: Tapped, mode: Any = "auto") -> list[float]:
    """The progress of a call that the official client makes."""
    ticks: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        ticks.append(progress)

    async with Client(tap.url, mode=mode) as client:
        result = await client.call_tool("known_total", STEPS, progress_callback=hear)
    assert not result.is_error
    return ticks


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_needs_no_sign_in(mode: Any, tmp_path: Path) -> None:
    async with http_server("--oauth") as server, browsing() as browser:
        async with tapped(server.url, tmp_path, sign_in=browser.options) as tap:
            assert await called(tap, mode) == [1, 2, 3]
        async with tapped(server.url, tmp_path, sign_in=browser.options) as again:
            assert await called(again, mode) == [1, 2, 3]
    assert len(browser.pages) == 1
    record = next(iter(json.loads((tmp_path / FILE_NAME).read_text())["signIns"].values()))
    secrets = [record["tokens"][name].encode() for name in ("access_token", "refresh_token")]
    written = tap.recording.read_bytes() + again.recording.read_bytes()
    assert not [secret for secret in secrets if secret in written]


async def test_a_token_that_expires_is_refreshed_behind_the_client(tmp_path: Path) -> None:
    async with (
        http_server("--oauth", "--token-lifetime", "2") as server,
        browsing() as browser,
        tapped(server.url, tmp_path, sign_in=browser.options) as tap,
    ):
        await called(tap)
        before = (tmp_path / FILE_NAME).read_text()
        await anyio.sleep(2.5)  # the token's own time, which nothing tells of
        assert await called(tap) == [1, 2, 3]
        assert (tmp_path / FILE_NAME).read_text() != before
    assert len(browser.pages) == 1
    assert {e["status"] for e in tap.events if e["event"] == "http_response"} <= {
        200,
        202,
        204,
        405,
    }


async def test_a_tap_that_may_not_sign_in_does_not_start(tmp_path: Path) -> None:
    async with http_server("--oauth", "--oauth-deny") as server, browsing() as browser:
        with pytest.raises(UserError) as caught:
            async with tapped(server.url, tmp_path, sign_in=browser.options):
                pass
    assert caught.value.details.what == "The sign-in was denied"
    assert not (tmp_path / "recordings").exists()


def _command(url: str, folder: Path) -> list[str]:
    program = [sys.executable, "-m", "mcp_progress_monitor", "tap", "--data-dir", str(folder)]
    return [*program, "--to", url, "--oauth", "--listen", "0"]


async def test_the_command_says_where_to_sign_in_and_then_the_url_for_clients(
    tmp_path: Path,
) -> None:
    async with (
        http_server("--oauth") as server,
        await anyio.open_process(
            _command(server.url, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process,
    ):
        assert process.stderr is not None
        assert process.stdout is not None
        said = b""
        while b"code_challenge" not in said or not said.endswith(b"\n"):
            said += await process.stderr.receive()
        page = next(line for line in said.decode().splitlines() if "code_challenge" in line)
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            await browser.get(page.partition(": ")[2].strip())
        own = (await process.stdout.receive()).decode().strip()
        async with Client(own) as client:
            assert [tool.name for tool in (await client.list_tools()).tools]
        process.terminate()
        assert await process.wait() == 0
    assert f"Open this URL of 127.0.0.1:{server.port} in".encode() in said


async def test_the_command_ends_while_it_waits_for_the_user(tmp_path: Path) -> None:
    async with http_server("--oauth") as server:
        command = _command(server.url, tmp_path)
        async with await anyio.open_process(command, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            said = b""
            while b"code_challenge" not in said:
                said += await process.stderr.receive()
            process.terminate()
            assert await process.wait() == 0

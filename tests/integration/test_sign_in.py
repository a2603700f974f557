"""Signing in at a real authorization server: asked once, kept, renewed, denied, cancelled."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.secrets.token_store import FILE_NAME
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.integration.commands import complaints
from tests.integration.http_servers import http_server
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class User:
    """Opens each page that a monitor asks for, in a browser of their own."""

    def __init__(self, engine: Engine) -> None:
        self.pages: list[str] = []
        self._engine = engine
        self._news, self._asked = anyio.create_memory_object_stream[str](100)
        engine.subscribe(self._on_update)

    def _on_update(self, update: Update) -> None:
        for name in update.servers:
            sign_in = self._engine.servers.snapshot(name).sign_in
            if sign_in is not None and sign_in.url not in self.pages:
                self.pages.append(sign_in.url)
                self._news.send_nowait(sign_in.url)

    async def next_page(self) -> str:
        return await self._asked.receive()

    async def run(self) -> None:
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            while True:
                await browser.get(await self.next_page())

    def close(self) -> None:
        self._news.close()
        self._asked.close()


@asynccontextmanager
async def monitoring(
    url: str, folder: Path | None, *, signs_in: bool = True
) -> AsyncIterator[tuple[Engine, User]]:
    async with Engine(folder=folder) as engine, anyio.create_task_group() as group:
        user = User(engine)
        if signs_in:
            group.start_soon(user.run)
        engine.servers.add(HttpDefinition(name="remote", url=url, auth="oauth"))
        yield engine, user
        group.cancel_scope.cancel()
        user.close()


async def _called(engine: Engine) -> bytes:
    arguments = {"steps": 3, "interval_s": 0.01}
    params = {"name": "known_total", "arguments": arguments}
    return (await engine.calls.make(Call("remote", "tools/call", params))).raw


async def test_the_user_signs_in_once_and_the_next_program_needs_none(tmp_path: Path) -> None:
    async with http_server("--oauth") as server:
        async with monitoring(server.url, tmp_path) as (engine, user):
            snapshot = await engine.servers.connect("remote")
            assert snapshot.state is ServerState.CONNECTED
            assert snapshot.sign_in is None
            assert b"result" in await _called(engine)
            assert len(user.pages) == 1
        async with monitoring(server.url, tmp_path, signs_in=False) as (engine, user):
            await engine.servers.connect("remote")
            assert user.pages == []
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


async def test_a_token_that_ends_is_renewed_while_the_user_does_nothing(tmp_path: Path) -> None:
    async with (
        http_server("--oauth", "--token-lifetime", "2") as server,
        monitoring(server.url, tmp_path) as (engine, user),
    ):
        await engine.servers.connect("remote")
        before = (tmp_path / FILE_NAME).read_text()
        await anyio.sleep(2.5)  # the token's own time, which nothing tells of
        assert b"result" in await _called(engine)
        assert len(user.pages) == 1
        assert (tmp_path / FILE_NAME).read_text() != before


async def test_what_was_denied_is_reported_as_the_reason(tmp_path: Path) -> None:
    async with (
        http_server("--oauth", "--oauth-deny") as server,
        monitoring(server.url, tmp_path) as (engine, user),
    ):
        with pytest.raises(UserError) as caught:
            await engine.servers.connect("remote")
        assert len(user.pages) == 1
    assert "The sign-in was denied" in caught.value.details.as_text()
    assert "access_denied" in caught.value.details.as_text()


async def test_a_sign_in_that_nobody_makes_is_reported_with_the_answers_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("connection.clocks", "transport.http.oauth_flow"):
        monkeypatch.setattr(f"mcp_progress_monitor.sessions.{module}.SIGN_IN_S", 2.0)
    async with (
        http_server("--oauth") as server,
        monitoring(server.url, tmp_path, signs_in=False) as (engine, user),
        anyio.create_task_group() as group,
    ):

        async def answer_as_a_stranger() -> None:
            asked = httpx2.URL(await user.next_page()).params
            async with httpx2.AsyncClient(trust_env=False) as browser:
                await browser.get(asked["redirect_uri"], params={"code": "x", "state": "y"})

        group.start_soon(answer_as_a_stranger)
        with pytest.raises(UserError) as caught:
            await engine.servers.connect("remote")
    text = caught.value.details.as_text()
    assert "Sign-in was not completed within" in text
    assert "belong to no sign-in in progress: 1" in text


async def test_disconnecting_cancels_the_sign_in(tmp_path: Path) -> None:
    async with (
        http_server("--oauth") as server,
        monitoring(server.url, tmp_path, signs_in=False) as (engine, user),
        anyio.create_task_group() as group,
    ):

        async def connect() -> None:
            with pytest.raises(UserError):
                await engine.servers.connect("remote")

        group.start_soon(connect)
        await user.next_page()
        with anyio.fail_after(PATIENCE_S):
            await engine.servers.disconnect("remote")
        assert engine.servers.snapshot("remote").sign_in is None
        assert not engine.servers.snapshot("remote").state.is_up


async def test_a_recording_has_no_credential(tmp_path: Path) -> None:
    frames: list[bytes] = []
    async with http_server("--oauth") as server, monitoring(server.url, tmp_path) as (engine, _):
        engine.subscribe(lambda update: frames.extend(frame.raw for frame in update.frames))
        await engine.servers.connect("remote")
        await _called(engine)
    record = next(iter(json.loads((tmp_path / FILE_NAME).read_text())["signIns"].values()))
    said = b"\n".join(frames)
    assert b'"purpose":"auth"' in said
    assert record["tokens"]["access_token"].encode() not in said
    assert record["tokens"]["refresh_token"].encode() not in said


async def test_a_command_says_where_to_sign_in_and_the_next_one_needs_none(tmp_path: Path) -> None:
    async with http_server("--oauth") as server:
        program = [sys.executable, "-m", "mcp_progress_monitor", "tools"]
        command = [*program, "--data-dir", str(tmp_path), "--url", server.url, "--oauth"]
        async with await anyio.open_process(command, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            said = b""
            while b"code_challenge" not in said or not said.endswith(b"\n"):
                said += await process.stderr.receive()
            page = next(line for line in said.decode().splitlines() if "code_challenge" in line)
            async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
                await browser.get(page.strip())
            assert await process.wait() == 0
        again = await anyio.run_process(command, stderr=subprocess.PIPE)
    assert b"Sign in to use the server" in said
    assert f"Open this URL of 127.0.0.1:{server.port} in".encode() in said
    assert (again.returncode, complaints(again.stderr.decode())) == (0, "")

"""A sign-in in the window, on Qt's own loop: shown, opened by a click, cancelled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers.commands import SIGN_OUT
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.programs import until
from tests.gui.saved import running
from tests.integration.http_servers import http_server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def asked(folder: Path) -> AsyncIterator[Program]:
    """A program whose server wants the user to sign in."""
    async with http_server("--oauth") as server, running(folder) as program:
        name = program.engine.servers.add(
            HttpDefinition(name="remote", url=server.url, auth="oauth")
        )
        program.servers.connect_server(name)
        await until(lambda: not program.sign_in.bar.isHidden())
        yield program


async def test_a_page_is_opened_by_a_click_and_the_bar_goes_when_it_is_done(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def note(address: QUrl) -> bool:
        opened.append(address.toString())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", note)
    async with asked(data_dir) as program:
        bar = program.sign_in.bar
        assert "remote" in bar.what.text()
        assert bar.host.text().startswith("127.0.0.1:")
        assert opened == []
        bar.open.click()
        assert len(opened) == 1
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            page = await browser.get(opened[0])
        assert "You can close this page" in page.text
        await until(
            lambda: program.engine.servers.snapshot("remote").state is ServerState.CONNECTED
        )
        await until(bar.isHidden)


async def test_cancelling_disconnects_the_server(data_dir: Path) -> None:
    async with asked(data_dir) as program:
        program.sign_in.bar.cancel.click()
        await until(lambda: not program.engine.servers.snapshot("remote").state.is_up)
        await until(program.sign_in.bar.isHidden)
        await until(lambda: program.engine.servers.snapshot("remote").state is ServerState.CLOSED)
        assert program.window.notices.errors() == ()


async def test_after_signing_out_the_next_connection_asks_again(data_dir: Path) -> None:
    async with asked(data_dir) as program:
        bar, commands = program.sign_in.bar, program.window.commands
        assert bar.shown is not None
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            await browser.get(bar.shown.url)
        await until(
            lambda: program.engine.servers.snapshot("remote").state is ServerState.CONNECTED
        )

        commands.run(SIGN_OUT, "remote")
        await until(lambda: program.engine.servers.snapshot("remote").state is ServerState.CLOSED)
        commands.run(SIGN_OUT, "remote")
        await until(lambda: bool(program.window.notices.errors()))
        program.servers.connect_server("remote")

        await until(lambda: not bar.isHidden())
        (reported,) = program.window.notices.errors()
        assert reported.what == "You were not signed in to this server"


async def test_the_program_ends_while_a_sign_in_is_waited_for(data_dir: Path) -> None:
    async with asked(data_dir) as program:
        program.quit()

"""Letting an agent in, in the whole program: chosen, shown, and written with a backup."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.gui.agents.invite_dialog import InviteDialog
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.window_commands import INVITE_AGENT
from tests.gui.programs import until
from tests.gui.saved import running, save

pytestmark = pytest.mark.anyio
OTHER = {"command": "npx", "args": ["-y", "files"]}


@pytest.fixture
def cursor(isolated_home: Path) -> Path:
    path = isolated_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"files": OTHER}}))
    return path


def servers(path: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads(path.read_text())["mcpServers"]
    return found


def content(path: Path) -> str:
    return path.read_text()


def comment(path: Path) -> str:
    """Write what no entry can be added to."""
    text = '{"mcpServers": {} /* mine */}'
    path.write_text(text)
    return text


async def shown(program: Program) -> InviteDialog:
    (dialog,) = program.window.findChildren(InviteDialog)
    await until(lambda: dialog.clients.count() > 1)
    return dialog


async def test_the_entry_is_written_beside_the_others(data_dir: Path, cursor: Path) -> None:
    save(data_dir, mine=OTHER)
    async with running(data_dir) as program:
        program.window.do[INVITE_AGENT].trigger()
        dialog = await shown(program)
        dialog.set_ticked("mine", is_on=True)
        dialog.add.click()
        await until(lambda: "Added mcp-progress-monitor to" in dialog.note.text())
        written = servers(cursor)
        assert written["files"] == OTHER
        assert written["mcp-progress-monitor"]["args"][-2:] == ["--server", "mine"]
        dialog.set_ticked("", is_on=True)
        dialog.add.click()
        await until(lambda: "The file as it was" in dialog.note.text())
        dialog.reject()
    assert servers(cursor.with_name("mcp.json.before")) == written


async def test_a_servers_menu_checks_that_server(data_dir: Path, cursor: Path) -> None:
    save(data_dir, mine=OTHER, other=OTHER)
    async with running(data_dir) as program:
        program.window.commands.run(on_servers.INVITE_AGENT, "other")
        dialog = await shown(program)
        request = dialog.request()
        assert request is not None
        assert request.entry.servers == ("other",)
        dialog.reject()
    assert "mcp-progress-monitor" not in content(cursor)


async def test_a_file_that_cannot_be_changed_is_said(data_dir: Path, cursor: Path) -> None:
    before = comment(cursor)
    async with running(data_dir) as program:
        program.window.do[INVITE_AGENT].trigger()
        dialog = await shown(program)
        dialog.set_ticked("", is_on=True)
        dialog.add.click()
        await until(lambda: str(cursor) in dialog.note.text())
        assert dialog.add.isEnabled()
        dialog.reject()
    assert content(cursor) == before

"""Watching a client's servers in the whole program: shown, changed, and taken out again."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.watch_dialog import WatchDialog
from mcp_progress_monitor.gui.window_commands import WATCH
from tests.gui.programs import until
from tests.gui.saved import running, save

pytestmark = pytest.mark.anyio
ENTRY = {"command": "npx", "args": ["-y", "files"]}


@pytest.fixture
def cursor(isolated_home: Path) -> Path:
    path = isolated_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"files": ENTRY, "db": {"command": "db"}}}))
    return path


def content(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def opened(program: Program) -> WatchDialog:
    (dialog,) = program.window.findChildren(WatchDialog)
    return dialog


async def test_a_server_is_watched_after_its_change_was_shown_and_released_again(
    data_dir: Path, cursor: Path
) -> None:
    before = content(cursor)
    async with running(data_dir) as program:
        program.window.do[WATCH].trigger()
        dialog = opened(program)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        dialog.set_ticked("files", is_on=True)
        await until(dialog.change.isEnabled)
        assert "npx" in dialog.preview.toPlainText()
        assert content(cursor) == before
        dialog.change.click()
        await until(lambda: "Watched from now on in Cursor: files." in dialog.note.text())
        assert data_dir.name.encode() in content(cursor)
        assert content(cursor.with_name("mcp.json.before")) == before
        dialog.set_ticked("files", is_on=False)
        await until(dialog.change.isEnabled)
        dialog.change.click()
        await until(lambda: "No longer watched in Cursor: files." in dialog.note.text())
        assert content(cursor) == before


async def test_a_saved_server_is_found_in_its_client(data_dir: Path, cursor: Path) -> None:
    save(data_dir, mine=ENTRY)
    async with running(data_dir) as program:
        program.window.commands.run(on_servers.WATCH, "mine")
        dialog = opened(program)
        await until(lambda: bool(dialog.request().watch))
        assert [server.name for server in dialog.request().watch] == ["files"]
        dialog.reject()
        await until(lambda: not program.window.findChildren(WatchDialog))
    assert b"npx" in content(cursor)


async def test_a_file_that_changes_after_the_preview_is_refused(
    data_dir: Path, cursor: Path
) -> None:
    async with running(data_dir) as program:
        program.window.welcome.watch.click()
        dialog = opened(program)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        dialog.set_ticked("files", is_on=True)
        await until(dialog.change.isEnabled)
        put(cursor, content(cursor) + b"\n")
        dialog.change.click()
        await until(lambda: "changed in the meantime" in dialog.note.text())


async def test_a_file_that_cannot_be_edited_is_reported_before(
    data_dir: Path, cursor: Path
) -> None:
    put(cursor, b'{"mcpServers": {"files": {"command": "a", "command": "b"}}}')
    async with running(data_dir) as program:
        program.window.do[WATCH].trigger()
        dialog = opened(program)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        dialog.set_ticked("files", is_on=True)
        await until(lambda: "another 'command'" in dialog.note.text())
        assert not dialog.change.isEnabled()

"""Saved servers are exported in the whole program, without their secrets."""

from pathlib import Path

import pytest

from mcp_progress_monitor.gui.servers.export_dialog import ServerExportDialog
from mcp_progress_monitor.gui.window_commands import EXPORT_SERVERS
from tests.gui.programs import until
from tests.gui.saved import running, save

pytestmark = pytest.mark.anyio


async def test_saved_servers_are_exported_without_secrets(data_dir: Path, tmp_path: Path) -> None:
    save(data_dir, db={"command": "db", "env": {"API_KEY": "hush"}})
    async with running(data_dir) as program:
        program.window.do[EXPORT_SERVERS].trigger()
        (dialog,) = program.window.findChildren(ServerExportDialog)
        await until(lambda: '"db"' in dialog.shown.toPlainText())
        assert "hush" not in dialog.shown.toPlainText()
        assert "API_KEY" in dialog.note.text()
        target = tmp_path / "mcp.json"
        dialog.export_requested.emit(dialog.request(target))
        await until(lambda: "Saved" in dialog.note.text())
        assert "hush" not in target.read_text()

"""Servers that the file of saved ones does not have, and the names that it has for others."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.editor import ServerEditor
from mcp_progress_monitor.snapshots.definitions import StdioDefinition, demo_definition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.programs import until
from tests.gui.saved import demo_entry, names_shown, reported, running, save, state

pytestmark = pytest.mark.anyio

_UNUSABLE = json.dumps({"mcpServers": {"mine": {"command": ""}}})


async def test_a_server_is_not_kept_under_a_name_that_an_unusable_entry_has(data_dir: Path) -> None:
    (data_dir / "servers.json").write_text(_UNUSABLE)
    async with running(data_dir, StdioDefinition(name="mine", command="no-such")) as program:
        await until(lambda: state(program, "mine") is ServerState.FAILED)
        program.window.commands.run(on_servers.KEEP, "mine")
        await until(lambda: "A saved server with this name already exists" in reported(program))
        assert names_shown(program) == ["mine"]
        assert not program.servers.saved.is_saved("mine")
        program.window.commands.run(on_servers.EDIT, "mine")
        (editor,) = program.window.findChildren(ServerEditor)
        refused: list[ErrorDetails] = []
        program.servers.edit_refused.connect(lambda _edited, error: refused.append(error))
        editor.save_only()
        await until(lambda: bool(refused))
        assert refused[0].what == "A saved server with this name already exists"
        editor.server.name.setText("other")
        editor.save_only()
        await until(lambda: names_shown(program) == ["other"])
        assert program.servers.saved.is_saved("other")
    saved = json.loads((data_dir / "servers.json").read_text())["mcpServers"]
    assert list(saved) == ["mine", "other"]


async def test_a_connected_server_that_left_the_file_can_be_removed(data_dir: Path) -> None:
    demo = demo_definition()
    save(data_dir, demo=demo_entry())
    Trust(data_dir / TRUST).approve(demo)
    async with running(data_dir) as program:
        program.servers.connect_server("demo")
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        save(data_dir)
        await until(lambda: "removed from the file" in reported(program))
        program.servers.remove("demo")
        await until(lambda: names_shown(program) == [])
        program.servers.saved.poll()
        assert not program.servers.saved.is_saved("demo")
        assert "Server not found" not in reported(program)

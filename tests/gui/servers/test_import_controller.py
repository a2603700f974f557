"""Imports and exports in the whole program: nothing runs, secrets go where they are wanted."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.servers.commands import CONNECT
from mcp_progress_monitor.gui.servers.import_export_dialogs import ImportDialog, ServerExportDialog
from mcp_progress_monitor.gui.window_commands import EXPORT_SERVERS, IMPORT
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.gui.programs import until
from tests.gui.saved import asked, names_shown, reported, running, save, written_by

pytestmark = pytest.mark.anyio


async def test_an_imported_server_is_saved_and_asks_before_it_first_runs(
    data_dir: Path, tmp_path: Path
) -> None:
    mark, config = tmp_path / "ran", tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"evil": written_by(mark)}}))
    async with running(data_dir) as program:
        program.window.do[IMPORT].trigger()
        (dialog,) = program.window.findChildren(ImportDialog)
        dialog.open_file(config)
        await until(lambda: dialog.ticked() == ["evil"])
        dialog.accept()
        await until(lambda: names_shown(program) == ["evil"])
        assert not mark.exists()
        program.window.commands.run(CONNECT, "evil")
        await until(lambda: bool(asked(program)))
        assert not mark.exists()


@pytest.fixture(autouse=True)
def keyring_there(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether there is a keyring, as far as the dialog can see; there is one at first."""
    answer = [True]
    monkeypatch.setattr(
        "mcp_progress_monitor.secrets.system_keyring.is_available", lambda: answer[0]
    )
    return answer


async def test_where_there_is_no_keyring_it_is_not_chosen_and_the_import_succeeds(
    data_dir: Path, tmp_path: Path, keyring_there: list[bool]
) -> None:
    keyring_there[0] = False
    config = tmp_path / "mcp.json"
    weather = {"command": "uvx", "args": ["weather"], "env": {"API_KEY": "hush"}}
    config.write_text(json.dumps({"mcpServers": {"weather": weather}}))
    async with running(data_dir) as program:
        program.window.do[IMPORT].trigger()
        (dialog,) = program.window.findChildren(ImportDialog)
        await until(lambda: dialog.secrets.currentData() == "variables")
        dialog.open_file(config)
        await until(lambda: dialog.ticked() == ["weather"])
        assert dialog.secrets.currentData() == "variables"
        place = dialog.secrets.findData("keyring")
        assert "No keyring is available" in dialog.secrets.itemText(place)
        assert not dialog.secrets.model().flags(dialog.secrets.model().index(place, 0)) & (
            Qt.ItemFlag.ItemIsEnabled
        )
        dialog.accept()
        await until(lambda: names_shown(program) == ["weather"])
    assert "hush" not in (data_dir / "servers.json").read_text()


async def test_a_secret_answer_without_a_keyring_is_saved_only_as_text_when_that_is_wanted(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str, _secret: str) -> None:
        raise UserError(ErrorDetails("There is no keyring"))

    config = tmp_path / ".vscode" / "mcp.json"
    config.parent.mkdir()
    weather = {"command": "uvx", "args": ["weather"], "env": {"KEY": "${input:key}"}}
    inputs = [{"id": "key", "type": "promptString", "password": True}]
    config.write_text(json.dumps({"inputs": inputs, "servers": {"weather": weather}}))
    async with running(data_dir) as program:
        monkeypatch.setattr(program.servers.keyring, "get", {}.get)
        monkeypatch.setattr(program.servers.keyring, "put", refuse)
        program.window.do[IMPORT].trigger()
        (dialog,) = program.window.findChildren(ImportDialog)
        dialog.open_file(config)
        await until(lambda: dialog.ticked() == ["weather"])
        field = dialog.inputs.field("key")
        assert isinstance(field, QLineEdit)
        field.setText("hush")
        dialog.accept()
        await until(lambda: "There is no keyring" in dialog.note.text())
        assert names_shown(program) == []
        dialog.secrets.setCurrentIndex(dialog.secrets.findData("text"))
        dialog.accept()
        await until(lambda: names_shown(program) == ["weather"])
        (definition,) = (e.definition for e in program.servers.saved.entries.values())
        assert isinstance(definition, StdioDefinition)
        assert definition.env == {"KEY": "hush"}


async def test_an_answer_that_makes_a_server_unusable_is_reported_and_nothing_saved(
    data_dir: Path, tmp_path: Path
) -> None:
    config = tmp_path / ".vscode" / "mcp.json"
    config.parent.mkdir()
    inputs = [{"id": "host", "type": "promptString", "password": True}]
    web = {"type": "http", "url": "${input:host}/mcp"}
    config.write_text(json.dumps({"inputs": inputs, "servers": {"web": web}}))
    async with running(data_dir) as program:
        program.window.do[IMPORT].trigger()
        (dialog,) = program.window.findChildren(ImportDialog)
        dialog.open_file(config)
        await until(lambda: dialog.ticked() == ["web"])
        field = dialog.inputs.field("host")
        assert isinstance(field, QLineEdit)
        field.setText("nonsense")
        dialog.accept()
        await until(lambda: "a URL must start with http://" in dialog.note.text())
        assert dialog.isVisible()
        assert names_shown(program) == []


async def test_an_import_whose_secrets_cannot_be_kept_saves_none_of_the_servers(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str, _secret: str) -> None:
        raise UserError(ErrorDetails("There is no keyring"))

    config = tmp_path / "mcp.json"
    servers = {"plain": {"command": "a"}, "db": {"command": "db", "env": {"API_KEY": "hush"}}}
    config.write_text(json.dumps({"mcpServers": servers}))
    async with running(data_dir) as program:
        monkeypatch.setattr(program.servers.keyring, "get", {}.get)
        monkeypatch.setattr(program.servers.keyring, "put", refuse)
        program.window.do[IMPORT].trigger()
        (dialog,) = program.window.findChildren(ImportDialog)
        dialog.open_file(config)
        await until(lambda: dialog.ticked() == ["plain", "db"])
        dialog.accept()
        await until(lambda: "There is no keyring" in dialog.note.text())
        assert names_shown(program) == []
        assert not (data_dir / "servers.json").exists()


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("keyring", "${keyring:db/API_KEY}"),
        ("ask", "${ask:API_KEY}"),
        ("variables", "${env:API_KEY}"),
        ("text", "hush"),
    ],
)
async def test_secrets_of_an_imported_file_go_where_the_user_wants_them(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str, value: str
) -> None:
    config = tmp_path / "mcp.json"
    servers = {"db": {"command": "db", "env": {"API_KEY": "hush"}}}
    config.write_text(json.dumps({"mcpServers": servers}))
    secrets: dict[str, str] = {}
    async with running(data_dir) as program:
        monkeypatch.setattr(program.servers.keyring, "get", secrets.get)
        monkeypatch.setattr(program.servers.keyring, "put", secrets.__setitem__)
        program.window.do[IMPORT].trigger()
        (dialog,) = program.window.findChildren(ImportDialog)
        dialog.open_file(config)
        await until(lambda: dialog.ticked() == ["db"])
        dialog.secrets.setCurrentIndex(dialog.secrets.findData(choice))
        dialog.accept()
        await until(lambda: names_shown(program) == ["db"])
        assert ("API_KEY" in reported(program)) is (choice == "variables")
    saved = (data_dir / "servers.json").read_text()
    assert value in saved
    assert ("hush" in saved) is (choice == "text")
    assert secrets == ({"db/API_KEY": "hush"} if choice == "keyring" else {})


async def test_a_secret_that_was_renewed_in_the_file_is_renewed_in_the_keyring(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(data_dir, db={"command": "db", "env": {"API_KEY": "${keyring:db/API_KEY}"}})
    config = tmp_path / "mcp.json"
    servers = {"db": {"command": "db", "env": {"API_KEY": "newer"}}}
    config.write_text(json.dumps({"mcpServers": servers}))
    secrets = {"db/API_KEY": "older"}
    async with running(data_dir) as program:
        monkeypatch.setattr(program.servers.keyring, "get", secrets.get)
        monkeypatch.setattr(program.servers.keyring, "put", secrets.__setitem__)
        program.window.do[IMPORT].trigger()
        (dialog,) = program.window.findChildren(ImportDialog)
        dialog.open_file(config)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        item = dialog.tree.topLevelItem(0)
        assert item is not None
        item.setCheckState(0, Qt.CheckState.Checked)
        assert dialog.ticked() == ["db"]
        dialog.accept()
        await until(lambda: secrets == {"db/API_KEY": "newer"})
    assert "newer" not in (data_dir / "servers.json").read_text()


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

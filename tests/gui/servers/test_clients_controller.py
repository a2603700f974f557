"""Clients' servers in the whole program: imported without being run, watched, and released."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.clients_dialog import ClientsDialog
from mcp_progress_monitor.gui.servers.commands import CONNECT
from mcp_progress_monitor.gui.window_commands import IMPORT, WATCH
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.gui.programs import until
from tests.gui.saved import asked, names_shown, reported, running, save, written_by

pytestmark = pytest.mark.anyio
ENTRY = {"command": "npx", "args": ["-y", "files"]}


def opened(program: Program) -> ClientsDialog:
    (dialog,) = program.window.findChildren(ClientsDialog)
    return dialog


def chosen(program: Program, config: Path) -> ClientsDialog:
    """The dialog after the user has chosen a file."""
    program.window.do[IMPORT].trigger()
    dialog = opened(program)
    dialog.file_chosen.emit(config)
    return dialog


def ticked(dialog: ClientsDialog) -> list[str]:
    return [name for request in dialog.imports() for name in request.names]


async def test_an_imported_server_is_saved_and_asks_before_it_first_runs(
    data_dir: Path, tmp_path: Path
) -> None:
    mark, config = tmp_path / "ran", tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"evil": written_by(mark)}}))
    async with running(data_dir) as program:
        dialog = chosen(program, config)
        await until(lambda: ticked(dialog) == ["evil"])
        dialog.add.click()
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
        dialog = chosen(program, config)
        await until(lambda: dialog.secrets.currentData() == "variables")
        await until(lambda: ticked(dialog) == ["weather"])
        assert dialog.secrets.currentData() == "variables"
        place = dialog.secrets.findData("keyring")
        assert "No keyring is available" in dialog.secrets.itemText(place)
        assert not dialog.secrets.model().flags(dialog.secrets.model().index(place, 0)) & (
            Qt.ItemFlag.ItemIsEnabled
        )
        dialog.add.click()
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
        dialog = chosen(program, config)
        await until(lambda: ticked(dialog) == ["weather"])
        field = dialog.inputs.field(config, "key")
        assert isinstance(field, QLineEdit)
        field.setText("hush")
        dialog.add.click()
        await until(lambda: "There is no keyring" in dialog.note.text())
        assert names_shown(program) == []
        dialog.secrets.setCurrentIndex(dialog.secrets.findData("text"))
        dialog.add.click()
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
        dialog = chosen(program, config)
        await until(lambda: ticked(dialog) == ["web"])
        field = dialog.inputs.field(config, "host")
        assert isinstance(field, QLineEdit)
        field.setText("nonsense")
        dialog.add.click()
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
        dialog = chosen(program, config)
        await until(lambda: ticked(dialog) == ["plain", "db"])
        dialog.add.click()
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
        dialog = chosen(program, config)
        await until(lambda: ticked(dialog) == ["db"])
        dialog.secrets.setCurrentIndex(dialog.secrets.findData(choice))
        dialog.add.click()
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
        dialog = chosen(program, config)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        dialog.tick("db", 1, is_on=True)
        assert ticked(dialog) == ["db"]
        dialog.add.click()
        await until(lambda: secrets == {"db/API_KEY": "newer"})
    assert "newer" not in (data_dir / "servers.json").read_text()


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


async def test_a_server_is_watched_after_its_change_was_shown_and_released_again(
    data_dir: Path, cursor: Path
) -> None:
    before = content(cursor)
    async with running(data_dir) as program:
        program.window.do[WATCH].trigger()
        dialog = opened(program)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        dialog.tick("files", 2, is_on=True)
        await until(dialog.change.isEnabled)
        assert "npx" in dialog.preview.toPlainText()
        assert content(cursor) == before
        dialog.change.click()
        await until(lambda: "Watched from now on in Cursor: files." in dialog.note.text())
        assert data_dir.name.encode() in content(cursor)
        assert content(cursor.with_name("mcp.json.before")) == before
        dialog.tick("files", 2, is_on=False)
        await until(dialog.change.isEnabled)
        dialog.change.click()
        await until(lambda: "No longer watched in Cursor: files." in dialog.note.text())
        assert content(cursor) == before


async def test_a_saved_server_is_found_in_its_client(data_dir: Path, cursor: Path) -> None:
    save(data_dir, mine=ENTRY)
    async with running(data_dir) as program:
        program.window.commands.run(on_servers.WATCH, "mine")
        dialog = opened(program)
        await until(lambda: bool(dialog.watch_request().watch))
        assert [server.name for server in dialog.watch_request().watch] == ["files"]
        dialog.reject()
        await until(lambda: not program.window.findChildren(ClientsDialog))
    assert b"npx" in content(cursor)


async def test_a_file_that_changes_after_the_preview_is_refused(
    data_dir: Path, cursor: Path
) -> None:
    async with running(data_dir) as program:
        program.window.welcome.watch.click()
        dialog = opened(program)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        dialog.tick("files", 2, is_on=True)
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
        dialog.tick("files", 2, is_on=True)
        await until(lambda: "another 'command'" in dialog.note.text())
        assert not dialog.change.isEnabled()


async def test_a_secret_input_of_a_file_needs_no_answer_if_it_is_asked_for_later(
    data_dir: Path, tmp_path: Path
) -> None:
    config = tmp_path / ".vscode" / "mcp.json"
    config.parent.mkdir()
    inputs = [{"id": "key", "type": "promptString", "password": True}]
    weather = {"command": "uvx", "env": {"KEY": "${input:key}"}}
    config.write_text(json.dumps({"inputs": inputs, "servers": {"weather": weather}}))
    async with running(data_dir) as program:
        dialog = chosen(program, config)
        await until(lambda: ticked(dialog) == ["weather"])
        dialog.secrets.setCurrentIndex(dialog.secrets.findData("ask"))
        dialog.add.click()
        await until(lambda: "weather" in program.servers.saved.entries)
    assert "${ask:key}" in (data_dir / "servers.json").read_text()

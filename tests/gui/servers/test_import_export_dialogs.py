"""Servers of a file are seen, ticked and asked for; the dialog itself reads and runs nothing."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.catalogue import Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.client_files import FoundFile
from mcp_progress_monitor.catalogue.clients import CLAUDE_DESKTOP, VS_CODE
from mcp_progress_monitor.catalogue.reading import preview, read_file
from mcp_progress_monitor.catalogue.variables import Variables
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.servers.import_export_dialogs import ImportDialog, ImportRequest
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.wording.clients import SecretsAs

SERVERS = {
    "inputs": [
        {"id": "key", "description": "Key of the service", "password": True},
        {"id": "region", "description": "Region", "options": ["eu", "us"], "default": "eu"},
    ],
    "servers": {
        "weather": {
            "command": "uvx",
            "args": ["weather", "${input:region}"],
            "env": {"KEY": "${input:key}"},
        },
        "files": {"command": "npx", "args": ["files"], "cwd": "/srv"},
        "same": {"command": "python", "args": ["same.py"], "cwd": "/srv"},
        "broken": {"args": ["x"]},
    },
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps(SERVERS))
    return path


@pytest.fixture
def catalogue() -> Catalogue:
    made = Catalogue(None)
    for name, args in (("files", ("old",)), ("same", ("same.py",))):
        command = {"files": "npx", "same": "python"}[name]
        definition = StdioDefinition(name=name, command=command, args=args, cwd="/srv")
        made.add(CatalogueEntry(definition))
    return made


def show(
    dialog: ImportDialog, path: Path, catalogue: Catalogue, answers: dict[str, str] | None = None
) -> None:
    """Do what the shell does for `file_chosen` and `answers_entered`."""
    config = read_file(path, Variables(answers=answers or {}))
    saved = {entry.name: entry for entry in catalogue.entries()}
    dialog.show_rows(path, preview(config, catalogue), config.errors, saved)


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance, file: Path, catalogue: Catalogue) -> ImportDialog:
    made = ImportDialog([FoundFile(VS_CODE, file)], appearance)
    qtbot.addWidget(made)
    made.show()
    made.open_file(file)
    show(made, file, catalogue)
    return made


def cells(dialog: ImportDialog) -> list[tuple[str, str]]:
    model = dialog.tree.model()
    return [
        (model.index(row, 0).data(), model.index(row, 1).data()) for row in range(model.rowCount())
    ]


def details(dialog: ImportDialog, row: int) -> str:
    dialog.tree.setCurrentIndex(dialog.tree.model().index(row, 0))
    return dialog.details.toPlainText()


def tick(dialog: ImportDialog, row: int, *, is_on: bool) -> None:
    item = dialog.tree.topLevelItem(row)
    assert item is not None
    item.setCheckState(0, Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked)


def import_button(dialog: ImportDialog) -> QPushButton:
    (button,) = (b for b in dialog.findChildren(QPushButton) if "Import" in b.text())
    return button


def test_found_files_are_offered_and_read_only_when_chosen(
    qtbot: QtBot, appearance: Appearance
) -> None:
    path = Path("/srv/claude_desktop_config.json")
    dialog = ImportDialog([FoundFile(CLAUDE_DESKTOP, path)], appearance)
    qtbot.addWidget(dialog)
    heard: list[Path] = []
    dialog.file_chosen.connect(heard.append)
    assert "Choose one of 1 found file" in dialog.files.currentText()
    assert heard == []
    dialog.files.setCurrentIndex(1)
    dialog.files.activated.emit(1)
    assert heard == [path]


def test_the_keyboard_begins_at_the_files_also_when_they_are_found_late(
    qtbot: QtBot, appearance: Appearance
) -> None:
    dialog = ImportDialog([], appearance)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.choose.setFocus()
    dialog.set_files([FoundFile(CLAUDE_DESKTOP, Path("/srv/claude_desktop_config.json"))])
    assert dialog.focusWidget() is dialog.files


def test_each_server_is_reported_new_changed_same_or_unusable(dialog: ImportDialog) -> None:
    assert cells(dialog) == [
        ("weather", "new"),
        ("files", "changed"),
        ("same", "same"),
        ("broken", "cannot be used"),
    ]
    assert dialog.ticked() == ["weather"]


def test_what_changed_is_shown_old_and_new(dialog: ImportDialog) -> None:
    text = details(dialog, 1)
    assert "saved:   npx old" in text
    assert "in file: npx files" in text
    assert "Folder: /srv" in text


def test_why_a_server_cannot_be_used_is_shown(dialog: ImportDialog) -> None:
    assert "command" in details(dialog, 3)
    assert "broken" in dialog.errors.toPlainText()


def test_names_of_variables_are_shown_and_no_values(dialog: ImportDialog) -> None:
    text = details(dialog, 0)
    assert "Variables: KEY" in text
    assert "Requires: Key of the service" in text


def test_what_is_asked_for_must_be_answered_before_the_import(
    qtbot: QtBot, dialog: ImportDialog, file: Path
) -> None:
    heard: list[ImportRequest] = []
    dialog.import_requested.connect(heard.append)
    dialog.accept()
    assert heard == []
    key, region = dialog.inputs.field("key"), dialog.inputs.field("region")
    assert isinstance(key, QLineEdit)
    assert isinstance(region, QComboBox)
    assert dialog.focusWidget() is key
    assert "weather needs this" in key.accessibleDescription()
    assert key.echoMode() is QLineEdit.EchoMode.Password
    QTest.keyClicks(key, "hush")
    assert not key.accessibleDescription()
    dialog.accept()
    assert heard == [ImportRequest(file, ("weather",), {"key": "hush", "region": "eu"})]


def test_what_is_not_ticked_needs_no_answers(dialog: ImportDialog, file: Path) -> None:
    heard: list[ImportRequest] = []
    dialog.import_requested.connect(heard.append)
    tick(dialog, 0, is_on=False)
    assert not import_button(dialog).isEnabled()
    tick(dialog, 1, is_on=True)
    assert import_button(dialog).text() == "&Import 1 server"
    dialog.accept()
    assert heard == [ImportRequest(file, ("files",), {"region": "eu"})]


def test_answers_are_seen_in_the_command_but_for_secret_ones(
    qtbot: QtBot, dialog: ImportDialog, file: Path, catalogue: Catalogue
) -> None:
    key, region = dialog.inputs.field("key"), dialog.inputs.field("region")
    assert isinstance(key, QLineEdit)
    assert isinstance(region, QComboBox)
    with qtbot.waitSignal(dialog.answers_entered) as signal:
        key.setText("hush")
        region.setCurrentText("us")
    assert signal.args is not None
    path, answers = signal.args
    assert path == file
    assert answers["region"] == "us"
    assert "hush" not in answers["key"]
    show(dialog, file, catalogue, answers)
    assert "uvx weather us" in details(dialog, 0)
    assert dialog.ticked() == ["weather"]
    assert key.text() == "hush"


def test_a_broken_file_is_reported_in_place_with_line_and_column(
    dialog: ImportDialog, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"mcpServers": {\n  "a": nonsense }}')
    dialog.open_file(bad)
    with pytest.raises(UserError) as caught:
        read_file(bad)
    dialog.show_unreadable(bad, caught.value.details)
    assert "line 2, column 8" in dialog.errors.toPlainText()
    assert not dialog.tree.isVisible()
    assert not import_button(dialog).isEnabled()


def test_what_comes_late_for_another_file_is_not_shown(
    dialog: ImportDialog, file: Path, catalogue: Catalogue, tmp_path: Path
) -> None:
    dialog.open_file(tmp_path / "other.json")
    show(dialog, file, catalogue)
    assert cells(dialog) == []


def test_where_secrets_go_is_seen_and_chosen_and_the_keyring_first(dialog: ImportDialog) -> None:
    key = dialog.inputs.field("key")
    assert isinstance(key, QLineEdit)
    key.setText("hush")
    heard: list[ImportRequest] = []
    dialog.import_requested.connect(heard.append)
    assert dialog.secrets.isVisible()
    dialog.accept()
    dialog.show_refusal(ErrorDetails("There is no keyring"), is_of_keyring=True)
    assert "There is no keyring" in dialog.note.text()
    assert "somewhere else" in dialog.note.text()
    for choice in (SecretsAs.VARIABLES, SecretsAs.TEXT):
        dialog.secrets.setCurrentIndex(dialog.secrets.findData(choice.value))
        assert "keyring" not in dialog.note.text()
        dialog.accept()
    assert [request.secrets for request in heard] == list(SecretsAs)


def test_nothing_is_asked_about_secrets_where_there_are_none(
    dialog: ImportDialog, catalogue: Catalogue, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    servers = {"plain": {"command": "a"}, "db": {"command": "b", "env": {"API_KEY": "hush"}}}
    path.write_text(json.dumps({"mcpServers": servers}))
    dialog.open_file(path)
    show(dialog, path, catalogue)
    assert dialog.secrets.isVisible()
    item = dialog.tree.topLevelItem(1)
    assert item is not None
    dialog.tree.setCurrentItem(item)
    assert "Contains secrets: API_KEY" in dialog.details.toPlainText()
    assert "hush" not in dialog.details.toPlainText()
    item.setCheckState(0, Qt.CheckState.Unchecked)
    assert dialog.ticked() == ["plain"]
    assert not dialog.secrets.isVisible()


def test_names_and_commands_that_are_meant_to_deceive_are_plain_text(
    qtbot: QtBot, appearance: Appearance, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    evil = {"command": "sh", "args": ["-c", "echo <b>x</b>\u202e\x1b[2J"]}
    path.write_text(json.dumps({"mcpServers": {"<b>evil</b>\u202e\n": evil}}))
    dialog = ImportDialog([], appearance)
    qtbot.addWidget(dialog)
    dialog.open_file(path)
    show(dialog, path, Catalogue(None))
    ((name, _),) = cells(dialog)
    assert "<b>evil</b>\\u202e" in name
    text = details(dialog, 0)
    assert "<b>x</b>\\u202e\\x1b[2J" in text
    assert "\u202e" not in text

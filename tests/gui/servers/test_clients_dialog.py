"""Servers of all clients: seen, ticked and asked for; the dialog reads and changes nothing."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.catalogue import Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.client_files import FoundFile
from mcp_progress_monitor.catalogue.client_servers import ClientFile, ClientRow, read_client_file
from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, CURSOR, VS_CODE
from mcp_progress_monitor.catalogue.reading import ImportRow, ImportStatus
from mcp_progress_monitor.catalogue.tap_install import ClientServer
from mcp_progress_monitor.catalogue.taps import EntryTap, Launch
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.servers.clients_dialog import (
    ClientsDialog,
    FoundClients,
    ImportRequest,
    WatchRequest,
)
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.secrets.references import NoKeyring
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.wording.clients import SecretsAs
from tests.gui.exposure import expose

ADD, WATCH = 1, 2

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


def read(path: Path, catalogue: Catalogue, answers: dict[str, str] | None = None) -> ClientFile:
    return read_client_file(path, FoundFile(VS_CODE, path), catalogue, NoKeyring(), answers or {})


def saved(catalogue: Catalogue) -> dict[str, CatalogueEntry]:
    return {entry.name: entry for entry in catalogue.entries()}


@pytest.fixture
def empty(qtbot: QtBot, appearance: Appearance) -> ClientsDialog:
    made = ClientsDialog(appearance)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def dialog(empty: ClientsDialog, file: Path, catalogue: Catalogue) -> ClientsDialog:
    """The dialog with the servers of a file that the user has just chosen."""
    empty.show_found(FoundClients([read(file, catalogue)], {}, saved(catalogue)))
    empty.show_file(read(file, catalogue), saved(catalogue), is_chosen=True)
    return empty


def children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    found = (item.child(row) for row in range(item.childCount()))
    return [each for each in found if each is not None]


def items(dialog: ClientsDialog) -> list[QTreeWidgetItem]:
    root = dialog.tree.invisibleRootItem()
    return [each for top in children(root) for each in children(top)]


def details(dialog: ClientsDialog, row: int) -> str:
    dialog.tree.setCurrentItem(items(dialog)[row])
    return dialog.details.toPlainText()


def imports(dialog: ClientsDialog) -> list[ImportRequest]:
    heard: list[ImportRequest] = []
    dialog.import_requested.connect(heard.extend)
    return heard


def test_each_server_is_reported_new_changed_here_already_or_unusable(
    dialog: ClientsDialog,
) -> None:
    assert [(each.text(0), each.text(ADD)) for each in items(dialog)] == [
        ("weather", "new"),
        ("files", "changed"),
        ("same", "already here"),
        ("broken", "cannot be used"),
    ]
    assert [request.names for request in dialog.imports()] == [("weather",)]
    (top,) = children(dialog.tree.invisibleRootItem())
    assert top.text(0) == "VS Code"
    assert top.text(3).endswith("mcp.json")


def test_nothing_is_ticked_before_the_user_ticks_it(
    empty: ClientsDialog, file: Path, catalogue: Catalogue
) -> None:
    empty.show_found(FoundClients([read(file, catalogue)], {}, saved(catalogue)))
    assert empty.imports() == []
    assert empty.watch_request() == WatchRequest()
    assert not empty.add.isEnabled()
    empty.tick("weather", ADD, is_on=True)
    assert empty.add.text() == "&Import 1 server"
    assert "runs nothing" in empty.note.text()


def test_what_changed_is_shown_old_and_new(dialog: ClientsDialog) -> None:
    text = details(dialog, 1)
    assert "saved:   npx old" in text
    assert "in file: npx files" in text
    assert "Folder: /srv" in text


def test_why_a_server_cannot_be_used_is_shown(dialog: ClientsDialog) -> None:
    assert "command" in details(dialog, 3)
    assert not dialog.errors.isVisible()


def test_names_of_variables_are_shown_and_no_values(dialog: ClientsDialog) -> None:
    text = details(dialog, 0)
    assert "Variables: KEY" in text
    assert "Requires: Key of the service" in text


def test_what_is_asked_for_must_be_answered_before_the_import(
    dialog: ClientsDialog, file: Path
) -> None:
    heard = imports(dialog)
    dialog.add.click()
    assert heard == []
    key, region = dialog.inputs.field(file, "key"), dialog.inputs.field(file, "region")
    assert isinstance(key, QLineEdit)
    assert isinstance(region, QComboBox)
    assert dialog.focusWidget() is key
    assert "weather needs this" in key.accessibleDescription()
    assert key.echoMode() is QLineEdit.EchoMode.Password
    QTest.keyClicks(key, "hush")
    assert not key.accessibleDescription()
    dialog.add.click()
    answers = {"key": "hush", "region": "eu"}
    assert heard == [ImportRequest(file, ("weather",), answers, SecretsAs.KEYRING, VS_CODE)]


def test_what_is_not_ticked_needs_no_answers(dialog: ClientsDialog, file: Path) -> None:
    heard = imports(dialog)
    dialog.tick("weather", ADD, is_on=False)
    assert not dialog.add.isEnabled()
    assert not dialog.inputs.isVisible()
    dialog.tick("files", ADD, is_on=True)
    assert dialog.add.text() == "&Import 1 server"
    dialog.add.click()
    assert [(request.path, request.names) for request in heard] == [(file, ("files",))]


def test_servers_of_several_files_are_imported_together(
    dialog: ClientsDialog, file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "mcp.json"
    other.write_text(json.dumps({"mcpServers": {"plain": {"command": "a"}}}))
    chosen = read_client_file(other, None, Catalogue(None), NoKeyring(), {})
    dialog.show_file(chosen, {}, is_chosen=True)
    found = [(request.path, request.names, request.client) for request in dialog.imports()]
    assert found == [(file, ("weather",), VS_CODE), (other, ("plain",), None)]
    assert dialog.add.text() == "&Import 2 servers"
    assert [each.text(WATCH) for each in items(dialog)] == ["not watched"] * 3 + [
        "cannot be watched",
        "",
    ]


def test_answers_are_seen_in_the_command_but_for_secret_ones(
    qtbot: QtBot, dialog: ClientsDialog, file: Path, catalogue: Catalogue
) -> None:
    key, region = dialog.inputs.field(file, "key"), dialog.inputs.field(file, "region")
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
    dialog.show_file(read(file, catalogue, answers), saved(catalogue), is_chosen=False)
    assert "uvx weather us" in details(dialog, 0)
    assert [request.names for request in dialog.imports()] == [("weather",)]
    assert key.text() == "hush"


def test_a_broken_file_is_reported_beside_the_others(dialog: ClientsDialog, tmp_path: Path) -> None:
    error = ErrorDetails("It is no JSON", f"{tmp_path}/bad.json, line 2, column 8")
    bad = ClientFile(tmp_path / "bad.json", VS_CODE, errors=(error,))
    dialog.show_file(bad, {}, is_chosen=True)
    assert "line 2, column 8" in dialog.errors.toPlainText()
    assert dialog.errors.isVisible()
    assert len(items(dialog)) == 4


def test_where_secrets_go_is_seen_and_chosen_and_the_keyring_first(
    dialog: ClientsDialog, file: Path
) -> None:
    key = dialog.inputs.field(file, "key")
    assert isinstance(key, QLineEdit)
    key.setText("hush")
    heard = imports(dialog)
    assert dialog.secrets.isVisible()
    dialog.add.click()
    dialog.show_refusal(ErrorDetails("There is no keyring"), is_of_keyring=True)
    assert "There is no keyring" in dialog.note.text()
    assert "somewhere else" in dialog.note.text()
    for choice in (SecretsAs.ASK, SecretsAs.VARIABLES, SecretsAs.TEXT):
        dialog.secrets.setCurrentIndex(dialog.secrets.findData(choice.value))
        assert dialog.add.isEnabled()
        assert key.isVisible() is (choice is not SecretsAs.ASK)
        dialog.add.click()
        dialog.show_refusal(ErrorDetails("The disk is full"))
    assert [request.secrets for request in heard] == list(SecretsAs)


def test_nothing_is_asked_about_secrets_where_there_are_none(
    empty: ClientsDialog, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    servers = {"plain": {"command": "a"}, "db": {"command": "b", "env": {"API_KEY": "hush"}}}
    path.write_text(json.dumps({"mcpServers": servers}))
    file = read_client_file(path, FoundFile(CURSOR, path), Catalogue(None), NoKeyring(), {})
    empty.show_file(file, {}, is_chosen=True)
    assert empty.secrets.isVisible()
    text = details(empty, 1)
    assert "Contains secrets: API_KEY" in text
    assert "hush" not in text
    empty.tick("db", ADD, is_on=False)
    assert not empty.secrets.isVisible()


def test_names_and_commands_that_are_meant_to_deceive_are_plain_text(
    empty: ClientsDialog, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    evil = {"command": "sh", "args": ["-c", "echo <b>x</b>\u202e\x1b[2J"]}
    path.write_text(json.dumps({"mcpServers": {"<b>evil</b>\u202e\n": evil}}))
    file = read_client_file(path, FoundFile(CURSOR, path), Catalogue(None), NoKeyring(), {})
    empty.show_file(file, {}, is_chosen=True)
    assert "<b>evil</b>\\u202e" in items(empty)[0].text(0)
    text = details(empty, 0)
    assert "<b>x</b>\\u202e\\x1b[2J" in text
    assert "\u202e" not in text


# Watching


def server(name: str, *, is_on: bool = False, why_not: str = "") -> ClientServer:
    tap = EntryTap(sys.executable, 3) if is_on else None
    return ClientServer(
        CURSOR, Path("/h/mcp.json"), name, ("mcpServers", name), Launch("x"), tap, why_not
    )


PLAIN, ON = server("plain"), server("on", is_on=True)
WEB = server("web", why_not="VS Code debugs it")
OTHER = ClientServer(CLAUDE_CODE, Path("/h/.claude.json"), "<b>o</b>", ("x",), Launch("y"))


def clients(
    *taps: ClientServer, errors: Sequence[ErrorDetails] = (), **extras: Any
) -> FoundClients:
    """Files with servers that cannot be imported."""
    files: dict[Path, ClientFile] = {}
    for tap in taps:
        file = files.get(tap.path, ClientFile(tap.path, tap.client, errors=tuple(errors)))
        row = ImportRow(None, ImportStatus.UNUSABLE, tap.name, place=tap.place)
        files[tap.path] = file._replace(rows=(*file.rows, ClientRow(row, tap)))
    found = FoundClients(list(files.values()), {ON.key: [0.0]}, {})
    return found._replace(**extras)


def previews(dialog: ClientsDialog) -> list[WatchRequest]:
    heard: list[WatchRequest] = []
    dialog.preview_requested.connect(heard.append)
    return heard


def test_servers_are_shown_by_file_with_a_tick_for_each_that_is_watched(
    empty: ClientsDialog,
) -> None:
    empty.show_found(clients(PLAIN, ON, WEB, OTHER))
    root = empty.tree.invisibleRootItem()
    assert [top.text(0) for top in children(root)] == ["Cursor", "Claude Code"]
    first = children(children(root)[0])
    assert [each.text(0) for each in first] == ["plain", "on", "web"]
    assert [each.checkState(WATCH) for each in first[:2]] == [
        Qt.CheckState.Unchecked,
        Qt.CheckState.Checked,
    ]
    assert not first[2].flags() & Qt.ItemFlag.ItemIsUserCheckable
    assert first[2].text(WATCH) == "cannot be watched"
    assert first[1].text(WATCH).startswith("watched, running since")


def test_who_records_nothing_is_reported_what_that_means(empty: ClientsDialog) -> None:
    empty.show_found(clients(PLAIN, is_recorded=False))
    assert "Recording is turned off" in empty.about.text()
    empty.show_found(clients(PLAIN))
    assert "Recording is turned off" not in empty.about.text()


def test_each_tick_asks_for_the_changes(empty: ClientsDialog) -> None:
    heard = previews(empty)
    empty.show_found(clients(PLAIN, ON))
    empty.tick("plain", WATCH, is_on=True)
    empty.tick("on", WATCH, is_on=False)
    empty.tick("plain", WATCH, is_on=False)
    assert heard == [
        WatchRequest(),
        WatchRequest((PLAIN,)),
        WatchRequest((PLAIN,), (ON,)),
        WatchRequest((), (ON,)),
    ]


def test_nothing_is_changed_before_the_changes_were_shown(empty: ClientsDialog) -> None:
    heard: list[WatchRequest] = []
    empty.change_requested.connect(heard.append)
    empty.show_found(clients(PLAIN))
    assert not empty.preview.isVisible()
    empty.tick("plain", WATCH, is_on=True)
    button = empty.change
    assert not button.isEnabled()
    empty.show_preview(WatchRequest(), [])  # of what was ticked before
    assert not button.isEnabled()
    empty.show_preview(WatchRequest((PLAIN,)), ["-a", "+b\x1b[31m"], ["Restart it."])
    assert empty.note.text() == "After the change: Restart it."
    assert empty.preview.toPlainText() == "-a\n+b\\x1b[31m"
    assert empty.preview.isVisible()
    assert button.text() == "&Change 1 server"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert heard == [WatchRequest((PLAIN,))]
    assert not button.isEnabled()


def test_the_server_that_it_was_opened_for_is_ticked(empty: ClientsDialog) -> None:
    empty.show_found(clients(PLAIN, ON, WEB, wanted=[PLAIN, ON, WEB]))
    assert empty.watch_request() == WatchRequest((PLAIN,))
    assert [item.text(0) for item in empty.tree.selectedItems()] == ["plain"]


def test_a_server_that_is_watched_can_be_unticked(empty: ClientsDialog) -> None:
    empty.show_found(clients(PLAIN, ON, wanted=[ON]))
    assert empty.watch_request() == WatchRequest()
    assert "Untick it to stop watching" in empty.note.text()


def test_why_a_server_cannot_be_ticked_is_reported(empty: ClientsDialog) -> None:
    empty.show_found(clients(PLAIN, WEB, wanted=[WEB]))
    assert empty.watch_request() == WatchRequest()
    assert empty.note.text() == "web: VS Code debugs it."
    assert "Cannot be watched: web: VS Code debugs it." in empty.details.toPlainText()


def test_what_is_missing_or_unreadable_is_reported(empty: ClientsDialog) -> None:
    empty.show_found(clients())
    assert "No servers of known clients" in empty.note.text()
    empty.show_found(clients(PLAIN, is_missing=True))
    assert "No client on this computer has this server" in empty.note.text()
    empty.show_found(clients(PLAIN, errors=[ErrorDetails("It is no JSON", "/h/f.json")]))
    assert "It is no JSON (/h/f.json)" in empty.errors.toPlainText()


def test_a_refusal_and_an_outcome_are_shown(empty: ClientsDialog) -> None:
    empty.show_found(clients(PLAIN))
    empty.show_refusal(ErrorDetails("The file was changed meanwhile"))
    assert empty.note.text() == "The file was changed meanwhile"
    empty.show_done("Watched\nRestart it.")
    assert empty.note.text() == "Watched\nRestart it."
    empty.show_done("Watched", ErrorDetails("The disk is full"))
    assert empty.note.text() == "Watched\nThe disk is full"


def test_progress_is_requested_where_the_client_does_not_ask(empty: ClientsDialog) -> None:
    empty.show_found(clients(PLAIN, wanted=[PLAIN]))
    heard = previews(empty)
    empty.requests_progress.click()
    assert heard == [WatchRequest((PLAIN,), (), requests_progress=True)]
    assert empty.requests_progress.toolTip()


def test_both_commands_let_the_keyboard_begin_at_their_column(empty: ClientsDialog) -> None:
    for watches, column in ((True, WATCH), (False, ADD)):
        empty.begin(watches=watches)
        empty.show_found(clients(PLAIN))
        assert empty.tree.currentColumn() == column
    QTest.keyClick(empty.tree, Qt.Key.Key_Space)
    assert empty.watch_request() == WatchRequest()


def test_ticks_stay_when_servers_were_imported_or_changed(
    dialog: ClientsDialog, file: Path, catalogue: Catalogue
) -> None:
    dialog.tick("weather", WATCH, is_on=True)
    dialog.show_found(FoundClients([read(file, catalogue)], {}, saved(catalogue)))
    assert [request.names for request in dialog.imports()] == [("weather",)]
    assert [each.name for each in dialog.watch_request().watch] == ["weather"]


def test_what_was_ticked_and_is_now_watched_is_not_changed_again(empty: ClientsDialog) -> None:
    empty.show_found(clients(PLAIN, ON))
    empty.tick("plain", WATCH, is_on=True)
    empty.tick("on", WATCH, is_on=False)
    watched = dataclasses.replace(PLAIN, tap=ON.tap)
    empty.show_found(clients(watched, dataclasses.replace(ON, tap=None)))
    assert empty.watch_request() == WatchRequest()


def test_enter_changes_and_imports_nothing(qtbot: QtBot, appearance: Appearance) -> None:
    dialog = ClientsDialog(appearance)
    expose(qtbot, dialog)
    assert not dialog.change.isDefault()
    assert not dialog.add.isDefault()

"""What a user enters becomes a server to be saved, or reasons at the fields."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QStyle, QStyleOptionComboBox, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.common.layout import controls_in
from mcp_progress_monitor.gui.servers.draft import (
    Draft,
    DraftResult,
    EditedServer,
    EnteredValue,
    ServerKind,
    ValueKind,
)
from mcp_progress_monitor.gui.servers.editor import ServerEditor
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.definitions import (
    FileWatch,
    HttpDefinition,
    OAuthClient,
    RestartPolicy,
    StdioDefinition,
)

COMMAND = CatalogueEntry(
    StdioDefinition(
        name="db",
        command="python",
        args=("-m", "my server", "--x"),
        env={"REGION": "eu", "TOKEN": "${env:DB_TOKEN}", "PASSWORD": "${keyring:db/PASSWORD}"},
        era="handshake",
        connect_timeout_s=20,
        idle_timeout_s=90,
        total_timeout_s=0,
        restart=RestartPolicy(is_on=False, limit=9, first_delay_s=2, longest_delay_s=3, calm_s=7),
        watch=FileWatch(is_on=True, paths=("/srv/a", "/srv/b"), patterns=("*.py",)),
        ping_interval_s=0,
    ),
    connects_at_start=True,
    origin="Zed",
    unknown={"kept": 1},
)
URL = CatalogueEntry(
    HttpDefinition(
        name="orders",
        transport="sse",
        url="https://orders.example.com/mcp",
        headers={"Authorization": "Bearer ${env:ORDERS}", "X-Team": "blue"},
        auth="oauth",
        oauth=OAuthClient(client_id="me", client_secret="${keyring:orders/s}", scope="read"),
    )
)


def opened(
    qtbot: QtBot,
    appearance: Appearance,
    entry: CatalogueEntry | None = None,
    kind: ServerKind = ServerKind.COMMAND,
    names: frozenset[str] = frozenset(),
) -> ServerEditor:
    editor = ServerEditor(appearance, draft=Draft(kind=kind), entry=entry, names=names)
    qtbot.addWidget(editor)
    editor.show()
    return editor


def saved(editor: ServerEditor) -> list[EditedServer]:
    """What is handed over from now on."""
    heard: list[EditedServer] = []
    editor.save_requested.connect(heard.append)
    return heard


def error(editor: ServerEditor, field: str) -> str:
    for page in (editor.server, editor.connection, editor.restart):
        if field in page.fields:
            return page.fields[field].error
    raise KeyError(field)


@pytest.mark.parametrize("entry", [COMMAND, URL], ids=["command", "url"])
def test_a_server_that_is_only_looked_at_is_saved_as_it_was(
    qtbot: QtBot, appearance: Appearance, entry: CatalogueEntry
) -> None:
    kind = ServerKind.URL if entry is URL else ServerKind.COMMAND
    editor = opened(qtbot, appearance, entry, kind)
    heard = saved(editor)
    editor.save_only()
    assert heard == [EditedServer(entry, {}, entry.name)]


def test_a_new_server_is_called_after_its_command_and_connected(
    qtbot: QtBot, appearance: Appearance, tmp_path: Path
) -> None:
    editor = opened(qtbot, appearance)
    heard = saved(editor)
    editor.server.command.setText("python -m my_server --port 80")
    editor.server.folder.setText(str(tmp_path))
    assert editor.server.name.placeholderText() == "my_server"
    editor.connect_button.click()
    (edited,) = heard
    assert edited.is_to_connect
    assert edited.was == ""
    assert edited.entry.definition == StdioDefinition(
        name="my_server",
        command="python",
        args=("-m", "my_server", "--port", "80"),
        cwd=str(tmp_path),
    )
    assert editor.isVisible()  # until it is saved
    editor.close_saved()
    assert not editor.isVisible()


def test_a_url_with_a_bearer_token_from_the_environment(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance, kind=ServerKind.URL)
    heard = saved(editor)
    editor.server.url.setText("https://example.com:8443/mcp")
    editor.server.headers.bearer_button.click()
    (row,) = editor.server.headers.rows()
    row.kind.setCurrentIndex(list(ValueKind).index(ValueKind.ENVIRONMENT))
    row.value.setText("TOKEN")
    editor.save_only()
    assert heard[0].entry.definition == HttpDefinition(
        name="example.com",
        url="https://example.com:8443/mcp",
        headers={"Authorization": "Bearer ${env:TOKEN}"},
    )


def test_every_source_of_a_value_has_room(qtbot: QtBot, appearance: Appearance) -> None:
    editor = opened(qtbot, appearance, kind=ServerKind.URL)
    editor.server.headers.bearer_button.click()
    (row,) = editor.server.headers.rows()
    option = QStyleOptionComboBox()
    row.kind.initStyleOption(option)
    option.rect = QRect(QPoint(), row.kind.minimumSizeHint())
    field = QStyle.SubControl.SC_ComboBoxEditField
    box = row.kind.style().subControlRect(
        QStyle.ComplexControl.CC_ComboBox, option, field, row.kind
    )
    texts = [row.kind.itemText(place) for place in range(row.kind.count())]
    widest = max(map(row.kind.fontMetrics().horizontalAdvance, texts))
    assert box.width() >= widest


def test_a_secret_goes_to_the_keyring_and_not_into_the_definition(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance)
    heard = saved(editor)
    editor.server.command.setText("server")
    row = editor.server.variables.add(EnteredValue("API_KEY", ValueKind.KEYRING))
    row.value.setText("hush")
    editor.save_only()
    (edited,) = heard
    assert edited.secrets == {"server/API_KEY": "hush"}
    assert edited.entry.definition == StdioDefinition(
        name="server", command="server", env={"API_KEY": "${keyring:server/API_KEY}"}
    )


def test_what_was_typed_before_a_secret_is_to_be_asked_for_is_not_saved(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance)
    heard = saved(editor)
    editor.server.command.setText("server")
    row = editor.server.variables.add(EnteredValue("API_KEY"))
    row.value.setText("s3cret")
    row.kind.setCurrentText("Ask at connect")
    assert not row.value.isEnabled()
    editor.save_only()
    (edited,) = heard
    assert edited.secrets == {}
    assert edited.entry.definition == StdioDefinition(
        name="server", command="server", env={"API_KEY": "${ask:API_KEY}"}
    )


def test_without_a_keyring_a_secret_is_refused_and_what_else_can_be_done_is_reported(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance)
    heard = saved(editor)
    editor.set_keyring(ErrorDetails("No keyring is available"))
    editor.server.command.setText("server")
    row = editor.server.variables.add(EnteredValue("API_KEY", ValueKind.KEYRING))
    row.value.setText("hush")
    editor.save_only()
    assert heard == []
    assert "readable in the catalogue file" in row.error
    texts = [label.text() for label in editor.server.variables.findChildren(QLabel)]
    assert "No keyring is available" in texts


def test_values_are_masked_unless_they_are_shown(qtbot: QtBot, appearance: Appearance) -> None:
    editor = opened(qtbot, appearance, COMMAND)
    region, token, password = editor.server.variables.rows()
    mode = QLineEdit.EchoMode
    assert region.value.echoMode() is mode.Password
    assert token.value.echoMode() is mode.Normal  # only a variable's name
    assert password.value.text() == ""
    assert "REGION = ••••••" in editor.preview.toPlainText()
    editor.server.variables.shows.click()
    assert region.value.echoMode() is mode.Normal
    qtbot.waitUntil(lambda: "REGION = eu" in editor.preview.toPlainText())


def test_a_text_that_looks_like_a_secret_is_warned_of(qtbot: QtBot, appearance: Appearance) -> None:
    editor = opened(qtbot, appearance)
    table = editor.server.variables
    row = table.add(EnteredValue("API_KEY"))
    row.value.setText("sk-1234")
    message = " ".join(label.text() for label in table.findChildren(QLabel) if label.isVisible())
    assert "API_KEY looks like a secret" in message
    row.kind.setCurrentIndex(list(ValueKind).index(ValueKind.ENVIRONMENT))
    message = " ".join(label.text() for label in table.findChildren(QLabel) if label.isVisible())
    assert "looks like a secret" not in message


def test_every_mistake_stands_at_its_field_and_nothing_is_saved(
    qtbot: QtBot, appearance: Appearance, tmp_path: Path
) -> None:
    editor = opened(qtbot, appearance, names=frozenset({"taken"}))
    heard = saved(editor)
    editor.server.name.setText("taken")
    editor.server.command.setText("python 'open")
    editor.server.folder.setText(str(tmp_path / "missing"))
    nameless = editor.server.variables.add(EnteredValue("", value="x"))
    twice = [editor.server.variables.add(EnteredValue("A", value="x")) for _ in range(2)]
    editor.connection.idle.setText("soon")
    editor.restart.first.setValue(90)
    editor.connect_button.click()
    assert heard == []
    assert "Another server has this name" in error(editor, "name")
    assert "Cannot parse" in error(editor, "command")
    assert "does not exist" in error(editor, "folder")
    assert "name" in nameless.error
    assert twice[0].error == ""
    assert "already used above" in twice[1].error
    assert error(editor, "idle") != ""
    assert "at least the first delay" in error(editor, "longest_delay")
    assert editor.note.text() == "7 fields need fixing"
    assert editor.focusWidget() is editor.server.name
    editor.server.name.setText("free")
    qtbot.waitUntil(lambda: error(editor, "name") == "")


def test_nothing_is_called_wrong_before_the_user_is_done(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance)
    editor.server.command.setText("python 'op")
    editor.reading()
    qtbot.wait(200)  # longer than the preview waits
    assert error(editor, "command") == ""


@pytest.mark.parametrize("entered", ["-1", "soon", "NaN", "1e300"])
def test_a_mistake_on_another_page_is_brought_to_the_front(
    qtbot: QtBot, appearance: Appearance, entered: str
) -> None:
    editor = opened(qtbot, appearance)
    heard = saved(editor)
    editor.server.command.setText("server")
    editor.connection.total.setText(entered)
    editor.save_only()
    assert heard == []
    assert editor.tabs.currentWidget() is editor.connection
    assert error(editor, "total") != ""


@pytest.mark.parametrize("url", ["", "ftp://x/y", "example.com/mcp", "http://", "http://x:0/"])
def test_a_url_that_cannot_be_asked_is_reported_at_its_field(
    qtbot: QtBot, appearance: Appearance, url: str
) -> None:
    editor = opened(qtbot, appearance, kind=ServerKind.URL)
    heard = saved(editor)
    editor.server.url.setText(url)
    editor.server.name.setText("x")
    editor.save_only()
    assert heard == []
    assert error(editor, "url") != ""


def test_a_header_that_http_does_not_allow_is_reported_in_its_row(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance, kind=ServerKind.URL)
    editor.server.url.setText("https://example.com")
    row = editor.server.headers.add(EnteredValue("no name", value="x"))
    editor.save_only()
    assert row.error != ""


def test_the_preview_shows_each_word_of_the_command_with_what_is_hidden_in_it(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance)
    editor.server.command.setText("no-such-program 'two words' '' \u202egnp.exe")
    qtbot.waitUntil(lambda: "word 3" in editor.preview.toPlainText())
    lines = editor.preview.toPlainText().splitlines()
    assert lines[:4] == [
        "Runs      no-such-program   (not found on PATH)",
        "  word 1  two words",
        "  word 2  (empty)",
        "  word 3  \\u202egnp.exe",
    ]


def test_unencrypted_http_to_another_machine_is_reported(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance, kind=ServerKind.URL)
    editor.server.url.setText("http://example.com/mcp")
    qtbot.waitUntil(lambda: "not encrypted" in editor.preview.toPlainText())
    editor.server.url.setText("http://127.0.0.1:8000/mcp")
    qtbot.waitUntil(lambda: "not encrypted" not in editor.preview.toPlainText())


def test_only_the_fields_of_the_kind_are_shown(qtbot: QtBot, appearance: Appearance) -> None:
    editor = opened(qtbot, appearance)
    assert editor.server.command.isVisible()
    assert not editor.server.url.isVisible()
    editor.server.is_url.click()
    assert not editor.server.command.isVisible()
    assert editor.server.url.isVisible()
    assert not editor.server.client_id.isVisible()
    editor.server.signs_in.click()
    assert editor.server.client_id.isVisible()


def test_escape_does_not_throw_away_what_was_typed(qtbot: QtBot, appearance: Appearance) -> None:
    editor = opened(qtbot, appearance)
    editor.server.command.setText("typed")
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert editor.isVisible()
    assert "unsaved changes" in editor.note.text()
    editor.server.command.setText("")
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert not editor.isVisible()


def test_a_refusal_is_shown_and_nothing_is_lost(qtbot: QtBot, appearance: Appearance) -> None:
    editor = opened(qtbot, appearance)
    heard = saved(editor)
    editor.server.command.setText("server")
    editor.save_only()
    editor.save_only()  # while the first is on its way
    assert len(heard) == 1
    assert not editor.save_button.isEnabled()
    editor.show_refusal(ErrorDetails("The disk is full"))
    assert "The disk is full" in editor.note.text()
    assert editor.save_button.isEnabled()
    assert editor.server.command.text() == "server"


def test_a_refusal_stays_until_something_is_changed(
    qtbot: QtBot, appearance: Appearance, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = opened(qtbot, appearance)
    editor.server.command.setText("server")
    editor.save_only()
    editor.show_refusal(ErrorDetails("The disk is full"))
    read: list[str] = []

    def reading() -> DraftResult:
        read.append("once more")
        return ServerEditor.reading(editor)

    monkeypatch.setattr(editor, "reading", reading)
    editor.set_keyring(
        ErrorDetails("There is no keyring")
    )  # which is reported whenever it is known
    qtbot.waitUntil(lambda: bool(read))
    assert "The disk is full" in editor.note.text()
    editor.server.command.setText("server --more")
    qtbot.waitUntil(lambda: not editor.note.text())


def test_every_control_has_a_name_and_keys_lead_to_fields(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance, COMMAND)
    nameless = [
        type(control).__name__
        for control in controls_in(editor)
        if not control.accessibleName() and not getattr(control, "text", str)()
    ]
    assert nameless == []
    for page in (editor.server, editor.connection, editor.restart):
        labels = [label for label in page.findChildren(QLabel) if "&" in label.text()]
        assert all(label.buddy() is not None for label in labels)


def test_tab_goes_through_fields_and_variables_to_the_buttons_and_round(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance, COMMAND)
    editor.server.variables.add_button.click()
    qtbot.waitUntil(editor.server.variables.rows()[-1].value.isVisible)
    way, at = list[QWidget](), editor.focusWidget()
    while at not in way:
        way.append(at)
        QTest.keyClick(at, Qt.Key.Key_Tab)
        at = editor.focusWidget()
    rows = editor.server.variables.rows()
    stops: list[QWidget] = [each for row in rows for each in (row.name, row.value, row.remove)]
    stops += [editor.server.name, editor.server.command, editor.server.at_start]
    stops += [editor.tabs.tabBar(), editor.preview, *editor.buttons.buttons()]
    assert [each for each in stops if each not in way] == []
    assert at is way[0]


def test_without_a_command_the_command_alone_is_to_be_fixed(
    qtbot: QtBot, appearance: Appearance
) -> None:
    editor = opened(qtbot, appearance)
    editor.accept()
    errors = {name for name, box in editor.server.fields.items() if box.error}
    assert errors == {"command"}
    assert editor.focusWidget() is editor.server.command


def test_a_removed_variable_is_gone(qtbot: QtBot, appearance: Appearance) -> None:
    editor = opened(qtbot, appearance, COMMAND)
    heard = saved(editor)
    editor.server.variables.rows()[0].remove.click()
    editor.save_only()
    definition = heard[0].entry.definition
    assert isinstance(definition, StdioDefinition)
    assert list(definition.env) == ["TOKEN", "PASSWORD"]

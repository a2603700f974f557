"""What is exported is shown before, with what is left out of it."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.clients import CODEX, OURS
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.servers.export_dialog import ServerExportDialog, ServerExportRequest
from mcp_progress_monitor.gui.theme import Appearance


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> ServerExportDialog:
    made = ServerExportDialog(["db", "<b>orders</b>"], [OURS, CODEX], appearance)
    qtbot.addWidget(made)
    made.show()
    return made


def wishes(dialog: ServerExportDialog) -> list[ServerExportRequest]:
    heard: list[ServerExportRequest] = []
    dialog.text_requested.connect(heard.append)
    return heard


def test_every_server_is_ticked_and_secrets_are_not_wanted(dialog: ServerExportDialog) -> None:
    assert dialog.request() == ServerExportRequest(("db", "<b>orders</b>"), OURS.key)


def test_each_choice_asks_for_the_text_again(dialog: ServerExportDialog) -> None:
    heard = wishes(dialog)
    dialog.form.setCurrentIndex(1)
    dialog.servers.item(1).setCheckState(Qt.CheckState.Unchecked)
    dialog.with_secrets.click()
    assert heard == [
        ServerExportRequest(("db", "<b>orders</b>"), "codex"),
        ServerExportRequest(("db",), "codex"),
        ServerExportRequest(("db",), "codex", with_secrets=True),
    ]


def test_what_is_left_out_is_reported_and_bounded(dialog: ServerExportDialog) -> None:
    dialog.show_text("{}", [f"db: the value of A{number}" for number in range(30)])
    assert "db: the value of A0;" in dialog.note.text()
    assert "and 10 more" in dialog.note.text()


def test_exporting_secrets_warns_about_plain_text(dialog: ServerExportDialog) -> None:
    dialog.with_secrets.click()
    dialog.show_text("{}", [])
    assert "plain text" in dialog.note.text()


def test_the_text_is_copied_whole_and_shown_with_what_is_hidden_in_it(
    dialog: ServerExportDialog,
) -> None:
    text = "a\u202eb\n" + "x" * 30_000
    dialog.show_text(text, [])
    assert dialog.shown.toPlainText().startswith("a\\u202eb\nx")
    assert len(dialog.shown.toPlainText()) <= 20_000
    dialog.copy.click()
    assert QGuiApplication.clipboard().text() == text
    assert "Copied: 2 servers" in dialog.note.text()


def test_nothing_ticked_can_be_written_nowhere(dialog: ServerExportDialog) -> None:
    for row in range(2):
        dialog.servers.item(row).setCheckState(Qt.CheckState.Unchecked)
    dialog.show_text("{}", [])
    assert not dialog.copy.isEnabled()
    assert not dialog.save.isEnabled()


def test_the_outcome_of_saving_is_reported(dialog: ServerExportDialog) -> None:
    dialog.show_saved(Path("/srv/mcp.json"))
    assert "/srv/mcp.json" in dialog.note.text()
    assert "replaced" not in dialog.note.text()
    dialog.show_saved(Path("/srv/mcp.json"), Path("/srv/mcp.json.before"))
    assert "backup of the file: /srv/mcp.json.before" in dialog.note.text()
    dialog.show_refusal(ErrorDetails("The disk is full"))
    assert "The disk is full" in dialog.note.text()

"""Letting an agent in: the client, the servers, and the exact entry."""

import json
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.agent_entry import ReadableServer
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.agents.invite_dialog import InviteDialog, InviteRequest
from mcp_progress_monitor.gui.theme import Appearance

FILES = {"cursor": Path("/home/me/.cursor/mcp.json"), "claude-code": Path("/home/me/.claude.json")}
SERVERS = [
    ReadableServer("orders", "in Cursor", is_here=True),
    ReadableServer("local-db", "saved in this program"),
]


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> InviteDialog:
    made = InviteDialog(tmp_path, appearance)
    qtbot.addWidget(made)
    made.show_choices(FILES, SERVERS)
    return made


def arguments(dialog: InviteDialog) -> list[str]:
    (entry,) = json.loads(dialog.entry.toPlainText())["mcpServers"].values()
    return list(entry["args"])


def test_the_servers_of_the_project_are_checked(dialog: InviteDialog, tmp_path: Path) -> None:
    assert arguments(dialog)[-5:] == ["mcp", "--data-dir", str(tmp_path), "--server", "orders"]
    dialog.set_ticked("local-db", is_on=True)
    assert arguments(dialog)[-4:] == ["--server", "orders", "--server", "local-db"]


def test_a_server_that_was_chosen_is_checked_instead(dialog: InviteDialog) -> None:
    dialog.show_choices(FILES, SERVERS, ["local-db"])
    assert arguments(dialog)[-2:] == ["--server", "local-db"]


def test_all_servers_need_no_names(dialog: InviteDialog, tmp_path: Path) -> None:
    dialog.set_ticked("", is_on=True)
    assert arguments(dialog)[-3:] == ["mcp", "--data-dir", str(tmp_path)]


def test_an_agent_acts_only_if_that_is_ticked(dialog: InviteDialog) -> None:
    assert "--allow-actions" not in dialog.entry.toPlainText()
    dialog.acts.click()
    assert arguments(dialog)[-3:] == ["--allow-actions", "--server", "orders"]
    assert "You are asked before each action" in dialog.note.text()


def test_nothing_is_added_without_a_server(dialog: InviteDialog) -> None:
    dialog.set_ticked("orders", is_on=False)
    assert dialog.request() is None
    assert not dialog.add.isEnabled()
    assert not dialog.copy.isEnabled()
    assert dialog.entry.toPlainText() == ""


def test_clients_on_this_computer_are_first_and_others_get_the_text(dialog: InviteDialog) -> None:
    assert [dialog.clients.itemText(n) for n in (0, 1)] == ["Claude Code", "Cursor"]
    dialog.choose_client("zed")
    assert not dialog.add.isEnabled()
    assert "No configuration of Zed was found" in dialog.note.text()
    dialog.copy.click()
    assert "context_servers" in QGuiApplication.clipboard().text()


def test_claude_code_has_a_line_for_the_terminal(dialog: InviteDialog) -> None:
    dialog.copy_line.click()
    line = QGuiApplication.clipboard().text()
    assert line.startswith("claude mcp add --scope user mcp-progress-monitor -- ")
    assert line.endswith("--server orders")
    assert dialog.line.text() == line
    dialog.choose_client("cursor")
    assert dialog.copy_line.isHidden()


def test_what_is_shown_is_what_is_asked_for(dialog: InviteDialog, tmp_path: Path) -> None:
    asked: list[InviteRequest] = []
    dialog.add_requested.connect(asked.append)
    dialog.choose_client("cursor")
    dialog.add.click()
    (request,) = asked
    assert (request.path, request.entry.servers) == (FILES["cursor"], ("orders",))
    assert not dialog.add.isEnabled()
    dialog.show_refusal(ErrorDetails("Cannot write", "x"))
    assert dialog.add.isEnabled()
    assert dialog.note.text() == "Cannot write (x)"
    dialog.show_done("Added to x.")
    assert dialog.note.text() == "Added to x."

"""What a user types becomes a definition, or a reason at the dialog."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QLabel

from app.problem import ProblemError
from app.widgets.server_dialog import ServerDialog, read_environment, split_command

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from app.sessions.definitions import StdioDefinition


@pytest.mark.skipif(os.name != "posix", reason="quotes differ on Windows")
def test_a_command_line_is_split_as_a_shell_would() -> None:
    assert split_command("uvx 'my server' --port 80") == ["uvx", "my server", "--port", "80"]


@pytest.mark.parametrize("text", ["", "   ", "python 'open"])
def test_a_command_line_that_cannot_be_read_says_so(text: str) -> None:
    with pytest.raises(ProblemError):
        split_command(text)


def test_environment_lines_become_variables() -> None:
    assert read_environment("A=1\n\nB=x=y\n C =") == {"A": "1", "B": "x=y", "C": ""}


def test_an_environment_line_without_a_name_is_named_by_number() -> None:
    with pytest.raises(ProblemError, match="line 2"):
        read_environment("A=1\nnonsense")


def test_accepting_hands_over_the_definition(qtbot: QtBot, tmp_path: Path) -> None:
    dialog = ServerDialog()
    qtbot.addWidget(dialog)
    dialog.command.setText("python -m my_server")
    dialog.folder.setText(str(tmp_path))
    dialog.environment.setPlainText("DEBUG=1")
    dialog.era.setCurrentIndex(2)
    heard: list[StdioDefinition] = []
    dialog.server_add_requested.connect(heard.append)
    dialog.accept()
    (definition,) = heard
    assert (definition.name, definition.command, definition.args) == (
        "python",
        "python",
        ("-m", "my_server"),
    )
    assert (definition.cwd, definition.env, definition.era) == (
        str(tmp_path),
        {"DEBUG": "1"},
        "per-request",
    )
    assert dialog.result() == ServerDialog.DialogCode.Accepted.value


def test_every_field_is_reached_by_the_key_of_its_label(qtbot: QtBot) -> None:
    dialog = ServerDialog()
    qtbot.addWidget(dialog)
    buddies = {
        label.text(): label.buddy() for label in dialog.findChildren(QLabel) if "&" in label.text()
    }
    assert buddies == {
        "&Command line": dialog.command,
        "&Name": dialog.name,
        "&Folder": dialog.folder,
        "&Environment": dialog.environment,
        "&Protocol": dialog.era,
        "&Idle limit, s": dialog.idle,
        "&Total limit, s": dialog.total,
    }


def test_a_mistake_keeps_the_dialog_open_with_the_reason(qtbot: QtBot, tmp_path: Path) -> None:
    dialog = ServerDialog()
    qtbot.addWidget(dialog)
    dialog.command.setText("python")
    dialog.folder.setText(str(tmp_path / "missing"))
    heard: list[object] = []
    dialog.server_add_requested.connect(heard.append)
    dialog.accept()
    assert heard == []
    assert any("no such folder" in label.text() for label in dialog.findChildren(QLabel))


@pytest.mark.parametrize(
    ("idle", "total", "limits"),
    [("", "", (None, None)), ("90", "off", (90.0, 0.0)), ("0", "3600", (0.0, 3600.0))],
)
def test_the_limits_of_a_servers_calls_can_be_chosen(
    qtbot: QtBot, idle: str, total: str, limits: tuple[float | None, float | None]
) -> None:
    dialog = ServerDialog()
    qtbot.addWidget(dialog)
    dialog.command.setText("server")
    dialog.idle.setText(idle)
    dialog.total.setText(total)
    definition = dialog.definition()
    assert (definition.idle_timeout_s, definition.total_timeout_s) == limits


@pytest.mark.parametrize("entered", ["-1", "soon", "NaN", "1e300"])
def test_a_limit_that_is_none_keeps_the_dialog_open_and_says_which(
    qtbot: QtBot, entered: str
) -> None:
    dialog = ServerDialog()
    qtbot.addWidget(dialog)
    dialog.command.setText("server")
    dialog.total.setText(entered)
    with pytest.raises(ProblemError, match="Total limit of its calls in seconds"):
        dialog.definition()
    heard: list[StdioDefinition] = []
    dialog.server_add_requested.connect(heard.append)
    dialog.accept()
    assert heard == []

"""Secrets asked for when a server is connected: passed on, and found in no file."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QDialogButtonBox, QLineEdit

from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers.commands import CONNECT, DISCONNECT
from mcp_progress_monitor.gui.servers.secret_dialog import SecretDialog
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.programs import until
from tests.gui.saved import approve, asked, reported, running, save, state
from tests.keyed_server import DIGEST, SECRET, entry, files_with_secret

pytestmark = pytest.mark.anyio


def prompts(program: Program) -> list[SecretDialog]:
    return [each for each in program.window.findChildren(SecretDialog) if each.isVisible()]


async def prompted(program: Program) -> SecretDialog:
    """The dialog after the server is connected and approved."""
    program.window.commands.run(CONNECT, "db")
    await until(lambda: bool(asked(program) or prompts(program)))
    for dialog in asked(program):
        approve(dialog)
    await until(lambda: bool(prompts(program)))
    (found,) = prompts(program)
    return found


def was_recorded(data_dir: Path) -> bool:
    return any(data_dir.rglob("*.mcprec"))


def save_keyed(data_dir: Path, mark: Path) -> None:
    save(data_dir, db={**entry(mark), "env": {"API_KEY": "${ask:API_KEY}"}})


async def test_an_entered_secret_reaches_the_server_and_no_file(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    save_keyed(data_dir, mark)
    async with running(data_dir) as program:
        dialog = await prompted(program)
        assert not dialog.connect_button.isEnabled()
        field = dialog.fields["API_KEY"]
        assert field.echoMode() is QLineEdit.EchoMode.Password
        field.setText(SECRET)
        dialog.connect_button.click()
        await until(lambda: state(program, "db") is ServerState.CONNECTED)
        assert mark.read_text() == DIGEST
        program.window.commands.run(DISCONNECT, "db")
        await until(lambda: state(program, "db") is ServerState.CLOSED)
        assert (await prompted(program)).fields["API_KEY"].text() == ""
    assert was_recorded(data_dir)
    assert files_with_secret(data_dir, tmp_path, Path.home()) == []


async def test_cancelling_leaves_the_server_disconnected_and_says_so(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    save_keyed(data_dir, mark)
    async with running(data_dir) as program:
        dialog = await prompted(program)
        dialog.buttons.button(QDialogButtonBox.StandardButton.Cancel).click()
        await until(lambda: "stays disconnected: API_KEY not entered" in reported(program))
        assert not state(program, "db").is_up
    assert not mark.exists()


async def test_a_program_that_ends_takes_the_prompt_with_it(data_dir: Path, tmp_path: Path) -> None:
    save_keyed(data_dir, tmp_path / "mark")
    async with running(data_dir) as program:
        dialog = await prompted(program)
        dialog.fields["API_KEY"].setText(SECRET)
    assert not (tmp_path / "mark").exists()
    assert files_with_secret(data_dir, tmp_path) == []

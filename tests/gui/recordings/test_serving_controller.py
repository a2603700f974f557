"""A recording in place of its server, from the window: the entry, a URL, the requests."""

import json
from pathlib import Path

import httpx2
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.recordings.serving import ServeDialog
from mcp_progress_monitor.gui.window_commands import SERVE
from tests.gui.programs import until
from tests.gui.saved import running
from tests.taps import HandTap
from tests.unit.serving.recordings import answer, call

pytestmark = pytest.mark.anyio


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    tap = HandTap(tmp_path / "own")
    tap.write(tap.handshake(), tap.sent(call(1, city="Oslo")), tap.received(answer(1, n=3)))
    tap.lock.release()
    return tap.path


def opened(program: Program, path: Path) -> ServeDialog:
    program.recordings.serve_recording(path)
    (dialog,) = program.window.findChildren(ServeDialog)
    return dialog


async def test_the_entry_for_a_client_is_shown_and_copied(data_dir: Path, recording: Path) -> None:
    async with running(data_dir) as program:
        dialog = opened(program, recording)
        dialog.speed.setCurrentText("At once")
        entry = json.loads(dialog.entry.toPlainText())
        assert entry["args"][-4:] == ["serve", str(recording), "--speed", "max"]
        dialog.copy.click()
        assert json.loads(QGuiApplication.clipboard().text()) == entry
        dialog.close()


async def test_it_is_served_until_the_dialog_is_closed(data_dir: Path, recording: Path) -> None:
    async with running(data_dir) as program:
        dialog = opened(program, recording)
        dialog.speed.setCurrentText("At once")
        dialog.serve.click()
        await until(lambda: "http" in dialog.state.text())
        url = dialog.state.text().removeprefix("Served at ")
        async with httpx2.AsyncClient() as client:
            headers = {"Accept": "application/json"}
            other = call(7, city="Oslo!")
            response = await client.post(url, json=other, headers=headers)
            assert response.json() == answer(7, n=3)
            assert dialog.requests.toPlainText().startswith("! tools/call export: not recorded")
            dialog.serve.click()
            await until(lambda: dialog.serve.text() == "&Serve over HTTP")
            with pytest.raises(httpx2.ConnectError):
                await client.post(url, json=other)
        dialog.serve.click()
        await until(lambda: "http" in dialog.state.text())
        dialog.close()


async def test_servers_that_are_not_served_are_named(data_dir: Path, tmp_path: Path) -> None:
    tap = HandTap(tmp_path / "own", "first")
    tap.write(tap.sent(call(1)), tap.received(answer(1)))
    tap.name = "second"
    tap.write(tap.sent(call(2)), tap.received(answer(2)))
    tap.lock.release()
    async with running(data_dir) as program:
        dialog = opened(program, tap.path)
        dialog.serve.click()
        await until(lambda: bool(dialog.requests.toPlainText()))
        assert "also has: second. Use --server" in dialog.requests.toPlainText()
        dialog.close()


async def test_a_file_that_cannot_be_served_says_why(data_dir: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader")
    async with running(data_dir) as program:
        dialog = opened(program, letter)
        dialog.serve.click()
        await until(lambda: bool(dialog.state.text()))
        assert str(letter) in dialog.state.text()
        assert dialog.serve.isEnabled()
        dialog.close()


async def test_the_command_asks_for_a_recording(data_dir: Path, recording: Path) -> None:
    async with running(data_dir) as program:
        program.window.do[SERVE].trigger()
        (chooser,) = program.window.findChildren(QFileDialog)
        chooser.fileSelected.emit(str(recording))
        chooser.reject()
        (dialog,) = program.window.findChildren(ServeDialog)
        assert recording.name in dialog.windowTitle()
        dialog.close()

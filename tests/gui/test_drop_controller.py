"""What is dropped on the window is opened, shown or filled in, and nothing of it runs."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QObject, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.aio import BackgroundTasks
from mcp_progress_monitor.gui.drop_controller import DropKind, Drops, command_of, kind_of
from mcp_progress_monitor.gui.dropped import dropped
from mcp_progress_monitor.gui.recordings import controller as recordings_controller
from mcp_progress_monitor.gui.servers.clients_dialog import ClientsDialog
from mcp_progress_monitor.gui.servers.editor import ServerEditor
from mcp_progress_monitor.recording.format import HEADER
from mcp_progress_monitor.recording.recent import recent_recordings
from tests.gui.programs import until
from tests.gui.saved import running
from tests.gui.windows import window_on
from tests.unit.recording.written import Written

pytestmark = pytest.mark.anyio
COPY = Qt.DropAction.CopyAction
LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def text(message: str) -> QMimeData:
    data = QMimeData()
    data.setText(message)
    return data


def test_a_file_is_taken_for_what_it_holds(tmp_path: Path) -> None:
    named = {
        "a.mcprec": (b"", DropKind.RECORDING),
        "renamed.bin": (HEADER + b"{}\n", DropKind.RECORDING),
        "session.har": (b'{"log": {"entries": []}}', DropKind.RECORDING),
        "mcp.json": (b'{"mcpServers": {}}', DropKind.CONFIGURATION),
        "config.toml": (b"", DropKind.CONFIGURATION),
        "server.py": (b"print()", DropKind.PROGRAM),
        "server.mjs": (b"", DropKind.PROGRAM),
        "photo.png": (b"\x89PNG", DropKind.UNKNOWN),
    }
    for name, (content, kind) in named.items():
        (tmp_path / name).write_bytes(content)
        assert (name, kind_of(tmp_path / name)) == (name, kind)
    assert kind_of(tmp_path) is DropKind.FOLDER
    assert kind_of(tmp_path / "gone") is DropKind.UNKNOWN


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits are POSIX's")
def test_a_program_is_started_by_itself_and_a_script_by_its_interpreter(tmp_path: Path) -> None:
    program, script = tmp_path / "server", tmp_path / "server.py"
    program.write_text("#!/bin/sh\n")
    script.write_text("")
    program.chmod(0o700)
    assert kind_of(program) is DropKind.PROGRAM
    assert command_of(program) == (str(program),)
    assert command_of(script) == ("python3", str(script))
    script.chmod(0o700)
    assert command_of(script) == (str(script),)


def test_files_come_before_text_and_only_addresses_count_as_text(tmp_path: Path) -> None:
    assert dropped(files(tmp_path / "a", tmp_path / "b")) == (
        str(tmp_path / "a"),
        str(tmp_path / "b"),
    )
    assert dropped(text(" https://a.example/mcp\n")) == ("https://a.example/mcp",)
    assert dropped(text("see https://a.example/mcp")) == ()
    assert dropped(text("javascript:alert(1)")) == ()
    assert len(dropped(files(*[tmp_path / str(n) for n in range(50)]))) == 10


def test_the_window_says_what_it_takes_and_hands_it_on(
    qtbot: QtBot, data_dir: Path, tmp_path: Path
) -> None:
    window = window_on(qtbot, data_dir)
    heard: list[Sequence[str]] = []
    window.dropped.connect(heard.append)
    data, nothing = files(tmp_path / "a.mcprec"), text("message")
    place = window.rect().center()
    enter = QDragEnterEvent(place, COPY, nothing, LEFT, NONE)
    window.dragEnterEvent(enter)
    assert window.statusBar().currentMessage() == ""
    enter = QDragEnterEvent(place, COPY, data, LEFT, NONE)
    window.dragEnterEvent(enter)
    assert enter.isAccepted()
    assert "Drop to open" in window.statusBar().currentMessage()
    window.dropEvent(QDropEvent(QPointF(place), COPY, data, LEFT, NONE))
    assert heard == [(str(tmp_path / "a.mcprec"),)]
    assert window.statusBar().currentMessage() == ""


async def test_a_program_is_filled_in_and_not_run(data_dir: Path, tmp_path: Path) -> None:
    script = tmp_path / "my server.py"
    script.write_text("raise SystemExit")
    async with running(data_dir) as program:
        program.window.dropped.emit((str(script),))
        await until(lambda: bool(program.window.findChildren(ServerEditor)))
        (editor,) = program.window.findChildren(ServerEditor)
        assert str(script) in editor.draft().command or "my server.py" in editor.draft().command
        assert "word 1" in editor.preview.toPlainText()
        assert not program.engine.servers.names()
        editor.reject()
        program.window.dropped.emit(("https://a.example/mcp",))
        await until(lambda: any(e.isVisible() for e in program.window.findChildren(ServerEditor)))
        shown = [e for e in program.window.findChildren(ServerEditor) if e.isVisible()]
        assert shown[0].draft().url == "https://a.example/mcp"
        shown[0].reject()


async def test_a_configuration_is_shown_to_be_imported(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"db": {"command": "run-db"}}}')
    async with running(data_dir) as program:
        program.window.dropped.emit((str(path),))
        await until(lambda: bool(program.window.findChildren(ClientsDialog)))
        (dialog,) = program.window.findChildren(ClientsDialog)
        await until(lambda: dialog.tree.topLevelItemCount() == 1)
        assert not program.engine.servers.names()
        dialog.reject()


async def test_a_recording_opens_and_is_listed_among_the_last_ones(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Sequence[str]] = []

    def start(command: Sequence[str]) -> bool:
        started.append(command)
        return True

    monkeypatch.setattr(recordings_controller, "start_detached", start)
    path = Written().save(tmp_path / "a&b.mcprec")
    async with running(data_dir) as program:
        menu = program.window.recent_menu
        menu.aboutToShow.emit()
        assert [action.isEnabled() for action in menu.actions()] == [False]
        program.window.dropped.emit((str(path), str(tmp_path / "gone.mcprec")))
        await until(lambda: bool(started) and bool(program.window.notices.errors()))
        assert started[0][-1] == str(path)
        menu.aboutToShow.emit()
        assert menu.actions()[0].text() == "&1 a&&b.mcprec"
        menu.actions()[0].trigger()
        await until(lambda: len(started) == 2)
        next(action for action in menu.actions() if action.text() == "&Clear this list").trigger()
        assert recent_recordings(data_dir) == []


async def test_what_is_nothing_of_ours_is_reported(data_dir: Path, tmp_path: Path) -> None:
    async with running(data_dir) as program:
        program.window.dropped.emit((str(tmp_path),))
        await until(lambda: bool(program.window.notices.errors()))
        (error,) = program.window.notices.errors()
        assert error.where == str(tmp_path)


async def test_a_recordings_window_takes_recordings_alone() -> None:
    reported: list[object] = []
    opened: list[object] = []
    holder = QObject()
    async with BackgroundTasks(reported.append, reported.append) as tasks:
        drops = Drops(holder, tasks, reported.append, is_live=False)
        drops.recording_dropped.connect(opened.append)
        drops.take(("https://a.example",))
        await until(lambda: len(reported) == 1)
        drops.take(("a.mcprec",))
        await until(lambda: len(reported) == 2)  # there is no such file
    assert opened == []

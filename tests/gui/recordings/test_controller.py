"""The window's doings with recordings: a process for each, the list, limits, the double click."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.recordings.dialog import RecordingsDialog
from mcp_progress_monitor.gui.window_commands import ASSOCIATE, OPEN_RECORDING, RECORDINGS
from mcp_progress_monitor.recording.settings import RecordingSettings, load_settings, save_settings
from tests.gui.programs import until
from tests.gui.saved import running
from tests.taps import HandTap
from tests.unit.imports.imported import SAMPLES
from tests.unit.recording.written import Written

pytestmark = pytest.mark.anyio


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have been started."""
    started: list[list[str]] = []

    def start(command: Sequence[str]) -> bool:
        started.append(list(command))
        return "refused" not in command[-1]

    monkeypatch.setattr("mcp_progress_monitor.gui.recordings.controller.start_detached", start)
    return started


def of_kind(window: QWidget, kind: type[QWidget]) -> list[QWidget]:
    return [found for found in window.findChildren(kind) if found.isVisible()]


async def listed(program: Program) -> RecordingsDialog:
    program.window.do[RECORDINGS].trigger()
    await until(lambda: bool(of_kind(program.window, RecordingsDialog)))
    (dialog,) = of_kind(program.window, RecordingsDialog)
    assert isinstance(dialog, RecordingsDialog)
    return dialog


async def test_a_recording_is_opened_in_a_process_of_its_own(
    data_dir: Path, tmp_path: Path, started: list[list[str]]
) -> None:
    file = Written().save(tmp_path / "a.mcprec")
    async with running(data_dir) as program:
        program.window.do[OPEN_RECORDING].trigger()
        (dialog,) = of_kind(program.window, QFileDialog)
        assert isinstance(dialog, QFileDialog)
        dialog.fileSelected.emit(str(file))
        dialog.reject()
        await until(lambda: bool(started))
        assert started[0][-4:] == ["open", "--data-dir", str(data_dir), str(file)]
        assert program.window.notices.errors() == ()


async def test_another_programs_file_is_opened_like_a_recording(
    data_dir: Path, started: list[list[str]]
) -> None:
    file = SAMPLES / "chrome-137.har"
    async with running(data_dir) as program:
        program.recordings.open_recording(str(file))
        await until(lambda: bool(started))
        assert started[0][-1] == str(file)
        assert program.window.notices.errors() == ()


async def test_what_is_no_recording_is_reported_here_and_starts_nothing(
    data_dir: Path, tmp_path: Path, started: list[list[str]]
) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear reader")
    async with running(data_dir) as program:
        program.recordings.open_recording(str(file))
        await until(lambda: bool(program.window.notices.errors()))
        (error,) = program.window.notices.errors()
        assert str(file) in error.where
        assert started == []


async def test_a_window_that_cannot_be_started_is_reported(
    data_dir: Path, tmp_path: Path, started: list[list[str]]
) -> None:
    file = Written().save(tmp_path / "refused.mcprec")
    async with running(data_dir) as program:
        program.recordings.open_recording(file)
        await until(lambda: bool(program.window.notices.errors()))
        assert started
        assert "mcp-progress-monitor open" in program.window.notices.errors()[0].hint


async def test_recordings_are_listed_opened_and_deleted(
    data_dir: Path, started: list[list[str]]
) -> None:
    folder = data_dir / "recordings"
    folder.mkdir()
    old = Written().save(folder / "2025-01-01T10-00-00-p1.mcprec")
    async with running(data_dir) as program:
        dialog = await listed(program)
        await until(lambda: dialog.tree.topLevelItemCount() >= 1)
        item = next(
            found
            for row in range(dialog.tree.topLevelItemCount())
            if (found := dialog.tree.topLevelItem(row)) is not None and found.text(4) == old.name
        )
        item.setSelected(True)
        dialog.open_button.click()
        await until(lambda: bool(started))
        assert started[0][-1] == str(old)
        dialog.delete_button.click()
        (box,) = of_kind(dialog, QMessageBox)
        assert isinstance(box, QMessageBox)
        next(button for button in box.buttons() if button.text() == "&Delete").click()
        await until(lambda: not old.exists())
        await until(lambda: old.name not in _names(dialog))
        assert program.window.notices.errors() == ()


def _names(dialog: RecordingsDialog) -> list[str]:
    items = map(dialog.tree.topLevelItem, range(dialog.tree.topLevelItemCount()))
    return [item.text(4) for item in items if item is not None]


async def test_the_list_is_opened_once(data_dir: Path) -> None:
    async with running(data_dir) as program:
        dialog = await listed(program)
        program.window.do[RECORDINGS].trigger()
        assert of_kind(program.window, RecordingsDialog) == [dialog]
        dialog.reject()
        assert await listed(program) is not dialog


async def test_limits_are_kept(data_dir: Path) -> None:
    save_settings(data_dir, RecordingSettings(keep_days=3))
    async with running(data_dir) as program:
        dialog = await listed(program)
        assert dialog.limits.controls["keep_days"].widget.value() == 3
        dialog.limits.controls["keep_days"].widget.setValue(60)
        dialog.limits.controls["is_on"].widget.click()
        found = RecordingSettings(is_on=False, keep_days=60)
        assert load_settings(data_dir) == (found, None)


async def test_limits_that_cannot_be_kept_are_reported(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(data_dir) as program:
        dialog = await listed(program)
        # For root there are no rights to take away: the folder is a file instead.
        monkeypatch.setattr(program.recordings, "_data_dir", data_dir / "window.ini")
        dialog.limits.controls["keep_days"].widget.setValue(61)
        (error,) = program.window.notices.errors()
        assert "Cannot save the recording settings" in error.what


async def test_that_recording_stopped_is_reported_once(data_dir: Path) -> None:
    full = ErrorDetails("Recording stopped: the disk is full", "x.mcprec", "Free some space.")
    async with running(data_dir) as program:
        program.engine.recording.error = full
        await until(lambda: bool(program.window.notices.errors()))
        program.window.notices.show_error(ErrorDetails("something else"))
        program._on_beat()  # noqa: SLF001  # four times a second
        program._on_beat()  # noqa: SLF001
        assert program.window.notices.errors() == (full, ErrorDetails("something else"))


@pytest.mark.skipif(sys.platform != "linux", reason="the files of a Linux desktop")
async def test_the_association_is_asked_for_and_reported(
    data_dir: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    async with running(data_dir) as program:
        program.window.do[ASSOCIATE].trigger()
        (box,) = of_kind(program.window, QMessageBox)
        assert isinstance(box, QMessageBox)
        assert ".mcprec" in box.text()
        next(button for button in box.buttons() if button.text() == "&Associate").click()
        file = isolated_home / ".local/share/applications/mcp-progress-monitor-open.desktop"
        await until(file.is_file)
        await until(lambda: bool(of_kind(program.window, QMessageBox)))
        (reported,) = of_kind(program.window, QMessageBox)
        assert isinstance(reported, QMessageBox)
        assert str(file) in reported.informativeText()
        reported.close()


async def test_recordings_are_listed_with_what_they_hold(data_dir: Path) -> None:
    tap = HandTap(data_dir / "recordings" / "live")
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(3))
    tap.end()
    async with running(data_dir) as program:
        dialog = await listed(program)

        def found() -> list[tuple[str, str]]:
            items = map(dialog.tree.topLevelItem, range(dialog.tree.topLevelItemCount()))
            return [(item.text(5), item.text(6)) for item in items if item is not None]

        await until(lambda: ("local-db", "1") in found())
        dialog.close()

"""A recording is open once: opening it again brings its window to the front."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from PySide6.QtCore import QObject

from mcp_progress_monitor.gui import recording_program
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.recording_program import (
    RecordingProgram,
    SingleInstance,
    brought_to_front,
)
from mcp_progress_monitor.playback.playback import Playback
from tests.architecture.source import ROOT
from tests.gui.programs import application, until, until_quit
from tests.patience import PATIENCE_S
from tests.unit.recording.written import Written

pytestmark = pytest.mark.anyio

ANOTHER = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from mcp_progress_monitor.gui import recording_program
application = QCoreApplication([])
recording, data_dir, what, limit_ms = *map(Path, sys.argv[1:3]), sys.argv[3], int(sys.argv[4])
if what == "open":
    # A busy machine is not a window that hangs.
    recording_program._CONNECT_MS = recording_program._ANSWER_MS = limit_ms
    print(recording_program.brought_to_front(recording, data_dir))
else:
    recording_program.SingleInstance(recording, data_dir, application)
    print("listening", flush=True)
    application.exec()
"""


@pytest.fixture
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="w") as folder:
        yield Path(folder)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return Written().save(tmp_path / "a.mcprec")


def another(recording: Path, data_dir: Path, what: str) -> list[str]:
    limit_ms = round(1000 * PATIENCE_S)
    return [sys.executable, "-c", ANOTHER, str(recording), str(data_dir), what, str(limit_ms)]


async def opened_again(recording: Path, data_dir: Path) -> bool:
    """What another process that opens the recording finds."""
    done = await anyio.run_process(another(recording, data_dir, "open"), cwd=ROOT)
    return done.stdout.strip() == b"True"


async def test_opening_it_again_brings_its_window_to_the_front(
    recording: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = RecordingProgram(application(), RecordingOptions(Playback(recording), data_dir))
    async with until_quit(program):
        program.window.showMinimized()
        link = recording.with_name("link.mcprec")
        link.symlink_to(recording)
        assert await opened_again(link, data_dir)
        await until(lambda: not program.window.isMinimized())
        other = Written().save(recording.with_name("b.mcprec"))
        assert not await opened_again(other, data_dir)
    assert not await opened_again(recording, data_dir)


async def test_a_window_that_was_killed_or_hangs_keeps_no_other_from_opening(
    recording: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = another(recording, data_dir, "listen")
    async with await anyio.open_process(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:  # on leaving, it is waited for: it has no end of its own
            assert process.stdout is not None
            lines = BufferedByteReceiveStream(process.stdout)
            assert await lines.receive_until(b"\n", 100) == b"listening"
            assert await opened_again(recording, data_dir)
        finally:
            process.kill()
        await process.wait()
    assert not await opened_again(recording, data_dir)
    parent = QObject()
    only = SingleInstance(recording, data_dir, parent)
    assert only.is_listening
    monkeypatch.setattr(recording_program, "_ANSWER_MS", 50)
    # Nobody answers while this thread waits: as a window that hangs.
    assert not brought_to_front(recording, data_dir)
    only.close()
    parent.deleteLater()


async def test_without_a_socket_there_are_several_windows(tmp_path: Path) -> None:
    parent = QObject()
    long = tmp_path / ("x" * 120)
    long.mkdir()
    assert not SingleInstance(tmp_path / "a.mcprec", long, parent).is_listening
    (tmp_path / "file").touch()
    assert not SingleInstance(tmp_path / "a.mcprec", tmp_path / "file", parent).is_listening
    assert not brought_to_front(tmp_path / "a.mcprec", long)
    parent.deleteLater()
